"""Any layer as Zarr without shards and compression: `/data/zarr3_experimental/…` and `/data/zarr/…`.

A chunk is a bucket of webknossos; what it is stored as does not show.
"""

from __future__ import annotations

from collections.abc import Callable

import crc32c
from zlib_ng import zlib_ng

from fastzarr.serve import conditional
from fastzarr.serve.conditional import Version
from fastzarr.serve.http import JSON, Answer, HttpError, Piece, Request, Response
from fastzarr.serve.routes import Route
from fastzarr.serve.site import Site
from fastzarr.serve.stored_keys import CHUNKS_KEPT, listing
from fastzarr.serve.virtual_tree import ZarrFormat, tree
from fastzarr.serve.volume import BUCKET, NOWHERE, Volume
from fastzarr.volumes.boxes import Vec3, mag_name, parse_mag


def virtual_v3(site: Site, request: Request) -> Answer:
    """A document, a chunk or a list of the dataset as Zarr v3 with OME-Zarr 0.5."""
    return _virtual(site, request, 3)


def virtual_v2(site: Site, request: Request) -> Answer:
    """A document, a chunk or a list of the dataset as Zarr v2 with OME-Zarr 0.4."""
    return _virtual(site, request, 2)


def _virtual(site: Site, request: Request, zarr_format: ZarrFormat) -> Answer:
    name, key = request.params["dataset"], _plain(request.params["key"])
    dataset = site.catalogue.datasets.get(name)
    if dataset is None:
        raise HttpError(404, f"there is no dataset {name[:80]!r}")
    found = tree(dataset, zarr_format)
    document = found.documents.get(key)
    if document is not None:
        return _document(request, document)
    path, _, last = key.rpartition("/")
    array = found.arrays.get(path)
    if array is not None and (point := array.point(last)) is not None:
        return _chunk(site, request, array.volume, point)
    if (directory := key.rstrip("/")) in found.directories:
        return listing(request, found.directories[directory])
    raise HttpError(404, f"{name} has no key {key[:200]!r}")


def _plain(key: str) -> str:
    """The key with its magnification as it is listed: `1` for `1-1-1`."""
    parts = key.split("/", 2)
    mag = parse_mag(parts[1]) if len(parts) > 1 and len(parts[1]) < 40 else None
    if mag is None or mag_name(mag) == parts[1]:
        return key
    return "/".join([parts[0], mag_name(mag), *parts[2:]])


def _document(request: Request, document: bytes) -> Response:
    return conditional.answer(
        request,
        Version(tag=_tag(document)),
        len(document),
        _part_of(document),
        media_type=JSON,
        headers=conditional.cache_control(request, 0),
    )


def _chunk(site: Site, request: Request, volume: Volume, point: Vec3) -> Answer:
    """A bucket: at once where the cache has it, else from a thread. Raises what reading raises."""
    request.reserve(volume.voxel_bytes * BUCKET**3)
    kept = site.cache.fresh([(volume.number, BUCKET, *point, *volume.indices(NOWHERE))])
    if kept is not None:
        return _bucket(request, kept[0])
    request.reserve(0, scratch=volume.scratch)
    return lambda: _bucket(request, site.cache.read(volume, [point])[0])


def _bucket(request: Request, data: Piece | None) -> Response:
    """Raises 404 where the bucket isn't stored, which clients take for zeros."""
    if data is None:
        raise HttpError(404, "the chunk is not stored: it is zero")
    return conditional.answer(
        request,
        Version(tag=_tag(data)),
        len(data),
        _part_of(data),
        headers=conditional.cache_control(request, CHUNKS_KEPT),
    )


def _tag(data: Piece) -> str:
    """The entity tag of a content: the same for the same bytes only, whichever file they are from.

    Two checksums of different polynomials, which take a twentieth of the time of a hash.
    """
    return f'"{crc32c.crc32c(data):08x}{zlib_ng.crc32(data):08x}"'


def _part_of(data: Piece) -> Callable[[int, int], Piece]:
    return lambda start, length: data if length == len(data) else memoryview(data)[start : start + length]


ROUTES = (
    Route(
        method="GET",
        pattern="/data/zarr3_experimental/{dataset}/{key...}",
        handler=virtual_v3,
        name="virtual zarr v3",
    ),
    Route(method="GET", pattern="/data/zarr/{dataset}/{key...}", handler=virtual_v2, name="virtual zarr v2"),
)
