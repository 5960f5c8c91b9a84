"""Backends that take as long as they are told, on a clock of their own."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from fastzarr.bench.backends.base import Case
from fastzarr.bench.inputs import Source


@dataclass
class FakeClock:
    """Stands still unless told to move."""

    now: float = 0

    def __call__(self) -> float:
        return self.now


@dataclass
class FakeBackend:
    """Stores Zarr v2 without codec; every step takes a fixed time."""

    name: str
    clock: FakeClock
    log: list[str]
    """Gets the name of the backend at each creation of an array."""
    kind: Literal["baseline", "library"] = "library"
    packages: Sequence[str] = ()
    write_seconds: float = 1
    read_seconds: float = 0.5
    missing: str | None = None
    elides: bool = True
    writes_only: bool = False
    on_write: Callable[[int, NDArray[Any]], NDArray[Any]] = lambda step, data: data
    on_read: Callable[[NDArray[Any]], NDArray[Any]] = lambda data: data

    def unavailable(self) -> str | None:
        return self.missing

    def unsupported(self, case: Case) -> str | None:
        return None

    def create(self, path: Path, case: Case) -> "FakeArray":
        self.log.append(self.name)
        path.mkdir()
        document = {
            "zarr_format": 2,
            "shape": case.shape,
            "chunks": case.chunks,
            "dtype": case.dtype.str,
            "compressor": None,
            "filters": None,
            "fill_value": case.fill_value,
            "order": "C",
        }
        (path / ".zarray").write_text(json.dumps(document))
        return FakeArray(self, path, case)

    def open(self, path: Path, case: Case) -> "FakeArray | None":
        return None if self.writes_only else FakeArray(self, path, case)


@dataclass
class FakeArray:
    """One open array."""

    backend: FakeBackend
    path: Path
    case: Case

    def _file(self, step: int) -> Path:
        return self.path / ".".join([str(step), *["0"] * (len(self.case.shape) - 1)])

    def write(self, step: int, data: NDArray[Any]) -> None:
        self.backend.clock.now += self.backend.write_seconds
        data = self.backend.on_write(step, data)
        if not self.backend.elides or np.any(data != self.case.fill_value):
            data.tofile(self._file(step))

    def read(self, step: int, out: NDArray[Any]) -> None:
        self.backend.clock.now += self.backend.read_seconds
        data = np.fromfile(self._file(step), self.case.dtype).reshape(out.shape)
        out[...] = self.backend.on_read(data)

    def close(self) -> None:
        """Nothing is open."""


def source(name: str = "ones to sixty", steps: int = 5) -> Source:
    """A small array, no step of it fill value."""
    values = np.arange(1, steps * 12 + 1, dtype=np.float32).reshape(steps, 3, 4)
    return Source(name=name, shape=values.shape, dtype=values.dtype, fill_value=0, load=lambda: values)
