"""What decoding a bucket costs alone: in memory, on one core, without a file or a server."""

import time
from collections.abc import Callable

import numpy as np

from fastzarr.bench.serving.peers.base import BUCKET, Coding, StoredLayer
from fastzarr.bench.serving.sources import Sources

BUCKETS = 128
ROUNDS = 7


def decode_seconds(
    stored: StoredLayer, made: Sources, clock: Callable[[], float] = time.perf_counter
) -> float:
    """Time per bucket in the fastest of some rounds, for random ones that have something in them: a codec
    alone has no reason to take longer but what else the machine does.

    Buckets are coded by the codec's library as the layer is, and decoded into memory that is there; uncoded
    ones are copied.
    """
    voxels, places = made.voxels(stored.layer), made.full_buckets()
    chosen = np.random.default_rng(1).choice(len(places), min(BUCKETS, len(places)), replace=False)
    raw = [
        voxels[x : x + BUCKET, y : y + BUCKET, z : z + BUCKET].tobytes(order="F")
        for x, y, z in places[chosen].tolist()
    ]
    encode, decode = _codec(stored.coding)
    coded = [encode(bucket) for bucket in raw]
    out = bytearray(len(raw[0]))
    rounds = []
    for _ in range(ROUNDS):
        start = clock()
        for bucket in coded:
            decode(bucket, out)
        rounds.append((clock() - start) / len(coded))
    return min(rounds)


def _codec(coding: Coding) -> tuple[Callable[[bytes], bytes], Callable[[bytes, bytearray], object]]:
    if coding == "raw":
        return bytes, _copy
    if coding == "zstd":
        import zstandard

        compressor = zstandard.ZstdCompressor(level=5, write_checksum=True)
        from numcodecs import zstd

        return compressor.compress, zstd.decompress
    from lz4 import block
    from numcodecs import lz4

    mode = "high_compression" if coding == "lz4hc" else "default"
    # With the size before it, as numcodecs expects; the block is that of WKW.
    return lambda bucket: block.compress(bucket, mode=mode, compression=9), lz4.decompress


def _copy(bucket: bytes, out: bytearray) -> None:
    out[:] = bucket
