"""The `numcodecs.shuffle` codec: first all first bytes of elements, then all second ones, and so on."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar, Self

import numpy as np

from fastzarr.codecs.base import Buffer, ChunkSpec, CodecBase, Kind, is_integer
from fastzarr.codecs.blosc import itemsize_of
from fastzarr.errors import CodecError


@dataclass(frozen=True, kw_only=True)
class Shuffle(CodecBase):
    """bytes→bytes with the bytes of elements apart."""

    name: ClassVar[str] = "numcodecs.shuffle"
    kind: ClassVar[Kind] = "bytes_bytes"
    _libraries = ("numcodecs.shuffle",)

    elementsize: int | None = None
    """Bytes of an element; None takes the data type's."""

    def __post_init__(self) -> None:
        valid = self.elementsize is None or is_integer(self.elementsize, 0, 2**31 - 1)
        self.check("elementsize", valid, "an integer of 0 or more")

    def resolve(self, spec: ChunkSpec) -> Self:
        """The codec with the element size taken from the data type where it is open."""
        resolved = super().resolve(spec)
        return (
            resolved if self.elementsize is not None else replace(self, elementsize=itemsize_of(spec.dtype))
        )

    def encode(self, data: Buffer) -> Buffer:
        """The bytes shuffled; raises `CodecError` unless they are whole elements."""
        return self._moved("encode", data)

    def decode(self, data: Buffer, out: memoryview | None) -> Buffer:
        """The bytes in order."""
        if out is not None and len(out) != len(data):
            raise CodecError(f"got {len(data)} bytes, expected {len(out)}")
        return self._moved("decode", data)

    def _moved(self, step: str, data: Buffer) -> Buffer:
        from numcodecs.shuffle import Shuffle as Numcodec

        size = self.elementsize or 1
        if size == 1 or len(data) == 0:
            return data
        if len(data) % size:
            raise CodecError(f"got {len(data)} bytes, expected a multiple of the element size {size}")
        moved = getattr(Numcodec(size), step)(np.frombuffer(data, np.uint8))
        return memoryview(moved)
