"""Volumes: layers of magnifications, as webknossos datasets and OME-Zarr images describe them; conversion."""

from fastzarr.volumes.conversion import Progress, convert
from fastzarr.volumes.formats import Format
from fastzarr.volumes.options import Options
from fastzarr.volumes.reports import MagReport, Report

__all__ = ["Format", "MagReport", "Options", "Progress", "Report", "convert"]
