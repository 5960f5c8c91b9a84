"""The `gzip` codec.

Source: Zarr v3 codecs specification, "gzip".
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from fastzarr.codecs import deflate
from fastzarr.codecs.base import Buffer, CodecBase, Kind, is_integer


@dataclass(frozen=True, kw_only=True)
class GzipCodec(CodecBase):
    """bytes→bytes as a gzip member."""

    name: ClassVar[str] = "gzip"
    kind: ClassVar[Kind] = "bytes_bytes"
    _libraries = deflate.LIBRARIES

    level: int = 5
    """Compression level, 0 to 9."""

    def __post_init__(self) -> None:
        self.check("level", is_integer(self.level, 0, 9), "an integer from 0 to 9")

    def encode(self, data: Buffer) -> Buffer:
        """One member."""
        return deflate.compress(data, self.level, deflate.GZIP)

    def decode(self, data: Buffer, out: memoryview | None) -> Buffer:
        """Content of all members."""
        return deflate.decompress(data, None if out is None else len(out), deflate.GZIP)
