"""Whether a chunk holds nothing but the fill value."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

_BLOCK_BYTES = 1 << 18


class FillPattern:
    """Compares chunks with the fill value by bits: the first and last element, then block by block.

    Texts and objects, which have no bits of their own in the array, are compared by value.
    """

    def __init__(self, fill: Any, dtype: np.dtype[Any]) -> None:
        self._by_value = dtype.hasobject or dtype.kind == "T"
        self._fill = fill[()] if isinstance(fill, np.ndarray) else fill
        if self._by_value:
            return
        pattern = np.array([fill], dtype)
        self._bytes = pattern[0].tobytes()
        size = next(size for size in (8, 4, 2, 1) if dtype.itemsize % size == 0)
        bits = np.dtype(f"u{size}")
        self._bits = bits
        self._parts = dtype.itemsize // size
        self._pattern = pattern.view(bits)
        self._block = max(1, _BLOCK_BYTES // dtype.itemsize)

    def covers(self, chunk: NDArray[Any]) -> bool:
        """Whether all elements equal the fill value, bit by bit."""
        if self._by_value:
            return self._covers_values(chunk)
        if (
            chunk[(0,) * chunk.ndim].tobytes() != self._bytes
            or chunk[(-1,) * chunk.ndim].tobytes() != self._bytes
        ):
            return False
        flat = _flat(chunk)
        return all(self._equal(flat[at : at + self._block]) for at in range(0, flat.size, self._block))

    def _equal(self, flat: NDArray[Any]) -> bool:
        bits = np.ascontiguousarray(flat).view(self._bits)
        if self._parts > 1:
            bits = bits.reshape(-1, self._parts)
        return bool((bits == self._pattern).all())

    def _covers_values(self, chunk: NDArray[Any]) -> bool:
        if chunk.dtype.kind == "T":
            first = chunk[(0,) * chunk.ndim]
            return bool(first == self._fill and (chunk == self._fill).all())
        return all(_same(element, self._fill) for element in chunk.flat)


def _same(element: Any, fill: Any) -> bool:
    """Whether two objects are the same; of containers and floats, only where their texts are too."""
    if type(element) is not type(fill):
        return False
    if isinstance(fill, np.ndarray):
        form = (element.dtype, element.shape, element.tobytes())
        return bool(form == (fill.dtype, fill.shape, fill.tobytes()))
    if isinstance(fill, bytes | str | int | None):
        return bool(element == fill)
    return repr(element) == repr(fill)


def _flat(chunk: NDArray[Any]) -> NDArray[Any]:
    if chunk.flags.f_contiguous:
        chunk = chunk.T
    return chunk.reshape(-1)
