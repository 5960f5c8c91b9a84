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

    @functools.cached_property
    def plain_index(self) -> NDArray[np.uint64]:
        """Offset and size of each block where they are not compressed, shape `(*counts, 2)`."""
        size = self.header.block_nbytes
        places = np.arange(self.header.blocks + 1, dtype=np.uint64)
        return self._index(places * np.uint64(size) + np.uint64(SIZE))

    @functools.cached_property
    def zero_block(self) -> bytes:
        """What a block of zeros is stored as."""
        return bytes(self.inner.encode(np.zeros(self.chunk_shape, self.spec.dtype)))

    def read_index(self, store: Any, key: str) -> NDArray[np.uint64] | None:
        """Offset and size of each block of the open file `store`; None where there is none.

        Raises `ChunkError` where the file can't be what its header says.
        """
        head = store.get_range(key, 0, self.index_size)
        if head is None:
            return None
        if not self.header.compressed:
            self._require(key, store.size == self.file_size, f"got {store.size} bytes", f"{self.file_size}")
            return self.plain_index
        text = f"got {store.size} bytes"
        self._require(key, len(head) == self.index_size, text, f"a jump table up to byte {self.index_size}")
        ends = np.frombuffer(head, _ENTRY, offset=SIZE)
        bounds = np.empty(len(ends) + 1, np.uint64)
        bounds[0], bounds[1:] = self.index_size, ends
        wrong = np.flatnonzero(bounds[1:] < bounds[:-1])
        if len(wrong):
            text = f"jump table: block {wrong[0]} ends at byte {bounds[wrong[0] + 1]}"
            self._require(key, False, text, f"{bounds[wrong[0]]}, where it begins, or more")
        self._require(key, bounds[-1] == store.size, text, f"{bounds[-1]}, the end of the last block")
        largest = _bound(self.header.block_nbytes)
        wrong = np.flatnonzero(bounds[1:] - bounds[:-1] > largest)
        if len(wrong):
            text = f"jump table: block {wrong[0]} has {bounds[wrong[0] + 1] - bounds[wrong[0]]} bytes"
            self._require(key, False, text, f"{largest} at most")
        return self._index(bounds)

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

    def _require(self, key: str, holds: bool | np.bool_, found: str, expected: str) -> None:
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
