"""The `numcodecs.zlib` codec, which is v2's `zlib` compressor."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from fastzarr.codecs import deflate
from fastzarr.codecs.base import Buffer, CodecBase, Kind, is_integer


@dataclass(frozen=True, kw_only=True)
class ZlibCodec(CodecBase):
    """bytes→bytes as a zlib stream."""

    name: ClassVar[str] = "numcodecs.zlib"
    kind: ClassVar[Kind] = "bytes_bytes"
    _libraries = deflate.LIBRARIES

    level: int = 1
    """Compression level, 0 to 9."""

    def __post_init__(self) -> None:
        self.check("level", is_integer(self.level, 0, 9), "an integer from 0 to 9")

    def encode(self, data: Buffer) -> Buffer:
        """One stream."""
        return deflate.compress(data, self.level, deflate.ZLIB)

    def decode(self, data: Buffer, out: memoryview | None) -> Buffer:
        """Content of the stream."""
        return deflate.decompress(data, None if out is None else len(out), deflate.ZLIB)
