"""What a data type is. A new one is one file with one frozen dataclass, listed in `registry`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

ZarrFormat = Literal[2, 3]


@dataclass(frozen=True, kw_only=True)
class DataType(ABC):
    """One Zarr data type, and how its elements look in NumPy."""

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
    @abstractmethod
    def default_fill(self) -> Any:
        """The data type's zero, in native byte order."""

    @abstractmethod
    def to_json(self, zarr_format: ZarrFormat) -> Any:
        """`data_type` (v3) or `dtype` (v2) of a metadata document."""

    @abstractmethod
    def parse_fill_value(self, value: object, zarr_format: ZarrFormat) -> Any:
        """Element (native byte order) from `fill_value` of a document; raises `MetadataError`."""

    @abstractmethod
    def fill_value_to_json(self, value: Any, zarr_format: ZarrFormat) -> Any:
        """`fill_value` of a document for an element."""

    @abstractmethod
    def to_fill_value(self, value: object, zarr_format: ZarrFormat) -> Any:
        """Element (native byte order) from what a caller gives as `fill_value`.

        Raises `MetadataError` where the value is not exactly representable, except that floats are rounded.
        """
