"""The `scale_offset` codec: (value - offset) × scale, in the arithmetic of the data type.

Source: zarr-extensions registry, "scale_offset". What it leaves open is as in zarr-python: members left out
are offset 0 and scale 1, and integers are divided with rounding down.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from fastzarr import data_types
from fastzarr.codecs.base import ChunkSpec, Kind, ShapedCodec, encoded_fill
from fastzarr.errors import CodecError, MetadataError


@dataclass(frozen=True, kw_only=True)
class ScaleOffset(ShapedCodec):
    """array→array with offset and scale; the data type stays."""

    name: ClassVar[str] = "scale_offset"
    kind: ClassVar[Kind] = "array_array"
    views: ClassVar[bool] = False

    offset: int | float | str = 0
    """What is subtracted first, in the JSON form of a fill value."""
    scale: int | float | str = 1
    """What is multiplied with then, likewise; not 0."""
    numbers: tuple[Any, Any] | None = field(default=None, init=False, repr=False, compare=False)
    """Offset and scale as elements; of a resolved codec only."""

    def __post_init__(self) -> None:
        for member in ("offset", "scale"):
            value = getattr(self, member)
            valid = isinstance(value, int | float | str) and not isinstance(value, bool)
            self.check(member, valid, "a number, or the JSON form of one")

    def resolve(self, spec: ChunkSpec) -> Self:
        """The codec with its numbers; raises `MetadataError` for what the data type can't hold."""
        where = f"codec {self.name!r}"
        if spec.dtype.kind not in "iuf":
            raise MetadataError(where, [f"got data type {spec.dtype}, expected integers or floats"])
        data_type = data_types.from_numpy(spec.dtype.newbyteorder("="))
        numbers = []
        for member in ("offset", "scale"):
            try:
                numbers.append(data_type.parse_fill_value(getattr(self, member), 3))
            except MetadataError as error:
                problems = [f"{member}: {problem}" for problem in error.problems]
                raise MetadataError(where, problems) from error
        resolved = super().resolve(spec)
        resolved.check("scale", bool(numbers[1] != 0), "another number than 0")
        object.__setattr__(resolved, "numbers", tuple(numbers))
        return resolved

    def encoded_spec(self, spec: ChunkSpec) -> ChunkSpec:
        """The same shape and data type; the fill value is encoded."""
        return replace(spec, fill_value=encoded_fill(self, spec))

    def encode_array(self, chunk: NDArray[Any]) -> NDArray[Any]:
        """(chunk - offset) × scale; raises `CodecError` for integers that would not be read as they were."""
        offset, scale = self._numbers
        with np.errstate(all="ignore"):
            encoded = (chunk - offset) * scale
        if chunk.dtype.kind in "iu" and scale != 1 and not np.array_equal(self.decode_array(encoded), chunk):
            raise CodecError(f"{self.name}: integers leave the range of {chunk.dtype}")
        return encoded  # type: ignore[no-any-return]

    def decode_array(self, encoded: NDArray[Any]) -> NDArray[Any]:
        """encoded ÷ scale + offset."""
        offset, scale = self._numbers
        with np.errstate(all="ignore"):
            divided = encoded // scale if encoded.dtype.kind in "iu" else encoded / scale
            return divided + offset  # type: ignore[no-any-return]

    @property
    def _numbers(self) -> tuple[Any, Any]:
        assert self.numbers is not None, f"codec {self.name!r} is not resolved"
        return self.numbers
