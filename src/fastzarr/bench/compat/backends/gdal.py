"""Implementation `gdal`: the Zarr driver of GDAL, through rasterio; read only.

rasterio shows a dataset as bands, so an array of three dimensions is a stack of them.
"""

import warnings
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fastzarr.bench.backends.distributions import missing
from fastzarr.bench.compat.backends.base import CompatBackend
from fastzarr.bench.compat.cases import Case

V3_SINCE = (3, 12)
SHARDS_SINCE = (3, 13)


class Gdal:
    """GDAL as the wheel of rasterio carries it."""

    name = "gdal"

    def version(self) -> str:
        import rasterio

        return f"{rasterio.__gdal_version__} (rasterio {version('rasterio')})"

    def unavailable(self) -> str | None:
        return missing("rasterio", "1.4", "rasterio")

    def unsupported(self, operation: str, case: Case) -> str | None:
        import rasterio

        found = tuple(int(part) for part in rasterio.__gdal_version__.split(".")[:2])
        if case.zarr_format == 3 and found < V3_SINCE:
            return f"GDAL {rasterio.__gdal_version__} has no reader of the final Zarr v3; 3.12 is needed"
        if case.shard_shape and found < SHARDS_SINCE:
            return f"GDAL {rasterio.__gdal_version__} has no codec sharding_indexed; 3.13 is needed"
        if case.data_type in ("datetime64[s]", "string"):
            return f"GDAL's bands have no data type {case.data_type}"
        return None

    def read(self, path: Path, case: Case) -> NDArray[Any]:
        import rasterio

        with warnings.catch_warnings():
            warnings.simplefilter("ignore", rasterio.errors.NotGeoreferencedWarning)
            with rasterio.open(f'ZARR:"{path}"') as dataset:
                return np.asarray(dataset.read())


BACKEND: CompatBackend = Gdal()
