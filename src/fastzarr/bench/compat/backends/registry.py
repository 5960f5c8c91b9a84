"""Every implementation that Python reaches, by name; a new one needs its file and its line here."""

from fastzarr.bench.compat.backends import (
    acquire_zarr,
    fastzarr,
    gdal,
    nczarr,
    tensorstore,
    z5py,
    zarr,
    zarrista,
    zarrs,
)
from fastzarr.bench.compat.backends.base import CompatBackend

BACKENDS: dict[str, CompatBackend] = {
    module.BACKEND.name: module.BACKEND
    for module in (fastzarr, zarr, zarrs, zarrista, tensorstore, z5py, acquire_zarr, nczarr, gdal)
}
