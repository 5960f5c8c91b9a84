"""Implementation `nczarr`: the Zarr dialect of netCDF-C, through netCDF4."""

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


class NcZarr:
    """Pure Zarr (`mode=zarr`): no metadata beyond the Zarr specification."""

    name = "nczarr"

    def version(self) -> str:
        import netCDF4

        return f"{netCDF4.getlibversion().split()[0]} (netCDF4 {version('netCDF4')})"

    def unavailable(self) -> str | None:
        return missing("netCDF4", "1.7", "netCDF4")

    def unsupported(self, operation: str, case: Case) -> str | None:
        if case.zarr_format == 3:
            return "NCZarr has Zarr v2 only"
        if case.data_type not in DATA_TYPES:
            return f"netCDF has no data type {case.data_type} as an array of numbers"
        return None

    def write(self, path: Path, case: Case, values: NDArray[Any]) -> None:
        import netCDF4

        with tempfile.TemporaryDirectory(suffix=".zarr") as directory:
            with netCDF4.Dataset(f"file://{directory}/g#mode=zarr,file", "w") as dataset:
                for axis, length in enumerate(case.shape):
                    dataset.createDimension(f"d{axis}", length)
                create: Any = dataset.createVariable
                variable = create(
                    "array",
                    values.dtype,
                    tuple(f"d{axis}" for axis in range(len(case.shape))),
                    chunksizes=case.chunk_shape,
                    fill_value=fill_scalar(case),
                    endian=case.endian,
                    shuffle=False,
                    **_compression(case),
                )
                variable.set_auto_maskandscale(False)
                variable[: case.written_rows] = values[: case.written_rows]
            shutil.move(Path(directory) / "g" / "array", path)

    def read(self, path: Path, case: Case) -> NDArray[Any]:
        import netCDF4

        with netCDF4.Dataset(f"file://{path.parent}#mode=zarr,file") as dataset:
            variable = dataset[path.name]
            variable.set_auto_maskandscale(False)
            return np.asarray(variable[...])


def _compression(case: Case) -> dict[str, Any]:
    if case.codec == "none":
        return {}
    if case.codec == "blosc":
        return {"compression": "blosc_lz4", "complevel": case.level, "blosc_shuffle": 1}
    return {"compression": case.codec, "complevel": case.level}


BACKEND: CompatBackend = NcZarr()
