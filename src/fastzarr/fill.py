"""Whether a chunk holds nothing but the fill value."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

_BLOCK_BYTES = 1 << 18


class FillPattern:
    """Compares chunks with the fill value by bits: the first and last element, then block by block.

    Texts and objects, which have no bits of their own in the array, are compared by value.
    """

    def __init__(self, fill: Any, dtype: np.dtype[Any]) -> None:
        self._fill = fill[()] if isinstance(fill, np.ndarray) else fill
        self._by_value = dtype.hasobject or dtype.kind == "T"
        self._element = np.empty(1, dtype)
        self._element[0] = self._fill
        if self._by_value:
            return
        self._bytes = self._element[0].tobytes()
        self._single = dtype.itemsize in (1, 2, 4, 8)
        # A multiple of 8 elements, which are a whole number of 64-bit integers.
        self._block = max(8, _BLOCK_BYTES // dtype.itemsize // 8 * 8)

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

    @cached_property
    def _pattern(self) -> tuple[NDArray[Any], NDArray[np.uint8]]:
        """The fill value as one integer of its size, or a block of it as 64-bit integers; and as bytes."""
        if self._single:
            return self._element.view(f"u{self._element.itemsize}"), self._element.view("u1")
        block = np.repeat(self._element, self._block).view("u1")
        return block.view("u8"), block

    def _equal(self, flat: NDArray[Any]) -> bool:
        flat = np.ascontiguousarray(flat)
        integers, pattern = self._pattern
        if self._single:
            return bool((flat.view(integers.dtype) == integers).all())
        found = flat.view("u1")
        count = found.size // 8
        return bool(
            (found[: count * 8].view("u8") == integers[:count]).all()
            and (found[count * 8 :] == pattern[count * 8 : found.size]).all()
        )

    def _covers_values(self, chunk: NDArray[Any]) -> bool:
        if not _same(chunk[(0,) * chunk.ndim], self._fill):
            return False
        if isinstance(self._fill, bytes | str):
            return bool((chunk == self._element).all())
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
