"""What is selected along one dimension, by a slice, an integer or an array, and the chunks it meets."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from fastzarr.chunks.axis import Axis
from fastzarr.indexing.plan import Bounds, Index, Share

_FIRST = slice(0, 1)


class Sliced:
    """`length` elements along one dimension, from `start` in steps of `step`, and the chunks they meet."""

    __slots__ = ("_axis", "_start", "_step", "_stop", "bounds", "count", "length")
    views = True

    def __init__(self, start: int, stop: int, step: int, length: int, axis: Axis) -> None:
        self._start = start
        self._stop = stop
        self._step = step
        self._axis = axis
        self.length = length
        self.bounds: Bounds | None = None
        """None where no chunk is met, where chunks between may be left out, or where they differ in size."""
        if not length:
            self.count = 0
            return
        last = start + (length - 1) * step
        chunk = axis.chunk
        if chunk:
            self.count = last // chunk - start // chunk + 1
            if step <= chunk:
                self.bounds = (start, stop, step, length)
        else:
            self.count = axis.coord(last) - axis.coord(start) + 1

    @property
    def first(self) -> Share:
        """The share of the first chunk."""
        return self._share(0)

    def __iter__(self) -> Iterator[Share]:
        if not self.length:
            return
        share = self.first
        while True:
            yield share
            done = share[2].stop
            if done >= self.length:
                return
            share = self._share(done)

    def __getitem__(self, number: int) -> Share:
        """The share of one of the chunks by its number, where there are `bounds`."""
        chunk = self._axis.chunk
        before = (self._start // chunk + number) * chunk - self._start
        return self._share(max(0, -(-before // self._step)))

    def _share(self, done: int) -> Share:
        """The share of the chunk in which the element number `done` lies."""
        axis = self._axis
        first = self._start + done * self._step
        chunk = axis.chunk
        if chunk:
            coord = first // chunk
            begin = coord * chunk
        else:
            coord = axis.coord(first)
            begin, chunk = axis.place(coord)
        end = min(self._stop - begin, chunk)
        taken = -((first - begin - end) // self._step)
        inside = axis.size - begin
        return (
            coord,
            slice(first - begin, end, self._step),
            slice(done, done + taken),
            taken in (chunk, inside),
            inside < chunk,
        )


class Indexed:
    """One element along one dimension, and the chunk it lies in: a `Sliced` of length 1, made faster."""

    __slots__ = ("bounds", "first")
    length = 1
    count = 1
    views = True

    def __init__(self, index: int, axis: Axis) -> None:
        chunk = axis.chunk
        self.bounds: Bounds | None = None
        if chunk:
            coord = index // chunk
            begin = coord * chunk
            self.bounds = (index, index + 1, 1, 1)
        else:
            coord = axis.coord(index)
            begin, chunk = axis.place(coord)
        offset = index - begin
        inside = axis.size - begin
        self.first: Share = (
            coord,
            slice(offset, offset + 1, 1),
            _FIRST,
            chunk == 1 or inside == 1,
            inside < chunk,
        )

    def __iter__(self) -> Iterator[Share]:
        yield self.first

    def __getitem__(self, number: int) -> Share:
        return self.first


class Listed:
    """Elements along one dimension in any order and number, and the chunks they meet."""

    bounds = None

    __slots__ = ("_axis", "_bounds", "_indices", "_order", "_shares", "count", "length", "views")

    def __init__(self, indices: NDArray[np.intp], axis: Axis) -> None:
        self._axis = axis
        self._indices = indices
        self._order, self._bounds = grouped(axis.coords(indices))
        self._shares: list[Share] | None = None
        self.views = self._order is None
        self.length = len(indices)
        self.count = len(self._bounds) - 1

    @property
    def first(self) -> Share:
        """The share of the first chunk."""
        return self._share(0)

    def __iter__(self) -> Iterator[Share]:
        if self._shares is None:
            self._shares = [self._share(group) for group in range(self.count)]
        return iter(self._shares)

    def _share(self, group: int) -> Share:
        start, stop = self._bounds[group : group + 2].tolist()
        out: Index = slice(start, stop)
        indices = self._indices[out]
        if self._order is not None:
            order = self._order[out]
            indices = self._indices[order]
            out = _as_slice(order)
        coord = self._axis.coord(int(indices[0]))
        begin, chunk = self._axis.place(coord)
        inside = self._axis.size - begin
        selected = _as_slice(indices - begin)
        whole = isinstance(selected, slice) and len(indices) in (chunk, inside)
        return coord, selected, out, whole, inside < chunk


def grouped(coords: NDArray[np.intp]) -> tuple[NDArray[np.intp] | None, NDArray[np.intp]]:
    """The order that brings equal `coords` together, and the bounds of each group in it.

    The order is stable, and None where `coords` are sorted already.
    """
    steps = np.diff(coords)
    order = None
    if (steps < 0).any():
        least = coords.min()
        # NumPy sorts 16-bit integers several times faster.
        narrow = coords.max() - least < 2**16
        order = np.argsort((coords - least).astype(np.uint16) if narrow else coords, kind="stable")
        steps = np.diff(coords[order])
    inner = np.flatnonzero(steps) + 1
    ends = [0, len(coords)] if len(coords) else [0]
    return order, np.concatenate([ends[:1], inner, ends[1:]]).astype(np.intp, copy=False)


def _as_slice(indices: NDArray[np.intp]) -> Index:
    """`indices`, not empty, as a slice where one says the same."""
    first, last, count = int(indices[0]), int(indices[-1]), len(indices)
    if count == 1:
        return slice(first, first + 1, 1)
    step = int(indices[1]) - first
    if step > 0 and last == first + step * (count - 1) and (np.diff(indices) == step).all():
        return slice(first, last + 1, step)
    return indices
