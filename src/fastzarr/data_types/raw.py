"""Elements of a fixed number of bytes without meaning.

Sources: Zarr v3 core specification, "r*"; zarr-python's `raw_bytes`; Zarr v2 specification, `|V`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from fastzarr.data_types.base import (
    DataType,
    ZarrFormat,
    bytes_from_json,
    bytes_to_json,
    is_number,
    is_text,
    wrong_fill,
)


@dataclass(frozen=True, kw_only=True)
class RawBytes(DataType):
    """Elements of NumPy's `V` dtype, with at least one byte."""

    names: ClassVar[tuple[str, ...]] = ("raw_bytes", "r*")

    spelling: Literal["raw_bytes", "r*"] = "raw_bytes"
    """How v3 documents name it: as zarr-python does, or as the core specification does."""

    @property
    def name(self) -> str:
        """Name in Zarr v3."""
        return f"r{self.dtype.itemsize * 8}" if self.spelling == "r*" else self.spelling

    @property
    def default_fill(self) -> np.void:
        """Zero bytes."""
        return self._element(bytes(self.dtype.itemsize))

    def to_json(self, zarr_format: ZarrFormat) -> Any:
        """`|V3`, or the name with a configuration."""
        if zarr_format == 2:
            return self.dtype.str
        if self.spelling == "r*":
            return self.name
        return {"name": self.name, "configuration": {"length_bytes": self.dtype.itemsize}}

    def parse_fill_value(self, value: object, zarr_format: ZarrFormat) -> np.void:
        """Element from base64 or a list of bytes; 0 and "", which older writers left, are zero bytes."""
        zero = is_text(value, "") or (is_number(value) and value == 0)
        data = bytes(self.dtype.itemsize) if zero else bytes_from_json(value)
        if data is None or len(data) != self.dtype.itemsize:
            raise wrong_fill(
                value, f"base64 or a list of {self.dtype.itemsize} bytes (data type {self.name})"
            )
        return self._element(data)

    def fill_value_to_json(self, value: Any, zarr_format: ZarrFormat) -> Any:
        """Base64; a list of bytes for `r*`."""
        data = value.tobytes()
        return list(data) if zarr_format == 3 and self.spelling == "r*" else bytes_to_json(data)

    def to_fill_value(self, value: object, zarr_format: ZarrFormat) -> np.void:
        """Element from bytes, filled up with zeros, or from its JSON form."""
        if isinstance(value, np.void | bytes):
            data = value.tobytes() if isinstance(value, np.void) else bytes(value)
            if len(data) > self.dtype.itemsize:
                raise wrong_fill(value, f"{self.dtype.itemsize} bytes at the most (data type {self.name})")
            return self._element(data.ljust(self.dtype.itemsize, b"\0"))
        return self.parse_fill_value(value, zarr_format)

    def _element(self, data: bytes) -> np.void:
        return np.frombuffer(data, self.dtype)[0]  # type: ignore[no-any-return]
