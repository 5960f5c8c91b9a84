"""The 16 bytes at the start of `header.wkw` and of each file.

Source: webknossos-wrap, README.md ("File header") and rust/src/header.rs.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Literal, Self, get_args

import numpy as np

from fastzarr.codecs.base import is_integer
from fastzarr.errors import MetadataError

BlockType = Literal["raw", "lz4", "lz4hc"]

SIZE = 16
"""Bytes of a header."""
_FORM = struct.Struct("<3s5BQ")
_MAGIC = b"WKW"
_VERSION = 1
_BLOCK_TYPES: tuple[BlockType, ...] = get_args(BlockType)
_VOXEL_TYPES = ("u1", "u2", "u4", "u8", "f4", "f8", "i1", "i2", "i4", "i8")
_LARGEST_BLOCK_LEN = 1 << 15
_LARGEST_FILE_LEN = 1 << 9
"""Beyond that a file has more blocks than 30 bits count, which other readers refuse."""
_MOST_VOXEL_BYTES = 255
_LARGEST_LZ4 = 0x7E000000
"""Bytes that LZ4 takes."""
_LARGEST_RAW = 1 << 40


@dataclass(frozen=True, kw_only=True)
class Header:
    """What all files of a dataset are like."""

    dtype: np.dtype[np.generic]
    """Data type of one channel of a voxel."""
    channels: int = 1
    """Number of channels."""
    block_len: int = 32
    """Voxels along each edge of a block: a power of two."""
    file_len: int = 32
    """Blocks along each edge of a file: a power of two."""
    block_type: BlockType = "raw"
    """How blocks are stored."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "dtype", np.dtype(self.dtype).newbyteorder("="))
        problems = [*self._problems()]
        if problems:
            raise MetadataError("WKW header", problems)

    def _problems(self) -> list[str]:
        problems = []
        names = ", ".join(np.dtype(name).name for name in _VOXEL_TYPES)
        if self.dtype.str[1:] not in _VOXEL_TYPES:
            problems.append(f"dtype: got {self.dtype}, expected one of: {names}")
        elif not is_integer(self.channels, 1, _MOST_VOXEL_BYTES // self.dtype.itemsize):
            most = _MOST_VOXEL_BYTES // self.dtype.itemsize
            problems.append(f"channels: got {self.channels!r}, expected 1 to {most} of {self.dtype}")
        for name, value, largest in (
            ("block_len", self.block_len, _LARGEST_BLOCK_LEN),
            ("file_len", self.file_len, _LARGEST_FILE_LEN),
        ):
            if not is_integer(value, 1, largest) or value & value - 1:
                problems.append(f"{name}: got {value!r}, expected a power of two up to {largest}")
        if self.block_type not in _BLOCK_TYPES:
            problems.append(f"block_type: got {self.block_type!r}, expected one of {_BLOCK_TYPES}")
        if problems:
            return problems
        largest = _LARGEST_LZ4 if self.compressed else _LARGEST_RAW
        if self.block_nbytes > largest:
            problems.append(f"block_len: got blocks of {self.block_nbytes} bytes, expected at most {largest}")
        return problems

    @property
    def compressed(self) -> bool:
        """Whether blocks are LZ4 blocks."""
        return self.block_type != "raw"

    @property
    def voxel_nbytes(self) -> int:
        """Bytes of a voxel, all channels."""
        return self.channels * self.dtype.itemsize

    @property
    def block_nbytes(self) -> int:
        """Bytes of a decoded block."""
        return int(self.voxel_nbytes * self.block_len**3)

    @property
    def blocks(self) -> int:
        """Number of blocks in a file."""
        return int(self.file_len**3)

    @property
    def cube_len(self) -> int:
        """Voxels along each edge of a file."""
        return self.block_len * self.file_len

    @property
    def data_offset(self) -> int:
        """Where the first block of a file is."""
        return SIZE + 8 * self.blocks if self.compressed else SIZE

    def fits(self, other: Header) -> bool:
        """Whether files of `other` may lie in the same dataset: all but how blocks are stored is equal."""
        return self._form() == other._form()

    def to_bytes(self, *, data_offset: int) -> bytes:
        """The header of a file whose first block is at `data_offset`; 0 for `header.wkw`."""
        lengths = self.block_len.bit_length() - 1 | (self.file_len.bit_length() - 1) << 4
        block_type = _BLOCK_TYPES.index(self.block_type) + 1
        voxel_type = _VOXEL_TYPES.index(self.dtype.str[1:]) + 1
        return _FORM.pack(_MAGIC, _VERSION, lengths, block_type, voxel_type, self.voxel_nbytes, data_offset)

    @classmethod
    def parse(cls, data: bytes, where: str, *, in_file: bool) -> Self:
        """The header of a file, or of `header.wkw`; raises `MetadataError` with all that is wrong."""
        if len(data) != SIZE:
            raise MetadataError(where, [f"got {len(data)} bytes, expected a WKW header of {SIZE}"])
        magic, version, lengths, block_type, voxel_type, voxel_nbytes, offset = _FORM.unpack(data)
        if magic != _MAGIC:
            raise MetadataError(where, [f"got {magic!r} at its start, expected {_MAGIC!r}"])
        if version != _VERSION:
            raise MetadataError(where, [f"version: got {version}, expected {_VERSION}"])
        problems = []
        if not 1 <= block_type <= len(_BLOCK_TYPES):
            problems.append(f"block type: got {block_type}, expected 1 to {len(_BLOCK_TYPES)}")
        if not 1 <= voxel_type <= len(_VOXEL_TYPES):
            problems.append(f"voxel type: got {voxel_type}, expected 1 to {len(_VOXEL_TYPES)}")
        if problems:
            raise MetadataError(where, problems)
        dtype = np.dtype(f"<{_VOXEL_TYPES[voxel_type - 1]}").newbyteorder("=")
        channels, rest = divmod(voxel_nbytes, dtype.itemsize)
        if rest or not channels:
            expected = f"a multiple of {dtype.itemsize}, the bytes of {dtype}"
            raise MetadataError(where, [f"voxel size: got {voxel_nbytes}, expected {expected}"])
        try:
            header = cls(
                dtype=dtype,
                channels=channels,
                block_len=1 << (lengths & 15),
                file_len=1 << (lengths >> 4),
                block_type=_BLOCK_TYPES[block_type - 1],
            )
        except MetadataError as error:
            raise MetadataError(where, error.problems) from error
        expected_offset = header.data_offset if in_file else 0
        if offset != expected_offset:
            raise MetadataError(where, [f"data offset: got {offset}, expected {expected_offset}"])
        return header

    def _form(self) -> tuple[object, ...]:
        return self.dtype, self.channels, self.block_len, self.file_len
