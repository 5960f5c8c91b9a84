"""numcodecs' compressors in v3's form: `numcodecs.blosc`, `zstd`, `gzip`, `bz2` and `lzma`.

`numcodecs.zlib` and `numcodecs.lz4` have files of their own, since v3 has no other name for them.
"""

from __future__ import annotations

import bz2
import copy
import json
import lzma
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal, Protocol, Self

from fastzarr.codecs.base import Buffer, ChunkSpec, CodecBase, Kind, is_integer
from fastzarr.codecs.blosc import BloscCodec, itemsize_of
from fastzarr.codecs.gzip import GzipCodec
from fastzarr.codecs.zstd import ZstdCodec
from fastzarr.errors import CodecError, MetadataError

_SHUFFLES: tuple[Literal["noshuffle", "shuffle", "bitshuffle"], ...] = ("noshuffle", "shuffle", "bitshuffle")
_AUTOMATIC = -1


@dataclass(frozen=True, kw_only=True)
class Blosc(CodecBase):
    """bytes→bytes with Blosc, configured with v2's numbers."""

    name: ClassVar[str] = "numcodecs.blosc"
    kind: ClassVar[Kind] = "bytes_bytes"
    _libraries = ("numcodecs.blosc",)

    cname: Literal["blosclz", "lz4", "lz4hc", "snappy", "zlib", "zstd"] = "lz4"
    """Compressor inside Blosc."""
    clevel: int = 5
    """Compression level, 0 to 9."""
    shuffle: int = 1
    """0 for none, 1 by bytes, 2 by bits, -1 by bits for one-byte elements and else by bytes."""
    blocksize: int = 0
    """Bytes of a block; 0 lets Blosc choose."""
    typesize: int | None = None
    """Bytes of an element for the shuffle, 1 to 255; None takes the data type's."""

    def __post_init__(self) -> None:
        self.check("shuffle", is_integer(self.shuffle, _AUTOMATIC, 2), "-1, 0, 1 or 2")
        try:
            self._codec()
        except MetadataError as error:
            raise MetadataError(f"codec {self.name!r}", error.problems) from error

    def config(self) -> dict[str, Any]:
        """Configuration as it is written."""
        configuration = super().config()
        if self.typesize is None:
            configuration.pop("typesize")
        return configuration

    def resolve(self, spec: ChunkSpec) -> Self:
        """The codec with typesize taken from the data type where it is open."""
        return replace(super().resolve(spec), typesize=self.typesize or itemsize_of(spec.dtype))

    def require_encoder(self) -> None:
        """Raise `MetadataError` where the C library was built without the compressor."""
        self._codec().require_encoder()

    def encode(self, data: Buffer) -> Buffer:
        """One Blosc chunk."""
        return self._codec().encode(data)

    def decode(self, data: Buffer, out: memoryview | None) -> Buffer:
        """Content of one Blosc chunk."""
        return self._codec().decode(data, out)

    def _codec(self) -> BloscCodec:
        size = self.typesize or 1
        shuffle = _SHUFFLES[self.shuffle] if self.shuffle >= 0 else "bitshuffle" if size == 1 else "shuffle"
        return BloscCodec(
            cname=self.cname,
            clevel=self.clevel,
            shuffle=shuffle,
            blocksize=self.blocksize,
            typesize=self.typesize,
        )


@dataclass(frozen=True, kw_only=True)
class Zstd(ZstdCodec):
    """bytes→bytes with Zstandard."""

    name: ClassVar[str] = "numcodecs.zstd"


@dataclass(frozen=True, kw_only=True)
class GZip(GzipCodec):
    """bytes→bytes as a gzip member."""

    name: ClassVar[str] = "numcodecs.gzip"

    level: int = 1
    """Compression level, 0 to 9."""


@dataclass(frozen=True, kw_only=True)
class BZ2(CodecBase):
    """bytes→bytes with bzip2."""

    name: ClassVar[str] = "numcodecs.bz2"
    kind: ClassVar[Kind] = "bytes_bytes"

    level: int = 1
    """Compression level, 1 to 9."""

    def __post_init__(self) -> None:
        self.check("level", is_integer(self.level, 1, 9), "an integer from 1 to 9")

    def encode(self, data: Buffer) -> Buffer:
        """One stream."""
        return bz2.compress(data, self.level)

    def decode(self, data: Buffer, out: memoryview | None) -> Buffer:
        """Content of all streams."""
        return _decompress(bz2.BZ2Decompressor, data, out)


