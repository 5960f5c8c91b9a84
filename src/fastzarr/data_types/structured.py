"""Records of named fields.

Sources: zarr-extensions, `struct` and the older `structured`; Zarr v2 specification, "Data type encoding".
Fields lie one after another without gaps.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
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
from fastzarr.errors import MetadataError


@dataclass(frozen=True, kw_only=True)
class Field:
    """One field of a record."""

    name: str
    """Name, unique in the record."""
    data_type: DataType
    """Data type of its elements, of a fixed size."""
    shape: tuple[int, ...] = ()
    """Shape of the subarray that the field is (v2 only); empty for one element."""

    @property
    def count(self) -> int:
        """Number of elements."""
        return math.prod(self.shape)


@dataclass(frozen=True, kw_only=True)
class Struct(DataType):
    """Elements of a NumPy dtype with fields."""

    names: ClassVar[tuple[str, ...]] = ("struct", "structured")

    fields: tuple[Field, ...]
    """The fields, in order."""

    @classmethod
    def of(cls, fields: tuple[Field, ...]) -> Self:
        """Record of `fields`; raises `MetadataError`."""
        names = [field.name for field in fields]
        problems = [
            f"field {name!r} is there twice" for name in sorted({n for n in names if names.count(n) > 1})
        ]
        problems += [
            f"field {field.name!r}: got {field.data_type.name}, expected a data type of a fixed size"
            for field in fields
            if field.data_type.itemsize is None
        ]
        if not fields:
            problems.append("got no fields, expected at least one")
        if problems:
            raise MetadataError("fields of the data type", problems)
        dtype = np.dtype([(field.name, field.data_type.dtype, field.shape) for field in fields])
        return cls(dtype=dtype, fields=fields)

    @property
    def name(self) -> str:
        """Name in Zarr v3."""
        return self.names[0]

    @property
    def native(self) -> Self:
        """The record with all fields in native byte order."""
        return self.of(tuple(replace(field, data_type=field.data_type.native) for field in self.fields))

    @property
    def default_fill(self) -> Any:
        """Zero bytes."""
        return self._element(bytes(self.dtype.itemsize))

    def to_json(self, zarr_format: ZarrFormat) -> Any:
        """A list of lists (v2) or the name with the fields; raises `MetadataError` for subarrays in v3."""
        if zarr_format == 2:
            return [
                [field.name, field.data_type.to_json(2), *([list(field.shape)] if field.shape else [])]
                for field in self.fields
            ]
        if any(field.shape for field in self.fields):
            shaped = [field.name for field in self.fields if field.shape]
            raise MetadataError(
                "data_type", [f"got subarrays in fields {shaped}, which v3 can't say; use zarr_format=2"]
            )
        fields = [{"name": field.name, "data_type": field.data_type.to_json(3)} for field in self.fields]
        return {"name": self.name, "configuration": {"fields": fields}}

    def parse_fill_value(self, value: object, zarr_format: ZarrFormat) -> Any:
        """Element from an object or list of fields, base64 of the bytes, or 0 for zero bytes."""
        if is_number(value) and value == 0:
            return self.default_fill
        if isinstance(value, dict):
            return self._from_fields(value, zarr_format)
        if isinstance(value, list) and len(value) == len(self.fields):
            return self._from_fields(
                {field.name: part for field, part in zip(self.fields, value, strict=True)}, zarr_format
            )
        data = bytes_from_json(value) if isinstance(value, str) else None
        if data is None or len(data) != self.dtype.itemsize:
            names = [field.name for field in self.fields]
            raise wrong_fill(
                value, f"an object with members {names} or base64 of {self.dtype.itemsize} bytes"
            )
        # Bytes are as the v2 dtype says; v3's, which zarr-python before 3.3 wrote, little-endian.
        stored = self.dtype if zarr_format == 2 else self.dtype.newbyteorder("<")
        return np.frombuffer(data, stored).astype(self.native.dtype)[0]

    def fill_value_to_json(self, value: Any, zarr_format: ZarrFormat) -> Any:
        """Base64 (v2) or an object of the fields."""
        if zarr_format == 2:
            return bytes_to_json(np.array(value, self.dtype).tobytes())
        return {
            field.name: field.data_type.fill_value_to_json(_as_element(value[field.name]), 3)
            for field in self.fields
        }

    def to_fill_value(self, value: object, zarr_format: ZarrFormat) -> Any:
        """Element from a record, a tuple of field values, the bytes, or a JSON form."""
        native = self.native.dtype
        if isinstance(value, bytes) and len(value) == native.itemsize:
            return np.frombuffer(value, self.dtype).astype(native)[0]
        if isinstance(value, np.void | np.ndarray):
            if (
                value.dtype.names is None
                or value.shape != ()
                or not np.can_cast(value.dtype, native, "same_kind")
            ):
                raise wrong_fill(value, f"one element of {native}")
            return np.asarray(value).astype(native)[()]
        if isinstance(value, tuple):
            if len(value) != len(self.fields):
                raise wrong_fill(value, f"{len(self.fields)} values, one for each field")
            value = dict(zip([field.name for field in self.fields], value, strict=True))
        if isinstance(value, dict):
            return self._from_fields(value, zarr_format, given=True)
        return self.parse_fill_value(value, zarr_format)

    def _from_fields(self, members: dict[str, Any], zarr_format: ZarrFormat, given: bool = False) -> Any:
        known = [field.name for field in self.fields]
        if set(members) != set(known):
            raise wrong_fill(members, f"a value for each of the fields {known} and no other")
        element = np.zeros(1, self.native.dtype)
        for field in self.fields:
            convert = field.data_type.to_fill_value if given else field.data_type.parse_fill_value
            part = members[field.name]
            try:
                if field.shape:
                    flat = np.asarray(part, object).reshape(field.count)
                    values = np.array([convert(v, zarr_format) for v in flat], field.data_type.native.dtype)
                    element[field.name][0] = values.reshape(field.shape)
                else:
                    element[field.name][0] = convert(part, zarr_format)
            except MetadataError as error:
                raise MetadataError(
                    "fill_value", [f"field {field.name!r}: {problem}" for problem in error.problems]
                ) from error
            except ValueError as error:
                raise wrong_fill(part, f"{field.shape} elements for field {field.name!r}") from error
        return element[0]

    def _element(self, data: bytes) -> Any:
        return np.frombuffer(data, self.native.dtype)[0]


def _as_element(value: Any) -> Any:
    """A scalar of NumPy in native byte order, also where a field of a record is no scalar yet."""
    return value[()] if isinstance(value, np.ndarray) else value
