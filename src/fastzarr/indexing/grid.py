"""The chunks of an array, and plans of every kind of selection of it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from fastzarr.chunks.axis import Axis, ChunkSizes
from fastzarr.errors import NegativeStepError, SelectionError
from fastzarr.indexing.dimensions import Indexed, Listed, Sliced
from fastzarr.indexing.items import integers, is_array, items_of, position, positions
from fastzarr.indexing.plan import ALL, Layout, Plan, Product, Projection
from fastzarr.indexing.points import plan_points

_WHOLE = slice(None)
_REVERSED = slice(None, None, -1)

_Dimension = Sliced | Indexed | Listed


class Grid:
    """The chunks of an array, and what every selection of it needs, made once."""

    def __init__(self, shape: tuple[int, ...], chunks: Sequence[ChunkSizes]) -> None:
        self.axes = tuple([Axis(size, sizes) for size, sizes in zip(shape, chunks, strict=True)])
        """The chunks along each dimension."""
        self._whole = [Sliced(0, axis.size, 1, axis.size, axis) for axis in self.axes]
        self._steps = 0
        if shape and shape[0] and chunks[0] == 1:
            step = self._new_plan(0)
            if step.only is not None and step.bounds is not None:
                self._steps = shape[0]
                self._step_bounds = step.bounds[1:]
                self._step_layout = step.layout
                self._step_only = step.only

    def extents(self) -> tuple[tuple[int, ...], ...]:
        """Elements of the array in each chunk, along each dimension."""
        return tuple(axis.extents() for axis in self.axes)

    def plan(self, selection: object) -> Plan:
        """Plan of what stands between the brackets of `array[...]`; raises `SelectionError`.

        That is a basic selection; coordinates for every dimension; a mask; or an orthogonal selection with
        one array, or an array for every dimension.
        """
        # Time series go chunk by chunk along the first dimension, where plans differ in one coordinate only.
        if type(selection) is int and 0 <= selection < self._steps:
            (_, *coords), chunk, out, complete, padded = self._step_only
            only = Projection((selection, *coords), chunk, out, complete, padded)
            bounds = ((selection, selection + 1, 1, 1), *self._step_bounds)
            return Plan(self._step_layout, 1, (only,), bounds=bounds)
        return self._new_plan(selection)

    def plan_basic(self, selection: object) -> Plan:
        """Plan of integers, slices and one `...`; raises `SelectionError`."""
        return self._new_plan(selection, "none")

    def plan_orthogonal(self, selection: object) -> Plan:
        """Plan of what integers, slices and arrays choose, each along its dimension; raises `SelectionError`.

        Arrays have one dimension: of integers, in any order, or of booleans, one for each element.
        """
        return self._new_plan(selection, "all")

    def plan_coordinates(self, selection: object) -> Plan:
        """Plan of the elements with the given coordinates, arrays of integers that broadcast to one shape.

        An integer is taken for an array of one element. Raises `SelectionError`.
        """
        given = selection if isinstance(selection, tuple) else (selection,)
        ndim = len(self.axes)
        if len(given) != ndim or not ndim:
            raise SelectionError(f"got {len(given)} arrays of coordinates for {ndim} dimensions")
        arrays = []
        for number, (item, axis) in enumerate(zip(given, self.axes, strict=True)):
            if is_array(item):
                array = integers(item, number)
                if array.dtype == bool:
                    raise SelectionError(f"dimension {number}: got booleans, expected integers")
                arrays.append(positions(array, number, axis))
            else:
                arrays.append(np.array([position(item, number, axis.size)]))
        try:
            points = np.broadcast_arrays(*arrays)
        except ValueError as error:
            shapes = ", ".join(str(array.shape) for array in arrays)
            raise SelectionError(
                f"got coordinates of shapes {shapes}, expected ones that broadcast"
            ) from error
        return plan_points(points, self.axes)

    def plan_mask(self, mask: Any) -> Plan:
        """Plan of the elements where `mask`, of the array's shape, is true; raises `SelectionError`."""
        shape = tuple(axis.size for axis in self.axes)
        given = mask[0] if isinstance(mask, tuple) and len(mask) == 1 else mask
        array = np.asarray(given)
        if array.dtype != bool or array.shape != shape or not shape:
            found = f"{array.dtype} of shape {array.shape}"
            raise SelectionError(f"got a mask of {found}, expected booleans of shape {shape}")
        return plan_points(np.nonzero(array), self.axes)

    def plan_blocks(self, selection: object) -> Plan:
        """Plan of whole chunks, chosen by their coordinates: integers and slices with a step of 1.

        A dimension with an integer is kept. Raises `SelectionError`.
        """
        chosen = [_WHOLE] * len(self.axes)
        for number, item in items_of(selection, len(self.axes)):
            axis = self.axes[number]
            if isinstance(item, slice):
                start, stop, step = _bounds(item, number, axis.count)
                if step != 1:
                    kind = NegativeStepError if step < 0 else SelectionError
                    raise kind(f"dimension {number}: got step {step} of chunks, expected 1")
            else:
                start = position(item, number, axis.count)
                stop = start + 1
            begin = axis.place(start)[0] if start < axis.count else axis.size
            end = axis.place(stop)[0] if stop < axis.count else axis.size
            chosen[number] = slice(begin, max(begin, end))
        return self._new_plan(tuple(chosen))

    def replan(self, projection: Projection) -> Plan:
        """Plan, for the inner chunks of a shard, of a shard's share of a selection.

        The grid is that of the shard's part within the array; places are relative to `projection.out`.
        """
        chosen = projection.chunk
        if not self.axes:
            return self._new_plan(...)
        arrays = [item for item in chosen if not isinstance(item, slice)]
        if len(arrays) == len(chosen) and all(array.shape == arrays[0].shape for array in arrays):
            return plan_points(arrays, self.axes)
        dimensions: list[_Dimension] = []
        for item, axis in zip(chosen, self.axes, strict=True):
            if isinstance(item, slice):
                length = -((item.start - item.stop) // item.step)
                dimensions.append(Sliced(item.start, item.stop, item.step, length, axis))
            else:
                dimensions.append(Listed(item.reshape(-1), axis))
        return _plan(dimensions, [_WHOLE] * len(dimensions), [_WHOLE] * len(dimensions), bool(arrays))

    def _new_plan(self, selection: object, arrays: Literal["none", "some", "all"] = "some") -> Plan:
        """Plan of a selection that is made dimension by dimension, unless `some` arrays say otherwise."""
        dimensions: list[_Dimension] = [*self._whole]
        drop: list[slice | int] = [_WHOLE] * len(dimensions)
        expand: list[slice | None] = [*drop]  # type: ignore[list-item]
        listed = False
        for number, item in items_of(selection, len(dimensions)):
            axis = self.axes[number]
            if isinstance(item, slice):
                start, stop, step = _bounds(item, number, axis.size)
                length = len(range(start, stop, step))
                if step < 0:
                    start, stop, step = start + (length - 1) * step, start + 1, -step
                    drop[number] = expand[number] = _REVERSED
                dimensions[number] = Sliced(start, stop, step, length, axis)
            elif type(item) is not int and arrays != "none" and is_array(item):
                if arrays == "some":
                    return self._plan_arrays(selection)
                dimensions[number] = _listed(item, number, axis)
                listed = True
            else:
                dimensions[number] = Indexed(position(item, number, axis.size), axis)
                drop[number] = 0
                expand[number] = None
        return _plan(dimensions, drop, expand, listed)

    def _plan_arrays(self, selection: Any) -> Plan:
        """Plan of a selection with arrays, which coordinates or one array for each dimension may be."""
        given = selection if isinstance(selection, tuple) else (selection,)
        ndim = len(self.axes)
        arrays = [integers(item, number) for number, item in enumerate(given) if is_array(item)]
        if len(given) == 1 and arrays[0].dtype == bool and arrays[0].ndim == ndim:
            return self.plan_mask(given[0])
        every = len(given) == ndim and not any(isinstance(item, slice) or item is ... for item in given)
        if every and (ndim == 1 or len(given) > 1) and not any(array.dtype == bool for array in arrays):
            return self.plan_coordinates(given)
        if len(arrays) == 1 or len(arrays) == ndim:
            return self.plan_orthogonal(given)
        raise SelectionError(
            f"got {len(arrays)} arrays for {ndim} dimensions, expected one, or one for each; see oindex"
        )


def _plan(
    dimensions: list[_Dimension], drop: list[slice | int], expand: list[slice | None], listed: bool
) -> Plan:
    shape = tuple([dimension.length for dimension in dimensions])
    layout = Layout(
        shape,
        tuple([size for size, index in zip(shape, drop, strict=True) if index != 0]),
        tuple(drop),
        tuple(expand) or ALL,
    )
    count = math.prod([dimension.count for dimension in dimensions])
    bounds = tuple([bound for dimension in dimensions if (bound := dimension.bounds) is not None])
    box = bounds if len(bounds) == len(dimensions) else None
    views = not listed or all(dimension.views for dimension in dimensions)
    return Plan(layout, count, Product(dimensions, listed), views=views, bounds=box)


def _bounds(item: slice, number: int, size: int) -> tuple[int, int, int]:
    try:
        return item.indices(size)
    except (TypeError, ValueError) as error:
        raise SelectionError(f"dimension {number}: got {item}: {error}") from error


def _listed(item: object, number: int, axis: Axis) -> Listed:
    array = integers(item, number)
    if array.ndim != 1:
        raise SelectionError(
            f"dimension {number}: got an array with {array.ndim} dimensions, expected 1; see vindex"
        )
    if array.dtype == bool:
        if len(array) != axis.size:
            raise SelectionError(f"dimension {number}: got {len(array)} booleans, expected {axis.size}")
        return Listed(np.flatnonzero(array), axis)
    return Listed(positions(array, number, axis), axis)
