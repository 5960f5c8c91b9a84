"""The files of a dataset: blocks in Morton order and, where they are compressed, the table that tells where.

Source: webknossos-wrap, README.md ("Jump table"). A file is like a shard: a cube of voxels with an index of
its blocks. Dimensions are c, x, y, z; in a block channels are next to each other, then x, y, z.
"""

from __future__ import annotations

import functools
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fastzarr.codec_chain import PreparedChain
from fastzarr.codecs.base import ChunkSpec, Codec
from fastzarr.codecs.bytes import BytesCodec
from fastzarr.codecs.transpose import TransposeCodec
from fastzarr.errors import ChunkError, MetadataError
from fastzarr.wkw import morton
from fastzarr.wkw.header import SIZE, Header
from fastzarr.wkw.lz4_block import HC_LEVEL, LZ4Block

_ENTRY = np.dtype("<u8")


Index = Any
"""An array of shape `(*counts, 2)`, or a `FarIndex`."""


class FileLayout:
    """All files of a dataset whose blocks are stored alike, as `sharding.Layout` has it."""

    index_at_end = False

    def __init__(self, header: Header) -> None:
        self.header = header
        self.chunk_shape: tuple[int, ...] = (header.channels, *(header.block_len,) * 3)
        """Shape of a block."""
        self.counts: tuple[int, ...] = (1, *(header.file_len,) * 3)
        """Number of blocks along each dimension."""
        self.index_size = header.data_offset
        """Bytes of the header and the jump table."""
        shape = (header.channels, *(header.cube_len,) * 3)
        self.spec = ChunkSpec(shape=shape, dtype=header.dtype, fill_value=header.dtype.type(0))
        """Shape and data type of a file."""
        codecs: list[Codec] = [TransposeCodec(order=(3, 2, 1, 0)), BytesCodec(endian="little")]
        if header.compressed:
            codecs.append(LZ4Block(level=HC_LEVEL if header.block_type == "lz4hc" else 0))
        self.inner = PreparedChain(codecs, replace(self.spec, shape=self.chunk_shape))
        """Chain of the blocks."""
        self.file_size = SIZE + header.blocks * header.block_nbytes
        """Bytes of a file whose blocks are not compressed."""

    @property
    def template(self) -> str:
        """Key of a block as a `%` template for its coordinates."""
        return "%d/%d/%d/%d"

    @property
    def small(self) -> bool:
        """Whether the whole index of a file is made at once; else entries as they are asked for."""
        return self.header.file_len <= morton.LARGEST

    @functools.cached_property
    def plain_index(self) -> NDArray[np.uint64]:
        """Offset and size of each block where they are not compressed, shape `(*counts, 2)`; if `small`."""
        places = np.arange(self.header.blocks + 1, dtype=np.uint64)
        return self._index(places * np.uint64(self.header.block_nbytes) + np.uint64(SIZE))

    @functools.cached_property
    def zero_block(self) -> bytes:
        """What a block of zeros is stored as."""
        return bytes(self.inner.encode(np.zeros(self.chunk_shape, self.spec.dtype)))

    def read_index(self, store: Any, key: str) -> Index | None:
        """Offset and size of each block of the open file `store`; None where there is none.

        Raises `ChunkError` where the file can't be what its header says.
        """
        if store.get_range(key, 0, SIZE) is None:
            return None
        least = self.index_size if self.header.compressed else self.file_size
        exact = not self.header.compressed
        _require(
            key,
            store.size == least if exact else store.size > least,
            f"got {store.size} bytes",
            f"{least}" if exact else f"more than {least}, where the jump table ends",
        )
        if not self.small:
            return FarIndex(self, store, key)
        return (
            self._index(self.bounds(store, key, 0, self.header.blocks))
            if self.header.compressed
            else self.plain_index
        )

    def bounds(self, store: Any, key: str, first: int, count: int) -> NDArray[np.uint64]:
        """Where blocks begin, in Morton order from the `first` on, and the end of the last one."""
        if not self.header.compressed:
            places = np.arange(first, first + count + 1, dtype=np.uint64)
            return places * np.uint64(self.header.block_nbytes) + np.uint64(SIZE)
        # The entry before that of the first block is the data offset of the header, also where there is none.
        table = store.get_range(key, SIZE + 8 * (first - 1), 8 * (count + 1))
        bounds = np.frombuffer(table, _ENTRY).astype(np.uint64)
        _require(key, len(bounds) == count + 1, "got a file that became shorter", "one that does not change")
        wrong = np.flatnonzero(bounds[1:] < bounds[:-1])
        if len(wrong):
            block, end = first + int(wrong[0]), bounds[wrong[0] + 1]
            text = f"jump table: block {block} ends at byte {end}"
            _require(key, False, text, f"{bounds[wrong[0]]}, where it begins, or more")
        last = first + count == self.header.blocks
        inside = bounds[-1] == store.size if last else bounds[-1] <= store.size
        text = f"jump table: block {first + count - 1} ends at byte {bounds[-1]}"
        _require(key, inside, text, f"{store.size}, the end of the file" + ("" if last else ", at most"))
        largest = _bound(self.header.block_nbytes)
        wrong = np.flatnonzero(bounds[1:] - bounds[:-1] > largest)
        if len(wrong):
            text = f"jump table: block {first + int(wrong[0])} has {np.diff(bounds)[wrong[0]]} bytes"
            _require(key, False, text, f"{largest} at most")
        return bounds

    def jump_table(self, ends: NDArray[np.uint64]) -> bytes:
        """The jump table of a file whose blocks end there, in Morton order."""
        return ends.astype(_ENTRY, copy=False).tobytes()

    def _index(self, bounds: NDArray[np.uint64]) -> NDArray[np.uint64]:
        """The index, from where each block begins in Morton order, and the end of the last one."""
        order = morton.numbers(self.header.file_len)
        index = np.empty((*self.counts, 2), np.uint64)
        starts = bounds[:-1][order]
        index[0, ..., 0] = starts
        index[0, ..., 1] = bounds[1:][order] - starts
        return index


