"""Memory of arrays that reading returns, used again once nobody refers to it.

A fresh page costs a fault when it is first written, often more than the read that fills it. The system's
allocator spares that while a loop holds one result of less than 32 MiB, and not for larger ones or several.

1. Results are views of *blocks*: one-dimensional arrays that own their memory, listed here.
2. Whatever uses a result (a view, a memoryview, another library) refers to its block through NumPy, so a
   block that only the list refers to is free.
3. A call takes every block off the list before it looks at them, so no other thread, signal handler or
   finaliser can take the same one; no lock is held. Blocks that an interrupt loses are freed as usual.
4. The list is bounded. A block that leaves it while in use is freed as usual when its user is done.
"""

from __future__ import annotations

import functools
import os
import sys
from math import prod
from typing import Any
from weakref import getweakrefcount

import numpy as np
from numpy.typing import NDArray

VARIABLE = "FASTZARR_RESULT_MEMORY"
"""Environment variable with the bytes that all blocks may have; 0 turns them off."""
SMALLEST = 1 << 20
"""Bytes of a result from which on a block is worth its 2 to 4 µs."""

_LIMIT = 129 << 20
"""A little more than two results of 64 MiB: a loop has the next one before it gives up the last."""
_MOST_BLOCKS = 16
_LINE = 64
"""Where a result begins at a multiple of so many bytes, a read that fills it takes an eighth less time."""
_COUNTED = sys.implementation.name == "cpython" and getattr(sys, "_is_gil_enabled", lambda: True)()
"""Whether a reference count tells of the references of all threads."""

_blocks: list[NDArray[np.uint8]] = []
"""The latest used last."""


def empty(shape: tuple[int, ...], dtype: np.dtype[Any], order: Any) -> NDArray[Any]:
    """As `numpy.empty`, perhaps in memory of an earlier result: every element is to be overwritten."""
    nbytes = prod(shape) * dtype.itemsize
    if nbytes < SMALLEST or dtype.hasobject:
        return np.empty(shape, dtype, order)
    kept = _COUNTED and nbytes <= _limit()
    known = _taken() if kept else []
    block = _free(known, nbytes + _LINE)
    if block is None:
        block = np.empty(nbytes + _LINE, np.uint8)
    start = -block.__array_interface__["data"][0] % _LINE
    result: NDArray[Any] = np.ndarray(shape, dtype, block, start, order=order)
    if kept:
        known.insert(0, block)
        _blocks.extend(reversed(_within(known, _limit())))
    return result


def _taken() -> list[NDArray[np.uint8]]:
    """All blocks, the latest used first; until they are listed again nobody else has them."""
    known = []
    try:
        while True:
            known.append(_blocks.pop())
    except IndexError:
        return known


def _free(known: list[NDArray[np.uint8]], nbytes: int) -> NDArray[np.uint8] | None:
    """Remove a block from `known` that nobody uses and that has `nbytes`, or up to a quarter more."""
    # The count of something that only a list refers to, whatever this interpreter counts besides.
    alone = next(map(sys.getrefcount, [object()]))
    counts = [*map(sys.getrefcount, known)]
    for place, (block, count) in enumerate(zip(known, counts, strict=True)):
        if count == alone and nbytes <= block.size <= nbytes + nbytes // 4 and not getweakrefcount(block):
            return known.pop(place)
    return None


def _within(known: list[NDArray[np.uint8]], limit: int) -> list[NDArray[np.uint8]]:
    """The first blocks, as many as may be kept."""
    for place, block in enumerate(known):
        limit -= block.size
        if limit < 0 or place == _MOST_BLOCKS:
            return known[:place]
    return known


@functools.cache
def _limit() -> int:
    text = os.environ.get(VARIABLE)
    if text is None:
        return _LIMIT
    if not text.isdecimal():
        raise ValueError(f"{VARIABLE}: got {text!r}, expected a number of bytes, or 0 for none")
    return int(text)
