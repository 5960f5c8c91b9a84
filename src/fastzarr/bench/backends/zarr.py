"""Contender `zarr`: zarr-python with its default codec pipeline."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from fastzarr.bench.backends.base import Backend, Case, Described
from fastzarr.bench.backends.distributions import missing

if TYPE_CHECKING:
    import zarr

MINIMUM = "3.1"
"""Oldest version of zarr-python with all that is used here."""

BATCHED = "zarr.core.codec_pipeline.BatchedCodecPipeline"


class Steps:
    """The open array."""

    def __init__(self, array: "zarr.Array[Any]") -> None:
        from zarr.buffer.cpu import NDBuffer

        self._array = array
        self._wrap = NDBuffer.from_numpy_array

    def write(self, step: int, data: NDArray[Any]) -> None:
        self._array.set_basic_selection(slice(step, step + 1), data[np.newaxis])

    def read(self, step: int, out: NDArray[Any]) -> None:
        self._array.get_basic_selection(slice(step, step + 1), out=self._wrap(out[np.newaxis]))

    def close(self) -> None:
        """Each write returned after its chunk was handed to the operating system."""


class ZarrPython:
    """zarr-python with one of its codec pipelines.

    The pipeline is bound when an array is created or opened, so the configuration is set for that moment
    only and arrays of different pipelines live side by side in one process.

    Writes select by slice, not by number: 1.0 to 1.2 times as fast, 1.4 to 1.6 with the fused pipeline.
    Reads go into the caller's memory through `out=`: 1.1 to 1.4 times as fast as `out[...] = array[step]`.
    Blosc runs in one thread, as zarr-python sets it: two are 0.9 to 1.1 times as fast, eight 0.65 to 1.1.
    """

    kind: Literal["baseline", "library"] = "library"
    packages: Sequence[str] = ("zarr", "numcodecs")

    def __init__(self, name: str, config: dict[str, Any]) -> None:
        self.name = name
        self._config = {"array.write_empty_chunks": False, **config}

    def unavailable(self) -> str | None:
        return missing("zarr", MINIMUM, "zarr")

    def unsupported(self, case: Case) -> str | None:
        return None

    def create(self, path: Path, case: Case) -> Steps:
        import zarr

        with zarr.config.set(self._config):
            array = zarr.create_array(
                path,
                shape=case.shape,
                chunks=case.chunks,
                dtype=case.dtype,
                zarr_format=case.zarr_format,
                compressors=compressors(case),
                fill_value=case.dtype.type(case.fill_value),
            )
        return Steps(array)

    def open(self, path: Path, case: Case) -> Steps:
        import zarr

        with zarr.config.set(self._config):
            return Steps(zarr.open_array(path, mode="r", zarr_format=case.zarr_format))


def compressors(case: Described) -> Any:
    """The `compressors` argument of `create_array`."""
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
        "zstd": ZstdCodec(level=case.level, checksum=False),
        "blosc": BloscCodec(
            cname="lz4", clevel=case.level, shuffle="shuffle", typesize=case.dtype.itemsize, blocksize=0
        ),
        "zlib": GzipCodec(level=case.level),
    }[case.codec]


BACKEND: Backend = ZarrPython("zarr", {"codec_pipeline.path": BATCHED})
