"""Which part of files is in the page cache, and getting it out."""

import ctypes
import mmap
import os
from collections.abc import Iterable
from pathlib import Path

import numpy as np

COLD = 0.1
"""Share of the files in the page cache up to which a run begins cold: servers read indices when they start,
and the system reads ahead."""


def resident(paths: Iterable[Path]) -> float | None:
    """Share of the pages of `paths` that are in the page cache (mincore); None where the system does not
    tell.
    """
    library = ctypes.CDLL(None, use_errno=True)
    if not hasattr(library, "mincore"):
        return None
    pages = there = 0
    for path in paths:
        with path.open("rb") as file:
            size = os.fstat(file.fileno()).st_size
            if not size:
                continue
            with mmap.mmap(file.fileno(), size, access=mmap.ACCESS_READ) as mapped:
                found = np.zeros(-(-size // mmap.PAGESIZE), np.uint8)
                memory = np.frombuffer(mapped, np.uint8)
                address = ctypes.c_void_p(memory.ctypes.data)
                failed = library.mincore(address, ctypes.c_size_t(size), ctypes.c_void_p(found.ctypes.data))
                del memory
                if failed:
                    return None
                pages += len(found)
                there += int((found & 1).sum())
    return there / pages if pages else None


def drop(paths: Iterable[Path]) -> None:
    """Write `paths` to the disk and ask the system to forget them; it keeps what others have mapped."""
    if not hasattr(os, "posix_fadvise"):
        return
    for path in paths:
        with path.open("rb") as file:
            os.fsync(file.fileno())
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
