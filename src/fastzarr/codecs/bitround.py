"""The `bitround` codec: numbers rounded to their first significant bits.

Source: zarr-extensions registry, "bitround"; for floats it is numcodecs' `bitround`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from fastzarr.codecs.base import ChunkSpec, CodecBase, Kind, is_integer
from fastzarr.errors import MetadataError

_MANTISSAS = {"float16": 10, "float32": 23, "float64": 52, "bfloat16": 7, "complex64": 23, "complex128": 52}
"""Bits of the mantissa."""


@dataclass(frozen=True, kw_only=True)
class BitRoundCodec(CodecBase):
    """array→array that rounds to nearest, halves to even; decoding changes nothing."""

    name: ClassVar[str] = "bitround"
    kind: ClassVar[Kind] = "array_array"
    views: ClassVar[bool] = False
    _least: ClassVar[int] = 1

    keepbits: int
    """Bits kept: of a float's mantissa, of an integer from its highest set bit."""

    def __post_init__(self) -> None:
        valid = is_integer(self.keepbits, self._least, 64)
        self.check("keepbits", valid, f"an integer from {self._least} to 64")

    def resolve(self, spec: ChunkSpec) -> Self:
        """The codec itself; raises `MetadataError` for other data types and too many bits."""
        where = f"codec {self.name!r}"
        bits = _MANTISSAS.get(spec.dtype.name)
        if bits is None and (spec.dtype.kind not in "iumM" or self.name != BitRoundCodec.name):
            expected = "floats and complex numbers"
            if self.name == BitRoundCodec.name:
                expected += ", integers and times"
            raise MetadataError(where, [f"got data type {spec.dtype}, expected {expected}"])
        if bits is not None and self.keepbits > bits:
            raise MetadataError(
                where, [f"keepbits: got {self.keepbits}, expected {bits} at the most for {spec.dtype}"]
            )
        return super().resolve(spec)

    def encoded_spec(self, spec: ChunkSpec) -> ChunkSpec:
        """The same shape and data type; the fill value is rounded too."""
        fill = self.encode_array(np.asarray(spec.fill_value, spec.dtype).reshape(1))
        return replace(spec, fill_value=fill[0])

    def encode_array(self, chunk: NDArray[Any]) -> NDArray[Any]:
        """The rounded chunk; NaNs keep their bits."""
        native = np.array(chunk, chunk.dtype.newbyteorder("="), order="C")
        mantissa = _MANTISSAS.get(chunk.dtype.name)
        if mantissa is None:
            bits = native.reshape(-1).view(f"u{native.itemsize}")
            bits[...] = _round_integers(bits, self.keepbits)
        else:
            size = native.itemsize // (2 if native.dtype.kind == "c" else 1)
            bits = native.reshape(-1).view(f"u{size}")
            _round_floats(bits, self.keepbits, mantissa)
        return native

    def decode_array(self, encoded: NDArray[Any]) -> NDArray[Any]:
        """The chunk as it is."""
        return encoded


def _round_floats(bits: NDArray[Any], keep: int, mantissa: int) -> None:
    dropped = mantissa - keep
    if dropped == 0:
        return
    one = bits.dtype.type(1)
    whole = bits.dtype.type(np.iinfo(bits.dtype).max)
    infinite = (whole >> one) & ~bits.dtype.type((1 << mantissa) - 1)
    numbers = bits & (whole >> one) <= infinite
    shift = bits.dtype.type(dropped)
    half = bits.dtype.type((1 << (dropped - 1)) - 1)
    rounded = bits + ((bits >> shift & one) + half)
    rounded &= ~bits.dtype.type((1 << dropped) - 1)
    np.copyto(bits, rounded, where=numbers)


def _round_integers(bits: NDArray[Any], keep: int) -> NDArray[Any]:
    kind = bits.dtype.type
    highest = np.zeros(bits.shape, bits.dtype)
    rest = bits.copy()
    for step in (32, 16, 8, 4, 2, 1):
        if step < bits.itemsize * 8:
            high = rest >> kind(step)
            larger = high != 0
            highest += larger * kind(step)
            np.copyto(rest, high, where=larger)
    # Bits to drop: 0 where the number has no more than `keep`.
    length = highest + (bits != 0)
    dropped = np.where(length > keep, length - kind(min(keep, 64)), kind(0)).astype(bits.dtype)
    one = kind(1)
    half = np.where(dropped > 0, (one << np.maximum(dropped, one) - one) - one, kind(0)).astype(bits.dtype)
    step_up = np.where(dropped > 0, bits >> dropped & one, kind(0)).astype(bits.dtype) + half
    limit = kind(np.iinfo(bits.dtype).max)
    rounded = np.where(bits > limit - step_up, limit, bits + step_up).astype(bits.dtype)
    return rounded >> dropped << dropped  # type: ignore[no-any-return]
