"""What a caller may ask of a conversion."""

from __future__ import annotations

from dataclasses import dataclass, field
from numbers import Real
from typing import Any, Literal, get_args

from fastzarr.errors import MetadataError
from fastzarr.volumes import properties
from fastzarr.volumes.boxes import BoundingBox, Vec3
from fastzarr.volumes.casting import Cast
from fastzarr.volumes.downsample import MOST_MAGS
from fastzarr.volumes.formats import Format
from fastzarr.volumes.properties import Category
from fastzarr.volumes.transfer import Verify

_DOCUMENTS = (properties.DOCUMENT, "zarr.json")
"""Names that are no layer's, since documents beside the layers have them."""
_LARGEST_VOXEL = 1e100
"""In nanometres; one over it is the least. Sizes of all magnifications are finite numbers."""


@dataclass(frozen=True, kw_only=True)
class Options:
    """What a caller asks of a conversion; raises `MetadataError` for what can't be."""

    format: Format = field(default_factory=Format)
    """How voxels are stored."""
    layers: tuple[str, ...] | None = None
    """Names of the layers of the source to convert; None is all."""
    mags: tuple[Vec3, ...] | None = None
    """Magnifications of the source to convert; None is all."""
    bounding_box: BoundingBox | None = None
    """Only these voxels of magnification 1; they keep their position."""
    downsample: int | Literal["auto"] = 0
    """How many coarser magnifications are made of the coarsest; "auto": until one fits in a chunk."""
    name: str | None = None
    """Name of the dataset; None is that of its directory."""
    layer: str | None = None
    """Name of the layer, where there is one; None is that of the source."""
    category: Category | None = None
    """Whether voxels are intensities or labels; None is what the source says, else "color"."""
    dtype: str | None = None
    """Data type of the voxels; None is that of the source."""
    cast: Cast = "exact"
    """Whether values may be rounded to those of `dtype`."""
    voxel_size: tuple[float, float, float] | None = None
    """Size of a voxel of magnification 1 along x, y, z, in nanometres; None is the source's, else 1."""
    axes: str | None = None
    """Axes of an array by dimension, letters of `tcxyz`, where the source tells none or others."""
    time: int | None = None
    """Which of several volumes along the axis t."""
    offset: Vec3 | None = None
    """Position of the first voxel, in voxels of magnification 1, where the source tells none or another."""
    overwrite: bool = False
    """Whether layers of the same name are replaced, and an interrupted conversion is discarded."""
    resume: bool = False
    """Whether an interrupted conversion is gone on with."""
    verify: Verify = "written"
    """What is compared: "none"; "written", each piece read back; "full", all once more at the end."""
    memory: int = 1 << 30
    """Most bytes that voxels may take in memory, beside what Python and its packages take."""
    workers: int | None = None
    """Number of threads; None is one for each processor."""

    def __post_init__(self) -> None:
        problems = []
        for name, allowed in (
            ("category", (None, *get_args(Category))),
            ("cast", get_args(Cast)),
            ("verify", get_args(Verify)),
        ):
            if getattr(self, name) not in allowed:
                expected = ", ".join(str(value) for value in allowed)
                problems.append(f"{name}: got {getattr(self, name)!r}, expected one of {expected}")
        number = isinstance(self.downsample, int) and 0 <= self.downsample <= MOST_MAGS
        if self.downsample != "auto" and not number:
            problems.append(f"downsample: got {self.downsample!r}, expected 'auto' or 0 to {MOST_MAGS}")
        if self.workers is not None and self.workers < 1:
            problems.append(f"workers: got {self.workers}, expected 1 or more")
        if self.voxel_size is not None:
            problems += voxel_size_problems(self.voxel_size)
        if self.offset is not None and (len(self.offset) != 3 or min(self.offset) < 0):
            problems.append(f"offset: got {self.offset}, expected three numbers of 0 or more")
        box = self.bounding_box
        if box is not None and (min(box.offset) < 0 or box.is_empty()):
            problems.append(f"bounding_box: got {box}, expected an offset of 0 or more and a size above 0")
        if self.layer is not None and not is_layer_name(self.layer):
            problems.append(
                f"layer: got {self.layer!r}, expected letters, digits, and '_', '-' or '.' inside, "
                "no document's name"
            )
        if problems:
            raise MetadataError("options", problems)

    def job(self) -> dict[str, Any]:
        """What has to stay the same when a conversion is resumed."""
        kept = ("name", "layer", "category", "dtype", "cast", "voxel_size", "axes", "time", "offset")
        box = self.bounding_box
        return {name: getattr(self, name) for name in kept} | {
            "to": self.format.to,
            "codec": self.format.name,
            "level": self.format.level,
            "chunk": self.format.chunk,
            "shard": self.format.shard,
            "layers": self.layers,
            "mags": self.mags,
            "bounding_box": None if box is None else [box.offset, box.size],
            "downsample": self.downsample,
        }


def voxel_size_problems(voxel_size: tuple[float, ...]) -> list[str]:
    """What is wrong with a size of voxels, in nanometres."""
    numbers = len(voxel_size) == 3 and all(isinstance(size, Real) for size in voxel_size)
    if numbers and all(1 / _LARGEST_VOXEL <= size <= _LARGEST_VOXEL for size in voxel_size):
        return []
    expected = f"three numbers of nanometers from {1 / _LARGEST_VOXEL:g} to {_LARGEST_VOXEL:g}"
    return [f"voxel_size: got {voxel_size}, expected {expected}"]


def is_layer_name(name: str) -> bool:
    """Whether a layer may have this name, which is also that of its directory."""
    return name == layer_name(name) and not name.startswith(".")


def layer_name(name: str) -> str:
    """The nearest name that a layer may have."""
    changed = "".join(c if c.isascii() and (c.isalnum() or c in "_-.") else "_" for c in name)
    changed = changed.lstrip(".") or "layer"
    return f"{changed}_" if changed in _DOCUMENTS else changed
