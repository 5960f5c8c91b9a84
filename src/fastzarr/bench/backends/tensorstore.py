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
"""Writes begun and not yet committed: one per core, at most 8 to bound memory."""


class Writer:
    """Steps are copied when `write` returns, and stored when `close` returns."""

    def __init__(self, store: "tensorstore.TensorStore") -> None:
        self._store = store
        self._commits: deque[tensorstore.Future[None]] = deque()

    def write(self, step: int, data: NDArray[Any]) -> None:
        futures = self._store[step].write(data)
        futures.copy.result()
        self._commits.append(futures.commit)
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

    Writes: `write` of TensorStore returns futures, one for the copy of the source and one for the commit.
    The copy is waited for at once and the commit later, up to IN_FLIGHT steps later, so that the cores
    encode different steps at the same time: 1.0 to 1.2 times as fast as waiting on 2 cores without a codec,
    1.6 to 2.1 with zstd. Letting it refer to the source instead of copying (1.0) would forbid the caller
    to reuse the buffer. File locking stays on (1.0 without, in-place writes instead of a rename: 1.0 to 1.2,
    within the noise from 4 MiB on).

    Reads: the caller's array is wrapped as a TensorStore and the step written to it, 1.25 to 1.5 times as
    fast as `read()` and a copy; files are mapped into memory (`file_io_mode`), 1.1 to 1.6 times as fast as
    read calls. The cache of chunks is off, as is the default; rechecking of cached data makes no difference.
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

        document = array_document(case)
        spec = {**self._spec(path, case), "metadata": document}
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
