"""Files of WKW and shards written tile by tile, so that no more than some tiles are in memory.

A tile is a cube of whole chunks. Its chunks are encoded by `encode`, in any thread; `append` takes the tiles
one after the other in the order of `tiles`, and `finish` has the file appear, or nothing where all is zero.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, BinaryIO, Protocol

import numpy as np
from numpy.typing import NDArray

import fastzarr
from fastzarr.volumes.voxels import is_zero
from fastzarr.wkw import Header, morton
from fastzarr.wkw.layout import FileLayout

Chunk = tuple[tuple[int, int, int], bytes]
"""Coordinates of a chunk in its tile, and its encoded bytes."""

_ABSENT = 2**64 - 1


class Stream(Protocol):
    """A file on its way."""

    def tiles(self, tile_len: int) -> Iterator[tuple[int, int, int]]:
        """The first chunk of each tile of `tile_len` chunks along each edge, in the order of the file."""

    def encode(self, tile: NDArray[Any] | None) -> list[Chunk] | None:
        """Chunks of a tile in the order of the file; None is a tile of zeros."""

    def append(self, first: Sequence[int], tile_len: int, encoded: list[Chunk] | None) -> None:
        """Write what `encode` gave of the next tile."""

    def finish(self) -> bool:
        """Have the file appear; whether there is one."""

    def abandon(self) -> None:
        """Leave nothing."""


class _File:
    """A file that appears under its name when it is whole."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._partial = path.with_name(f".{path.name}.{os.getpid()}.partial")
        self._opened: BinaryIO | None = None

    @property
    def opened(self) -> BinaryIO:
        """The file; made when it is first asked for."""
        if self._opened is None:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            self._opened = self._partial.open("wb", buffering=0)
        return self._opened

    def write(self, data: bytes) -> None:
        """Write all of `data`."""
        rest = memoryview(data)
        while rest:
            rest = rest[self.opened.write(rest) :]

    def place(self) -> None:
        """Give the file its name."""
        self.opened.close()
        self._partial.replace(self._path)

    def abandon(self) -> None:
        """Remove what there is of it."""
        if self._opened is not None:
            self._opened.close()
            self._partial.unlink(missing_ok=True)


class WkwStream:
    """A compressed file of WKW: tiles in Morton order, whose blocks lie one behind the other in the file."""

    def __init__(self, path: Path, header: Header) -> None:
        self._header = header
        self._layout = FileLayout(header)
        self._file = _File(path)
        self._ends = np.zeros(header.blocks, np.uint64)
        self._count = 0
        self._kept = False
        self._at = header.data_offset

    def tiles(self, tile_len: int) -> Iterator[tuple[int, int, int]]:
        """The first block of each tile, in Morton order."""
        for number in range((self._header.file_len // tile_len) ** 3):
            x, y, z = morton.place(number)
            yield x * tile_len, y * tile_len, z * tile_len

    def encode(self, tile: NDArray[Any] | None) -> list[Chunk] | None:
        """Blocks of a tile in Morton order."""
        if tile is None or is_zero(tile):
            return None
        edge = self._header.block_len
        encoded = []
        for x, y, z in morton.coords(tile.shape[1] // edge).tolist():
            block = tile[:, x * edge : (x + 1) * edge, y * edge : (y + 1) * edge, z * edge : (z + 1) * edge]
            data = bytes(self._layout.inner.encode(block)) if not is_zero(block) else self._layout.zero_block
            encoded.append(((x, y, z), data))
        return encoded

    def append(self, first: Sequence[int], tile_len: int, encoded: list[Chunk] | None) -> None:
        """Write the blocks of the next tile."""
        count = tile_len**3
        if encoded is None:
            blocks = [self._layout.zero_block] * count
        else:
            self._kept = True
            blocks = [data for _, data in encoded]
        if self._count == 0:
            self._file.opened.seek(self._at)
        sizes = np.fromiter(map(len, blocks), np.uint64, count)
        self._ends[self._count : self._count + count] = np.uint64(self._at) + np.cumsum(sizes)
        self._file.write(b"".join(blocks))
        self._at += int(sizes.sum())
        self._count += count

    def finish(self) -> bool:
        """Write header and jump table, and have the file appear unless all of it is zero."""
        if not self._kept:
            self._file.abandon()
            return False
        self._file.opened.seek(0)
        offset = self._header.data_offset
        self._file.write(self._header.to_bytes(data_offset=offset) + self._ends.astype("<u8").tobytes())
        self._file.place()
        return True

    def abandon(self) -> None:
        """Leave nothing."""
        self._file.abandon()


class ShardStream:
    """A shard of Zarr v3: encoded inner chunks one behind the other, and their index at the end."""

    def __init__(self, path: Path, array: fastzarr.Array) -> None:
        assert array.shards is not None
        self._file = _File(path)
        self._array = array
        self._counts = tuple(s // c for s, c in zip(array.shards[1:], array.chunks[1:], strict=True))
        self._index = np.full((*self._counts, 2), _ABSENT, "<u8")
        self._at = 0

    def tiles(self, tile_len: int) -> Iterator[tuple[int, int, int]]:
        """The first inner chunk of each tile, in C order; those at the end of the shard are smaller."""
        x, y, z = (range(0, count, tile_len) for count in self._counts)
        yield from itertools.product(x, y, z)

    def encode(self, tile: NDArray[Any] | None) -> list[Chunk] | None:
        """Inner chunks of a tile that are not all zero."""
        if tile is None or is_zero(tile):
            return None
        objects: dict[str, bytes] = {}
        array = fastzarr.create_array(
            objects,
            shape=tile.shape,
            chunks=self._array.chunks,
            dtype=self._array.dtype,
            filters=self._array.filters,
            serializer=self._array.serializer or "auto",
            compressors=self._array.compressors,
            fill_value=0,
            config={"threads": 1},
        )
        array[...] = tile
        encoded: list[Chunk] = []
        for key, data in objects.items():
            if key.startswith("c/"):
                _, x, y, z = (int(part) for part in key[2:].split("/"))
                encoded.append(((x, y, z), data))
        return sorted(encoded)

    def append(self, first: Sequence[int], tile_len: int, encoded: list[Chunk] | None) -> None:
        """Write the inner chunks of the next tile."""
        if not encoded:
            return
        self._file.write(b"".join(data for _, data in encoded))
        for coords, data in encoded:
            place = tuple(f + c for f, c in zip(first, coords, strict=True))
            self._index[place] = self._at, len(data)
            self._at += len(data)

    def finish(self) -> bool:
        """Write the index, and have the shard appear unless all of it is zero."""
        if not self._at:
            self._file.abandon()
            return False
        index = fastzarr.codecs.Crc32cCodec().encode(self._index.tobytes())
        self._file.write(bytes(index))
        self._file.place()
        return True

    def abandon(self) -> None:
        """Leave nothing."""
        self._file.abandon()
