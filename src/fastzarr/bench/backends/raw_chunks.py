"""Baseline `raw-chunks`, the ceiling: one file per chunk in the layout of Zarr, and nothing else.

It makes the directories and files that the chunk keys ask for and moves the bytes. It writes no metadata,
compares nothing with the fill value, renames nothing and, whatever the codec, stores bytes as they are.
"""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

from numpy.typing import NDArray

from fastzarr.bench.backends.base import Backend, Case
from fastzarr.bench.backends.raw import read_all, write_all


class ChunkFiles:
    """The chunk files of an array; `prefix` and `suffix` stand around the step number in each path."""

    def __init__(self, path: Path, case: Case) -> None:
        rest = len(case.shape) - 1
        if case.zarr_format == 3:
            self._prefix, self._suffix, self._depth = f"{path}/c/", "/0" * rest, rest
        else:
            self._prefix, self._suffix, self._depth = f"{path}/", ".0" * rest, 0

    def make_root(self) -> None:
        os.makedirs(self._prefix)  # noqa: PTH103 - plain calls are the point of this backend

    def write(self, step: int, data: NDArray[Any]) -> None:
        directory = f"{self._prefix}{step}"
        for _ in range(self._depth):
            os.mkdir(directory)  # noqa: PTH102
            directory += "/0"
        file = os.open(
            f"{self._prefix}{step}{self._suffix}", os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o644
        )
        try:
            write_all(file, data)
        finally:
            os.close(file)

    def read(self, step: int, out: NDArray[Any]) -> None:
        file = os.open(f"{self._prefix}{step}{self._suffix}", os.O_RDONLY | os.O_CLOEXEC)
        try:
            read_all(file, out)
        finally:
            os.close(file)

    def close(self) -> None:
        """Every file is closed already."""


class RawChunks:
    """Neither metadata nor codec."""

    name = "raw-chunks"
    kind: Literal["baseline", "library"] = "baseline"
    packages: Sequence[str] = ()

    def unavailable(self) -> str | None:
        return None

    def unsupported(self, case: Case) -> str | None:
        return None

    def create(self, path: Path, case: Case) -> ChunkFiles:
        files = ChunkFiles(path, case)
        files.make_root()
        return files

    def open(self, path: Path, case: Case) -> ChunkFiles:
        return ChunkFiles(path, case)


BACKEND: Backend = RawChunks()
