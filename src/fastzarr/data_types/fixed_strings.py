"""Texts and byte strings of a fixed length, filled up with zeros.

Sources: zarr-extensions, `fixed_length_utf32`; zarr-python's `null_terminated_bytes`; Zarr v2 specification,
`U` and `S`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from fastzarr.data_types.base import (
    DataType,
    ZarrFormat,
    bytes_from_json,
    bytes_to_json,
    is_number,
    wrong_fill,
)


@dataclass(frozen=True, kw_only=True)
class FixedLengthUTF32(DataType):
    """Elements of NumPy's `U` dtype, with at least one character."""

    names: ClassVar[tuple[str, ...]] = ("fixed_length_utf32",)

    @property
    def name(self) -> str:
        """Name in Zarr v3."""
        return self.names[0]

    @property
    def default_fill(self) -> np.str_:
        """The empty text."""
        return np.str_("")

    def to_json(self, zarr_format: ZarrFormat) -> Any:
        """`<U5`, or the name with the length in bytes."""
        if zarr_format == 2:
            return self.dtype.str
        return {"name": self.name, "configuration": {"length_bytes": self.dtype.itemsize}}

    def parse_fill_value(self, value: object, zarr_format: ZarrFormat) -> np.str_:
        """Element from a text; 0, which older writers left, is the empty text."""
        if is_number(value) and value == 0:
            return self.default_fill
        characters = self.dtype.itemsize // 4
        if not isinstance(value, str) or len(value.rstrip("\0")) > characters:
            raise wrong_fill(value, f"a text of {characters} characters at the most (data type {self.name})")
        return np.str_(value.rstrip("\0"))

    def fill_value_to_json(self, value: Any, zarr_format: ZarrFormat) -> str:
        """The text."""
        return str(value)

    def to_fill_value(self, value: object, zarr_format: ZarrFormat) -> np.str_:
        """Element from a text."""
        return self.parse_fill_value(value, zarr_format)


@dataclass(frozen=True, kw_only=True)
class NullTerminatedBytes(DataType):
    """Elements of NumPy's `S` dtype, with at least one byte."""

    names: ClassVar[tuple[str, ...]] = ("null_terminated_bytes",)

    @property
    def name(self) -> str:
        """Name in Zarr v3."""
        return self.names[0]

    @property
    def default_fill(self) -> np.bytes_:
        """The empty byte string."""
        return np.bytes_(b"")

    def to_json(self, zarr_format: ZarrFormat) -> Any:
        """`|S4`, or the name with the length in bytes."""
        if zarr_format == 2:
            return self.dtype.str
        return {"name": self.name, "configuration": {"length_bytes": self.dtype.itemsize}}

    def parse_fill_value(self, value: object, zarr_format: ZarrFormat) -> np.bytes_:
        """Element from base64 or, as other writers had it, a list of bytes, 0, or NULs as they are."""
        if isinstance(value, str):
            value = value.rstrip("\0")
        data = b"" if is_number(value) and value == 0 else bytes_from_json(value)
        if data is None:
            raise wrong_fill(value, f"base64 or a list of bytes (data type {self.name})")
        return self._element(value, data)

    def fill_value_to_json(self, value: Any, zarr_format: ZarrFormat) -> str:
        """Base64."""
        return bytes_to_json(bytes(value))

    def to_fill_value(self, value: object, zarr_format: ZarrFormat) -> np.bytes_:
        """Element from bytes, or from a text as ASCII."""
        if isinstance(value, str):
            try:
                value = value.encode("ascii")
            except UnicodeEncodeError as error:
                raise wrong_fill(value, "bytes, or a text of ASCII characters") from error
        if isinstance(value, bytes):
            return self._element(value, value)
        return self.parse_fill_value(value, zarr_format)

    def _element(self, given: object, data: bytes) -> np.bytes_:
        data = data.rstrip(b"\0")
        if len(data) > self.dtype.itemsize:
            raise wrong_fill(given, f"{self.dtype.itemsize} bytes at the most (data type {self.name})")
        return np.bytes_(data)
