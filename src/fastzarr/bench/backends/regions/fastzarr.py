"""Contender `fastzarr`: the public library, regions written and read into the caller's memory."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

import fastzarr
from fastzarr.bench.backends import fastzarr as sequential
from fastzarr.bench.backends.base import Layout, Region
from fastzarr.bench.backends.regions.base import Library, OpenArray, RegionBackend


class Opened(OpenArray):
    """The open array."""

    def __init__(self, array: fastzarr.Array) -> None:
        self._array = array

    def write(self, region: Region, data: NDArray[Any]) -> None:
        self._array[region] = data

    def read(self, region: Region, out: NDArray[Any]) -> None:
        self._array.read_into(out, selection=region)

    def item(self, index: int) -> NDArray[Any]:
        item: NDArray[Any] = self._array[index]
        return item


class Fastzarr(Library):
    """Default settings."""

    def create(self, path: Path, layout: Layout, threads: int | None = None) -> Opened:
        return Opened(
            fastzarr.create_array(
                store=path,
                shape=layout.shape,
                chunks=layout.chunks,
                shards=layout.shards,
                dtype=layout.dtype,
                zarr_format=layout.zarr_format,
                compressors=sequential.compressors(layout),
                fill_value=layout.fill_value,
            )
        )

    def open(self, path: Path, layout: Layout, threads: int | None = None) -> Opened:
        return Opened(fastzarr.open_array(path, mode="r+"))

    def environment(self, threads: int) -> Mapping[str, str]:
        return {"FASTZARR_THREADS": str(threads)}


BACKEND: RegionBackend = Fastzarr(sequential.BACKEND)
