"""What stands between the brackets, taken apart and checked."""

from __future__ import annotations

import operator
from types import EllipsisType
from typing import Any, SupportsIndex

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fastzarr.chunks.axis import Axis
from fastzarr.errors import BoundsCheckError, SelectionError

BasicSelection = SupportsIndex | slice | EllipsisType | tuple[SupportsIndex | slice | EllipsisType, ...]
"""Integers, slices and one `...`, alone or in a tuple."""

_Item = SupportsIndex | slice | EllipsisType | ArrayLike
Selection = _Item | tuple[_Item, ...]
"""What a basic selection may hold, and arrays of integers or booleans."""


def items_of(selection: object, ndim: int) -> list[tuple[int, object]]:
    """Dimension and item of all that is selected; raises `SelectionError`."""
    if selection is Ellipsis:
        return []
    if not isinstance(selection, tuple):
        if ndim == 0:
            raise SelectionError(
                f"got index {selection!r} for an array without dimensions, expected () or ..."
            )
        return [(0, selection)]
    ellipses = [position for position, item in enumerate(selection) if item is Ellipsis]
    if len(ellipses) > 1:
        raise SelectionError(f"got {len(ellipses)} ellipses in {selection!r}, expected one at the most")
    given = len(selection) - len(ellipses)
    if given > ndim:
        raise SelectionError(f"got {given} indices for {ndim} dimensions")
    if not ellipses:
        return list(enumerate(selection))
    before = ellipses[0]
    tail = enumerate(selection[before + 1 :], ndim - given + before)
    return [*enumerate(selection[:before]), *tail]


def is_array(item: object) -> bool:
    """Whether an item chooses elements by a list or array: not one integer, slice or text."""
    if isinstance(item, list):
        return True
    return getattr(item, "ndim", 0) > 0 and hasattr(item, "dtype")


def integers(item: Any, axis: int) -> NDArray[Any]:
    """A list or array as an array of integers or booleans; raises `SelectionError`."""
    try:
        array = np.asarray(item)
    except ValueError as error:
        raise SelectionError(f"dimension {axis}: got {item!r}: {error}") from error
    if isinstance(item, list) and not array.size:
        array = array.astype(np.intp)
    if array.dtype.kind not in "iub":
        raise SelectionError(
            f"dimension {axis}: got an array of {array.dtype}, expected integers or booleans"
        )
    return array


def position(item: object, number: int, size: int) -> int:
    """An integer index as a position from the start; raises `SelectionError` or `BoundsCheckError`."""
    try:
        if isinstance(item, bool):
            raise TypeError
        index = operator.index(item)  # type: ignore[arg-type]
    except TypeError as error:
        raise SelectionError(
            f"dimension {number}: got {item!r}, expected an integer, a slice or ..."
        ) from error
    if not -size <= index < size:
        raise _out_of_bounds(index, number, size)
    return index + size if index < 0 else index


def positions(indices: NDArray[Any], number: int, axis: Axis) -> NDArray[np.intp]:
    """Integer indices as positions from the start; raises `BoundsCheckError`."""
    size = axis.size
    if not indices.size:
        return indices.astype(np.intp)
    least, most = int(indices.min()), int(indices.max())
    if least < -size or most >= size:
        raise _out_of_bounds(least if least < -size else most, number, size)
    indices = indices.astype(np.intp, copy=False)
    return np.where(indices < 0, indices + size, indices) if least < 0 else indices


def _out_of_bounds(index: int, number: int, size: int) -> BoundsCheckError:
    allowed = f"{-size} to {size - 1}" if size else "none"
    return BoundsCheckError(f"dimension {number}: got index {index}, expected {allowed} (size {size})")
