"""Volumes: layers of magnifications, as webknossos datasets and OME-Zarr images describe them; conversion."""

from fastzarr.volumes.conversion import MagReport, Progress, Report, convert
from fastzarr.volumes.formats import Format
from fastzarr.volumes.options import Options

__all__ = ["Format", "MagReport", "Options", "Progress", "Report", "convert"]
