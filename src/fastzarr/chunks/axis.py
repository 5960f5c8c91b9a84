"""The chunks along one dimension: all of one size, or in runs of different sizes."""

from __future__ import annotations

import bisect
import itertools
from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

Runs = tuple[tuple[int, int], ...]
"""Size and number of equal chunks, run by run."""

ChunkSizes = int | Runs
"""Chunks along one dimension in elements: one size for all, or runs, which may reach beyond the array."""


class Axis:
    """`size` elements along one dimension, and the chunks that hold them."""

    __slots__ = ("_coords", "_sizes", "_starts", "chunk", "count", "largest", "size")

    def __init__(self, size: int, sizes: ChunkSizes) -> None:
        self.size = size
        """Elements along the dimension."""
        self.chunk = sizes if isinstance(sizes, int) else 0
        """Size of all chunks; 0 where there are runs."""
        self.largest = largest([sizes])[0]
        """Size of the largest chunk."""
        if not isinstance(sizes, int):
            self._sizes = [chunk for chunk, _ in sizes]
            self._coords = [0, *itertools.accumulate(count for _, count in sizes)]
            self._starts = [0, *itertools.accumulate(chunk * count for chunk, count in sizes)]
        self.count = self.coord(size - 1) + 1 if size else 0
        """Number of chunks with an element in them."""

    def coord(self, index: int) -> int:
        """Coordinate of the chunk in which an element lies."""
        if self.chunk:
            return index // self.chunk
        run = bisect.bisect_right(self._starts, index) - 1
        return self._coords[run] + (index - self._starts[run]) // self._sizes[run]

    def coords(self, indices: NDArray[np.intp]) -> NDArray[np.intp]:
        """`coord` of each of many elements."""
        if self.chunk:
            return indices // self.chunk
        runs = np.searchsorted(np.asarray(self._starts), indices, side="right") - 1
        coords: NDArray[np.intp] = (indices - np.asarray(self._starts)[runs]) // np.asarray(self._sizes)[runs]
        coords += np.asarray(self._coords)[runs]
        return coords

    def place(self, coord: int) -> tuple[int, int]:
        """First element of a chunk, and its size."""
        if self.chunk:
            return coord * self.chunk, self.chunk
        run = bisect.bisect_right(self._coords, coord) - 1
        size = self._sizes[run]
        return self._starts[run] + (coord - self._coords[run]) * size, size

    def extents(self) -> tuple[int, ...]:
        """Elements of the dimension in each chunk."""
        places = map(self.place, range(self.count))
        return tuple(min(size, self.size - start) for start, size in places)


def runs_of(sizes: Iterable[int | tuple[int, int]]) -> Runs:
    """Sizes, or runs of them, as runs as long as can be."""
    pairs = ((entry, 1) if isinstance(entry, int) else entry for entry in sizes)
    grouped = itertools.groupby(pairs, lambda pair: pair[0])
    return tuple((size, sum(count for _, count in run)) for size, run in grouped)


def largest(sizes: Iterable[ChunkSizes]) -> tuple[int, ...]:
    """The largest chunk size along each dimension."""
    return tuple(entry if isinstance(entry, int) else max(size for size, _ in entry) for entry in sizes)
