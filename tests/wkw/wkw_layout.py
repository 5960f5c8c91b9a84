"""WKW written down a second time, block by block and only for tests: what `fastzarr.wkw` is compared with."""

import struct
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import lz4.block
import numpy as np
from numpy.typing import NDArray

HEADER = struct.Struct("<3s5BQ")

DATA_TYPES = (
    *("uint8", "uint16", "uint32", "uint64", "float32", "float64"),
    *("int8", "int16", "int32", "int64"),
)
VOXEL_TYPES = {name: number for number, name in enumerate(DATA_TYPES, 1)}
BLOCK_TYPES = {"raw": 1, "lz4": 2, "lz4hc": 3}
COMPRESSED = ("lz4", "lz4hc")

Volume = NDArray[Any]
"""[channel, x, y, z]"""


def header(
    dtype: str,
    *,
    channels: int = 1,
    block_len: int = 32,
    file_len: int = 32,
    block_type: str = "raw",
    data_offset: int = 0,
) -> bytes:
    """The first 16 bytes of a file; with no data offset, those of `header.wkw`."""
    logs = (file_len.bit_length() - 1) << 4 | (block_len.bit_length() - 1)
    voxel_size = np.dtype(dtype).itemsize * channels
    return HEADER.pack(
        *(b"WKW", 1, logs, BLOCK_TYPES[block_type], VOXEL_TYPES[dtype], voxel_size, data_offset)
    )


def morton(x: int, y: int, z: int) -> int:
    """The number of a block in its file."""
    return sum(
        (value >> bit & 1) << (3 * bit + axis) for axis, value in enumerate((x, y, z)) for bit in range(10)
    )


def positions(file_len: int) -> list[tuple[int, int, int]]:
    """Where in a file its blocks lie, in their order."""
    every = [(x, y, z) for x in range(file_len) for y in range(file_len) for z in range(file_len)]
    return sorted(every, key=lambda position: morton(*position))


