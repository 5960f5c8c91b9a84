"""Implementation `tensorstore`: its drivers `zarr` (v2) and `zarr3`."""

from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fastzarr.bench.backends.distributions import missing
from fastzarr.bench.compat.backends.base import CompatBackend
from fastzarr.bench.compat.backends.documents import array_document
from fastzarr.bench.compat.cases import Case


class TensorStore:
    """Created from the metadata document, as its Python interface asks for."""

    name = "tensorstore"

    def version(self) -> str:
        return version("tensorstore")

    def unavailable(self) -> str | None:
        return missing("tensorstore", "0.1.80", "tensorstore")

    def unsupported(self, operation: str, case: Case) -> str | None:
        if case.data_type in ("datetime64[s]", "string"):
            return f"TensorStore has no data type {case.data_type} in Zarr"
        return None

    def write(self, path: Path, case: Case, values: NDArray[Any]) -> None:
        import tensorstore

        spec = _spec(path, case) | {"metadata": array_document(case)}
        store = tensorstore.open(spec, create=True).result()
        store[: case.written_rows].write(values[: case.written_rows]).result()

    def read(self, path: Path, case: Case) -> NDArray[Any]:
        import tensorstore

        return np.asarray(tensorstore.open(_spec(path, case), open=True, read=True).result().read().result())


def _spec(path: Path, case: Case) -> dict[str, Any]:
    return {
        "driver": "zarr" if case.zarr_format == 2 else "zarr3",
        "kvstore": {"driver": "file", "path": f"{path}/"},
        "context": {"file_io_sync": False},
    }


BACKEND: CompatBackend = TensorStore()
