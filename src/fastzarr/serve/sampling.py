"""What a layer's values are like: a histogram, and a place where there are some."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fastzarr.serve.cache import BucketCache
from fastzarr.serve.datasets import Layer
from fastzarr.serve.http import JSON, Answer, Request, Response
from fastzarr.serve.routes import Route
from fastzarr.serve.site import Site
from fastzarr.serve.volume import BUCKET, Point, Volume
from fastzarr.serve.wishes import layer_of

ALONG = 4
"""Buckets looked at along each axis, evenly spaced in the bounding box."""
BINS = 256


def histogram(site: Site, request: Request) -> Answer:
    """Counts of values in 64 buckets of the coarsest magnification at the most, for each channel."""
    layer = layer_of(site, request)
    return lambda: _json([_histogram(values) for values in _values(site.cache, layer, request)])


def find_data(site: Site, request: Request) -> Answer:
    """A voxel that isn't zero, of those in the same buckets; null where all are."""
    layer = layer_of(site, request)
    return lambda: _json(_found(site.cache, layer, request))


def _json(value: Any) -> Response:
    return Response(
        body=json.dumps(value).encode(), media_type=JSON, headers=(("Cache-Control", "no-store"),)
    )


def _values(cache: BucketCache, layer: Layer, request: Request) -> list[NDArray[Any]]:
    """Values inside the bounding box that the looked-at buckets have, by channel."""
    volume = list(layer.mags.values())[-1]
    parts = [voxels for _, voxels in _sampled(cache, volume, request)]
    if not parts:
        return [np.empty(0, layer.dtype) for _ in range(layer.channels)]
    return list(np.concatenate([part.reshape(layer.channels, -1) for part in parts], axis=1))


def _sampled(cache: BucketCache, volume: Volume, request: Request) -> Iterator[tuple[Point, NDArray[Any]]]:
    """First voxel and values [c, x, y, z] of buckets, as far as they are in the bounding box."""
    box = volume.box
    if 0 in box.size:
        return
    rows = (_spread(first, end) for first, end in zip(box.start, box.end, strict=True))
    coords: list[Point] = list(itertools.product(*rows))  # type: ignore[arg-type]
    request.reserve(len(coords) * BUCKET**3 * volume.voxel_bytes, scratch=volume.scratch)
    for point, data in zip(coords, cache.read(volume, coords), strict=True):
        start = tuple(n * BUCKET for n in point)
        low = tuple(max(0, b - s) for s, b in zip(start, box.start, strict=True))
        high = tuple(min(BUCKET, e - s) for s, e in zip(start, box.end, strict=True))
        inside = tuple(slice(a, b) for a, b in zip(low, high, strict=True))
        shape = (volume.channels, BUCKET, BUCKET, BUCKET)
        whole = np.zeros(shape, volume.dtype)
        if data is not None:
            whole = np.frombuffer(data, volume.dtype).reshape(shape, order="F")
        x, y, z = (a + b for a, b in zip(start, low, strict=True))
        yield (x, y, z), whole[(slice(None), *inside)]


def _spread(first: int, end: int) -> list[int]:
    """Coordinates of at most `ALONG` buckets from the one with voxel `first` to the one before `end`."""
    low, high = first // BUCKET, (end - 1) // BUCKET
    return sorted({int(n) for n in np.linspace(low, high, ALONG)})


def _histogram(values: NDArray[Any]) -> dict[str, Any]:
    """As webknossos tells it; what is no finite number isn't counted."""
    values = values[np.isfinite(values)] if values.dtype.kind == "f" else values
    if values.dtype == np.uint8:
        low, high = 0, 255
    elif not len(values):
        low, high = 0, 0
    else:
        low, high = values.min().item(), values.max().item()
    # Bins of unsigned bytes are their values.
    within = values / np.float64(256) if values.dtype == np.uint8 else _fractions(values, low, high)
    counts, _ = np.histogram(within, BINS, (0.0, 1.0))
    return {"elementCounts": counts.tolist(), "numberOfElements": len(values), "min": low, "max": high}


def _fractions(values: NDArray[Any], low: Any, high: Any) -> NDArray[np.float64]:
    """Where values are between `low`, 0, and `high`, 1, though neither may be a float64, or their span."""
    if values.dtype.kind in "iu":
        above = values.astype(np.uint64) - np.uint64(low % 2**64)  # modulo 2**64, as the difference is below
        return np.asarray(above.astype(np.float64) / max(1, high - low))
    halves = values.astype(np.float64) / 2
    span = high / 2 - low / 2
    return np.asarray((halves - low / 2) / (span or 1.0))


def _found(cache: BucketCache, layer: Layer, request: Request) -> dict[str, Any]:
    for mag, volume in reversed(list(layer.mags.items())):
        for start, voxels in _sampled(cache, volume, request):
            places = np.argwhere(voxels.any(axis=0))
            if len(places):
                middle = places[len(places) // 2].tolist()
                position = [(a + b) * m for a, b, m in zip(start, middle, mag, strict=True)]
                return {"position": position, "mag": list(mag), "resolution": list(mag)}
    return {"position": None, "mag": None, "resolution": None}


ROUTES = tuple(
    Route(method="GET", pattern=f"{dataset}/layers/{{layer}}/{path}", handler=handler, name=path)
    for dataset in ("/data/datasets/{dataset}", "/data/datasets/{organization}/{dataset}")
    for path, handler in (("histogram", histogram), ("findData", find_data))
)
