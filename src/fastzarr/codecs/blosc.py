"""The `blosc` codec (c-blosc 1 through numcodecs).

Source: Zarr v3 codecs specification, "blosc"; the 16-byte chunk header is c-blosc's README_CHUNK_FORMAT.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any, ClassVar, Literal, Self

import numpy as np

from fastzarr.codecs import native
from fastzarr.codecs.base import Buffer, ChunkSpec, CodecBase, Kind, is_integer
from fastzarr.errors import CodecError

_CNAMES = ("blosclz", "lz4", "lz4hc", "snappy", "zlib", "zstd")
_SHUFFLES = {"noshuffle": 0, "shuffle": 1, "bitshuffle": 2}
_HEADER = struct.Struct("<4BIII")


class BloscCname(StrEnum):
    """Compressors inside Blosc, by zarr-python's names."""

    blosclz = "blosclz"
    lz4 = "lz4"
    lz4hc = "lz4hc"
    snappy = "snappy"
    zlib = "zlib"
    zstd = "zstd"


class BloscShuffle(StrEnum):
    """Shuffles of Blosc, by zarr-python's names."""

    noshuffle = "noshuffle"
    shuffle = "shuffle"
    bitshuffle = "bitshuffle"


@dataclass(frozen=True, kw_only=True)
class BloscCodec(CodecBase):
    """bytes→bytes with Blosc."""

    name: ClassVar[str] = "blosc"
    kind: ClassVar[Kind] = "bytes_bytes"
    _libraries = ("numcodecs.blosc",)

    typesize: int | None = None
    """Bytes of an element for the shuffle, 1 to 255; None takes the data type's."""
    cname: Literal["blosclz", "lz4", "lz4hc", "snappy", "zlib", "zstd"] = "zstd"
    """Compressor inside Blosc."""
    clevel: int = 5
    """Compression level, 0 to 9."""
    shuffle: Literal["noshuffle", "shuffle", "bitshuffle"] | None = None
    """Shuffle before compression; None takes `bitshuffle` for one-byte elements, else `shuffle`."""
    blocksize: int = 0
    """Bytes of a block; 0 lets Blosc choose."""

    def __post_init__(self) -> None:
        for member in ("cname", "shuffle"):
            if isinstance(getattr(self, member), StrEnum):
                object.__setattr__(self, member, getattr(self, member).value)
        self.check("cname", self.cname in _CNAMES, f"one of {', '.join(_CNAMES)}")
        self.check("clevel", is_integer(self.clevel, 0, 9), "an integer from 0 to 9")
        self.check(
            "shuffle", self.shuffle is None or self.shuffle in _SHUFFLES, f"one of {', '.join(_SHUFFLES)}"
        )
        self.check(
            "typesize", self.typesize is None or is_integer(self.typesize, 1, 255), "an integer from 1 to 255"
        )
        self.check("blocksize", is_integer(self.blocksize, 0, 2**31 - 1), "an integer of 0 or more")

    def resolve(self, spec: ChunkSpec) -> Self:
        """The codec with typesize and shuffle taken from the data type where they are open."""
        itemsize = itemsize_of(spec.dtype)
        shuffle = self.shuffle or ("bitshuffle" if itemsize == 1 else "shuffle")
        return replace(super().resolve(spec), typesize=self.typesize or itemsize, shuffle=shuffle)

    def require_encoder(self) -> None:
        """Raise `MetadataError` where the C library can't compress, as it was built; for new arrays."""
        from numcodecs import blosc

        built = blosc.list_compressors()
        self.check("cname", self.cname in built, f"what Blosc was built with here: {', '.join(built)}")

    def native(self, nbytes: int) -> native.NativeCodec | None:
        """What codes without Python's lock and without threads of its own, or None; of a resolved codec."""
        functions = native.addresses("numcodecs.blosc", ("blosc_decompress_ctx", "blosc_compress_ctx"))
        shuffle = _SHUFFLES[self.shuffle or "noshuffle"]
        if functions is None:
            return None
        return ("blosc", functions, self.clevel, shuffle, self.typesize, self.blocksize, self.cname)

    def encode(self, data: Buffer) -> Buffer:
        """One Blosc chunk."""
        from numcodecs import blosc

        shuffle = _SHUFFLES[self.shuffle or "noshuffle"]
        try:
            return blosc.compress(  # type: ignore[no-any-return]
                data, self.cname.encode(), self.clevel, shuffle, self.blocksize, self.typesize
            )
        except ValueError:
            self.require_encoder()
            raise

    def decode(self, data: Buffer, out: memoryview | None) -> Buffer:
        """Content of one Blosc chunk, whose header must fit the data: the C library trusts it."""
        from numcodecs import blosc

        if len(data) < _HEADER.size:
            raise CodecError(f"got {len(data)} bytes, expected a Blosc header of {_HEADER.size}")
        *_, nbytes, _, cbytes = _HEADER.unpack_from(data)
        if cbytes != len(data):
            raise CodecError(f"the Blosc header tells of {cbytes} compressed bytes, found {len(data)}")
        if out is not None and nbytes != len(out):
            raise CodecError(f"the Blosc header tells of {nbytes} decoded bytes, expected {len(out)}")
        if nbytes == 0:
            return b""
        try:
            return blosc.decompress(data, out)  # type: ignore[no-any-return]
        except RuntimeError as error:
            raise CodecError(str(error)) from error


def itemsize_of(dtype: np.dtype[Any]) -> int:
    """Bytes of a stored element where it has a fixed size a shuffle can use, else 1."""
    fixed = not dtype.hasobject and dtype.kind != "T" and dtype.itemsize <= 255
    return dtype.itemsize if fixed and dtype.itemsize else 1
