"""What a data type is. A new one is one file with one frozen dataclass, listed in `registry`."""

from __future__ import annotations

import base64
import binascii
from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal, Self

import numpy as np

from fastzarr.errors import MetadataError

ZarrFormat = Literal[2, 3]


@dataclass(frozen=True, kw_only=True)
class DataType(ABC):
    """One Zarr data type, and how its elements look in NumPy."""

    serializer: ClassVar[str] = "bytes"
    """The array→bytes codec that serves where a caller names none."""

    dtype: np.dtype[Any]
    """NumPy dtype of the elements in memory; of a v2 array with the stored byte order, else native."""

    @property
    @abstractmethod
    def name(self) -> str:
        """Name in Zarr v3."""

    @property
    def itemsize(self) -> int | None:
        """Bytes of a stored element; None where it varies."""
        return self.dtype.itemsize

    @property
    def native(self) -> Self:
        """The data type with elements in native byte order."""
        return replace(self, dtype=self.dtype.newbyteorder("="))

    @property
    @abstractmethod
    def default_fill(self) -> Any:
        """What elements never written read as where nothing else is said; in native byte order."""

    @abstractmethod
    def to_json(self, zarr_format: ZarrFormat) -> Any:
        """`data_type` (v3) or `dtype` (v2) of a metadata document."""

    @abstractmethod
    def parse_fill_value(self, value: object, zarr_format: ZarrFormat) -> Any:
        """Element (native byte order) from `fill_value` of a document; raises `MetadataError`."""

    @abstractmethod
    def fill_value_to_json(self, value: Any, zarr_format: ZarrFormat) -> Any:
        """`fill_value` of a document for an element that `parse_fill_value` or `to_fill_value` gave."""

    @abstractmethod
    def to_fill_value(self, value: object, zarr_format: ZarrFormat) -> Any:
        """Element (native byte order) from what a caller gives as `fill_value`.

        Raises `MetadataError` where the value is not exactly representable, except that floats are rounded.
        """


def bytes_to_json(value: bytes) -> str:
    """Base64, as documents have bytes."""
    return base64.b64encode(value).decode("ascii")


def bytes_from_json(value: object) -> bytes | None:
    """Bytes of base64 text or of a list of integers from 0 to 255, or None where `value` is neither."""
    try:
        if isinstance(value, str):
            return base64.b64decode(value, validate=True)
        if isinstance(value, list) and not any(isinstance(v, bool) for v in value):
            return bytes(value)
    except (ValueError, TypeError, binascii.Error):
        pass
    return None


def wrong_fill(value: object, expected: str) -> MetadataError:
    """Error for a fill value that doesn't serve."""
    return MetadataError("fill_value", [f"got {value!r}, expected {expected}"])


def is_number(value: object) -> bool:
    """Whether `value` is a JSON number."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def is_text(value: object, text: str) -> bool:
    """Whether `value` is `text`; of a NumPy array, which compares by element, false."""
    return isinstance(value, str) and value == text


def byte_order_matters(dtype: np.dtype[Any]) -> bool:
    """Whether the stored bytes of elements depend on a byte order."""
    if dtype.subdtype is not None:
        return byte_order_matters(dtype.subdtype[0])
    if dtype.names is not None:
        # zarr-python counts byte strings in records too.
        return any(dtype[name].base.itemsize > 1 for name in dtype.names)
    return dtype.itemsize > 1 and dtype.kind != "S" and dtype.type is not np.void
