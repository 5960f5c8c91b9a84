"""What a catalogue is made of: datasets with layers, layers with magnifications."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np

from fastzarr.serve.volume import Volume
from fastzarr.volumes.boxes import BoundingBox, Vec3

Kind = Literal["wkw", "zarr", "ome-zarr"]
Category = Literal["color", "segmentation"]
VoxelSize = tuple[float, float, float]


@dataclass(frozen=True, kw_only=True, eq=False)
class Layer:
    """One image or segmentation at several magnifications."""

    name: str
    """Its name in URLs."""
    category: Category
    """Whether its values are intensities or labels."""
    bounding_box: BoundingBox
    """Where it has data, in voxels of magnification 1."""
    mags: Mapping[Vec3, Volume]
    """Its magnifications, the finest first; at least one."""
    largest_segment_id: int | None = None
    """The largest label of a segmentation, where known."""

    @property
    def finest(self) -> Volume:
        """The volume of the finest magnification."""
        return next(iter(self.mags.values()))

    @property
    def dtype(self) -> np.dtype[Any]:
        """Data type of one channel, as it is sent: little endian."""
        return self.finest.dtype

    @property
    def channels(self) -> int:
        """Number of channels."""
        return self.finest.channels

    @property
    def additional_axes(self) -> tuple[tuple[str, int], ...]:
        """Name and size of each axis beside channels and space."""
        return self.finest.additional

    @property
    def default_position(self) -> Vec3:
        """The middle of the bounding box, in voxels of magnification 1."""
        box = self.bounding_box
        x, y, z = (offset + size // 2 for offset, size in zip(box.offset, box.size, strict=True))
        return x, y, z


@dataclass(frozen=True, kw_only=True, eq=False)
class Dataset:
    """What is served under one name."""

    name: str
    """Its name in URLs."""
    path: Path
    """Its directory."""
    kind: Kind
    """How it is stored."""
    voxel_size: VoxelSize = (1.0, 1.0, 1.0)
    """Nanometres of a voxel of magnification 1 along x, y and z."""
    voxel_size_known: bool = False
    """Whether `voxel_size` is told by anyone."""
    layers: Mapping[str, Layer] = field(default_factory=dict)
    """Its layers by name; none where it can be had by its stored keys only, or not at all."""
    elsewhere: bool = False
    """Whether stored keys of it are outside of its directory, where no URL leads to them."""
    problems: tuple[str, ...] = ()
    """Why it, or a part of it, can't be opened."""
    remarks: tuple[str, ...] = ()
    """Why a part of it can be had by its stored keys only."""
