"""Which buckets are asked for: drawn once with a seed, the same for every server."""

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fastzarr.bench.serving.peers.base import BUCKET, Batch, HttpRequest, Peer, StoredLayer

PER_REQUEST = 6
"""As many as the frontend of webknossos asks for at once."""
POOL = 16384
"""Requests that are prepared; wrk's threads share them, and begin again at the end."""


def drawn(places: NDArray[np.intp], count: int, seed: int) -> list[Batch]:
    """`count` batches of random buckets, of which any may come again."""
    chosen = np.random.default_rng(seed).integers(len(places), size=(count, PER_REQUEST))
    return _batches(places[chosen])


def each_once(places: NDArray[np.intp], seed: int) -> list[Batch]:
    """All buckets in random order, in batches; the fewer than six that remain are left out.

    Of fewer than six buckets there is one batch, in which they come again.
    """
    order = np.random.default_rng(seed).permutation(len(places))
    count = len(order) // PER_REQUEST
    chosen = order[: count * PER_REQUEST] if count else np.resize(order, PER_REQUEST)
    return _batches(places[chosen.reshape(-1, PER_REQUEST)])


def _batches(places: NDArray[np.intp]) -> list[Batch]:
    return [tuple((x, y, z) for x, y, z in batch) for batch in places.tolist()]


def requests(peer: Peer, stored: StoredLayer, batches: Iterable[Batch]) -> Iterator[HttpRequest]:
    """What `peer` is sent for all batches."""
    for batch in batches:
        yield from peer.requests(stored, batch)


def voxels(layer: NDArray[Any], batch: Batch) -> bytes:
    """The right content of an answer: bucket after bucket, x fastest."""
    return b"".join(
        layer[x : x + BUCKET, y : y + BUCKET, z : z + BUCKET].tobytes(order="F") for x, y, z in batch
    )
