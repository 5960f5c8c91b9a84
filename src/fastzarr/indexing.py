"""Selections to plans: which part of which chunk goes where in the result. Integers only, no I/O."""

import math
import operator
from collections.abc import Iterator
from types import EllipsisType
from typing import Any, NamedTuple, SupportsIndex

from fastzarr.errors import BoundsCheckError, NegativeStepError, SelectionError

BasicSelection = (
    SupportsIndex | slice | EllipsisType | tuple[SupportsIndex | slice | EllipsisType, ...]
)
"""Integers, slices and one `...`, alone or in a tuple."""

_ALL: Any = (...,)
"""What selects all of a 0-dimensional array as a view."""


class DimensionProjection(NamedTuple):
    """One chunk's share of a selection, along one dimension."""

    coord: int
    """Chunk coordinate."""
    chunk: slice
    """Selected elements within the chunk."""
    out: slice
    """Their place in the selection."""
    complete: bool
    """Whether all elements of the chunk that lie in the array are selected."""
    padded: bool
    """Whether the chunk reaches beyond the array."""


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


class _Dimension:
    """A selection along one dimension: `start`, `stop`, `step` within bounds, and the chunks it meets."""

    __slots__ = ("chunk", "length", "size", "start", "step", "stop")

    def __init__(self, selected: object, axis: int, size: int, chunk: int) -> None:
        self.size = size
        self.chunk = chunk
        if isinstance(selected, slice):
            try:
                self.start, self.stop, self.step = selected.indices(size)
            except (TypeError, ValueError) as error:
                raise SelectionError(f"dimension {axis}: got {selected}: {error}") from error
            if self.step < 1:
                raise NegativeStepError(f"dimension {axis}: got step {self.step}, expected a step of 1 or more")
            self.length = max(0, -(-(self.stop - self.start) // self.step))
            return
        if isinstance(selected, bool):
            raise SelectionError(f"dimension {axis}: got {selected}, expected an integer, a slice or ...")
        try:
            index = operator.index(selected)  # type: ignore[arg-type]
        except TypeError as error:
            raise SelectionError(
                f"dimension {axis}: got {selected!r}, expected an integer, a slice or ..."
            ) from error
        if not -size <= index < size:
            raise BoundsCheckError(
                f"dimension {axis}: got index {index}, expected {-size} to {size - 1} (size {size})"
            )
        self.start = index + size if index < 0 else index
        self.stop = self.start + 1
        self.step = 1
        self.length = 1

    @property
    def count(self) -> int:
        """Number of chunks met; with large steps, an upper bound."""
        if self.length == 0:
            return 0
        last = self.start + (self.length - 1) * self.step
        return last // self.chunk - self.start // self.chunk + 1

    def __iter__(self) -> Iterator[DimensionProjection]:
        chunk, step = self.chunk, self.step
        done = 0
        while done < self.length:
            first = self.start + done * step
            coord, offset = divmod(first, chunk)
            limit = min(self.stop, (coord + 1) * chunk)
            taken = -(-(limit - first) // step)
            end = limit - coord * chunk
            inside = min(chunk, self.size - coord * chunk)
            yield DimensionProjection(
                coord,
                slice(offset, end, step),
                slice(done, done + taken),
                taken == inside,
                inside < chunk,
            )
            done += taken


class Plan:
    """How a basic selection of an array falls on its chunks; iterates over `Projection`s, lazily.

    `shape` is the shape of the selection with dimensions taken by an integer kept as 1; `drop` indexes an array of
    `shape` so that those go, and `expand` one of `result_shape` so that they come back, both as views.
    """

    __slots__ = ("_dimensions", "count", "drop", "expand", "result_shape", "shape")

    def __init__(self, selection: object, shape: tuple[int, ...], chunks: tuple[int, ...]) -> None:
        items = _fill_ellipsis(selection, len(shape))
        self._dimensions = [
            _Dimension(item, axis, size, chunk)
            for axis, (item, size, chunk) in enumerate(zip(items, shape, chunks, strict=True))
        ]
        self.shape = tuple([dimension.length for dimension in self._dimensions])
        kept = [isinstance(item, slice) for item in items]
        self.result_shape = tuple([n for n, keep in zip(self.shape, kept, strict=True) if keep])
        self.drop = tuple([slice(None) if keep else 0 for keep in kept])
        self.expand = tuple([slice(None) if keep else None for keep in kept])
        self.count = math.prod([dimension.count for dimension in self._dimensions])

    def __iter__(self) -> Iterator[Projection]:
        for parts in _product(self._dimensions):
            yield Projection(
                tuple([part.coord for part in parts]),
                tuple([part.chunk for part in parts]) or _ALL,
                tuple([part.out for part in parts]) or _ALL,
                all([part.complete for part in parts]),
                any([part.padded for part in parts]),
            )


def _product(dimensions: list[_Dimension]) -> Iterator[tuple[DimensionProjection, ...]]:
    if not dimensions:
        yield ()
        return
    first, *rest = dimensions
    for head in first:
        for tail in _product(rest):
            yield (head, *tail)


def _fill_ellipsis(selection: object, ndim: int) -> list[object]:
    items = list(selection) if isinstance(selection, tuple) else [selection]
    ellipses = [position for position, item in enumerate(items) if item is Ellipsis]
    if len(ellipses) > 1:
        raise SelectionError(f"got {len(ellipses)} ellipses in {selection!r}, expected one at the most")
    given = len(items) - len(ellipses)
    if given > ndim:
        raise SelectionError(f"got {given} indices for {ndim} dimensions")
    position = ellipses[0] if ellipses else len(items)
    return [*items[:position], *[slice(None)] * (ndim - given), *items[position + len(ellipses) :]]