@dataclass(frozen=True, kw_only=True)
class LZMA(CodecBase):
    """bytes→bytes with LZMA, by default in the xz container."""

    name: ClassVar[str] = "numcodecs.lzma"
    kind: ClassVar[Kind] = "bytes_bytes"

    format: int = lzma.FORMAT_XZ
    """Container, as a number of the standard library's `lzma`: 1 xz, 2 alone, 3 raw."""
    check_: int = -1
    """Kind of checksum, as a number of the standard library's `lzma`; -1 takes the container's own.

    In documents it is the member `check`.
    """
    preset: int | None = None
    """Compression level, 0 to 9; None takes the library's, 6."""
    filters: Sequence[Mapping[str, Any]] | None = None
    """Filters inside LZMA, as the standard library's `lzma` has them, instead of a preset."""

    def __post_init__(self) -> None:
        self.check("format", is_integer(self.format, 1, 3), "1, 2 or 3")
        if self.filters is not None:
            valid = isinstance(self.filters, list | tuple) and all(
                isinstance(f, Mapping) for f in self.filters
            )
            self.check("filters", valid, "a list of objects, or null")
            object.__setattr__(self, "filters", tuple(copy.deepcopy(dict(entry)) for entry in self.filters))
        try:
            self._compressor()
        except (lzma.LZMAError, ValueError, TypeError, OverflowError, MemoryError) as error:
            raise MetadataError(f"codec {self.name!r}", [f"got {self.config()!r}: {error}"]) from error

    def __hash__(self) -> int:
        return hash(json.dumps(self.config(), sort_keys=True, default=repr))

    @classmethod
    def from_config(cls, configuration: dict[str, Any]) -> Self:
        """Codec from its configuration; raises `MetadataError`."""
        renamed = {("check_" if member == "check" else member): v for member, v in configuration.items()}
        return super().from_config(renamed)

    def config(self) -> dict[str, Any]:
        """Configuration as it is written."""
        filters = None if self.filters is None else copy.deepcopy(list(self.filters))
        return {"format": self.format, "check": self.check_, "preset": self.preset, "filters": filters}

    def encode(self, data: Buffer) -> Buffer:
        """One stream."""
        compressor = self._compressor()
        return compressor.compress(data) + compressor.flush()

    def decode(self, data: Buffer, out: memoryview | None) -> Buffer:
        """Content of all streams."""
        return _decompress(self._decompressor, data, out)

    def _compressor(self) -> lzma.LZMACompressor:
        filters: Any = self.filters
        return lzma.LZMACompressor(self.format, self.check_, self.preset, filters)

    def _decompressor(self) -> lzma.LZMADecompressor:
        filters: Any = self.filters if self.format == lzma.FORMAT_RAW else None
        return lzma.LZMADecompressor(self.format, filters=filters)


class _Decompressor(Protocol):
    """What `bz2` and `lzma` have in common."""

    eof: bool
    unused_data: bytes

    def decompress(self, data: Buffer, max_length: int = -1) -> bytes: ...


def _decompress(make: Any, data: Buffer, out: memoryview | None) -> Buffer:
    """Content of all streams, which must be whole, and of the size of `out`, where it is given."""
    size = None if out is None else len(out)
    parts: list[bytes] = []
    found = 0
    rest: Buffer = data
    while True:
        decompressor: _Decompressor = make()
        try:
            part = decompressor.decompress(rest, -1 if size is None else size - found + 1)
            if not decompressor.eof and size is not None and len(part) == size - found:
                part += decompressor.decompress(b"", 1)
        except (OSError, lzma.LZMAError, EOFError, ValueError) as error:
            raise CodecError(str(error)) from error
        parts.append(part)
        found += len(part)
        if size is not None and found > size:
            raise CodecError(f"decodes to more than the {size} bytes expected")
        if not decompressor.eof:
            raise CodecError("the stream is truncated")
        rest = decompressor.unused_data
        if not rest:
            break
    if size is not None and found < size:
        raise CodecError(f"decodes to {found} bytes, expected {size}")
    return parts[0] if len(parts) == 1 else b"".join(parts)
