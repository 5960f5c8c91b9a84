"""Baseline `raw`: one file, written and read in order, as a plain `open`, `write`, `readinto`."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from fastzarr.bench.backends.base import Backend, Case


def write_all(file: int, data: NDArray[Any]) -> None:
    """Write all bytes of `data`, however few the system takes at a time."""
    view = data.reshape(-1).view(np.uint8).data
    written = os.write(file, view)
    while written < len(view):
        written += os.write(file, view[written:])


def read_all(file: int, out: NDArray[Any]) -> None:
    """Fill `out` from the file; EOFError if the file ends before."""
    view = out.reshape(-1).view(np.uint8).data
    count = os.readv(file, [view])
    while count < len(view):
        more = os.readv(file, [view[count:]])
        if not more:
            raise EOFError(f"the file ended {len(view) - count} bytes before the step did")
        count += more


class RawFile:
    """The open file; steps come in order, so that the step number is not needed."""

    def __init__(self, path: Path, flags: int) -> None:
        self._file = os.open(path, flags, 0o644)

    def write(self, step: int, data: NDArray[Any]) -> None:
        write_all(self._file, data)

    def read(self, step: int, out: NDArray[Any]) -> None:
        read_all(self._file, out)

    def close(self) -> None:
        os.close(self._file)


class Raw:
    """Neither format nor codec."""

    name = "raw"
    kind: Literal["baseline", "library"] = "baseline"
    packages: Sequence[str] = ()

    def unavailable(self) -> str | None:
        return None

    def unsupported(self, case: Case) -> str | None:
        return None if case.codec == "none" else "stores bytes as they are: codec none only"

    def create(self, path: Path, case: Case) -> RawFile:
        return RawFile(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL)

    def open(self, path: Path, case: Case) -> RawFile:
        return RawFile(path, os.O_RDONLY)


BACKEND: Backend = Raw()
