"""One bare LZ4 block: neither frame nor size."""

from __future__ import annotations

from dataclasses import dataclass
from types import ModuleType
from typing import ClassVar

from fastzarr.codecs import native
from fastzarr.codecs.base import Buffer, ChunkSpec, CodecBase, Kind
from fastzarr.errors import CodecError

HC_LEVEL = 9
"""What the reference library compresses with."""


@dataclass(frozen=True, kw_only=True)
class LZ4Block(CodecBase):
    """bytes→bytes as one block of the LZ4 block format."""

    name: ClassVar[str] = "lz4 block"
    kind: ClassVar[Kind] = "bytes_bytes"

    level: int
    """0 for the fast encoder, else the level of the high-compression one."""
    nbytes: int = 0
    """Bytes of the decoded block; of a resolved codec."""

    def resolve(self, spec: ChunkSpec) -> LZ4Block:
        """The codec with the size of its blocks."""
        elements = 1
        for size in spec.shape:
            elements *= size
        return LZ4Block(level=self.level, nbytes=elements * spec.dtype.itemsize)

    def native(self, nbytes: int) -> native.NativeCodec | None:
        """What codes without Python's lock, or None."""
        return native.lz4(self.level, sized=False)

    def encode(self, data: Buffer) -> Buffer:
        """The block."""
        how = {"mode": "high_compression", "compression": self.level} if self.level else {"mode": "default"}
        return _lz4().compress(data, store_size=False, **how)  # type: ignore[no-any-return]

    def decode(self, data: Buffer, out: memoryview | None) -> Buffer:
        """Content of the block, of exactly the size of its blocks."""
        block = _lz4()
        try:
            decoded: bytes = block.decompress(data, uncompressed_size=self.nbytes)
        except block.LZ4BlockError as error:
            raise CodecError(f"no LZ4 block of {self.nbytes} bytes: {error}") from error
        if len(decoded) != self.nbytes:
            raise CodecError(f"got an LZ4 block of {len(decoded)} bytes, expected {self.nbytes}")
        if out is None:
            return decoded
        out[:] = decoded
        return out


def _lz4() -> ModuleType:
    try:
        from lz4 import block
    except ImportError as error:
        raise ImportError("compressed WKW files need the package lz4: pip install 'fastzarr[wkw]'") from error
    return block  # type: ignore[no-any-return]
