"""Memory that the C library keeps for the next answer.

Answers have hundreds of kilobytes. By default glibc gives such memory back to the system, and the next answer
faults each of its pages in anew: more than the reading costs.
"""

from __future__ import annotations

import ctypes
import sys

M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3
KEPT = 256 << 20
"""Bytes at the end of the heap that are kept."""
LARGEST = 32 << 20
"""Bytes of an allocation that is part of the heap; the most that glibc takes."""


def keep() -> None:
    """Have this process keep memory; does nothing where the C library is another."""
    if sys.platform != "linux":
        return
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (OSError, AttributeError):
        return
    mallopt(M_MMAP_THRESHOLD, LARGEST)
    mallopt(M_TRIM_THRESHOLD, KEPT)
