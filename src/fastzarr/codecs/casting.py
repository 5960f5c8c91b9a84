"""Values of one number type as values of another: rounding and range as the `cast_value` codec wants them."""

from __future__ import annotations

from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from fastzarr.errors import CodecError

Rounding = Literal["nearest-even", "towards-zero", "towards-positive", "towards-negative", "nearest-away"]
OutOfRange = Literal["clamp", "wrap"]

_BEYOND_HALF = 2.0**17
"""More than a float16 can hold."""

ROUNDINGS: tuple[str, ...] = get_args(Rounding)


def cast(
    values: NDArray[Any], dtype: np.dtype[Any], rounding: Rounding, out_of_range: OutOfRange | None
) -> NDArray[Any]:
    """`values` (integers or floats) as `dtype`; raises `CodecError` for what it can't hold.

    What rounds to more than the greatest float is infinite where it is clamped, as in zarr-python.
    """
    with np.errstate(all="ignore"):
        if dtype.kind == "f":
            return _to_float(values, dtype, rounding, out_of_range)
        if values.dtype.kind == "f":
            return _float_to_integer(values, dtype, rounding, out_of_range)
        return _integer_to_integer(values, dtype, out_of_range)


def _integer_to_integer(
    values: NDArray[Any], dtype: np.dtype[Any], out_of_range: OutOfRange | None
) -> NDArray[Any]:
    limits, given = np.iinfo(dtype), np.iinfo(values.dtype)
    low, high = max(limits.min, given.min), min(limits.max, given.max)
    if out_of_range == "clamp":
        values = np.clip(values, low, high)
    elif out_of_range is None:
        _require((values >= low) & (values <= high), values, dtype)
    return values.astype(dtype)


def _float_to_integer(
    values: NDArray[Any], dtype: np.dtype[Any], rounding: Rounding, out_of_range: OutOfRange | None
) -> NDArray[Any]:
    _require(~np.isnan(values), values, dtype)
    rounded = _to_whole(values.astype(np.float64), rounding)
    limits = np.iinfo(dtype)
    # Both are powers of two, or 0, and so exact; the highest integer itself need not be.
    below, above = rounded < float(limits.min), rounded >= float(limits.max + 1)
    if out_of_range == "wrap":
        _require(np.isfinite(values), values, dtype)
        return _wrapped(rounded, dtype)
    if out_of_range is None:
        _require(~(below | above), values, dtype)
    inside = np.where(below | above, 0.0, rounded).astype(dtype)
    inside[below] = limits.min
    inside[above] = limits.max
    return inside


def _to_whole(values: NDArray[Any], rounding: Rounding) -> NDArray[Any]:
    if rounding == "nearest-even":
        return np.rint(values)  # type: ignore[no-any-return]
    if rounding == "nearest-away":
        whole = np.trunc(values)
        # Exact, where adding a half would not be.
        return whole + np.where(np.abs(values - whole) >= 0.5, np.copysign(1.0, values), 0.0)  # type: ignore[no-any-return]
    step = {"towards-zero": np.trunc, "towards-positive": np.ceil, "towards-negative": np.floor}[rounding]
    return step(values)  # type: ignore[no-any-return]


def _wrapped(whole: NDArray[Any], dtype: np.dtype[Any]) -> NDArray[Any]:
    """Whole numbers modulo the number of values of `dtype`."""
    magnitude = np.fmod(np.abs(whole), 2.0**64).astype(np.uint64)
    bits = np.where(whole < 0, ~magnitude + np.uint64(1), magnitude)
    return bits.astype(f"u{dtype.itemsize}").view(dtype)  # type: ignore[no-any-return]


def _to_float(
    values: NDArray[Any], dtype: np.dtype[Any], rounding: Rounding, out_of_range: OutOfRange | None
) -> NDArray[Any]:
    infinite = np.isinf(values) if values.dtype.kind == "f" else np.False_
    if values.dtype.kind != "f" and dtype.itemsize == 2:
        # All beyond become alike, and integers up to there have exact floats.
        values = np.clip(values.astype(np.float64), -_BEYOND_HALF, _BEYOND_HALF)
    nearest = values.astype(dtype)
    result = nearest if rounding == "nearest-even" else _directed(values, nearest, rounding)
    if dtype.itemsize < 8:
        # What is out of range is so in every rounding.
        beyond = np.abs(values.astype(np.float64)) >= 2.0 ** int(np.finfo(dtype).maxexp)
        result = np.where(beyond, np.copysign(dtype.type(np.inf), nearest), result)
    if out_of_range is None:
        _require(~np.isinf(result) | infinite, values, dtype)
    return result


def _directed(values: NDArray[Any], nearest: NDArray[Any], rounding: Rounding) -> NDArray[Any]:
    """`nearest` floats, moved to their neighbours where the rounding wants them."""
    difference = _compared(nearest, values)
    infinity = nearest.dtype.type(np.inf)
    if rounding == "nearest-away":
        # Halves went to even: the neighbour away from zero is as near.
        away = np.nextafter(nearest, np.copysign(infinity, nearest))
        closer = np.sign(difference) == -np.copysign(1.0, nearest)
        tie = closer & (np.abs(difference) == np.abs(_compared(away, values)))
        return np.where(tie, away, nearest)
    up, down = difference < 0, difference > 0
    if rounding == "towards-zero":
        up, down = up & (nearest < 0), down & (nearest > 0)
    elif rounding == "towards-positive":
        down = np.zeros_like(down)
    else:
        up = np.zeros_like(up)
    moved = np.where(up, np.nextafter(nearest, infinity), nearest)
    return np.where(down, np.nextafter(nearest, -infinity), moved)


def _compared(floats: NDArray[Any], values: NDArray[Any]) -> NDArray[Any]:
    """How much greater `floats` are than `values` they are near to, exactly."""
    if values.dtype.kind == "f":
        wide = np.promote_types(values.dtype, floats.dtype)
        return floats.astype(wide) - values.astype(wide)  # type: ignore[no-any-return]
    if values.dtype.itemsize < 8:
        return floats.astype(np.float64) - values.astype(np.float64)
    # Modulo 2**64, where the difference of a float and an integer near to it is small.
    bits = np.fmod(np.abs(floats).astype(np.float64), 2.0**64).astype(np.uint64)
    bits = np.where(floats < 0, ~bits + np.uint64(1), bits)
    return (bits - values.astype(np.uint64)).view(np.int64)  # type: ignore[no-any-return]


def _require(valid: NDArray[np.bool_], values: NDArray[Any], dtype: np.dtype[Any]) -> None:
    if not np.all(valid):
        first = values[~valid].flat[0]
        raise CodecError(f"cast_value: {dtype} can't hold {first} (of {int((~valid).sum())} such values)")
