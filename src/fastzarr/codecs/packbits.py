"""The `packbits` codec: elements of few bits side by side.

Source: zarr-extensions registry, "packbits".
"""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray

from fastzarr.codecs.base import Buffer, ChunkSpec, ComputedCodec, is_integer
from fastzarr.errors import CodecError, MetadataError

_BITS = {
    "bool": 1,
    "int2": 2,
    "uint2": 2,
    "int4": 4,
    "uint4": 4,
    "float4_e2m1fn": 4,
    "float6_e2m3fn": 6,
    "float6_e3m2fn": 6,
}
"""Bits of data types that don't fill the byte they have in memory."""


@dataclass(frozen=True, kw_only=True)
class PackBitsCodec(ComputedCodec):
    """array→bytes without unused bits."""

    name: ClassVar[str] = "packbits"

    padding_encoding: Literal["first_byte", "last_byte", "none"] = "none"
    """Where a byte tells how many bits were added."""
    first_bit: int | None = None
    """First bit kept of each component, from the least significant; None is 0."""
    last_bit: int | None = None
    """Last bit kept; None is the data type's last."""

    def __post_init__(self) -> None:
        allowed = ("first_byte", "last_byte", "none")
        self.check("padding_encoding", self.padding_encoding in allowed, f"one of {', '.join(allowed)}")
        for member in ("first_bit", "last_bit"):
            value = getattr(self, member)
            self.check(member, value is None or is_integer(value, 0, 63), "an integer from 0 to 63, or null")

    def config(self) -> dict[str, Any]:
        """Configuration as it is written, without what is open."""
        return {member: value for member, value in super().config().items() if value is not None}

    def resolve(self, spec: ChunkSpec) -> Self:
        """The codec that knows its chunks; raises `MetadataError` for bits the data type doesn't have."""
        resolved = super().resolve(spec)
        dtype = spec.dtype
        if dtype.kind not in "biufcmM" and dtype.name not in _BITS and dtype.name != "bfloat16":
            is_small = dtype.kind == "V" and dtype.names is None and dtype.name.startswith("float8")
            if not is_small:
                raise MetadataError(f"codec {self.name!r}", [f"got data type {dtype}, expected numbers"])
        resolved.check("last_bit", self.last_bit is None or self.last_bit < _width(dtype), "a bit it has")
        first, last = resolved._kept
        resolved.check("first_bit", first <= last, f"{last} at the most")
        return resolved

    def encode_array(self, chunk: NDArray[Any]) -> Buffer:
        """The kept bits of all elements, and the number of bits added, where it is to be told."""
        first, last = self._kept
        little = np.ascontiguousarray(chunk, chunk.dtype.newbyteorder("<")).reshape(-1)
        size = little.itemsize // _components(chunk.dtype)
        octets = little.view(np.uint8).reshape(-1, size)
        if (first, last) == (0, size * 8 - 1):
            packed = octets.reshape(-1)
        elif self.chunk.dtype == np.bool_:
            packed = np.packbits(octets, bitorder="little")
        else:
            bits = np.unpackbits(octets, axis=1, bitorder="little")
            packed = np.packbits(bits[:, first : last + 1], bitorder="little")
        padding = bytes([self._padding])
        before = padding if self.padding_encoding == "first_byte" else b""
        behind = padding if self.padding_encoding == "last_byte" else b""
        return b"".join((before, packed.data, behind))

    def decode_array(self, data: Buffer) -> NDArray[Any]:
        """The chunk, with zeros (for signed integers the sign) for bits not kept; raises `CodecError`."""
        first, last = self._kept
        dtype = self.chunk.dtype
        packed = np.frombuffer(self._without_padding(memoryview(data)), np.uint8)
        size = dtype.itemsize // _components(dtype)
        if (first, last) == (0, size * 8 - 1):
            octets = packed
        elif dtype == np.bool_:
            octets = np.unpackbits(packed, count=math.prod(self.chunk.shape), bitorder="little")
        else:
            components = math.prod(self.chunk.shape) * _components(dtype)
            kept = last - first + 1
            bits = np.unpackbits(packed, count=components * kept, bitorder="little").reshape(-1, kept)
            whole = np.zeros((components, size * 8), np.uint8)
            whole[:, first : last + 1] = bits
            if _is_signed(dtype):
                whole[:, last + 1 : _width(dtype)] = bits[:, -1:]
            octets = np.packbits(whole, axis=1, bitorder="little").reshape(-1)
        elements = octets.view(dtype.newbyteorder("<")) if sys.byteorder == "big" else octets.view(dtype)
        return elements.reshape(self.chunk.shape)

    @property
    def _kept(self) -> tuple[int, int]:
        last = _width(self.chunk.dtype) - 1 if self.last_bit is None else self.last_bit
        return self.first_bit or 0, last

    @property
    def _padding(self) -> int:
        return -self._bit_count % 8

    @property
    def _bit_count(self) -> int:
        first, last = self._kept
        return math.prod(self.chunk.shape) * _components(self.chunk.dtype) * (last - first + 1)

    def _without_padding(self, data: memoryview) -> memoryview:
        told = self.padding_encoding != "none"
        expected = (self._bit_count + 7) // 8 + told
        if len(data) != expected:
            raise CodecError(f"got {len(data)} bytes, expected {expected}")
        if not told:
            return data
        padding, body = (
            (data[0], data[1:]) if self.padding_encoding == "first_byte" else (data[-1], data[:-1])
        )
        if padding != self._padding:
            raise CodecError(f"the data tells of {padding} added bits, expected {self._padding}")
        return body


def _components(dtype: np.dtype[Any]) -> int:
    return 2 if dtype.kind == "c" else 1


def _width(dtype: np.dtype[Any]) -> int:
    """Bits of a component."""
    return _BITS.get(dtype.name, dtype.itemsize * 8 // _components(dtype))


def _is_signed(dtype: np.dtype[Any]) -> bool:
    return dtype.kind in "imM" or dtype.name in ("int2", "int4")
