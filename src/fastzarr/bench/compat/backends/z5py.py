"""Implementation `z5py`: the Python binding of the C++ library z5."""

import shutil
import tempfile
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fastzarr.bench.backends.distributions import missing
from fastzarr.bench.compat.backends.base import CompatBackend
from fastzarr.bench.compat.cases import Case
from fastzarr.bench.compat.values import fill_scalar

DATA_TYPES = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float32", "float64")


class Z5py:
    """Arrays are members of a group: one made for the purpose when writing, the parent when reading."""

    name = "z5py"

    def version(self) -> str:
        return version("z5py")

    def unavailable(self) -> str | None:
        return missing("z5py", "3.0.2", "z5py")

    def unsupported(self, operation: str, case: Case) -> str | None:
        if case.data_type not in DATA_TYPES:
            return f"z5py has no data type {case.data_type}"
        if case.endian == "big":
            return "z5py has no big endian in Zarr"
        return None

    def write(self, path: Path, case: Case, values: NDArray[Any]) -> None:
        import z5py

        with tempfile.TemporaryDirectory(suffix=".zarr") as directory:
            group = z5py.ZarrFile(directory, "w", zarr_format=case.zarr_format)
            more = {} if case.shard_shape is None else {"shards": case.shard_shape}
            dataset = group.create_dataset(
                "array",
                shape=case.shape,
                chunks=case.chunk_shape,
                dtype=case.data_type,
                fillvalue=fill_scalar(case).item(),
                **more,
                **_compression(case),
            )
            dataset[: case.written_rows] = values[: case.written_rows]
            shutil.move(Path(directory) / "array", path)

    def read(self, path: Path, case: Case) -> NDArray[Any]:
        import z5py

        group = z5py.ZarrFile(str(path.parent), "r", zarr_format=case.zarr_format)
        return np.asarray(group[path.name][:])


def _compression(case: Case) -> dict[str, Any]:
    if case.codec == "none":
        return {"compression": "raw"}
    if case.codec != "blosc":
        return {"compression": case.codec, "level": case.level}
    level = "clevel" if case.zarr_format == 2 else "level"
    return {"compression": "blosc", "codec": "lz4", "shuffle": 1, "blocksize": 0, level: case.level}


BACKEND: CompatBackend = Z5py()
