"""numcodecs' filters in v3's form: `delta`, `fixedscaleoffset`, `quantize`, `astype`, `bitround`, `packbits`.

numcodecs does the work, on chunks in C order. Encoded chunks keep their shape, except those of `packbits`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from fastzarr.codecs.base import ChunkSpec, Kind, ShapedCodec, is_integer
from fastzarr.codecs.bitround import BitRoundCodec
from fastzarr.codecs.numcodecs.registered import numcodec
from fastzarr.errors import CodecError, MetadataError


@dataclass(frozen=True, kw_only=True)
class _Filter(ShapedCodec):
    kind: ClassVar[Kind] = "array_array"
    views: ClassVar[bool] = False
    _dtypes: ClassVar[tuple[str, ...]] = ("dtype", "astype")
    """Members that are dtypes."""

    codec: Any = field(default=None, init=False, repr=False, compare=False)
    """numcodecs' codec; of a resolved codec only."""

    def __post_init__(self) -> None:
        for member in self._dtypes:
            value = getattr(self, member)
            if value is not None:
                try:
                    dtype = np.dtype(value)
                except (TypeError, ValueError):
                    dtype = np.dtype(object)
                self.check(member, dtype.kind in "biufcmM", "a dtype of numbers")
                object.__setattr__(self, member, str(dtype) if dtype.isnative else dtype.str)

    def resolve(self, spec: ChunkSpec) -> Self:
        """The codec that has numcodecs' codec; raises `MetadataError` for what that refuses."""
        completed = self._completed(spec)
        resolved = super(_Filter, completed).resolve(spec)
        members = {member: value for member, value in completed.config().items() if value is not None}
        codec = numcodec({"id": self.name.removeprefix("numcodecs."), **members})
        decoded = getattr(codec, "decode_dtype", getattr(codec, "dtype", spec.dtype))
        if decoded != spec.dtype.newbyteorder("="):
            raise MetadataError(
                f"codec {self.name!r}", [f"decodes to {decoded}, expected the chunk's data type {spec.dtype}"]
            )
        object.__setattr__(resolved, "codec", codec)
        return resolved

    def encoded_spec(self, spec: ChunkSpec) -> ChunkSpec:
        """Spec of the encoded data type."""
        encoded = getattr(self.codec, "encode_dtype", getattr(self.codec, "astype", spec.dtype))
        return replace(spec, dtype=encoded.newbyteorder("="), fill_value=self._encoded_fill(spec))

    def encode_array(self, chunk: NDArray[Any]) -> NDArray[Any]:
        """What the filter makes of the chunk."""
        if chunk.size == 0:
            return np.empty(chunk.shape, self.encoded_spec(self.chunk).dtype)
        with np.errstate(all="ignore"):
            encoded = self.codec.encode(np.ascontiguousarray(chunk, self.chunk.dtype.newbyteorder("=")))
        return encoded.reshape(chunk.shape)  # type: ignore[no-any-return]

    def decode_array(self, encoded: NDArray[Any]) -> NDArray[Any]:
        """What it was made of; raises `CodecError`."""
        if encoded.size == 0:
            return np.empty(self.chunk.shape, self.chunk.dtype)
        try:
            with np.errstate(all="ignore"):
                return self.codec.decode(np.ascontiguousarray(encoded)).reshape(self.chunk.shape)  # type: ignore[no-any-return]
        except (ValueError, TypeError, IndexError) as error:
            raise CodecError(f"{self.name}: {error}") from error

    def _completed(self, spec: ChunkSpec) -> Self:
        """The codec with the data type of the chunk where its own is open."""
        open_ = {"dtype", "decode_dtype"} & set(self._dtypes)
        members: dict[str, Any] = {
            member: spec.dtype.name for member in open_ if getattr(self, member) is None
        }
        return replace(self, **members)

    def _encoded_fill(self, spec: ChunkSpec) -> Any:
        return self.encode_array(np.asarray([spec.fill_value], spec.dtype))[0]


