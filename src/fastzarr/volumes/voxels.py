"""Voxels of an array of any axes, as `[c, x, y, z]`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from fastzarr.errors import MetadataError
from fastzarr.volumes.boxes import BoundingBox, Vec3

AXES = "cxyz"
_CONVENTIONAL = {2: "yx", 3: "zyx", 4: "czyx", 5: "tczyx"}
"""Axes of arrays that tell none, by the number of their dimensions: as OME-Zarr has them."""


class Readable(Protocol):
    """What is read: an array of fastzarr, a `WkwArray`, a memory map, an array of NumPy."""

    @property
    def shape(self) -> tuple[int, ...]: ...
    @property
    def dtype(self) -> np.dtype[Any]: ...
    def __getitem__(self, selection: Any, /) -> Any: ...


class Voxels(Protocol):
    """Voxels of one magnification of a layer."""

    @property
    def dtype(self) -> np.dtype[Any]:
        """Data type of a channel."""

    @property
    def channels(self) -> int:
        """Number of channels."""

    @property
    def box(self) -> BoundingBox:
        """Where it has data, in its own voxels."""

    @property
    def chunk_nbytes(self) -> int:
        """Bytes that are decoded at once, however little is read."""

    @property
    def voxel_nbytes(self) -> int:
        """Bytes of memory that reading takes for each voxel read, the result among them."""

    def read(self, box: BoundingBox) -> NDArray[Any]:
        """The voxels of a part of `box`, shape `(channels, x, y, z)`."""


@dataclass(frozen=True, kw_only=True)
class ArrayVoxels:
    """Voxels of an array."""

    array: Readable
    """The array."""
    axes: str
    """Its axes by dimension: letters of `tcxyz`, `x` and `y` among them."""
    box: BoundingBox
    """Where it has data, in its own voxels."""
    offset: Vec3 = (0, 0, 0)
    """Position of the array's first voxel."""
    index: Mapping[str, int] = field(default_factory=dict)
    """Index along axes that voxels don't have."""

    @property
    def dtype(self) -> np.dtype[Any]:
        """Data type of a channel."""
        return self.array.dtype.newbyteorder("=")

    @property
    def channels(self) -> int:
        """Number of channels."""
        return self.array.shape[self.axes.index("c")] if "c" in self.axes else 1

    @property
    def chunk_nbytes(self) -> int:
        """Bytes that are decoded at once, however little is read."""
        chunks = getattr(self.array, "chunks", None)
        return int(np.prod(chunks)) * self.dtype.itemsize if chunks else 0

    @property
    def voxel_nbytes(self) -> int:
        """Bytes of memory that reading takes for each voxel read."""
        return self.channels * self.dtype.itemsize

    def read(self, box: BoundingBox) -> NDArray[Any]:
        """The voxels of a part of `box`."""
        begin = dict(zip("xyz", (o - s for o, s in zip(box.offset, self.offset, strict=True)), strict=True))
        size = dict(zip("xyz", box.size, strict=True))
        selection = tuple(
            slice(begin[axis], begin[axis] + size[axis])
            if axis in "xyz"
            else slice(None)
            if axis == "c"
            else self.index.get(axis, 0)
            for axis in self.axes
        )
        kept = [axis for axis in self.axes if axis in AXES]
        found = np.asarray(self.array[selection])
        missing = [axis for axis in AXES if axis not in kept]
        found = found.reshape(*found.shape, *(1 for _ in missing))
        order = [*kept, *missing]
        return found.transpose([order.index(axis) for axis in AXES])


def of_array(
    array: Readable,
    axes: str,
    *,
    offset: Vec3 = (0, 0, 0),
    box: BoundingBox | None = None,
    index: Mapping[str, int] | None = None,
    where: str = "array",
) -> ArrayVoxels:
    """Voxels of an array; what is outside of `box` is left alone. Raises `MetadataError`."""
    check_axes(axes, array.shape, where)
    chosen = dict(index or {})
    for axis, length in zip(axes, array.shape, strict=True):
        if axis in AXES:
            continue
        if axis not in chosen and length != 1:
            expected = f"length 1; with more choose one, from 0 to {length - 1}"
            raise MetadataError(where, [f"axis {axis!r}: got length {length}, expected {expected}"])
        if not 0 <= chosen.get(axis, 0) < length:
            raise MetadataError(
                where, [f"axis {axis!r}: got index {chosen[axis]}, expected 0 to {length - 1}"]
            )
    x, y, z = (array.shape[axes.index(axis)] if axis in axes else 1 for axis in "xyz")
    extent = BoundingBox(offset=offset, size=(x, y, z))
    return ArrayVoxels(
        array=array,
        axes=axes,
        box=extent if box is None else extent.intersection(box),
        offset=offset,
        index=chosen,
    )


def is_zero(values: NDArray[Any]) -> bool:
    """Whether all bits are zero: -0.0 is not."""
    return not values.view(f"u{values.dtype.itemsize}").any()


def check_axes(axes: str, shape: Sequence[int], where: str) -> None:
    """Raise `MetadataError` where axes can't be those of an array."""
    if len(axes) != len(shape) or len(set(axes)) < len(axes) or not {"x", "y"} <= set(axes) <= set("tcxyz"):
        expected = f"{len(shape)} different letters of t, c, x, y, z, with x and y among them"
        raise MetadataError(where, [f"axes: got {axes!r} for shape {tuple(shape)}, expected {expected}"])


def conventional_axes(shape: Sequence[int], where: str) -> str:
    """Axes of an array that tells none. Raises `MetadataError`."""
    if len(shape) not in _CONVENTIONAL:
        problem = f"got shape {tuple(shape)}, expected 2 to 5 dimensions"
        raise MetadataError(where, [problem])
    return _CONVENTIONAL[len(shape)]
