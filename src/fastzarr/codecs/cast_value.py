"""The `cast_value` codec: the values in another data type.

Source: zarr-extensions registry, "cast_value"; `scalar_map` and what else it leaves open as in zarr-python.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray

from fastzarr import data_types
from fastzarr.codecs.base import ChunkSpec, Kind, ShapedCodec, encoded_fill
from fastzarr.codecs.casting import ROUNDINGS, OutOfRange, Rounding, cast
from fastzarr.data_types import DataType
from fastzarr.errors import MetadataError

_Pairs = tuple[tuple[Any, Any], ...]


@dataclass(frozen=True, kw_only=True)
class CastValue(ShapedCodec):
    """array→array to another data type, and back; integers and floats."""

    name: ClassVar[str] = "cast_value"
    kind: ClassVar[Kind] = "array_array"
    views: ClassVar[bool] = False

    data_type: str
    """Data type of the encoded array, by its v3 name."""
    rounding: Rounding = "nearest-even"
    """How values between two of the other data type are rounded, in both directions."""
    out_of_range: OutOfRange | Literal["error"] | None = None
    """What becomes of values beyond the other data type: an error (also None), its nearest, or the rest
    modulo its number of values, for integers."""
    scalar_map: Mapping[str, Any] | None = None
    """Values that are not cast but replaced: pairs (value, replacement) for `encode` and for `decode`, in the
    JSON form of fill values."""
    target: DataType | None = field(default=None, init=False, repr=False, compare=False)
    """The data type; of a resolved codec only."""
    replaced: Mapping[str, _Pairs] = field(default_factory=dict, init=False, repr=False, compare=False)
    """Pairs of `scalar_map` as elements; of a resolved codec only."""

    def __post_init__(self) -> None:
        self.check("data_type", isinstance(self.data_type, str), "the name of a data type")
        self.check("rounding", self.rounding in ROUNDINGS, f"one of {', '.join(ROUNDINGS)}")
        allowed = self.out_of_range in (None, "error", "clamp", "wrap")
        self.check("out_of_range", allowed, "'error', 'clamp' or 'wrap'")
        if self.scalar_map is not None:
            object.__setattr__(self, "scalar_map", self._parsed_map())

    def __hash__(self) -> int:
        return hash((self.data_type, self.rounding, self.out_of_range, repr(self.scalar_map)))

    def config(self) -> dict[str, Any]:
        """Configuration as it is written, without defaults."""
        configuration: dict[str, Any] = {"data_type": self.data_type}
        if self.rounding != "nearest-even":
            configuration["rounding"] = self.rounding
        if self.out_of_range is not None:
            configuration["out_of_range"] = self.out_of_range
        if self.scalar_map is not None:
            configuration["scalar_map"] = {
                step: [list(pair) for pair in pairs] for step, pairs in self.scalar_map.items()
            }
        return configuration

    def resolve(self, spec: ChunkSpec) -> Self:
        """The codec with its data types; raises `MetadataError` for others than integers and floats."""
        where = f"codec {self.name!r}"
        source = _number_type(spec.dtype, where)
        target = data_types.from_json(self.data_type)
        _number_type(target.dtype, where)
        if self.out_of_range == "wrap" and target.dtype.kind == "f":
            raise MetadataError(where, ["out_of_range: got 'wrap' for a float, expected 'clamp' or none"])
        resolved = super().resolve(spec)
        object.__setattr__(resolved, "target", target)
        object.__setattr__(
            resolved,
            "replaced",
            {
                "encode": self._elements("encode", source, target),
                "decode": self._elements("decode", target, source),
            },
        )
        return resolved

    def encoded_spec(self, spec: ChunkSpec) -> ChunkSpec:
        """Spec of the other data type; raises `MetadataError` where it can't hold the fill value."""
        return replace(spec, dtype=self._target, fill_value=encoded_fill(self, spec))

    def encode_array(self, chunk: NDArray[Any]) -> NDArray[Any]:
        """The values in the other data type; raises `CodecError` for what it can't hold."""
        return self._cast("encode", chunk, self._target)

    def decode_array(self, encoded: NDArray[Any]) -> NDArray[Any]:
        """The values in the chunk's data type; raises `CodecError` for what it can't hold."""
        return self._cast("decode", encoded, self.chunk.dtype)

    @property
    def _target(self) -> np.dtype[Any]:
        assert self.target is not None, f"codec {self.name!r} is not resolved"
        return self.target.dtype

    def _cast(self, step: str, values: NDArray[Any], dtype: np.dtype[Any]) -> NDArray[Any]:
        out_of_range = None if self.out_of_range == "error" else self.out_of_range
        if out_of_range == "wrap" and dtype.kind == "f":
            out_of_range = None
        masks = [(_equal(values, value), found) for value, found in self.replaced.get(step, ())]
        if masks:
            values = np.where(np.logical_or.reduce([mask for mask, _ in masks]), values.dtype.type(0), values)
        native = values.astype(values.dtype.newbyteorder("="), copy=False)
        result = cast(native, dtype.newbyteorder("="), self.rounding, out_of_range)
        for mask, found in reversed(masks):
            result[mask] = found
        return result

    def _parsed_map(self) -> dict[str, _Pairs]:
        given: Any = self.scalar_map
        expected = "an object with lists of pairs for 'encode' and 'decode'"
        self.check(
            "scalar_map", isinstance(given, Mapping) and given.keys() <= {"encode", "decode"}, expected
        )
        parsed = {}
        for step, pairs in given.items():
            listed = list(pairs.items()) if isinstance(pairs, Mapping) else pairs
            valid = isinstance(listed, list | tuple) and all(
                isinstance(pair, list | tuple) and len(pair) == 2 for pair in listed
            )
            self.check("scalar_map", valid, expected)
            parsed[step] = tuple(tuple(pair) for pair in listed)
        return parsed

    def _elements(self, step: str, source: DataType, target: DataType) -> _Pairs:
        pairs = (self.scalar_map or {}).get(step, ())
        try:
            return tuple(
                (source.parse_fill_value(value, 3), target.parse_fill_value(found, 3))
                for value, found in pairs
            )
        except MetadataError as error:
            problems = [f"scalar_map, {step}: {problem}" for problem in error.problems]
            raise MetadataError(f"codec {self.name!r}", problems) from error


def _number_type(dtype: np.dtype[Any], where: str) -> DataType:
    if dtype.kind not in "iuf":
        raise MetadataError(where, [f"got data type {dtype}, expected integers or floats"])
    return data_types.from_numpy(dtype.newbyteorder("="))


def _equal(values: NDArray[Any], value: Any) -> NDArray[np.bool_]:
    return np.isnan(values) if value.dtype.kind == "f" and np.isnan(value) else values == value  # type: ignore[no-any-return]
