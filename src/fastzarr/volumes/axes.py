"""What each dimension of an array is: a direction in space, the channels, or something else."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from fastzarr.volumes.element_class import DTYPES
from fastzarr.volumes.ome import Axis

SPATIAL = ("x", "y", "z")
_NAMES = {
    "x": ("x", "lon", "longitude"),
    "y": ("y", "lat", "latitude"),
    "z": ("z", "depth", "lev", "level", "altitude"),
    "c": ("c", "ch", "channel", "channels", "band", "rgb"),
    "t": ("t", "time"),
}
"""Names of dimensions, in any case, by what they are."""
_AXES = {name: axis for axis, names in _NAMES.items() for name in names}
FEW = 4
"""Elements of a dimension without a name that may be channels."""


def reason_against(array: Any) -> str | None:
    """Why an array is no volume; None where it is one."""
    dtype = array.dtype
    if dtype.kind not in "biuf" or (dtype != np.bool_ and dtype.newbyteorder("=") not in DTYPES):
        return f"the data type {dtype} is none of volumes: integers of 8 to 64 bits, float32, float64, bool"
    if len(array.shape) < 2:
        return f"the shape {array.shape} has fewer than 2 dimensions"
    if 0 in array.shape:
        return f"the shape {array.shape} has no elements"
    return None


def of_array(array: Any) -> tuple[str, ...]:
    """Axes of an array by its dimension names, else by its shape and the order of elements in its chunks.

    Without names the dimension along which elements are beside each other in a chunk is x, the next y, the
    next z; one of at most `FEW` before these, or behind them, is the channels; those left are `t` and others.
    """
    names = getattr(array.metadata, "dimension_names", None) or array.attrs.get("_ARRAY_DIMENSIONS")
    if isinstance(names, list | tuple) and len(names) == len(array.shape):
        known = [_AXES.get(str(name).lower(), str(name)) if name else None for name in names]
        if {"x", "y"} <= set(known) and len({axis for axis in known if axis}) == len(known):
            return tuple(axis for axis in known if axis)
    return of_shape(array.shape, x_first=_is_x_first(array))


def of_shape(shape: Sequence[int], *, x_first: bool = False) -> tuple[str, ...]:
    """Axes of an array without names; `x_first`: the first dimension varies fastest."""
    sizes = list(shape)[::-1] if x_first else list(shape)
    count = len(sizes)
    channels_last = (count == 3 and sizes[2] in (3, 4) and min(sizes[:2]) > FEW) or (
        count > 3 and sizes[-1] <= FEW < min(sizes[-4:-1])
    )
    space = SPATIAL[::-1] if count - channels_last >= 3 else SPATIAL[1::-1]
    before = count - len(space) - channels_last
    if channels_last:
        axes = [*_others(before), *space, "c"]
    elif before > 1 or (before and sizes[0] <= FEW):
        axes = [*_others(before - 1), "c", *space]
    else:
        axes = [*_others(before), *space]
    return tuple(axes[::-1] if x_first else axes)


def of_ome(axes: Iterable[Axis]) -> tuple[str, ...]:
    """Axes of the arrays of an image of OME-Zarr."""
    return tuple("c" if axis.type == "channel" else axis.name for axis in axes)


def _others(count: int) -> list[str]:
    return [*(f"d{number}" for number in range(1, count)), "t"] if count else []


def _is_x_first(array: Any) -> bool:
    """Whether the first dimension varies fastest in chunks."""
    try:
        strides, chunks = array.chunk_strides, array.chunks
    except (AttributeError, NotImplementedError):
        return False
    of_long = [stride for stride, size in zip(strides, chunks, strict=True) if size > 1]
    return len(of_long) > 1 and of_long == sorted(of_long)
