"""Any layer as Zarr without shards and compression: `/data/zarr3_experimental/…` and `/data/zarr/…`.

A chunk is a bucket of webknossos; what it is stored as does not show.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path

from fastzarr.serve import conditional
from fastzarr.serve.conditional import Version
from fastzarr.serve.http import JSON, Answer, HttpError, Request, Response
from fastzarr.serve.routes import Route
from fastzarr.serve.site import Site
from fastzarr.serve.stored_keys import CHUNKS_KEPT, listing
from fastzarr.serve.virtual_tree import VirtualArray, ZarrFormat, tree
from fastzarr.serve.volume import BUCKET
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
        return lambda: _chunk(request, array, point)
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
    version = Version(tag=f'"{hashlib.blake2b(document, digest_size=16).hexdigest()}"')
    headers = conditional.cache_control(request, 0)
    return conditional.answer(
        request, version, len(document), _part_of(document), media_type=JSON, headers=headers
    )


def _chunk(request: Request, array: VirtualArray, point: Vec3) -> Response:
    """A bucket; 404 where it isn't stored, which clients take for zeros. Raises what reading raises."""
    size = array.volume.voxel_bytes * BUCKET**3
    version = _version(array, point)
    data: bytes | None = None
    if version is None:
        data = _read(request, array, point, size)
        version = Version(tag=f'"{hashlib.blake2b(data, digest_size=16).hexdigest()}"')

    def body(start: int, length: int) -> bytes | memoryview:
        whole = data if data is not None else _read(request, array, point, size)
        return whole if length == size else memoryview(whole)[start : start + length]

    return conditional.answer(
        request, version, size, body, headers=conditional.cache_control(request, CHUNKS_KEPT)
    )


def _read(request: Request, array: VirtualArray, point: Vec3, size: int) -> bytes:
    request.reserve(size)
    [data] = array.volume.buckets([point])
    if data is None:
        raise _absent(point)
    return data


def _absent(point: Vec3) -> HttpError:
    return HttpError(404, f"the chunk at {point} is not stored: it is zero")


def _version(array: VirtualArray, point: Vec3) -> Version | None:
    """Of the files that a chunk is from, as they are before it is read; None where there is no telling.

    Not from the cache: what it has may be of older files. Raises 404 where there is no file.
    """
    volume = array.volume
    paths = volume.paths(point)
    if paths is None:
        return None
    signs: list[object] = [array.shape, volume.box, point]
    modified = 0.0
    for path in paths:
        try:
            status = Path(path).stat()
        except (FileNotFoundError, NotADirectoryError):
            signs.append(None)
            continue
        signs += (status.st_ino, status.st_mtime_ns, status.st_size)
        modified = max(modified, status.st_mtime)
    tag = hashlib.blake2b(repr(signs).encode(), digest_size=16).hexdigest()
    return Version(tag=f'"{tag}"', modified=modified or None)


def _part_of(data: bytes) -> Callable[[int, int], bytes]:
    return lambda start, length: data[start : start + length]


ROUTES = (
    Route(
        method="GET",
        pattern="/data/zarr3_experimental/{dataset}/{key...}",
        handler=virtual_v3,
        name="virtual zarr v3",
    ),
    Route(method="GET", pattern="/data/zarr/{dataset}/{key...}", handler=virtual_v2, name="virtual zarr v2"),
)
