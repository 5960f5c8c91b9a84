"""The `numcodecs.lz4` codec, which is v2's `lz4` compressor: a 4-byte size, then one LZ4 block."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import ClassVar

from fastzarr.codecs import native
from fastzarr.codecs.base import Buffer, CodecBase, Kind, is_integer
from fastzarr.errors import CodecError

_SIZE = struct.Struct("<i")
_EMPTY_BLOCK = b"\0"


@dataclass(frozen=True, kw_only=True)
class LZ4Codec(CodecBase):
    """bytes→bytes with LZ4."""

    name: ClassVar[str] = "numcodecs.lz4"
    kind: ClassVar[Kind] = "bytes_bytes"
    _libraries = ("numcodecs.lz4",)

    acceleration: int = 1
    """Speed over ratio; 1 compresses best."""

    def __post_init__(self) -> None:
        self.check("acceleration", is_integer(self.acceleration, -(2**31), 2**31 - 1), "an integer")

    def native(self, nbytes: int) -> native.NativeCodec | None:
        """What codes without Python's lock, or None."""
        return native.lz4(0, sized=True) if self.acceleration == 1 else None

    def encode(self, data: Buffer) -> Buffer:
        """Size and block."""
        from numcodecs import lz4

        return lz4.compress(data, self.acceleration)  # type: ignore[no-any-return]

    def decode(self, data: Buffer, out: memoryview | None) -> Buffer:
        """Content of the block."""
        from numcodecs import lz4

        if len(data) < _SIZE.size:
            raise CodecError(f"got {len(data)} bytes, expected a size of {_SIZE.size} bytes and an LZ4 block")
        (nbytes,) = _SIZE.unpack_from(data)
        if nbytes < 0 or (out is not None and nbytes != len(out)):
            expected = "0 or more" if out is None else len(out)
            raise CodecError(f"the LZ4 header tells of {nbytes} decoded bytes, expected {expected}")
        if nbytes == 0 and data[_SIZE.size :] == _EMPTY_BLOCK:
            return b""  # numcodecs takes it for an error.
        try:
            return lz4.decompress(data, out)  # type: ignore[no-any-return]
        except (RuntimeError, ValueError) as error:
            raise CodecError(str(error)) from error
