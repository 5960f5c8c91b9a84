"""Contender `zarrs`: zarr-python with the codec pipeline of zarrs, written in Rust."""

from collections.abc import Mapping

from fastzarr.bench.backends import zarrs as sequential
from fastzarr.bench.backends.regions.base import RegionBackend
from fastzarr.bench.backends.regions.zarr import ZarrPython

LEAST_CHUNKS = 4
"""Chunks that zarrs handles at the same time at least, by default."""


class Zarrs(ZarrPython):
    """As in `zarr`; what zarrs cannot do raises instead of falling back to the default pipeline.

    Its settings stay at their defaults, which are for all cores. As fast: other limits of chunk concurrency
    (0.9 to 1.05), more workers (0.95 to 1.05), checksums not validated (1.0).
    """

    def environment(self, threads: int) -> Mapping[str, str]:
        """The Rust thread pool of the process, the threads of the pipeline, and the chunks they share."""
        return {
            **super().environment(threads),
            "RAYON_NUM_THREADS": str(threads),
            "ZARR_CODEC_PIPELINE__CHUNK_CONCURRENT_MAXIMUM": str(threads),
            "ZARR_CODEC_PIPELINE__CHUNK_CONCURRENT_MINIMUM": str(min(threads, LEAST_CHUNKS)),
        }


BACKEND: RegionBackend = Zarrs(
    sequential.BACKEND, {"codec_pipeline.path": "zarrs.ZarrsCodecPipeline", "codec_pipeline.strict": True}
)
