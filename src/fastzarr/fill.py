"""Whether a chunk holds nothing but the fill value."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

_BLOCK_BYTES = 1 << 18


class FillPattern:
    """Compares chunks with the fill value by bits: the first and last element, then block by block."""

    def __init__(self, fill: Any, dtype: np.dtype[Any]) -> None:
        pattern = np.array([fill], dtype)
        self._bytes = pattern[0].tobytes()
        bits = np.dtype(f"u{min(dtype.itemsize, 8)}")
        self._bits = bits
        self._parts = dtype.itemsize // bits.itemsize
        self._pattern = pattern.view(bits)
        self._block = max(1, _BLOCK_BYTES // dtype.itemsize)

    def covers(self, chunk: NDArray[Any]) -> bool:
        """Whether all elements equal the fill value, bit by bit."""
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


def _flat(chunk: NDArray[Any]) -> NDArray[Any]:
    if chunk.flags.f_contiguous:
        chunk = chunk.T
    return chunk.reshape(-1)
