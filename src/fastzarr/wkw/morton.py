"""Morton order, in which blocks lie in a file: bit i of x, y, z is bit 3i, 3i + 1, 3i + 2 of the number."""

from __future__ import annotations

import functools

import numpy as np
from numpy.typing import NDArray


@functools.lru_cache(maxsize=4)
def numbers(edge: int) -> NDArray[np.int64]:
    """The Morton number of each block of a cube, shape `(edge, edge, edge)` for x, y, z; not writable."""
    places = np.arange(edge, dtype=np.int64)
    spread = np.zeros(edge, np.int64)
    for bit in range(edge.bit_length()):
        spread |= (places >> bit & 1) << 3 * bit
    order = spread[:, None, None] | spread[:, None] << 1 | spread << 2
    order.flags.writeable = False
    return order


@functools.lru_cache(maxsize=4)
def coords(edge: int) -> NDArray[np.int64]:
    """x, y, z of each block of a cube in Morton order, shape `(edge**3, 3)`; not writable."""
    places = np.empty((edge**3, 3), np.int64)
    places[numbers(edge).reshape(-1)] = np.indices((edge,) * 3).reshape(3, -1).T
    places.flags.writeable = False
    return places
