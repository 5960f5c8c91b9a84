"""Implementation `fastzarr`: nothing is declared unsupported, every case is tried."""

from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import fastzarr
from fastzarr.bench.compat.backends.base import CompatBackend
from fastzarr.bench.compat.backends.documents import v2_compressor
from fastzarr.bench.compat.cases import Case
from fastzarr.bench.compat.values import fill_scalar, numpy_dtype


class Fastzarr:
    """The public library at its default settings."""

    name = "fastzarr"

    def version(self) -> str:
        return version("fastzarr")

    def unavailable(self) -> str | None:
        return None

    def unsupported(self, operation: str, case: Case) -> str | None:
        return None

    def write(self, path: Path, case: Case, values: NDArray[Any]) -> None:
        more: dict[str, Any] = {} if case.shard_shape is None else {"shards": case.shard_shape}
        array = fastzarr.create_array(
            path,
            shape=case.shape,
            chunks=case.chunk_shape,
            dtype=str if case.data_type == "string" else numpy_dtype(case),
            compressors=_compressors(case),
            fill_value=fill_scalar(case),
            zarr_format=case.zarr_format,  # type: ignore[arg-type]
            **more,
        )
        array[: case.written_rows] = values[: case.written_rows]

    def read(self, path: Path, case: Case) -> NDArray[Any]:
        return np.asarray(fastzarr.open_array(path, mode="r")[...])


def _compressors(case: Case) -> Any:
    if case.zarr_format == 2 or case.codec == "none":
        return v2_compressor(case)
    if case.codec == "zstd":
        return fastzarr.codecs.ZstdCodec(level=case.level)
    if case.codec == "blosc":
        return fastzarr.codecs.BloscCodec(cname="lz4", clevel=case.level, shuffle="shuffle")
    return fastzarr.codecs.GzipCodec(level=case.level)


BACKEND: CompatBackend = Fastzarr()
