"""Every contender by name, baselines first; a new one needs its file and its line here."""

from fastzarr.bench.backends import (
    acquire_zarr,
    fastzarr,
    mmap,
    raw,
    raw_chunks,
    tensorstore,
    tensorstore_sync,
    z5py,
    zarr,
    zarr_fused,
    zarrista,
    zarrs,
)
from fastzarr.bench.backends.base import Backend

BACKENDS: dict[str, Backend] = {
    module.BACKEND.name: module.BACKEND
    for module in (
        raw,
        raw_chunks,
        mmap,
        fastzarr,
        zarr,
        zarr_fused,
        zarrs,
        tensorstore,
        tensorstore_sync,
        zarrista,
        z5py,
        acquire_zarr,
    )
}

READERS = ("fastzarr", "tensorstore", "zarr")
"""Who reads back what another library stored, the preferred one first."""

OWN_SYNC = {
    "tensorstore-sync": "syncs every file while it writes",
    "acquire-zarr": "syncs every file while it writes",
}
"""Backends that cannot but sync while they write; they do in `steps` what others leave to `sync`."""
