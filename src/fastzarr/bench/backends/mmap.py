"""Baseline `mmap`: one flat file of the final size, mapped; a write or read is a copy; `msync` at close."""

import mmap
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from fastzarr.bench.backends.base import Backend, Case


class MappedArray:
    """The mapped file as an array."""

    def __init__(self, path: Path, case: Case, *, write: bool) -> None:
        with path.open("r+b" if write else "rb") as file:
            access = mmap.ACCESS_WRITE if write else mmap.ACCESS_READ
            self._map = mmap.mmap(file.fileno(), 0, access=access)
        self._steps = np.frombuffer(self._map, case.dtype).reshape(case.shape)
        self._flush = write

    def write(self, step: int, data: NDArray[Any]) -> None:
        self._steps[step] = data

    def read(self, step: int, out: NDArray[Any]) -> None:
        np.copyto(out, self._steps[step])

    def close(self) -> None:
        del self._steps
        if self._flush:
            self._map.flush()
        self._map.close()


class Mmap:
    """Neither format nor codec."""

    name = "mmap"
    kind: Literal["baseline", "library"] = "baseline"
    packages: Sequence[str] = ()

    def unavailable(self) -> str | None:
        return None

    def unsupported(self, case: Case) -> str | None:
        return None if case.codec == "none" else "stores bytes as they are: codec none only"

    def create(self, path: Path, case: Case) -> MappedArray:
        with path.open("xb") as file:
            file.truncate(np.prod(case.shape, dtype=object) * case.dtype.itemsize)
        return MappedArray(path, case, write=True)

    def open(self, path: Path, case: Case) -> MappedArray:
        return MappedArray(path, case, write=False)


BACKEND: Backend = Mmap()
