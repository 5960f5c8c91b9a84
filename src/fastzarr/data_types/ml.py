"""Floats and integers of few bits, through `ml_dtypes` (extra `ml-dtypes`), which is imported when asked for.

Source: zarr-extensions, one specification for each. Every element has one byte in memory, `bfloat16` two.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from importlib import import_module
from typing import Any, ClassVar

import numpy as np

from fastzarr.data_types.base import DataType, ZarrFormat, bytes_from_json, wrong_fill
from fastzarr.errors import MetadataError

INTEGERS = {"int2": (-2, 1), "int4": (-8, 7), "uint2": (0, 3), "uint4": (0, 15)}
"""Least and greatest value."""

FLOATS = (
    "bfloat16",
    "float8_e3m4",
    "float8_e4m3",
    "float8_e4m3fn",
    "float8_e4m3b11fnuz",
    "float8_e4m3fnuz",
    "float8_e5m2",
    "float8_e5m2fnuz",
    "float8_e8m0fnu",
    "float6_e2m3fn",
    "float6_e3m2fn",
    "float4_e2m1fn",
)

NAMES = (*INTEGERS, *FLOATS)

_SPECIAL = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}


@dataclass(frozen=True, kw_only=True)
class SmallNumber(DataType):
    """A number of `ml_dtypes`."""

    names: ClassVar[tuple[str, ...]] = NAMES

    @property
    def name(self) -> str:
        """Name in Zarr v3."""
        return self.dtype.name

    @property
    def default_fill(self) -> Any:
        """Zero; the element without bits set where there is no zero (`float8_e8m0fnu`)."""
        return np.zeros(1, np.uint8 if self.dtype.itemsize == 1 else np.uint16).view(self._native)[0]

    def to_json(self, zarr_format: ZarrFormat) -> str:
        """The name; in v2 too, as TensorStore writes it."""
        return self.name

    def parse_fill_value(self, value: object, zarr_format: ZarrFormat) -> Any:
        """Scalar from a number, `"NaN"` and the like, or `"0x7fc0"`, the exact bits."""
        if self.name in INTEGERS:
            low, high = INTEGERS[self.name]
            whole = isinstance(value, int) or (isinstance(value, float) and value.is_integer())
            if isinstance(value, bool) or not whole or not low <= value <= high:  # type: ignore[operator]
                raise wrong_fill(value, f"an integer from {low} to {high} (data type {self.name})")
            return self._cast(int(value))  # type: ignore[call-overload]
        if isinstance(value, str) and re.fullmatch(f"0x[0-9a-fA-F]{{{self.dtype.itemsize * 2}}}", value):
            bits = int(value, 16).to_bytes(self.dtype.itemsize, "little")
            return np.frombuffer(bits, self._native.newbyteorder("<")).astype(self._native)[0]
        number = _SPECIAL.get(value) if isinstance(value, str) else value
        if isinstance(number, bool) or not isinstance(number, int | float):
            digits = self.dtype.itemsize * 2
            data = bytes_from_json(value) if zarr_format == 2 and isinstance(value, str) else None
            if data is not None and len(data) == self.dtype.itemsize:  # as TensorStore writes some in v2
                return np.frombuffer(data, self.dtype).astype(self._native)[0]
            raise wrong_fill(
                value,
                'a number, "NaN", "Infinity", "-Infinity" or "0x" and '
                f"{digits} hexadecimal digits (data type {self.name})",
            )
        return self._float(value, float(number))

    def fill_value_to_json(self, value: Any, zarr_format: ZarrFormat) -> Any:
        """JSON form; a NaN that is not the default one as `"0x…"`."""
        if self.name in INTEGERS:
            return int(value)
        number = float(value)
        if math.isnan(number):
            bits = _bits(value)
            return "NaN" if bits == _bits(self._cast(math.nan)) else f"0x{bits:0{self.dtype.itemsize * 2}x}"
        if math.isinf(number):
            return "Infinity" if number > 0 else "-Infinity"
        return number

    def to_fill_value(self, value: object, zarr_format: ZarrFormat) -> Any:
        """Scalar from a number, or from its JSON form; floats are rounded."""
        if isinstance(value, np.generic):
            if value.dtype == self._native:
                return value
            value = float(value) if value.dtype.kind in "fV" else value.item()
        return self.parse_fill_value(value, zarr_format)

    @property
    def _native(self) -> np.dtype[Any]:
        return self.dtype.newbyteorder("=")

    def _float(self, given: object, number: float) -> Any:
        element = self._cast(number)
        if math.isnan(float(element)) != math.isnan(number):
            raise wrong_fill(given, f"what data type {self.name} can hold")
        return element

    def _cast(self, number: float) -> Any:
        with np.errstate(all="ignore"):
            return np.array(number, np.float64).astype(self._native)[()]


def find(name: str) -> SmallNumber:
    """Data type `name`; raises `MetadataError` where `ml_dtypes` is not installed."""
    try:
        library = import_module("ml_dtypes")
        return SmallNumber(dtype=np.dtype(getattr(library, name)))
    except (ImportError, AttributeError) as error:
        raise MetadataError(
            "data_type",
            [
                f"{name!r} needs the package ml_dtypes ({error}); "
                "install it with: pip install 'fastzarr[ml-dtypes]'"
            ],
        ) from error


def _bits(value: Any) -> int:
    return int.from_bytes(
        np.asarray(value).astype(np.asarray(value).dtype.newbyteorder("<")).tobytes(), "little"
    )
