"""Contender `zarr-fused`: zarr-python with its synchronous codec pipeline, opt-in from version 3.3."""

from collections.abc import Mapping

from fastzarr.bench.backends import zarr_fused as sequential
from fastzarr.bench.backends.regions.base import RegionBackend
from fastzarr.bench.backends.regions.zarr import ZarrPython


class ZarrFused(ZarrPython):
    """`codec_pipeline.max_workers` stays at its default, a thread per core: with other numbers, no better one
    for all (0.7 to 1.4).
    """

    def environment(self, threads: int) -> Mapping[str, str]:
        """The threads of the pipeline too, which are not those of zarr-python."""
        return {**super().environment(threads), "ZARR_CODEC_PIPELINE__MAX_WORKERS": str(threads)}


BACKEND: RegionBackend = ZarrFused(sequential.BACKEND, {"codec_pipeline.path": sequential.FUSED})
