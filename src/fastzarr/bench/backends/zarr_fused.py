"""Contender `zarr-fused`: zarr-python with its synchronous codec pipeline, opt-in from version 3.3."""

import importlib.metadata
import sys

from fastzarr.bench.backends.base import Backend
from fastzarr.bench.backends.zarr import ZarrPython

FUSED = "zarr.core.codec_pipeline.FusedCodecPipeline"
MINIMUM_PYTHON = (3, 12)
"""Oldest Python that zarr-python 3.3 runs on."""


class ZarrFused(ZarrPython):
    """`max_workers` stays at its default: a call with one chunk runs in one thread whatever it is."""

    def unavailable(self) -> str | None:
        from_zarr = super().unavailable()
        if from_zarr is not None:
            return from_zarr
        from zarr.core import codec_pipeline

        if hasattr(codec_pipeline, "FusedCodecPipeline"):
            return None
        found = importlib.metadata.version("zarr")
        reason = f"zarr {found} has no FusedCodecPipeline, 3.3 or newer has"
        if sys.version_info < MINIMUM_PYTHON:
            running = f"{sys.version_info[0]}.{sys.version_info[1]}"
            return f"{reason}, and needs Python 3.12 or newer (this is {running}); run with such a Python"
        return f"{reason}; pip install 'zarr>=3.3'"


BACKEND: Backend = ZarrFused("zarr-fused", {"codec_pipeline.path": FUSED})
