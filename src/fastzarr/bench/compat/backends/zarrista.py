"""Implementation `zarrista`: the Python binding of the Rust library zarrs that needs no zarr-python."""

from importlib.metadata import version
from itertools import accumulate
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fastzarr.bench.backends.distributions import missing
from fastzarr.bench.compat.backends.base import CompatBackend
from fastzarr.bench.compat.backends.documents import array_document
from fastzarr.bench.compat.cases import Case


class Zarrista:
    """Created from the metadata document, written as one subset, as bytes."""

    name = "zarrista"

    def version(self) -> str:
        return version("zarrista")

    def unavailable(self) -> str | None:
        return missing("zarrista", "0.1", "zarrista")

    def unsupported(self, operation: str, case: Case) -> str | None:
        if case.zarr_format == 2 and case.codec == "zlib":
            return "zarrista has no codec zlib for Zarr v2"
        if case.zarr_format == 2 and case.data_type == "datetime64[s]":
            return "zarrista has no data type datetime64 for Zarr v2"
        return None

    def write(self, path: Path, case: Case, values: NDArray[Any]) -> None:
        import zarrista
        from zarrista.store import FilesystemStore

        document: Any = array_document(case)
        array = zarrista.Array.from_metadata(document, FilesystemStore(path))
        array.store_metadata()
        array.store_array_subset(slice(0, case.written_rows), _bytes(values[: case.written_rows]))

    def read(self, path: Path, case: Case) -> NDArray[Any]:
        import zarrista
        from zarrista.store import FilesystemStore

        whole: Any = zarrista.Array.open(FilesystemStore(path)).retrieve_array_subset(...)
        return np.asarray(whole.to_numpy())


def _bytes(values: NDArray[Any]) -> Any:
    """Elements in native byte order: zarrista swaps them itself; strings with the offsets of their bytes."""
    from zarrista import ArrayBytes

    if values.dtype != object:
        native = np.ascontiguousarray(values.astype(values.dtype.newbyteorder("="), copy=False))
        return ArrayBytes(native.reshape(-1).view(np.uint8))
    texts = [text.encode() for text in values.reshape(-1)]
    return ArrayBytes(b"".join(texts), offsets=[0, *accumulate(len(text) for text in texts)])


BACKEND: CompatBackend = Zarrista()