@dataclass(frozen=True, kw_only=True)
class Delta(_Filter):
    """array→array of differences between neighbours in C order."""

    name: ClassVar[str] = "numcodecs.delta"

    dtype: str | None = None
    """dtype of the chunk; None takes the chunk's."""
    astype: str | None = None
    """dtype of the differences; None takes `dtype`."""


@dataclass(frozen=True, kw_only=True)
class FixedScaleOffset(_Filter):
    """array→array of (value - offset) × scale, rounded."""

    name: ClassVar[str] = "numcodecs.fixedscaleoffset"

    offset: int | float
    """What is subtracted first."""
    scale: int | float
    """What is multiplied with then."""
    dtype: str | None = None
    """dtype of the chunk; None takes the chunk's."""
    astype: str | None = None
    """dtype of the encoded chunk; None takes `dtype`."""

    def __post_init__(self) -> None:
        super().__post_init__()
        for member in ("offset", "scale"):
            value = getattr(self, member)
            number = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
            self.check(member, number, "a number")
        self.check("scale", self.scale != 0, "another number than 0")


@dataclass(frozen=True, kw_only=True)
class Quantize(_Filter):
    """array→array of floats with so many decimal digits."""

    name: ClassVar[str] = "numcodecs.quantize"

    digits: int
    """Decimal digits that are kept."""
    dtype: str | None = None
    """dtype of the chunk; None takes the chunk's."""
    astype: str | None = None
    """dtype of the encoded chunk; None takes `dtype`."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.check("digits", is_integer(self.digits, -300, 300), "an integer")


@dataclass(frozen=True, kw_only=True)
class AsType(_Filter):
    """array→array of another dtype, as NumPy casts."""

    name: ClassVar[str] = "numcodecs.astype"
    _dtypes = ("encode_dtype", "decode_dtype")

    encode_dtype: str
    """dtype of the encoded chunk."""
    decode_dtype: str | None = None
    """dtype of the chunk; None takes the chunk's."""


@dataclass(frozen=True, kw_only=True)
class PackBits(_Filter):
    """array→array of bits as bytes, the first of them the number of bits added; for booleans."""

    name: ClassVar[str] = "numcodecs.packbits"
    _dtypes = ()

    def resolve(self, spec: ChunkSpec) -> Self:
        """The codec that has numcodecs' codec; raises `MetadataError` for other data types than bool."""
        if spec.dtype != np.bool_:
            raise MetadataError(f"codec {self.name!r}", [f"got data type {spec.dtype}, expected bool"])
        return super().resolve(spec)

    def encoded_spec(self, spec: ChunkSpec) -> ChunkSpec:
        """Bytes in one dimension."""
        size = 1 + (math.prod(spec.shape) + 7) // 8
        return replace(spec, shape=(size,), dtype=np.dtype(np.uint8), fill_value=np.uint8(0))

    def encode_array(self, chunk: NDArray[Any]) -> NDArray[Any]:
        """The bytes."""
        return self.codec.encode(np.ascontiguousarray(chunk))  # type: ignore[no-any-return]

    def decode_array(self, encoded: NDArray[Any]) -> NDArray[Any]:
        """The booleans; raises `CodecError` unless as many bits were added as the chunk's shape tells."""
        padding = -math.prod(self.chunk.shape) % 8
        if encoded[0] != padding:
            raise CodecError(f"{self.name}: the data tells of {encoded[0]} added bits, expected {padding}")
        decoded = self.codec.decode(np.ascontiguousarray(encoded))
        return decoded.reshape(self.chunk.shape)  # type: ignore[no-any-return]


@dataclass(frozen=True, kw_only=True)
class BitRound(BitRoundCodec):
    """array→array of floats rounded to their first bits."""

    name: ClassVar[str] = "numcodecs.bitround"
    _least: ClassVar[int] = 0
