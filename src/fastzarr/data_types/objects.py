"""Objects of v2 arrays (`|O`) that neither text nor bytes hold: whatever the filter that encodes them makes.

Source: numcodecs, "object codecs"; v3 has no such data type.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from fastzarr.data_types.base import DataType, ZarrFormat, is_number, is_text, wrong_fill
from fastzarr.errors import MetadataError

CODECS = ("vlen-array", "json2", "msgpack2")
"""Ids of the filters that encode objects."""


@dataclass(frozen=True, kw_only=True)
class Objects(DataType):
    """Python objects: arrays of one dimension (`vlen-array`), or what JSON or MessagePack can say."""

    names: ClassVar[tuple[str, ...]] = ()

    dtype: np.dtype[Any] = field(default_factory=lambda: np.dtype(object))
    codec: str
    """Id of the filter."""
    element_dtype: np.dtype[Any] | None
    """dtype of the arrays of `vlen-array`."""

    @property
    def name(self) -> str:
        """What errors call it; v3 has no name."""
        return f"object ({self.codec})"

    @property
    def itemsize(self) -> None:
        """None, since it varies."""

    @property
    def default_fill(self) -> Any:
        """An empty array for `vlen-array`, else None."""
        return None if self.element_dtype is None else np.empty(0, self.element_dtype)

    def to_json(self, zarr_format: ZarrFormat) -> str:
        """`|O`; raises `MetadataError` for v3."""
        if zarr_format == 3:
            raise MetadataError(
                "data_type", [f"got {self.name}, which v3 has no data type for; use zarr_format=2"]
            )
        return "|O"

    def parse_fill_value(self, value: object, zarr_format: ZarrFormat) -> Any:
        """The JSON value itself; for `vlen-array` a list of numbers, or 0 for the empty array."""
        if self.element_dtype is None:
            return value
        if (is_number(value) and value == 0) or is_text(value, ""):
            return self.default_fill
        if not isinstance(value, list):
            raise wrong_fill(value, f"a list of elements of {self.element_dtype}, or 0")
        try:
            return np.array(value, self.element_dtype)
        except (ValueError, TypeError, OverflowError) as error:
            raise wrong_fill(value, f"a list of elements of {self.element_dtype}, or 0") from error

    def fill_value_to_json(self, value: Any, zarr_format: ZarrFormat) -> Any:
        """The value itself; an array as a list, empty ones as 0, which other readers know."""
        if isinstance(value, np.ndarray):
            return value.tolist() or 0
        return value

    def to_fill_value(self, value: object, zarr_format: ZarrFormat) -> Any:
        """The value itself; an array for `vlen-array`."""
        if self.element_dtype is not None and isinstance(value, np.ndarray):
            return value.astype(self.element_dtype)
        return self.parse_fill_value(value, zarr_format)


def from_filter(configuration: dict[str, Any]) -> Objects:
    """Data type of the objects that a filter encodes; raises `MetadataError`."""
    element_dtype = None
    if configuration["id"] == "vlen-array":
        try:
            element_dtype = np.dtype(configuration.get("dtype"))
        except (TypeError, ValueError) as error:
            found = configuration.get("dtype")
            raise MetadataError(
                "filter 'vlen-array'", [f"dtype: got {found!r}, expected a NumPy dtype"]
            ) from error
        if element_dtype.hasobject:
            raise MetadataError("filter 'vlen-array'", [f"dtype: got {element_dtype}, expected no objects"])
    return Objects(codec=configuration["id"], element_dtype=element_dtype)


def held(element: Any) -> np.ndarray[Any, Any]:
    """An array of no dimensions that holds an object; NumPy takes it as one element, even a list."""
    array = np.empty(1, object)
    array[0] = element
    return array.reshape(())
