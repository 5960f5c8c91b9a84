"""Where the stored bytes of a bucket are, for servers that send files in parts and decode nothing."""

import functools
import json
import struct
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fastzarr.bench.errors import BenchmarkError
from fastzarr.bench.serving.peers.base import BUCKET, Batch, Bucket, HttpRequest, StoredLayer

ABSENT = 2**64 - 1
CHECKSUM = 4
"""Bytes of the CRC32C behind the index of a shard."""
PREFIX = 4
"""Bytes of the size that numcodecs writes before a block of LZ4."""


@dataclass(frozen=True, kw_only=True)
class Part:
    """A part of a file."""

    key: str
    """Path of the file below the directory of the magnification."""
    offset: int
    length: int


def requests(stored: StoredLayer, batch: Batch, prefix: str) -> tuple[HttpRequest, ...]:
    """A GET with a range for each bucket, as clients of Zarr send it; `prefix` is the path of the layer's
    magnification, with a slash at the end.
    """
    found = [part(stored, bucket) for bucket in batch]
    return tuple(
        HttpRequest(path=prefix + p.key, headers=(("Range", f"bytes={p.offset}-{p.offset + p.length - 1}"),))
        for p in found
    )


def decode(stored: StoredLayer, body: bytes) -> bytes:
    """The voxels of a bucket, of its stored bytes."""
    size = BUCKET**3 * np.dtype(stored.dtype).itemsize
    decoded = _decoder(stored.coding)
    return decoded(body[PREFIX:] if (stored.format, stored.coding) == ("zarr3", "lz4") else body, size)


def part(stored: StoredLayer, bucket: Bucket) -> Part:
    """Where `bucket` is; BenchmarkError where it is not stored."""
    x, y, z = (edge // BUCKET for edge in bucket)
    found = (_in_wkw if stored.format == "wkw" else _in_shard)(stored.path, x, y, z)
    if found is None:
        raise BenchmarkError(f"{stored.name}: the bucket at {bucket} is not stored, expected one that is")
    return found


def _in_wkw(path: Path, x: int, y: int, z: int) -> Part | None:
    edge = _blocks_per_edge(path)
    key = f"z{z // edge}/y{y // edge}/x{x // edge}.wkw"
    if not (path / key).exists():
        return None
    bounds = _block_bounds(path / key)
    n = sum(
        (value >> bit & 1) << 3 * bit + axis
        for axis, value in enumerate((x % edge, y % edge, z % edge))
        for bit in range(edge.bit_length() - 1)
    )
    return Part(key=key, offset=int(bounds[n]), length=int(bounds[n + 1] - bounds[n]))


def _blocks_per_edge(path: Path) -> int:
    lengths = _header(path / "header.wkw")[2]
    if 1 << (lengths & 15) != BUCKET:
        raise BenchmarkError(f"{path}: got blocks of {1 << (lengths & 15)} voxels, expected {BUCKET}")
    edge: int = 1 << (lengths >> 4)
    return edge


@functools.lru_cache(maxsize=64)
def _header(path: Path) -> tuple[Any, ...]:
    with path.open("rb") as file:
        return struct.unpack("<3s5BQ", file.read(16))


@functools.lru_cache(maxsize=64)
def _block_bounds(path: Path) -> NDArray[np.uint64]:
    """Where each block begins, and the last one ends."""
    _, _, lengths, block_type, _, voxel_size, begin = _header(path)
    count = 1 << 3 * (lengths >> 4)
    if block_type == 1:
        return np.arange(count + 1, dtype=np.uint64) * np.uint64(voxel_size * BUCKET**3) + np.uint64(begin)
    ends = np.fromfile(path, "<u8", count, offset=16)
    return np.concatenate([np.array([begin], "u8"), ends])


def _in_shard(path: Path, x: int, y: int, z: int) -> Part | None:
    grid = _inner_grid(path)
    index = (0, x, y, z)
    shard = [i // n for i, n in zip(index, grid, strict=True)]
    key = "c/" + "/".join(map(str, shard))
    if not (path / key).exists():
        return None
    offset, length = map(
        int, _shard_index(path / key, grid)[tuple(np.subtract(index, np.multiply(shard, grid)))]
    )
    return None if offset == ABSENT else Part(key=key, offset=offset, length=length)


@functools.lru_cache(maxsize=64)
def _inner_grid(path: Path) -> tuple[int, ...]:
    """How many inner chunks a shard has along each dimension."""
    document = json.loads((path / "zarr.json").read_text())
    shard = document["chunk_grid"]["configuration"]["chunk_shape"]
    inner = document["codecs"][0]["configuration"]["chunk_shape"]
    if inner != [1, BUCKET, BUCKET, BUCKET]:
        raise BenchmarkError(f"{path}: got inner chunks of {inner}, expected {[1, BUCKET, BUCKET, BUCKET]}")
    return tuple(s // i for s, i in zip(shard, inner, strict=True))


@functools.lru_cache(maxsize=64)
def _shard_index(path: Path, grid: tuple[int, ...]) -> NDArray[np.uint64]:
    nbytes = 16 * int(np.prod(grid))
    begin = path.stat().st_size - CHECKSUM - nbytes
    return np.fromfile(path, "<u8", nbytes // 8, offset=begin).reshape(*grid, 2)


def _decoder(coding: str) -> Callable[[bytes, int], bytes]:
    if coding == "raw":
        return lambda body, size: body
    if coding == "zstd":
        import zstandard

        decompressor = zstandard.ZstdDecompressor()
        return lambda body, size: decompressor.decompress(body, max_output_size=size)
    import lz4.block

    return lambda body, size: bytes(lz4.block.decompress(body, uncompressed_size=size))
