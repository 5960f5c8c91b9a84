"""Moments and durations of NumPy, each a number of some unit, or NaT.

Sources: zarr-extensions, `numpy.datetime64` and `numpy.timedelta64`; Zarr v2 specification, "Data type
encoding".
"""

from __future__ import annotations

import datetime
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from fastzarr.data_types.base import DataType, ZarrFormat, is_text, wrong_fill
from fastzarr.errors import MetadataError

UNITS = ("Y", "M", "W", "D", "h", "m", "s", "ms", "us", "μs", "ns", "ps", "fs", "as", "generic")

_NAT = -(2**63)


@dataclass(frozen=True, kw_only=True)
class Time(DataType):
    """`datetime64` or `timedelta64` with a unit and a scale factor."""

    names: ClassVar[tuple[str, ...]] = ("numpy.datetime64", "numpy.timedelta64")

    @property
    def name(self) -> str:
        """Name in Zarr v3."""
        return "numpy.datetime64" if self.dtype.kind == "M" else "numpy.timedelta64"

    @property
    def default_fill(self) -> Any:
        """NaT, as in zarr-python."""
        return self._element(_NAT)

    def to_json(self, zarr_format: ZarrFormat) -> Any:
        """`<M8[ns]`, or the name with unit and scale factor."""
        if zarr_format == 2:
            return self.dtype.str
        unit, scale_factor = np.datetime_data(self.dtype)
        return {"name": self.name, "configuration": {"unit": unit, "scale_factor": scale_factor}}

    def parse_fill_value(self, value: object, zarr_format: ZarrFormat) -> Any:
        """Element from an integer or `"NaT"`."""
        if is_text(value, "NaT"):
            return self._element(_NAT)
        whole = isinstance(value, int) or (isinstance(value, float) and value.is_integer())
        if isinstance(value, bool) or not whole or not _NAT <= value < 2**63:  # type: ignore[operator]
            raise wrong_fill(value, f'an integer of 64 bits or "NaT" (data type {self.name})')
        return self._element(int(value))  # type: ignore[call-overload]

    def fill_value_to_json(self, value: Any, zarr_format: ZarrFormat) -> int:
        """The integer; NaT is -2**63, as zarr-python writes it."""
        return int(value.view("i8"))

    def to_fill_value(self, value: object, zarr_format: ZarrFormat) -> Any:
        """Element from NumPy's or Python's times, a text that NumPy reads, or an integer of the unit."""
        expected = f"a value of data type {self.dtype.newbyteorder('=')}"
        kinds = (
            (np.datetime64, datetime.date) if self.dtype.kind == "M" else (np.timedelta64, datetime.timedelta)
        )
        if is_text(value, "NaT") or not isinstance(value, (*kinds, str)):
            if isinstance(value, np.integer) and not isinstance(value, np.timedelta64):
                value = int(value)
            return self.parse_fill_value(value, zarr_format)
        try:
            given = np.datetime64(value) if isinstance(value, str) else np.asarray(value)
            element = given.astype(self.dtype.newbyteorder("="))[()]
            if not np.isnat(element) and given != element:
                raise ValueError
        except (ValueError, TypeError, OverflowError) as error:
            raise wrong_fill(value, expected) from error
        return element

    def _element(self, number: int) -> Any:
        return np.int64(number).view(self.dtype.newbyteorder("="))


def from_configuration(name: str, configuration: object) -> Time:
    """Data type `name` of v3 with its configuration; raises `MetadataError`."""
    members = configuration if isinstance(configuration, dict) else {}
    unit, scale_factor = members.get("unit"), members.get("scale_factor", 1)
    valid = (
        members.keys() <= {"unit", "scale_factor"}
        and unit in UNITS
        and isinstance(scale_factor, int)
        and not isinstance(scale_factor, bool)
        and 0 < scale_factor < 2**31
        and not (unit == "generic" and scale_factor != 1)
    )
    if not valid:
        raise MetadataError(
            f"configuration of data type {name!r}",
            [f"got {configuration!r}, expected unit ({', '.join(UNITS)}) and scale_factor (1 to 2**31 - 1)"],
        )
    kind = "M8" if name == "numpy.datetime64" else "m8"
    return Time(dtype=np.dtype(kind if unit == "generic" else f"{kind}[{scale_factor}{unit}]"))
