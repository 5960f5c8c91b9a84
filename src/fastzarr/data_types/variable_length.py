"""Texts and byte strings of any length.

Sources: zarr-extensions, `string` and `bytes`; numcodecs' `vlen-utf8` and `vlen-bytes`, which say what the
elements of a v2 `|O` array are.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

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
class VariableLengthUTF8(DataType):
    """Texts; in memory elements of NumPy's StringDType."""

    names: ClassVar[tuple[str, ...]] = ("string",)
    serializer: ClassVar[str] = "vlen-utf8"

    dtype: np.dtype[Any] = field(default_factory=np.dtypes.StringDType)

    @property
    def name(self) -> str:
        """Name in Zarr v3."""
        return self.names[0]

    @property
    def native(self) -> Self:
        """The data type itself, which has no byte order."""
        return self

    @property
    def itemsize(self) -> None:
        """None, since it varies."""

    @property
    def default_fill(self) -> str:
        """The empty text."""
        return ""

    def to_json(self, zarr_format: ZarrFormat) -> str:
        """`|O` or the name."""
        return "|O" if zarr_format == 2 else self.name

    def parse_fill_value(self, value: object, zarr_format: ZarrFormat) -> str:
        """The text; v2's 0, which zarr-python 2 left, is the empty text."""
        if zarr_format == 2 and is_number(value) and value == 0:
            return ""
        return self.to_fill_value(value, zarr_format)

    def fill_value_to_json(self, value: Any, zarr_format: ZarrFormat) -> str:
        """The text."""
        return str(value)

    def to_fill_value(self, value: object, zarr_format: ZarrFormat) -> str:
        """Element from a text."""
        if not isinstance(value, str) or any("\ud800" <= character <= "\udfff" for character in value):
            raise wrong_fill(value, "a text that UTF-8 can say (data type string)")
        return str(value)


@dataclass(frozen=True, kw_only=True)
class VariableLengthBytes(DataType):
    """Byte strings; in memory `bytes` objects."""

    names: ClassVar[tuple[str, ...]] = ("bytes", "variable_length_bytes")
    serializer: ClassVar[str] = "vlen-bytes"

    dtype: np.dtype[Any] = field(default_factory=lambda: np.dtype(object))

    @property
    def name(self) -> str:
        """Name in Zarr v3, as zarr-python writes it."""
        return "variable_length_bytes"

    @property
    def itemsize(self) -> None:
        """None, since it varies."""

    @property
    def default_fill(self) -> bytes:
        """The empty byte string."""
        return b""

    def to_json(self, zarr_format: ZarrFormat) -> str:
        """`|O` or the name."""
        return "|O" if zarr_format == 2 else self.name

    def parse_fill_value(self, value: object, zarr_format: ZarrFormat) -> bytes:
        """Bytes from base64 or a list of bytes; v2's 0, which zarr-python 2 left, is the empty one."""
        data = b"" if zarr_format == 2 and is_number(value) and value == 0 else bytes_from_json(value)
        if data is None:
            raise wrong_fill(value, f"base64 or a list of bytes (data type {self.name})")
        return data

    def fill_value_to_json(self, value: Any, zarr_format: ZarrFormat) -> str:
        """Base64."""
        return bytes_to_json(value)

    def to_fill_value(self, value: object, zarr_format: ZarrFormat) -> bytes:
        """Bytes, or those of a text in UTF-8."""
        if isinstance(value, str):
            return value.encode()
        if not isinstance(value, bytes):
            raise wrong_fill(value, f"bytes (data type {self.name})")
        return bytes(value)
