"""xpublish with xpublish-zarr over one array; run by its own environment's uvicorn."""

import json
import os
from typing import Any

import dask  # type: ignore[import-not-found,import-untyped,unused-ignore]
import dask.array  # type: ignore[import-not-found,import-untyped,unused-ignore]
import xarray  # type: ignore[import-not-found,import-untyped,unused-ignore]
import xpublish  # type: ignore[import-not-found,import-untyped,unused-ignore]
import zarr
from xpublish_zarr import ZarrPlugin  # type: ignore[import-not-found,import-untyped,unused-ignore]

LEAST = 2**20
"""Bytes, its own default; metadata is kept in the cache too."""


def application() -> Any:
    """The application."""
    told = json.loads(os.environ["FASTZARR_PEER"])
    dask.config.set(scheduler="synchronous")
    zarr.config.set({"array.write_empty_chunks": True})  # a chunk of zeros is answered by 500 otherwise
    array = zarr.open_array(told["path"], mode="r")
    chunked = dask.array.from_array(array, chunks=array.chunks, name=False, inline_array=True)
    variable = xarray.Variable(("c", "x", "y", "z"), chunked, encoding={"compressors": None})
    rest = xpublish.Rest(
        {"dataset": xarray.Dataset({"layer": variable})},
        cache_kws={"available_bytes": max(told["cache_bytes"], LEAST)},
        plugins={"zarr": ZarrPlugin()},
    )
    return rest.app
