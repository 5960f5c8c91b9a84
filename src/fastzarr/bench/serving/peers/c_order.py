"""Chunks that are answered with z fastest."""

import numpy as np

from fastzarr.bench.serving.peers.base import BUCKET, Batch, HttpRequest, StoredLayer


def requests(batch: Batch, template: str) -> tuple[HttpRequest, ...]:
    """A GET for each bucket; `template` has {x}, {y} and {z} where its coordinates in buckets go."""
    return tuple(
        HttpRequest(path=template.format(x=x // BUCKET, y=y // BUCKET, z=z // BUCKET)) for x, y, z in batch
    )


def turned(stored: StoredLayer, chunk: bytes) -> bytes:
    """The same voxels with x fastest."""
    return np.frombuffer(chunk, stored.dtype).reshape((BUCKET,) * 3).tobytes(order="F")
