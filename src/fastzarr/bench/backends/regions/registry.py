"""Every contender of the workloads over layouts by name, baselines first."""

from fastzarr.bench.backends.regions import (
    fastzarr,
    libzstd,
    raw_chunks,
    tensorstore,
    zarr,
    zarr_fused,
    zarrista,
    zarrs,
)
from fastzarr.bench.backends.regions.base import RegionBackend

REGION_BACKENDS: dict[str, RegionBackend] = {
    module.BACKEND.name: module.BACKEND
    for module in (raw_chunks, libzstd, fastzarr, zarr, zarr_fused, zarrs, tensorstore, zarrista)
}

REGION_READERS = ("fastzarr", "tensorstore", "zarr")
"""Who writes what is read by all, and reads back what another wrote, the preferred one first."""
