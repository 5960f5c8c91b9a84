"""Elements chosen one by one by their coordinates, and the chunks they lie in."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from fastzarr.chunks.axis import Axis
from fastzarr.indexing.dimensions import grouped
from fastzarr.indexing.plan import ALL, Index, Layout, Plan, Projection


def plan_points(points: Sequence[NDArray[np.intp]], axes: Sequence[Axis]) -> Plan:
    """Plan of elements with the given coordinates, one array of one shape for each dimension."""
    shape = points[0].shape
    everything = (slice(None),) * len(shape) or ALL
    layout = Layout(shape, shape, everything, everything)
    flat = [coords.reshape(-1) for coords in points]
    order, bounds = grouped(_chunk_numbers(flat, axes))
    count = len(bounds) - 1
    if count == 1:
        only = _projection(points, [int(coords[0]) for coords in flat], axes, ALL)
        return Plan(layout, 1, (only,))
    shares = _Points(shape, flat, axes, order, bounds)
    return Plan(layout, count, shares, views=order is None and len(shape) == 1)


class _Points:
    """The projections of points, made as they are asked for."""

    def __init__(
        self,
        shape: tuple[int, ...],
        points: Sequence[NDArray[np.intp]],
        axes: Sequence[Axis],
        order: NDArray[np.intp] | None,
        bounds: NDArray[np.intp],
    ) -> None:
        self._shape = shape
        self._points = points
        self._axes = axes
        self._order = order
        self._bounds = bounds

    def __iter__(self) -> Iterator[Projection]:
        for start, stop in zip(self._bounds[:-1].tolist(), self._bounds[1:].tolist(), strict=True):
            taken: Index = slice(start, stop) if self._order is None else self._order[start:stop]
            out: tuple[Index, ...] = (taken,)
            if len(self._shape) != 1:
                numbers = np.arange(start, stop) if self._order is None else taken
                out = np.unravel_index(numbers, self._shape)
            points = [coords[taken] for coords in self._points]
            yield _projection(points, [int(coords[0]) for coords in points], self._axes, out)


def _projection(
    points: Sequence[NDArray[np.intp]], first: Sequence[int], axes: Sequence[Axis], out: tuple[Index, ...]
) -> Projection:
    chunk_coords = tuple([axis.coord(index) for axis, index in zip(axes, first, strict=True)])
    begins = [axis.place(coord)[0] for axis, coord in zip(axes, chunk_coords, strict=True)]
    within = tuple([coords - begin for coords, begin in zip(points, begins, strict=True)])
    return Projection(chunk_coords, within, out, False, False)


def _chunk_numbers(points: Sequence[NDArray[np.intp]], axes: Sequence[Axis]) -> NDArray[np.intp]:
    """A number for each point that is the same for points of one chunk, in C order of the chunks."""
    counts = [axis.count for axis in axes]
    dense = math.prod(counts) < 2**63
    numbers = np.zeros(len(points[0]), np.intp)
    for coords, axis, count in zip(points, axes, counts, strict=True):
        along = axis.coords(coords)
        if not dense:
            # No more numbers than there are points, so that they fit in 64 bits.
            met, along = np.unique(along, return_inverse=True)
            count = len(met)
        numbers = numbers * count + along
        if not dense:
            numbers = np.unique(numbers, return_inverse=True)[1]
    return numbers
