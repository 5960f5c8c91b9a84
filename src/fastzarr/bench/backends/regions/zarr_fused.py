"""Contender `zarr-fused`: zarr-python with its synchronous codec pipeline, opt-in from version 3.3."""

from fastzarr.bench.backends import zarr_fused as sequential
from fastzarr.bench.backends.regions.base import RegionBackend
from fastzarr.bench.backends.regions.zarr import ZarrPython

BACKEND: RegionBackend = ZarrPython(sequential.BACKEND, {"codec_pipeline.path": sequential.FUSED})
