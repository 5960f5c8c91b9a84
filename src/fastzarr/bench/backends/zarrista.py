"""Contender `zarrista`: the Python binding of the Rust library zarrs that does not go through zarr-python."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from fastzarr.bench.backends.base import Backend, Case
from fastzarr.bench.backends.distributions import missing
from fastzarr.bench.backends.documents import array_document

if TYPE_CHECKING:
    import zarrista


class Steps:
    """The open array."""

    def __init__(self, array: "zarrista.Array") -> None:
        from zarrista import ArrayBytes

        self._array = array
        self._bytes = ArrayBytes
        self._rest = [0] * (array.ndim - 1)

    def write(self, step: int, data: NDArray[Any]) -> None:
        chunk = self._bytes(data.reshape(-1).view(np.uint8))
        self._array.store_chunk([step, *self._rest], chunk)

    def read(self, step: int, out: NDArray[Any]) -> None:
        chunk: Any = self._array.retrieve_chunk([step, *self._rest])
        out[...] = chunk.to_numpy()[0]

    def close(self) -> None:
        """Each write returned after its chunk was handed to the operating system."""


class Zarrista:
    """Chunks are stored and retrieved by their place in the chunk grid.

    `store_chunk` takes the caller's bytes: 1.0 to 1.15 times as fast as `store_chunks` without a codec.
    `retrieve_chunk` returns memory of its own and cannot fill the caller's, so one copy follows;
    retrieving the encoded chunk and decoding it is 0.75 times as fast. `concurrent_target` and the other
    codec options make no difference to one chunk per call.
    """

    name = "zarrista"
    kind: Literal["baseline", "library"] = "library"
    packages: Sequence[str] = ("zarrista",)

    def unavailable(self) -> str | None:
        return missing("zarrista", "0.1", "zarrista")

    def unsupported(self, case: Case) -> str | None:
        if case.zarr_format == 2 and case.codec == "zlib":
            return "zarrista has no codec zlib for Zarr v2"
        return None

    def create(self, path: Path, case: Case) -> Steps:
        import zarrista
        from zarrista.store import FilesystemStore

        document: Any = array_document(case)
        array = zarrista.Array.from_metadata(document, FilesystemStore(path))
        array.store_metadata()
        return Steps(array)

    def open(self, path: Path, case: Case) -> Steps:
        import zarrista
        from zarrista.store import FilesystemStore

        return Steps(zarrista.Array.open(FilesystemStore(path)))


BACKEND: Backend = Zarrista()
