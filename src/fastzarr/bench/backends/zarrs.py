"""Contender `zarrs`: zarr-python with the codec pipeline of zarrs, written in Rust."""

from collections.abc import Sequence

from fastzarr.bench.backends.base import Backend
from fastzarr.bench.backends.distributions import missing
from fastzarr.bench.backends.zarr import ZarrPython


class Zarrs(ZarrPython):
    """Selections as in `zarr`; what zarrs cannot do raises, instead of falling back to the default pipeline.

    Threads and chunk concurrency stay at their defaults (one chunk per call has no use for either: 1.0 with
    one thread), direct I/O stays off (0.8 to 0.9 times as fast with it in writes, 0.9 to 1.05 in reads).
    """

    packages: Sequence[str] = ("zarrs", "zarr", "numcodecs")

    def unavailable(self) -> str | None:
        return super().unavailable() or missing("zarrs", "0.2.3", "zarrs")


BACKEND: Backend = Zarrs(
    "zarrs", {"codec_pipeline.path": "zarrs.ZarrsCodecPipeline", "codec_pipeline.strict": True}
)
