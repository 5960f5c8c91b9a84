"""What a conversion did, as a caller is told."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from fastzarr.volumes.boxes import Vec3
from fastzarr.volumes.targets import Target
from fastzarr.volumes.transfer import Moved


@dataclass(frozen=True, kw_only=True)
class MagReport:
    """What became of one magnification."""

    layer: str
    """Name of the layer."""
    mag: Vec3
    """The magnification."""
    voxels: int
    """Voxels in its bounding box."""
    nbytes: int
    """Bytes of these, decoded."""
    nbytes_stored: int
    """Bytes of its files."""
    written: int
    """Pieces written: files, or groups of chunks of Zarr v2."""
    empty: int
    """Pieces that are all zero, which have no file."""
    kept: int
    """Pieces that an interrupted conversion had left, and that were right."""
    replaced: int
    """Pieces that it had left and that were wrong; they were written anew."""


@dataclass(frozen=True, kw_only=True)
class Report:
    """What a conversion did."""

    path: Path
    """Directory of the dataset."""
    mags: tuple[MagReport, ...]
    """Each magnification; none where an interrupted conversion had only to be moved to its place."""
    seconds: float
    """How long it took."""
    verified: str
    """What was compared: "none", "written" or "full"."""
    notes: tuple[str, ...]
    """What a user should know."""


def report_of(layer: str, mag: Vec3, target: Target, moved: Moved) -> MagReport:
    """The report of a magnification that is at `target`."""
    voxels = int(np.prod(target.box.size))
    stored = sum(file.stat().st_size for file in target.path.rglob("*") if file.is_file())
    return MagReport(
        layer=layer,
        mag=mag,
        voxels=voxels,
        nbytes=voxels * target.channels * target.dtype.itemsize,
        nbytes_stored=stored,
        written=moved.written,
        empty=moved.empty,
        kept=moved.kept,
        replaced=moved.replaced,
    )