def blocks(cube: Volume, block_len: int) -> list[bytes]:
    """The blocks of one file: channels fastest, then x, y, z."""
    little = cube.astype(cube.dtype.newbyteorder("<"), copy=False)
    edge = range(block_len)
    assert edge
    return [
        little[(slice(None), *(slice(n * block_len, (n + 1) * block_len) for n in position))].tobytes("F")
        for position in positions(cube.shape[1] // block_len)
    ]


def join(head: bytes, parts: Sequence[bytes]) -> bytes:
    """A file of compressed blocks: header, ends of all blocks, blocks."""
    offset = HEADER.size + 8 * len(parts)
    ends = offset + np.cumsum([len(part) for part in parts], dtype="<u8")
    return head[:8] + struct.pack("<Q", offset) + ends.astype("<u8").tobytes() + b"".join(parts)


def encode(cube: Volume, *, block_len: int, block_type: str) -> bytes:
    """One file."""
    channels, edge = cube.shape[:2]
    assert cube.shape[1:] == (edge,) * 3
    head = header(
        cube.dtype.name,
        channels=channels,
        block_len=block_len,
        file_len=edge // block_len,
        block_type=block_type,
        data_offset=HEADER.size,
    )
    parts = blocks(cube, block_len)
    if block_type == "raw":
        return head + b"".join(parts)
    mode = "high_compression" if block_type == "lz4hc" else "default"
    return join(head, [lz4.block.compress(part, store_size=False, mode=mode) for part in parts])


def decode(data: bytes) -> Volume:
    """The cube in a file."""
    magic, version, logs, block_type, voxel_type, voxel_size, offset = HEADER.unpack_from(data)
    assert (magic, version) == (b"WKW", 1)
    block_len, file_len = 1 << (logs & 15), 1 << (logs >> 4)
    name = next(name for name, number in VOXEL_TYPES.items() if number == voxel_type)
    dtype = np.dtype(name).newbyteorder("<")
    channels, rest = divmod(voxel_size, dtype.itemsize)
    assert rest == 0
    size = voxel_size * block_len**3
    edge = block_len * file_len
    cube = np.empty((channels, edge, edge, edge), name, order="F")
    count = file_len**3
    if block_type == BLOCK_TYPES["raw"]:
        assert (offset, len(data)) == (HEADER.size, HEADER.size + count * size)
        parts = [data[offset + n * size : offset + (n + 1) * size] for n in range(count)]
    else:
        assert offset == HEADER.size + 8 * count
        ends = [offset, *struct.unpack_from(f"<{count}Q", data, HEADER.size)]
        assert ends[-1] == len(data)
        parts = [
            lz4.block.decompress(data[start:end], uncompressed_size=size) for start, end in pairwise(ends)
        ]
    for position, part in zip(positions(file_len), parts, strict=True):
        place = tuple(slice(n * block_len, (n + 1) * block_len) for n in position)
        cube[(slice(None), *place)] = np.frombuffer(part, dtype).reshape(
            (channels, *(block_len,) * 3), order="F"
        )
    return cube


def path_of(root: Path, x: int, y: int, z: int) -> Path:
    return root / f"z{z}" / f"y{y}" / f"x{x}.wkw"


def write(
    root: Path,
    volume: Volume,
    *,
    block_len: int = 2,
    file_len: int = 2,
    block_type: str = "raw",
    file_block_types: dict[tuple[int, int, int], str] | None = None,
    missing: Sequence[tuple[int, int, int]] = (),
) -> Volume:
    """A dataset; what is stored: zeros where files are missing."""
    edge = block_len * file_len
    channels = volume.shape[0]
    root.mkdir(parents=True)
    (root / "header.wkw").write_bytes(
        header(
            volume.dtype.name,
            channels=channels,
            block_len=block_len,
            file_len=file_len,
            block_type=block_type,
        )
    )
    stored = volume.copy()
    for x, y, z in np.ndindex(*(size // edge for size in volume.shape[1:])):
        place = (slice(None), *(slice(n * edge, (n + 1) * edge) for n in (x, y, z)))
        if (x, y, z) in missing:
            stored[place] = 0
            continue
        path = path_of(root, x, y, z)
        path.parent.mkdir(parents=True, exist_ok=True)
        kind = (file_block_types or {}).get((x, y, z), block_type)
        path.write_bytes(encode(volume[place], block_len=block_len, block_type=kind))
    return stored


def read(root: Path, shape: tuple[int, ...]) -> Volume:
    """The voxels from 0 to `shape` [channel, x, y, z] of a dataset."""
    head = HEADER.unpack((root / "header.wkw").read_bytes())
    edge = 1 << ((head[2] & 15) + (head[2] >> 4))
    name = next(name for name, number in VOXEL_TYPES.items() if number == head[4])
    counts = [-(-size // edge) for size in shape[1:]]
    whole = np.zeros((shape[0], *(count * edge for count in counts)), name)
    for x, y, z in np.ndindex(*counts):
        path = path_of(root, x, y, z)
        if path.exists():
            place = (slice(None), *(slice(n * edge, (n + 1) * edge) for n in (x, y, z)))
            whole[place] = decode(path.read_bytes())
    return whole[tuple(slice(size) for size in shape)]


def noise(shape: tuple[int, ...], dtype: str, seed: int = 0) -> Volume:
    """Elements of every bit pattern but signalling NaN, half of them zero; the first isn't."""
    generator = np.random.default_rng(seed)
    kind = np.dtype(dtype)
    size = int(np.prod(shape))
    flat = generator.integers(0, 256, size * kind.itemsize, np.uint8).view(kind)
    if kind.kind == "f":
        flat = np.where(np.isfinite(flat), flat, np.arange(size).astype(kind)).astype(kind)
    flat[generator.random(size) < 0.5] = 0
    flat[:1] = 1
    return flat.reshape(shape)
