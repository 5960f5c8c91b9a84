"""What was stored and read, compared with the source by bytes."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fastzarr.bench.backends.base import Backend, Case, Layout
from fastzarr.bench.backends.regions.base import RegionBackend
from fastzarr.bench.comparison import WrongBytesError, differing, poison
from fastzarr.bench.gate import METADATA


class UnreadableError(Exception):
    """No other library could read what was stored."""


def reading(backend: Backend, case: Case, path: Path, steps: NDArray[Any], out: NDArray[Any]) -> None:
    """Read every step with `backend`; WrongBytesError where one differs. Overwrites `out`."""
    reader = backend.open(path, case)
    if reader is not None:
        _compare(backend.name, reader, steps, out)


def other_reading(
    backend: Backend,
    case: Case,
    path: Path,
    steps: NDArray[Any],
    out: NDArray[Any],
    readers: Sequence[Backend],
) -> str | None:
    """Read what `backend` stored with something else; its name, or None if nothing else is installed.

    A library's array is read by the first of `readers` that shares no package with it and can read it;
    WrongBytesError where that one finds other bytes, UnreadableError with all reasons where none can.
    A baseline has no format, so NumPy reads its files.
    """
    if backend.kind == "baseline":
        _compare("numpy", _PlainFiles(path, case), steps, out)
        return "numpy"
    refusals = []
    for other in readers:
        reads = other.unavailable() is None and other.unsupported(case) is None
        if reads and not set(other.packages) & set(backend.packages):
            try:
                reading(other, case, path, steps, out)
            except WrongBytesError:
                raise
            except Exception as error:
                refusals.append(f"{other.name}: {type(error).__name__}: {error}")
            else:
                return other.name
    if refusals:
        raise UnreadableError("; ".join(refusals))
    return None


def read_back_by(
    readers: Sequence[RegionBackend],
) -> Callable[[Path, Layout, RegionBackend, NDArray[Any]], str | None]:
    """What reads back with the first of `readers` that shares no package with the writer and can."""

    def read_back(path: Path, layout: Layout, writer: RegionBackend, out: NDArray[Any]) -> str | None:
        for reader in readers:
            can = reader.unavailable() is None and reader.unsupported(layout, "read") is None
            if can and not set(reader.packages) & set(writer.packages):
                reader.open(path, layout).read(layout.whole, out)
                return reader.name
        return None

    return read_back


def stored(path: Path) -> tuple[int, int]:
    """Bytes of all files at or below `path`, and how many of those files hold chunks."""
    files = [path] if path.is_file() else [file for file in path.rglob("*") if file.is_file()]
    return sum(file.stat().st_size for file in files), sum(file.name not in METADATA for file in files)


class _PlainFiles:
    """Files of bytes without a format."""

    def __init__(self, path: Path, case: Case) -> None:
        self._count = int(np.prod(case.shape[1:], dtype=object))
        if path.is_file():
            self._files = [path]
        else:
            files = [file for file in path.rglob("*") if file.is_file()]
            self._files = sorted(files, key=lambda file: int(_step_of(file.relative_to(path))))

    def read(self, step: int, out: NDArray[Any]) -> None:
        whole = len(self._files) == 1
        file, offset = self._files[0 if whole else step], self._count * step if whole else 0
        values = np.fromfile(file, out.dtype, self._count, offset=offset * out.dtype.itemsize)
        out[...] = values.reshape(out.shape)

    def close(self) -> None:
        """Nothing stays open."""


def _step_of(key: Path) -> str:
    return key.parts[1] if key.parts[0] == "c" else key.name.partition(".")[0]


def _compare(name: str, reader: Any, steps: NDArray[Any], out: NDArray[Any]) -> None:
    try:
        for number, step in enumerate(steps):
            poison(out)
            reader.read(number, out)
            wrong = differing(out, step)
            if wrong:
                raise WrongBytesError(
                    f"{name} reads {wrong} of {out.nbytes} bytes of step {number} otherwise"
                )
    finally:
        reader.close()
