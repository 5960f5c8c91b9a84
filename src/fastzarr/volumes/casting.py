"""Voxels in another data type, without losing anything unasked."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from fastzarr.errors import ZarrError
from fastzarr.volumes.element_class import DTYPES

Cast = Literal["exact", "round"]


class CastError(ZarrError, ValueError):
    """A voxel can't be told in the data type that was asked for."""

    kind = "cast"


def parse_dtype(name: object) -> np.dtype[Any]:
    """A data type of voxels from its name; raises `CastError`."""
    by_name = {dtype.name: dtype for dtype in DTYPES}
    try:
        found = by_name.get(np.dtype(name).name)  # type: ignore[call-overload]
    except TypeError:
        found = None
    if name is None or found is None:
        raise CastError(f"dtype: got {name!r}, expected one of {', '.join(by_name)}")
    return found


def stored_as(dtype: np.dtype[Any], where: str) -> np.dtype[Any]:
    """The data type of voxels that holds `dtype`: bool as uint8, float16 as float32; raises `CastError`."""
    wider = {"bool": "uint8", "float16": "float32"}.get(dtype.name, dtype.name)
    if wider not in [known.name for known in DTYPES]:
        names = ", ".join(known.name for known in DTYPES)
        raise CastError(f"{where}: got voxels of {dtype}, expected one of {names}, bool or float16")
    return np.dtype(wider)


def holds_all(dtype: np.dtype[Any], source: np.dtype[Any]) -> bool:
    """Whether `dtype` holds each value of `source`; NumPy also says so of float64 and integers of 64 bits."""
    rounds = dtype.kind == "f" and source.kind in "iu" and source.itemsize >= dtype.itemsize
    return np.can_cast(source, dtype, "safe") and not rounds


def cast(values: NDArray[Any], dtype: np.dtype[Any], how: Cast, where: str) -> NDArray[Any]:
    """`values` in another data type.

    `"exact"`: each keeps its value. `"round"`: to the nearest value, even where it lies halfway. What is out
    of range, or not a number in integers, is refused in both. Raises `CastError` with the first such value.
    """
    if holds_all(dtype, values.dtype):
        return values.astype(dtype, copy=False)
    with np.errstate(invalid="ignore", over="ignore"):
        if dtype.kind == "f":
            result = values.astype(dtype)
            wrong = np.isinf(result) & np.isfinite(values)
            lossy = (result.astype(values.dtype) != values) & ~_not_a_number(values)
            if values.dtype.kind in "iu":
                lossy = ~_same_integer(result, values)
        else:
            whole = np.rint(values) if values.dtype.kind == "f" else values
            low, high = _limits(values.dtype, dtype)
            wrong = ~((whole >= low) & (whole <= high))
            result = np.where(wrong, 0, whole).astype(dtype)
            lossy = whole != values
    _refuse(values, wrong, f"{where}: got {{}}, expected values that {dtype} holds; choose another dtype")
    if how == "exact":
        _refuse(
            values,
            lossy,
            f"{where}: got {{}}, which {dtype} does not hold exactly; choose another dtype, or cast 'round'",
        )
    return result


def _refuse(values: NDArray[Any], wrong: NDArray[np.bool_], text: str) -> None:
    if wrong.any():
        first = values[np.unravel_index(int(np.argmax(wrong)), wrong.shape)]
        raise CastError(text.format(first))


def _not_a_number(values: NDArray[Any]) -> Any:
    return np.isnan(values) if values.dtype.kind == "f" else np.False_


def _same_integer(result: NDArray[Any], values: NDArray[Any]) -> NDArray[np.bool_]:
    """Whether floats are exactly the integers: converted back, where that does not leave the range."""
    low, high = _limits(result.dtype, values.dtype)
    inside = (result >= low) & (result <= high)
    same: NDArray[np.bool_] = inside & (np.where(inside, result, 0).astype(values.dtype) == values)
    return same


def _limits(source: np.dtype[Any], target: np.dtype[Any]) -> tuple[Any, Any]:
    """The least and largest value of integers `target` that `source` can tell."""
    limits = np.iinfo(target)
    if source.kind == "f":
        own = np.finfo(source)
        low, high = (source.type(min(max(limit, own.min), own.max)) for limit in (limits.min, limits.max))
        if int(high) > limits.max:
            high = np.nextafter(high, source.type(0))
        return low, high
    least, most = np.iinfo(source).min, np.iinfo(source).max
    return source.type(max(limits.min, least)), source.type(min(limits.max, most))
