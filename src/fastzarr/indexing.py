"""Selections to plans: which part of which chunk goes where in the result. Integers only, no I/O."""

from __future__ import annotations

import math
import operator
from collections.abc import Iterator
from types import EllipsisType
from typing import Any, NamedTuple, SupportsIndex

from fastzarr.errors import BoundsCheckError, NegativeStepError, SelectionError

BasicSelection = SupportsIndex | slice | EllipsisType | tuple[SupportsIndex | slice | EllipsisType, ...]
"""Integers, slices and one `...`, alone or in a tuple."""

_ALL: Any = (...,)
"""What selects all of a 0-dimensional array as a view."""

_NONE: Any = ()
_WHOLE = slice(None)
_FIRST = slice(0, 1)

_Share = tuple[int, slice, slice, bool, bool]
"""One chunk's share of a selection along one dimension: the fields of `Projection`."""


class Projection(NamedTuple):
    """One chunk's share of a selection."""

    coords: tuple[int, ...]
    """Chunk coordinates."""
    chunk: tuple[slice, ...]
    """Selected elements within the chunk."""
    out: tuple[slice, ...]
    """Their place in the selection."""
    complete: bool
    """Whether all elements of the chunk that lie in the array are selected."""
    padded: bool
    """Whether the chunk reaches beyond the array."""


class Layout(NamedTuple):
    """The shape of a selection, and how it relates to NumPy's, without the dimensions taken by an integer."""

    shape: tuple[int, ...]
    """Shape of the selection, with dimensions taken by an integer kept as 1."""
    result_shape: tuple[int, ...]
    """Shape of the selection, without them."""
    drop: tuple[slice | int, ...]
    """Index of an array of `shape` that gives one of `result_shape`, as a view."""
    expand: tuple[slice | None, ...]
    """Index of an array of `result_shape` that gives one of `shape`, as a view."""


class Plan:
    """How a basic selection of an array falls on its chunks."""

    __slots__ = ("_dimensions", "count", "layout", "only")

    def __init__(
        self, layout: Layout, count: int, only: Projection | None, dimensions: list[_Dimension | _Index]
    ) -> None:
        self.layout = layout
        """Shape of the selection."""
        self.count = count
        """Number of chunks; with steps larger than a chunk, an upper bound."""
        self.only = only
        """The share of the only chunk; None where there are none or several."""
        self._dimensions = dimensions

    def __iter__(self) -> Iterator[Projection]:
        """Each chunk's share, in C order of the chunk coordinates; made as it is asked for."""
        for shares in _product(self._dimensions):
            yield _projection(shares)


