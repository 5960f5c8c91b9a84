"""Contender `tensorstore`: TensorStore without its sync of every file."""

import os
from collections import deque
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from numpy.typing import NDArray

from fastzarr.bench.backends.base import Backend, Case
from fastzarr.bench.backends.distributions import missing
from fastzarr.bench.backends.documents import array_document

if TYPE_CHECKING:
    import tensorstore

IN_FLIGHT = min(8, os.cpu_count() or 1)
"""Steps begun and not yet stored when `write` returns, at most: one per core, and 8 to bound memory."""


class Writer:
    """Steps are stored when `close` returns; until then the caller leaves the data as it is."""

    def __init__(self, store: "tensorstore.TensorStore") -> None:
        self._store = store
        self._commits: deque[tensorstore.Future[None]] = deque()

    def write(self, step: int, data: NDArray[Any]) -> None:
        written = self._store[step].write(data, can_reference_source_data_indefinitely=True)
        self._commits.append(written.commit)
        if len(self._commits) > IN_FLIGHT:
            self._commits.popleft().result()

    def close(self) -> None:
        while self._commits:
            self._commits.popleft().result()


class Reader:
    """The open array."""

    def __init__(self, store: "tensorstore.TensorStore") -> None:
        import tensorstore

        self._store = store
        self._wrap = tensorstore.array

    def read(self, step: int, out: NDArray[Any]) -> None:
        self._wrap(out, copy=False, write=True).write(self._store[step]).result()

    def close(self) -> None:
        """Nothing stays open but the store itself, which goes with this object."""


class TensorStore:
    """TensorStore with or without its sync of every file.

    Writes: TensorStore answers a write with a future, so a step is waited for some steps later and the cores
    store different steps at the same time: on 2 free cores 1.3 to 1.6 times as fast as in turn
    without a codec, 1.6 to 2.0 with zstd. It refers to the caller's data instead of copying them, which the
    workload allows, as each step has memory of its own: 1.05 to 1.2 times as fast. A file is renamed into
    place under a lock, as is the default; without the lock is as fast (1.0), writing in place
    (`file_io_locking: non_atomic`) is 1.2 times as fast at 256 KiB and 1.0 from 4 MiB on, but leaves torn
    chunks behind when it is interrupted.

    Reads: the caller's array is wrapped as a TensorStore and the step written to it, 1.25 to 1.5 times as
    fast as `read()` and a copy; files are mapped into memory (`file_io_mode`), 1.1 to 1.6 times as fast as
    read calls. Chunks are not cached, as is the default; rechecking of cached data makes no difference (1.0).
    """

    kind: Literal["baseline", "library"] = "library"
    packages: Sequence[str] = ("tensorstore",)

    def __init__(self, name: str, *, file_io_sync: bool) -> None:
        self.name = name
        self._context = {
            "cache_pool": {"total_bytes_limit": 0},
            "file_io_mode": {"mode": "memmap"},
            "file_io_sync": file_io_sync,
        }

    def unavailable(self) -> str | None:
        return missing("tensorstore", "0.1.80", "tensorstore")

    def unsupported(self, case: Case) -> str | None:
        return None

    def create(self, path: Path, case: Case) -> Writer:
        import tensorstore

        spec = self._spec(path, case) | {"metadata": array_document(case)}
        return Writer(tensorstore.open(spec, create=True).result())

    def open(self, path: Path, case: Case) -> Reader:
        import tensorstore

        return Reader(tensorstore.open(self._spec(path, case), open=True, read=True).result())

    def _spec(self, path: Path, case: Case) -> dict[str, Any]:
        return {
            "driver": "zarr" if case.zarr_format == 2 else "zarr3",
            "kvstore": {"driver": "file", "path": f"{path}/"},
            "context": self._context,
        }


BACKEND: Backend = TensorStore("tensorstore", file_io_sync=False)