class FarIndex:
    """The index of an open file with very many blocks, of which entries are read as they are asked for."""

    def __init__(self, layout: FileLayout, store: Any, key: str) -> None:
        self._layout = layout
        self._store = store
        self._key = key

    def __getitem__(self, coords: tuple[Any, ...]) -> NDArray[np.uint64]:
        """Offset and size of blocks by their coordinates c, x, y, z, as of an array."""
        _, *place = np.broadcast_arrays(*map(np.asarray, coords))
        numbers = morton.number(*place)
        entries = np.empty((*numbers.shape, 2), np.uint64)
        for at in np.ndindex(numbers.shape):
            start, end = self._layout.bounds(self._store, self._key, int(numbers[at]), 1)
            entries[at] = start, end - start
        return entries


def _require(key: str, holds: bool | np.bool_, found: str, expected: str) -> None:
    if not holds:
        raise ChunkError(key, f"{found}, expected {expected}")


def header_of(store: Any, key: str, dataset: Header) -> Header | None:
    """Header of the open file, or None where there is none; raises `ChunkError` if it isn't the dataset's."""
    data = store.get_range(key, 0, SIZE)
    if data is None:
        return None
    try:
        header = Header.parse(bytes(data), key, in_file=True)
    except MetadataError as error:
        raise ChunkError(key, "; ".join(error.problems)) from error
    if not header.fits(dataset):
        raise ChunkError(key, f"got {header}, expected the {dataset} of header.wkw but for the block type")
    return header


def _bound(nbytes: int) -> int:
    """Bytes of an LZ4 block of so many decoded bytes at most, as `LZ4_compressBound` has it."""
    return nbytes + nbytes // 255 + 16
