"""Contender `zarr`: zarr-python with its default codec pipeline."""

import math
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

from fastzarr.bench.backends import zarr as sequential
from fastzarr.bench.backends.base import Backend, Layout, Region
from fastzarr.bench.backends.regions.base import Library, OpenArray, RegionBackend

if TYPE_CHECKING:
    import zarr


class Opened(OpenArray):
    """The open array."""

    def __init__(self, array: "zarr.Array[Any]") -> None:
        from zarr.buffer.cpu import NDBuffer

        self._array = array
        self._wrap = NDBuffer.from_numpy_array

    def write(self, region: Region, data: NDArray[Any]) -> None:
        self._array.set_basic_selection(region, data)

    def read(self, region: Region, out: NDArray[Any]) -> None:
        self._array.get_basic_selection(region, out=self._wrap(out))

    def item(self, index: int) -> NDArray[Any]:
        item: Any = self._array[index]
        return item  # type: ignore[no-any-return]


DEFAULT_AT_ONCE = 10
"""Chunks in flight, as zarr-python sets it."""
MANY_AT_ONCE = 128
"""Chunks in flight where they are small."""
SMALL_CHUNK = 2**20
"""Bytes below which a chunk is small."""


class ZarrPython(Library):
    """zarr-python with one of its codec pipelines, bound when an array is created or opened.

    `async.concurrency` is of the whole process, and looked up in each call. For chunks under 1 MiB it is 128
    instead of 10: reads 1.1 to 1.6 times as fast, writes 1.0 to 1.5. Larger chunks keep the default: with
    128, writes of 1 MiB are 0.75 times as fast.
    """

    def __init__(self, sequential: Backend, config: dict[str, Any]) -> None:
        super().__init__(sequential)
        self._config = {"array.write_empty_chunks": False, **config}

    def create(self, path: Path, layout: Layout, threads: int | None = None) -> Opened:
        import zarr

        _set_concurrency(layout, threads)
        with zarr.config.set(self._config):
            array = zarr.create_array(
                path,
                shape=layout.shape,
                chunks=layout.chunks,
                shards=layout.shards,
                dtype=layout.dtype,
                zarr_format=layout.zarr_format,
                compressors=sequential.compressors(layout),
                fill_value=layout.dtype.type(layout.fill_value),
            )
        return Opened(array)

    def open(self, path: Path, layout: Layout, threads: int | None = None) -> Opened:
        import zarr

        _set_concurrency(layout, threads)
        with zarr.config.set(self._config):
            return Opened(zarr.open_array(path, mode="r+", zarr_format=layout.zarr_format))

    def environment(self, threads: int) -> Mapping[str, str]:
        """zarr-python reads it when it is imported; asynchronous tasks run in these threads."""
        return {"ZARR_THREADING__MAX_WORKERS": str(threads)}


def _set_concurrency(layout: Layout, threads: int | None) -> None:
    import zarr

    small = math.prod(layout.chunks) * layout.dtype.itemsize < SMALL_CHUNK
    usual = MANY_AT_ONCE if small else DEFAULT_AT_ONCE
    zarr.config.set({"async.concurrency": max(usual, threads or 1)})


BACKEND: RegionBackend = ZarrPython(sequential.BACKEND, {"codec_pipeline.path": sequential.BATCHED})
