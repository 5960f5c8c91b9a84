"""What a plan is: the shape of a selection, and each chunk's share of it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

ALL: Any = (...,)
"""What selects all of a 0-dimensional array as a view."""

Index = Any
"""A NumPy index: a slice, or an array of integers."""

Share = tuple[int, Index, Index, bool, bool]
"""One chunk's share of a selection along one dimension: the fields of `Projection`."""

Bounds = tuple[int, int, int, int]
"""Start, stop, step of 1 or more, and number of the elements selected along one dimension."""


class Projection(NamedTuple):
    """One chunk's share of a selection."""

    coords: tuple[int, ...]
    """Chunk coordinates."""
    chunk: tuple[Index, ...]
    """Selected elements within the chunk: slices, with one 1-dimensional array of integers among them at the
    most; or arrays as `np.ix_` makes them; or, for coordinates, arrays of one shape."""
    out: tuple[Index, ...]
    """Their place in the selection, said in the same way."""
    complete: bool
    """Whether all elements of the chunk that lie in the array are selected, in their order."""
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
    """How a selection of an array falls on its chunks."""

    __slots__ = ("_only", "_shares", "bounds", "count", "layout", "views")

    def __init__(
        self,
        layout: Layout,
        count: int,
        shares: Product | Iterable[Projection],
        *,
        views: bool = True,
        bounds: tuple[Bounds, ...] | None = None,
    ) -> None:
        self.layout = layout
        """Shape of the selection."""
        self.count = count
        """Number of chunks; with steps larger than a chunk, an upper bound."""
        self.views = views
        """Whether `array[projection.out]` is a view of the array for every projection; else it is a copy."""
        self.bounds = bounds
        """The selection along each dimension if it meets all chunks of a box in a regular grid, or None."""
        self._shares = shares
        self._only: Projection | None = None

    @property
    def only(self) -> Projection | None:
        """The share of the only chunk: all of the selection. None where there are none or several."""
        if self._only is None and self.count == 1:
            self._only = next(iter(self._shares))
        return self._only

    def __iter__(self) -> Iterator[Projection]:
        """Each chunk's share, in C order of the chunk coordinates; made as it is asked for."""
        return iter(self._shares)

    def __getitem__(self, number: int) -> Projection:
        """The share of one chunk by its number, of a plan with `bounds`."""
        return self._shares[number]  # type: ignore[index]


class Product:
    """The projections of a selection that is chosen dimension by dimension."""

    __slots__ = ("_dimensions", "_orthogonal")

    def __init__(self, dimensions: Sequence[Any], orthogonal: bool = False) -> None:
        self._dimensions = dimensions
        self._orthogonal = orthogonal

    def __iter__(self) -> Iterator[Projection]:
        join = joined_orthogonal if self._orthogonal else joined
        if all(dimension.count == 1 for dimension in self._dimensions):
            return iter((join([dimension.first for dimension in self._dimensions]),))
        return map(join, _product(self._dimensions))

    def __getitem__(self, number: int) -> Projection:
        shares = []
        for dimension in reversed(self._dimensions):
            number, place = divmod(number, dimension.count)
            shares.append(dimension[place])
        return joined(shares[::-1])


def joined(shares: Sequence[Share]) -> Projection:
    """The projection of what is selected along each dimension, by slices."""
    if not shares:
        return Projection((), ALL, ALL, True, False)
    coords, chunk, out, complete, padded = zip(*shares, strict=True)
    return Projection(coords, chunk, out, all(complete), any(padded))


def joined_orthogonal(shares: Sequence[Share]) -> Projection:
    """The projection of what is selected along each dimension, by slices or arrays."""
    coords, chunk, out, complete, padded = joined(shares)
    return Projection(coords, _crossed(chunk), _crossed(out), complete, padded)


def _crossed(index: tuple[Index, ...]) -> tuple[Index, ...]:
    if sum(not isinstance(item, slice) for item in index) < 2:
        return index
    ranges = [
        np.arange(item.start, item.stop, item.step) if isinstance(item, slice) else item for item in index
    ]
    return np.ix_(*ranges)


def _product(dimensions: Sequence[Iterable[Share]]) -> Iterator[tuple[Share, ...]]:
    if not dimensions:
        yield ()
        return
    first, *rest = dimensions
    for head in first:
        for tail in _product(rest):
            yield (head, *tail)
