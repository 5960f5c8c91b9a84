"""Readers `zarr` and `zarrs`: zarr-python with its default codec pipeline, and with that of zarrs."""

import asyncio
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fastzarr.bench.serving.peers.base import Coding, Format
from fastzarr.bench.serving.peers.readers.base import Place, ReadBuckets, box, flat, stored_order

FUSED = "zarr.core.codec_pipeline.FusedCodecPipeline"
ZARRS = "zarrs.ZarrsCodecPipeline"


class ZarrPython:
    """All buckets of a request at once, through the asynchronous array, on a loop of its own thread: 1.4 to
    1.6 times as fast as one after the other with the default pipeline, 1.6 to 2.1 times with zarrs.

    The fused pipeline is taken where there is one (newer than 3.1): 1.5 times as fast. About as fast: one
    thread for codecs (0.9 to 1.0), obstore instead of files (1.0 to 1.15).
    """

    format: Format = "zarr3"
    codings: tuple[Coding, ...] = ("zstd", "lz4", "raw")
    keeps = False

    def __init__(self, name: str, module: str, pipeline: str | None) -> None:
        self.name = name
        self.module = module
        self._pipeline = pipeline

    def open(self, path: Path, cache_bytes: int) -> ReadBuckets:
        import uvloop
        import zarr
        from zarr.core import codec_pipeline

        pipeline = self._pipeline or (FUSED if hasattr(codec_pipeline, "FusedCodecPipeline") else None)
        with zarr.config.set({"codec_pipeline.path": pipeline} if pipeline else {}):
            opened: Any = zarr.open_array(stored_order(path), mode="r")
        array = opened.async_array if hasattr(opened, "async_array") else opened._async_array
        loop = uvloop.new_event_loop()
        threading.Thread(target=loop.run_forever, daemon=True).start()

        async def gather(places: Sequence[Place]) -> list[Any]:
            return await asyncio.gather(*(array.getitem(box(place)) for place in places))

        def read(places: Sequence[Place]) -> list[NDArray[np.uint8]]:
            found = asyncio.run_coroutine_threadsafe(gather(places), loop).result()
            return [flat(np.asarray(bucket)) for bucket in found]

        return read


ZARR = ZarrPython("zarr reader", "zarr", None)
ZARRS_PIPELINE = ZarrPython("zarrs reader", "zarrs", ZARRS)
