"""The data API of webknossos: buckets and cutouts of layers.

A bucket that can't be read is told as such, and never zeros.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable
from urllib.parse import quote

import numpy as np

from fastzarr.errors import ZarrError
from fastzarr.serve import sampling, wishes
from fastzarr.serve.cache import BucketCache
from fastzarr.serve.http import JSON, Answer, HttpError, Piece, Request, Response
from fastzarr.serve.routes import Route
from fastzarr.serve.site import Site
from fastzarr.serve.wishes import Wish, dataset_of, layer_of

log = logging.getLogger("fastzarr.serve")

KNOSSOS_CUBE = 128
"""Voxels along each edge of the cubes of KNOSSOS, where a request doesn't tell."""
_NONE_MISSING = (
    ("MISSING-BUCKETS", "[]"),
    ("Empty-Bucket-Indices", "[]"),
    ("Failure-Bucket-Indices", "[]"),
    ("Cache-Control", "no-store"),
)
_MARKED = re.compile(r"(mag|x|y|z)(-?[0-9]{1,10})")

Found = Piece | None | Exception
"""What a bucket is: its bytes, nothing, or why it can't be read."""


def post_data(site: Site, request: Request) -> Answer:
    """The buckets of a list, one behind the other; headers tell those that are left out."""
    layer = layer_of(site, request)
    _require_json(request)
    asked = wishes.cubes(request.body, layer, site.settings)
    request.reserve(
        sum([wish.nbytes for wish in asked]), scratch=sum([wish.nbytes for wish in asked if wish.four_bit])
    )
    kept = _kept(site.cache, asked)
    if kept is not None:
        return _answer(asked, kept)
    request.reserve(0, scratch=max([wish.volume.scratch for wish in asked if wish.volume], default=0))
    return lambda: _answer(asked, _read(site.cache, asked))


def get_cutout(site: Site, request: Request) -> Answer:
    """A box of voxels, whole: what isn't stored is zero."""
    layer = layer_of(site, request)
    return _cutout(site, request, wishes.box_of_query(request.query, layer, site.settings))


def post_cutout(site: Site, request: Request) -> Answer:
    """As `get_cutout`, told by JSON."""
    layer = layer_of(site, request)
    _require_json(request)
    return _cutout(site, request, wishes.box(request.body, layer, site.settings))


def get_bucket(site: Site, request: Request) -> Answer:
    """A cube by its coordinates in cubes, as KNOSSOS asks for it."""
    layer = layer_of(site, request)
    mag, x, y, z = (_number(request.params[name], name) for name in ("mag", "x", "y", "z"))
    edge = wishes.whole(request.query, "cubeSize", KNOSSOS_CUBE)
    found = next((m for m in layer.mags if max(m) == mag), (mag,) * 3)
    corner = {a: str(n * edge * m) for a, n, m in zip("xyz", (x, y, z), found, strict=True)}
    size = dict.fromkeys(("width", "height", "depth"), str(edge))
    query = {**request.query, **corner, **size, "mag": "-".join(map(str, found))}
    return _cutout(site, request, wishes.box_of_query(query, layer, site.settings))


def get_properties(site: Site, request: Request) -> Response:
    """Where `datasource-properties.json` is; the paths in it are relative to that place."""
    name = request.params["dataset"]
    dataset_of(site, name)
    document = "zarr3_experimental/" + quote(name, safe="") + "/datasource-properties.json"
    token = f"?token={quote(request.token, safe='')}" if request.token else ""
    return Response(
        status=307, media_type="", headers=(("Location", f"{request.root}/data/{document}{token}"),)
    )


def _require_json(request: Request) -> None:
    given = request.headers.get("content-type", "")
    if given != JSON and given.partition(";")[0].strip().lower() != JSON:
        raise HttpError(415, f"got a body of type {given[:80]!r}, expected {JSON}")


def _number(text: str, name: str) -> int:
    found = _MARKED.fullmatch(text)
    if found is None or found[1] != name:
        raise HttpError(404, f"got {text[:40]!r}, expected {name} and a whole number")
    return int(found[2])


def _kept(cache: BucketCache, asked: list[Wish]) -> list[Piece | None] | None:
    """All that was asked for, if it is in the cache, or nowhere; else None."""
    keys = []
    for wish in asked:
        volume, bucket = wish.volume, wish.bucket
        if bucket is None or volume is None:
            return None
        indices = volume.indices(wish.additional) if volume.additional else ()
        keys.append((volume.number, wish.size[0], *bucket, *indices))
    return cache.fresh(keys)


