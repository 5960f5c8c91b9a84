"""The chunks along one dimension: all of one size, or each of a size of its own."""

from __future__ import annotations

import bisect
import itertools
from typing import Any

import numpy as np
from numpy.typing import NDArray

ChunkSizes = int | tuple[int, ...]
"""Chunks along one dimension in elements: one size for all, or one for each."""


class Axis:
    """`size` elements along one dimension, and the chunks that hold them."""

    __slots__ = ("_starts", "chunk", "count", "size", "sizes", "starts")

    def __init__(self, size: int, sizes: ChunkSizes) -> None:
        self.size = size
        """Elements along the dimension."""
        self.sizes = sizes
        """Size of all chunks in elements, or of each; those may add up to more than `size`."""
        self.chunk = sizes if isinstance(sizes, int) else 0
        """Size of all chunks; 0 where each has its own."""
        self.starts: list[int] | None = None
        """First element of each chunk, and the end of the last; None where all have one size."""
        if isinstance(sizes, int):
            self.count = -(-size // sizes)
            """Number of chunks with an element in them."""
        else:
            self.starts = [0, *itertools.accumulate(sizes)]
            self._starts = np.asarray(self.starts)
            self.count = bisect.bisect_left(self.starts, size)

    def coord(self, index: int) -> int:
        """Coordinate of the chunk in which an element lies."""
        return index // self.chunk if self.starts is None else bisect.bisect_right(self.starts, index) - 1

    def coords(self, indices: NDArray[np.intp]) -> NDArray[np.intp]:
        """`coord` of each of many elements."""
        if self.starts is None:
            return indices // self.chunk
        return np.searchsorted(self._starts, indices, side="right") - 1

    def place(self, coord: int) -> tuple[int, int]:
        """First element of a chunk, and its size."""
        if self.starts is None:
            return coord * self.chunk, self.chunk
        start = self.starts[coord]
        return start, self.starts[coord + 1] - start

    def stored_sizes(self) -> tuple[int, ...]:
        """Size of each chunk with an element in the array, as it is stored."""
        if isinstance(self.sizes, int):
            return (self.sizes,) * self.count
        return self.sizes[: self.count]

    def read_sizes(self) -> tuple[int, ...]:
        """Elements of each chunk that lie in the array."""
        whole = self.stored_sizes()
        return (*whole[:-1], self.size - sum(whole[:-1])) if whole else ()

    def __eq__(self, other: Any) -> bool:
        return isinstance(other, Axis) and (self.size, self.sizes) == (other.size, other.sizes)

    __hash__ = None  # type: ignore[assignment]
