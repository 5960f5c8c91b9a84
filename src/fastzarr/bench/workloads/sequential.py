"""Workload `sequential`: write an array step by step, sync it, open it again, read it step by step.

The page cache is warm: what was just written is read back from memory, by every backend alike.
"""

import gc
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from fastzarr.bench.backends.base import Backend, Case

Clock = Callable[[], float]
"""Seconds from any fixed point."""


@dataclass(frozen=True, kw_only=True)
class Phases:
    """Seconds of each phase of one run."""

    create: float
    """Creating the array."""
    steps: float
    """Writing every step and closing: all bytes handed to the operating system."""
    sync: float
    """fsync of every file and directory of the array."""
    open: float | None
    """Opening the array for reading; None where the backend only writes."""
    read: float | None
    """Reading every step into `out` and closing; None where the backend only writes."""


def run(
    backend: Backend, case: Case, path: Path, steps: NDArray[Any], out: NDArray[Any], clock: Clock
) -> Phases:
    """Write `steps` to `path` (absent before) with `backend`, and read them one by one into `out`.

    Whoever calls has touched the pages of both arrays.
    """
    with _no_garbage_collection():
        begin = clock()
        writer = backend.create(path, case)
        created = clock()
        for number, step in enumerate(steps):
            writer.write(number, step)
        writer.close()
        written = clock()
        sync(path)
        synced = clock()
    del writer
    with _no_garbage_collection():
        reopen = clock()
        reader = backend.open(path, case)
        opened = clock()
        if reader is not None:
            for number in range(len(steps)):
                reader.read(number, out)
            reader.close()
        read = clock()
    return Phases(
        create=created - begin,
        steps=written - created,
        sync=synced - written,
        open=None if reader is None else opened - reopen,
        read=None if reader is None else read - opened,
    )


def sync(path: Path) -> None:
    """fsync the file `path`, or the directory with every file and directory below it, and its parent."""
    for directory, _, files in os.walk(path, topdown=False):
        for name in files:
            _fsync(f"{directory}/{name}")
        _fsync(directory)
    if path.is_file():
        _fsync(path)
    _fsync(path.parent)


def _fsync(path: str | Path) -> None:
    file = os.open(path, os.O_RDONLY)
    try:
        os.fsync(file)
    finally:
        os.close(file)


@contextmanager
def _no_garbage_collection() -> Iterator[None]:
    """Collect now, and not inside."""
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