def _read(cache: BucketCache, asked: list[Wish]) -> list[Found]:
    """What was asked for: cubes on the grid of one volume together, all others one by one."""
    found: list[Found] = [None] * len(asked)
    together: dict[tuple[object, ...], list[int]] = {}
    for number, wish in enumerate(asked):
        if wish.volume is None:
            continue
        if wish.bucket is None:
            found[number] = _attempt(_uncached, wish)
        else:
            alike = (wish.volume.number, wish.size[0], *sorted(wish.additional.items()))
            together.setdefault(alike, []).append(number)
    for numbers in together.values():
        some = [asked[number] for number in numbers]
        try:
            pieces: list[Found] = list(_cubes(cache, some))
        except (ZarrError, OSError):
            pieces = [_attempt(lambda wish: _cubes(cache, [wish])[0], wish) for wish in some]
        for number, piece in zip(numbers, pieces, strict=True):
            found[number] = piece
    return found


def _cubes(cache: BucketCache, some: list[Wish]) -> list[Piece | None]:
    volume, _, (edge, _, _), _, additional, _ = some[0]
    assert volume is not None
    return cache.read(volume, [wish.bucket for wish in some if wish.bucket is not None], edge, additional)


def _uncached(wish: Wish) -> Piece | None:
    volume = wish.volume
    assert volume is not None
    if not volume.touches(wish.offset, wish.size):
        return None
    return volume.read(wish.offset, wish.size, wish.additional)


def _attempt(read: Callable[[Wish], Piece | None], wish: Wish) -> Found:
    try:
        return read(wish)
    except (ZarrError, OSError) as failure:
        return failure


def _answer(asked: list[Wish], found: list[Found] | list[Piece | None]) -> Response:
    """The pieces found, and which are not there; raises why they can't be read where that is true of all."""
    if None in found or any(isinstance(piece, Exception) for piece in found):
        failed = [number for number, piece in enumerate(found) if isinstance(piece, Exception)]
        empty = [number for number, piece in enumerate(found) if piece is None]
        for number in failed:
            log.error("bucket at %s of %r: %s", asked[number].offset, asked[number].volume, found[number])
        if failed and len(failed) == len(found):
            raise found[0]  # type: ignore[misc]
        headers = (
            ("MISSING-BUCKETS", str(sorted(empty + failed))),
            ("Empty-Bucket-Indices", str(empty)),
            ("Failure-Bucket-Indices", str(failed)),
            ("Cache-Control", "no-store"),
        )
    else:
        headers = _NONE_MISSING
    pieces = tuple(
        [
            halved(piece) if wish.four_bit else piece
            for wish, piece in zip(asked, found, strict=True)
            if piece is not None and not isinstance(piece, Exception)
        ]
    )
    return Response(body=pieces, headers=headers)


def _cutout(site: Site, request: Request, wish: Wish) -> Answer:
    request.reserve(wish.nbytes, scratch=wish.nbytes if wish.four_bit else 0)
    kept = _kept(site.cache, [wish])
    if kept is not None:
        return _whole(wish, kept[0])
    if wish.volume is not None:
        request.reserve(0, scratch=wish.volume.scratch)
    return lambda: _whole(wish, _read_whole(site.cache, wish))


def _read_whole(cache: BucketCache, wish: Wish) -> Piece | None:
    return _uncached(wish) if wish.bucket is None else _cubes(cache, [wish])[0]


def _whole(wish: Wish, piece: Piece | None) -> Response:
    if piece is None:
        piece = bytes(wish.nbytes)
    return Response(body=halved(piece) if wish.four_bit else piece, headers=_NONE_MISSING)


def halved(data: Piece) -> memoryview:
    """The upper four bits of each byte, two in one; the first is above."""
    values = np.frombuffer(data, np.uint8)
    packed = values[0::2] & 0xF0
    packed[: len(values) // 2] |= values[1::2] >> 4
    return packed.data


def _routes() -> tuple[Route, ...]:
    """Each with and without the organization that older versions have in the path."""
    below: tuple[tuple[str, str, Callable[[Site, Request], Answer], str], ...] = (
        ("POST", "data", post_data, "buckets"),
        ("GET", "data", get_cutout, "cutout"),
        ("POST", "readData", post_cutout, "cutout"),
        ("GET", "{mag}/{x}/{y}/{z}/bucket.raw", get_bucket, "cutout"),
    )
    datasets = ("/data/datasets/{dataset}", "/data/datasets/{organization}/{dataset}")
    return tuple(
        Route(method=method, pattern=f"{dataset}/layers/{{layer}}/{path}", handler=handler, name=name)
        for dataset in datasets
        for method, path, handler, name in below
    ) + tuple(
        Route(
            method="GET",
            pattern=f"{dataset}/datasource-properties.json",
            handler=get_properties,
            name="datasource-properties.json",
        )
        for dataset in datasets
    )


ROUTES = (*_routes(), *sampling.ROUTES)