class Grid:
    """The chunks of an array, and what every selection of it needs, made once."""

    def __init__(self, shape: tuple[int, ...], chunks: tuple[int, ...]) -> None:
        self._shape = shape
        self._chunks = chunks
        sizes = zip(shape, chunks, strict=True)
        self._whole = [_Dimension(0, size, 1, size, size, chunk) for size, chunk in sizes]
        self._steps = 0
        if shape and shape[0] and chunks[0] == 1:
            step = self._new_plan(0)
            if step.only is not None:
                self._steps = shape[0]
                self._step_layout = step.layout
                self._step_only = step.only

    def plan(self, selection: object) -> Plan:
        """Plan of a basic selection; raises `SelectionError`."""
        # Time series go chunk by chunk along the first dimension, where plans differ in one coordinate only.
        if type(selection) is int and 0 <= selection < self._steps:
            (_, *coords), chunk, out, complete, padded = self._step_only
            return Plan(
                self._step_layout, 1, Projection((selection, *coords), chunk, out, complete, padded), _NONE
            )
        return self._new_plan(selection)

    def _new_plan(self, selection: object) -> Plan:
        dimensions: list[_Dimension | _Index] = [*self._whole]
        kept = [True] * len(dimensions)
        for axis, item in _items(selection, len(dimensions)):
            if isinstance(item, slice):
                dimensions[axis] = self._sliced(item, axis)
            else:
                dimensions[axis] = self._indexed(item, axis)
                kept[axis] = False
        shape = tuple([dimension.length for dimension in dimensions])
        layout = Layout(
            shape,
            tuple([size for size, keep in zip(shape, kept, strict=True) if keep]),
            tuple([_WHOLE if keep else 0 for keep in kept]),
            tuple([_WHOLE if keep else None for keep in kept]) or _ALL,
        )
        count = math.prod([dimension.count for dimension in dimensions])
        only = _projection([dimension.first for dimension in dimensions]) if count == 1 else None
        return Plan(layout, count, only, dimensions)

    def _sliced(self, item: slice, axis: int) -> _Dimension:
        size = self._shape[axis]
        try:
            start, stop, step = item.indices(size)
        except (TypeError, ValueError) as error:
            raise SelectionError(f"dimension {axis}: got {item}: {error}") from error
        if step < 1:
            raise NegativeStepError(f"dimension {axis}: got step {step}, expected a step of 1 or more")
        return _Dimension(start, stop, step, max(0, -(-(stop - start) // step)), size, self._chunks[axis])

    def _indexed(self, item: object, axis: int) -> _Index:
        size = self._shape[axis]
        try:
            if isinstance(item, bool):
                raise TypeError
            index = operator.index(item)  # type: ignore[arg-type]
        except TypeError as error:
            raise SelectionError(
                f"dimension {axis}: got {item!r}, expected an integer, a slice or ..."
            ) from error
        if not -size <= index < size:
            allowed = f"{-size} to {size - 1}" if size else "none"
            raise BoundsCheckError(f"dimension {axis}: got index {index}, expected {allowed} (size {size})")
        return _Index(index + size if index < 0 else index, size, self._chunks[axis])


class _Dimension:
    """`length` elements along one dimension, from `start` in steps of `step`, and the chunks they meet."""

    __slots__ = ("_chunk", "_size", "_start", "_step", "_stop", "count", "first", "length")

    def __init__(self, start: int, stop: int, step: int, length: int, size: int, chunk: int) -> None:
        self._start = start
        self._stop = stop
        self._step = step
        self._size = size
        self._chunk = chunk
        self.length = length
        self.count = (start + (length - 1) * step) // chunk - start // chunk + 1 if length else 0
        self.first = self._share(0)

    def __iter__(self) -> Iterator[_Share]:
        share = self.first
        while share[2].start < self.length:
            yield share
            share = self._share(share[2].stop)

    def _share(self, done: int) -> _Share:
        """The share of the chunk in which the element number `done` lies."""
        chunk = self._chunk
        first = self._start + done * self._step
        coord = first // chunk
        begin = coord * chunk
        end = min(self._stop - begin, chunk)
        taken = -((first - begin - end) // self._step)
        inside = self._size - begin
        return (
            coord,
            slice(first - begin, end, self._step),
            slice(done, done + taken),
            taken in (chunk, inside),
            inside < chunk,
        )


class _Index:
    """One element along one dimension, and the chunk it lies in: a `_Dimension` of length 1, made faster."""

    __slots__ = ("first",)
    length = 1
    count = 1

    def __init__(self, index: int, size: int, chunk: int) -> None:
        coord = index // chunk
        begin = coord * chunk
        offset = index - begin
        inside = size - begin
        self.first: _Share = (
            coord,
            slice(offset, offset + 1, 1),
            _FIRST,
            chunk == 1 or inside == 1,
            inside < chunk,
        )

    def __iter__(self) -> Iterator[_Share]:
        yield self.first


def _projection(shares: list[_Share] | tuple[_Share, ...]) -> Projection:
    if not shares:
        return Projection((), _ALL, _ALL, True, False)
    coords, chunk, out, complete, padded = zip(*shares, strict=True)
    return Projection(coords, chunk, out, all(complete), any(padded))


def _product(dimensions: list[_Dimension | _Index]) -> Iterator[tuple[_Share, ...]]:
    if not dimensions:
        yield ()
        return
    first, *rest = dimensions
    for head in first:
        for tail in _product(rest):
            yield (head, *tail)


def _items(selection: object, ndim: int) -> list[tuple[int, object]]:
    """Dimension and item of all that is selected."""
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
