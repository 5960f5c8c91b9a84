"""Booleans, integers, floats and complex numbers.

Sources: Zarr v3 core specification, "Data types" and "Fill value"; Zarr v2 specification,
"Data type encoding" and "Fill value encoding".
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import Any

import numpy as np

from fastzarr.data_types.base import DataType, ZarrFormat, is_number
from fastzarr.errors import MetadataError

NAMES = (
    "bool",
    "int8",
    "int16",
    "int32",
    "int64",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "float16",
    "float32",
    "float64",
    "complex64",
    "complex128",
)

_SPECIAL_FLOATS = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}


@dataclass(frozen=True, kw_only=True)
class Number(DataType):
    """A data type of NumPy's own numbers."""

    @property
    def name(self) -> str:
        """Name in Zarr v3."""
        return self.dtype.name

    @property
    def default_fill(self) -> np.generic:
        """Zero."""
        return self.dtype.newbyteorder("=").type(0)  # type: ignore[no-any-return]

    def to_json(self, zarr_format: ZarrFormat) -> str:
        """The name, or v2's typestr."""
        return self.dtype.str if zarr_format == 2 else self.name

    def parse_fill_value(self, value: object, zarr_format: ZarrFormat) -> np.generic:
        """Scalar from JSON; v3 has the form `"0x7fc00000"` too, the exact bits of a float."""
        return _parse_fill_value(value, self.dtype, hexadecimal=zarr_format == 3)

    def fill_value_to_json(self, value: Any, zarr_format: ZarrFormat) -> Any:
        """JSON form; v3 keeps the payload of a NaN that is not the default one as `"0x…"`."""
        return _fill_value_to_json(value, hexadecimal=zarr_format == 3)

    def to_fill_value(self, value: object, zarr_format: ZarrFormat) -> np.generic:
        """Scalar from a number, or from its JSON form."""
        return _to_fill_value(value, self.dtype, hexadecimal=zarr_format == 3)


def _parse_fill_value(value: object, dtype: np.dtype[Any], *, hexadecimal: bool) -> np.generic:
    """Scalar of `dtype` (native byte order) from the `fill_value` of a metadata document.

    `hexadecimal` allows the v3 form `"0x7fc00000"`, the exact bits of a float. Raises `MetadataError`.
    """
    native = dtype.newbyteorder("=")
    expected = _expected_fill(native, hexadecimal)
    try:
        if native.kind == "b":
            if not isinstance(value, bool) and value not in (0, 1):
                raise ValueError
            return np.bool_(value)
        if native.kind in "iu":
            if isinstance(value, bool) or not isinstance(value, int | float) or value != int(value):
                raise ValueError
            return native.type(int(value))  # type: ignore[no-any-return]
        if native.kind == "f":
            return _parse_float(value, native, hexadecimal)
        if not hexadecimal and is_number(value):  # as v2 writers had it
            value = [value, 0]
        if not isinstance(value, list | tuple) or len(value) != 2:
            raise ValueError
        part = np.dtype(f"f{native.itemsize // 2}")
        parts = np.array([_parse_float(v, part, hexadecimal) for v in value], part)
        return parts.view(native)[0]  # type: ignore[no-any-return]
    except (ValueError, OverflowError, TypeError) as error:
        raise MetadataError("fill_value", [f"got {value!r}, expected {expected}"]) from error


def _fill_value_to_json(value: np.generic, *, hexadecimal: bool) -> Any:
    """JSON form of a fill value.

    `hexadecimal` (v3) keeps the payload of a NaN that is not the default one as `"0x…"`.
    """
    kind = value.dtype.kind
    if kind == "b":
        return bool(value)
    if kind in "iu":
        return int(value)
    if kind == "f":
        return _float_to_json(value, hexadecimal)
    parts = np.array([value]).view(f"f{value.dtype.itemsize // 2}")
    return [_float_to_json(part, hexadecimal) for part in parts]


def _to_fill_value(value: object, dtype: np.dtype[Any], *, hexadecimal: bool) -> np.generic:
    """Scalar of `dtype` (native byte order) from what a caller gives as `fill_value`.

    `hexadecimal` as in `parse_fill_value`. Raises `MetadataError` where the value is not exactly
    representable, except that floats are rounded.
    """
    native = dtype.newbyteorder("=")
    if isinstance(value, str | list):
        return _parse_fill_value(value, native, hexadecimal=hexadecimal)
    try:
        given = np.asarray(value)
        if given.shape != () or given.dtype.kind not in "biufc":
            raise ValueError
        if native.kind == "b" and value not in (0, 1):
            raise ValueError
        if native.kind in "iu" and (given.dtype.kind == "c" or value != int(value)):  # type: ignore[call-overload]
            raise ValueError
        if native.kind == "f" and given.dtype.kind == "c":
            raise ValueError
        if native.kind in "iu":
            return native.type(int(value))  # type: ignore[call-overload,no-any-return]
        with np.errstate(over="ignore"):
            return given.astype(native)[()]  # type: ignore[return-value]
    except (ValueError, OverflowError, TypeError) as error:
        raise MetadataError(
            "fill_value", [f"got {value!r}, expected a value of data type {native.name}"]
        ) from error


def _expected_fill(dtype: np.dtype[Any], hexadecimal: bool) -> str:
    if dtype.kind == "b":
        return "true or false (data type bool)"
    if dtype.kind in "iu":
        limits = np.iinfo(dtype)
        return f"an integer from {limits.min} to {limits.max} (data type {dtype.name})"
    forms = '"NaN", "Infinity" or "-Infinity"'
    if hexadecimal:
        digits = dtype.itemsize * 2 if dtype.kind == "f" else dtype.itemsize
        forms = f'"NaN", "Infinity", "-Infinity" or "0x" and {digits} hexadecimal digits'
    number = f"a number, {forms}"
    if dtype.kind == "c":
        return f"a list of real and imaginary part, each {number} (data type {dtype.name})"
    return f"{number} (data type {dtype.name})"


def _parse_float(value: object, dtype: np.dtype[Any], hexadecimal: bool) -> np.generic:
    if isinstance(value, str):
        if value in _SPECIAL_FLOATS:
            return dtype.type(_SPECIAL_FLOATS[value])  # type: ignore[no-any-return]
        digits = value[2:]
        expected = re.compile(f"0x[0-9a-fA-F]{{{dtype.itemsize * 2}}}")
        if not (hexadecimal and expected.fullmatch(value)):
            raise ValueError(value)
        bits = int(digits, 16).to_bytes(dtype.itemsize, "little")
        return np.frombuffer(bits, dtype.newbyteorder("<"))[0].astype(dtype)  # type: ignore[no-any-return]
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError(value)
    with np.errstate(over="ignore"):
        return np.array(value, dtype)[()]  # type: ignore[return-value]


def _float_to_json(value: Any, hexadecimal: bool) -> float | str:
    number = float(value)
    if math.isnan(number):
        bits = value.view(f"u{value.dtype.itemsize}")
        default = value.dtype.type(math.nan).view(bits.dtype)
        if hexadecimal and bits != default:
            return f"0x{int(bits):0{value.dtype.itemsize * 2}x}"
        return "NaN"
    if math.isinf(number):
        return "Infinity" if number > 0 else "-Infinity"
    return number
