"""Implementation `zarr-python`, and with another codec pipeline `zarrs`."""

from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fastzarr.bench.backends.distributions import missing
from fastzarr.bench.compat.backends.base import CompatBackend
from fastzarr.bench.compat.cases import Case
from fastzarr.bench.compat.values import fill_scalar, numpy_dtype


class ZarrPython:
    """zarr-python with one of its codec pipelines."""

    name = "zarr-python"
    config: dict[str, Any] = {}  # noqa: RUF012

    def version(self) -> str:
        return version("zarr")

    def unavailable(self) -> str | None:
        return missing("zarr", "3.1", "zarr")

    def unsupported(self, operation: str, case: Case) -> str | None:
        return None

    def write(self, path: Path, case: Case, values: NDArray[Any]) -> None:
        import zarr

        with zarr.config.set(self.config):
            array: Any = zarr.create_array(
                path,
                shape=case.shape,
                chunks=case.chunk_shape,
                shards=case.shard_shape,
                dtype=str if case.data_type == "string" else numpy_dtype(case),
                zarr_format=case.zarr_format,  # type: ignore[arg-type]
                compressors=_compressors(case),
                fill_value=fill_scalar(case),
            )
        array[: case.written_rows] = values[: case.written_rows]

    def read(self, path: Path, case: Case) -> NDArray[Any]:
        import zarr

        with zarr.config.set(self.config):
            array: Any = zarr.open_array(path, mode="r")
        return np.asarray(array[...])


def _compressors(case: Case) -> Any:
    import numcodecs
    from zarr.codecs import BloscCodec, GzipCodec, ZstdCodec

    if case.codec == "none":
        return None
    if case.zarr_format == 2:
        return {
            "zstd": numcodecs.Zstd(level=case.level),
            "blosc": numcodecs.Blosc(cname="lz4", clevel=case.level, shuffle=numcodecs.Blosc.SHUFFLE),
            "zlib": numcodecs.Zlib(level=case.level),
        }[case.codec]
    return {
        "zstd": ZstdCodec(level=case.level),
        "blosc": BloscCodec(cname="lz4", clevel=case.level, shuffle="shuffle"),
        "gzip": GzipCodec(level=case.level),
    }[case.codec]


BACKEND: CompatBackend = ZarrPython()
