"""Morton order, in which blocks lie in a file: bit i of x, y, z is bit 3i, 3i + 1, 3i + 2 of the number."""

from __future__ import annotations

import functools

import numpy as np
from numpy.typing import NDArray

LARGEST = 128
"""Blocks along each edge of a cube for which all numbers are made at once: 16 MiB of them."""


def number(x: NDArray[np.int64], y: NDArray[np.int64], z: NDArray[np.int64]) -> NDArray[np.int64]:
    """The Morton number of blocks at x, y, z."""
    return _spread(x) | _spread(y) << 1 | _spread(z) << 2


@functools.lru_cache(maxsize=4)
def numbers(edge: int) -> NDArray[np.int64]:
    """The Morton number of each block of a cube, shape `(edge, edge, edge)` for x, y, z; not writable."""
    places = np.arange(edge)
    order = number(places[:, None, None], places[:, None], places)
    order.flags.writeable = False
    return order


@functools.lru_cache(maxsize=4)
def coords(edge: int) -> NDArray[np.int64]:
    """x, y, z of each block of a cube in Morton order, shape `(edge**3, 3)`; not writable."""
    places = np.empty((edge**3, 3), np.int64)
    places[numbers(edge).reshape(-1)] = np.indices((edge,) * 3).reshape(3, -1).T
    places.flags.writeable = False
    return places


def place(number: int) -> tuple[int, int, int]:
    """x, y, z of the block with a Morton number."""
    x, y, z = (sum((number >> 3 * bit + d & 1) << bit for bit in range(16)) for d in range(3))
    return x, y, z


def _spread(places: NDArray[np.int64]) -> NDArray[np.int64]:
    spread = np.zeros_like(places)
    for bit in range(16):
        spread |= (places >> bit & 1) << 3 * bit
    return spread
