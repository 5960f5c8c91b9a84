"""Implementation `acquire-zarr`: a writer of streams of frames; it reads nothing."""

from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fastzarr.bench.backends.acquire_zarr import DATA_TYPES, compression
from fastzarr.bench.backends.distributions import missing
from fastzarr.bench.compat.backends.base import CompatBackend
from fastzarr.bench.compat.cases import Case


class AcquireZarr:
    """Frames are appended along axis 0."""

    name = "acquire-zarr"

    def version(self) -> str:
        return version("acquire-zarr")

    def unavailable(self) -> str | None:
        return missing("acquire-zarr", "0.10", "acquire_zarr")

    def unsupported(self, operation: str, case: Case) -> str | None:
        if case.zarr_format == 2:
            return "acquire-zarr writes Zarr v3 only"
        if case.shard_shape is None:
            return "acquire-zarr writes shards only"
        if case.codec == "gzip":
            return "acquire-zarr has no codec gzip"
        if case.data_type not in DATA_TYPES:
            return f"acquire-zarr has no data type {case.data_type}"
        if case.layout == "missing":
            return "acquire-zarr has no fill value but 0"
        return None

    def write(self, path: Path, case: Case, values: NDArray[Any]) -> None:
        import acquire_zarr as az

        kinds = (az.DimensionType.TIME, az.DimensionType.SPACE, az.DimensionType.SPACE)
        if case.shard_shape is None:
            raise ValueError("acquire-zarr writes shards only")
        array = az.ArraySettings(
            data_type=np.dtype(case.data_type),
            dimensions=[
                az.Dimension(
                    name=f"d{axis}",
                    kind=kind,
                    array_size_px=0 if axis == 0 else case.shape[axis],
                    chunk_size_px=case.chunk_shape[axis],
                    shard_size_chunks=case.shard_shape[axis] // case.chunk_shape[axis],
                )
                for axis, kind in enumerate(kinds)
            ],
        )
        if case.codec != "none":
            array.compression = compression(case.codec, case.level)
        stream = az.ZarrStream(az.StreamSettings(store_path=str(path), arrays=[array]))
        stream.append(values)
        stream.close()


BACKEND: CompatBackend = AcquireZarr()
