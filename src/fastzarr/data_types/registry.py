"""Data types by name, by v2 typestr and by NumPy dtype."""

from __future__ import annotations

from typing import Any

import numpy as np

from fastzarr.data_types import numbers
from fastzarr.data_types.base import DataType
from fastzarr.data_types.numbers import Number
from fastzarr.errors import MetadataError


def names() -> tuple[str, ...]:
    """Names of the supported data types, as Zarr v3 spells them."""
    return numbers.NAMES


def from_json(value: object) -> DataType:
    """Data type (native byte order) of a v3 `data_type`; raises `MetadataError`."""
    if isinstance(value, str) and value in numbers.NAMES:
        return Number(dtype=np.dtype(value))
    raise MetadataError("data_type", [f"got {value!r}, expected one of {', '.join(names())}"])


def from_v2(typestr: object, filters: object = None) -> DataType:
    """Data type of a v2 `dtype`, such as `<f4`; `filters` tell what `|O` holds. Raises `MetadataError`."""
    problem = f"got {typestr!r}, expected a NumPy typestr of {', '.join(names())}, such as '<f4' or '|u1'"
    if not isinstance(typestr, str) or typestr[:1] not in ("<", ">", "|"):
        raise MetadataError("dtype", [problem])
    try:
        dtype = np.dtype(typestr)
    except (TypeError, ValueError) as error:
        raise MetadataError("dtype", [problem]) from error
    if dtype.name not in numbers.NAMES:
        raise MetadataError("dtype", [problem])
    return Number(dtype=dtype)


def from_numpy(dtype: object) -> DataType:
    """Data type of what a caller gives as `dtype`; raises `MetadataError` for unsupported ones."""
    try:
        parsed: np.dtype[Any] = np.dtype(dtype)  # type: ignore[call-overload]
    except TypeError as error:
        raise MetadataError("dtype", [f"got {dtype!r}, expected one of {', '.join(names())}"]) from error
    if parsed.name not in numbers.NAMES:
        raise MetadataError("dtype", [f"got {parsed}, expected one of {', '.join(names())}"])
    return Number(dtype=parsed)
