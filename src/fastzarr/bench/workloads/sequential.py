"""Workload `sequential`: write an array step by step, sync it, open it again, read it step by step.

The page cache is warm: what was just written is read back from memory, by every backend alike.
"""

import gc
import os
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from fastzarr.bench.backends.base import Backend, Case

Clock = Callable[[], float]
"""Seconds from any fixed point: of the wall clock, or of CPU time of this process in all its threads."""


@dataclass(frozen=True, kw_only=True)
class Phases:
    """Seconds of each phase of one run; `*_cpu` are CPU seconds of this process in all its threads."""

    create: float
    """Creating the array."""
    steps: float
    """Writing every step and closing: all bytes handed to the operating system."""
    steps_cpu: float
    """CPU time of `steps`."""
    sync: float
    """fsync of every file and directory of the array."""
    open: float | None
    """Opening the array for reading; None where the backend only writes."""
    read: float | None
    """Reading every step into `out` and closing; None where the backend only writes."""
    read_cpu: float | None
    """CPU time of `read`."""


def run(
    backend: Backend,
    case: Case,
    path: Path,
    steps: NDArray[Any],
    out: NDArray[Any],
    clock: Clock = time.perf_counter,
    cpu_clock: Clock = time.process_time,
) -> Phases:
    """Write `steps` to `path` (absent before) with `backend`, and read them one by one into `out`.

    Whoever calls has touched the pages of both arrays.
    """
    with no_garbage_collection():
        begin = clock()
        writer = backend.create(path, case)
        created, created_cpu = clock(), cpu_clock()
        with closing(writer):
            for number, step in enumerate(steps):
                writer.write(number, step)
        written, written_cpu = clock(), cpu_clock()
        sync(path)
        synced = clock()
    del writer
    with no_garbage_collection():
        reopen = clock()
        reader = backend.open(path, case)
        opened, opened_cpu = clock(), cpu_clock()
        if reader is not None:
            with closing(reader):
                for number in range(len(steps)):
                    reader.read(number, out)
        read, read_cpu = clock(), cpu_clock()
    return Phases(
        create=created - begin,
        steps=written - created,
        steps_cpu=written_cpu - created_cpu,
        sync=synced - written,
        open=None if reader is None else opened - reopen,
        read=None if reader is None else read - opened,
        read_cpu=None if reader is None else read_cpu - opened_cpu,
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
def no_garbage_collection() -> Iterator[None]:
    """Collect now, and not inside."""
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
