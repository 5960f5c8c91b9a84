"""Datasets to serve, with the voxels that clients must see."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import fastzarr
from fastzarr import wkw
from fastzarr.volumes import properties
from fastzarr.volumes.boxes import BoundingBox, Vec3, mag_name

OFFSET = (5, 6, 7)
SIZE = (100, 70, 50)
END = tuple(o + s for o, s in zip(OFFSET, SIZE, strict=True))
VOXEL_SIZE = (11.0, 12.0, 25.0)
CUBE = 64
"""Voxels along the edge of a file of WKW: two blocks."""


@dataclass(frozen=True)
class SampleLayer:
    """A layer of WKW, how it is stored, and what is to be seen of it."""

    category: Any
    block_type: Any
    mags: dict[Vec3, NDArray[Any]]
    """Voxels [c, x, y, z] from position 0 to the end of the bounding box, zero outside of it."""


def voxels(dtype: str, channels: int, mag: Vec3, seed: int) -> NDArray[Any]:
    """Noise in the bounding box, and zero before it; one file of the upper x has nothing."""
    box = BoundingBox(offset=OFFSET, size=SIZE).in_mag(mag)
    array = np.zeros((channels, *box.end), dtype)
    largest = 200 if np.dtype(dtype).itemsize == 1 else 70_000
    noise = np.random.default_rng(seed).integers(1, largest, (channels, *box.size)).astype(dtype)
    array[:, *box.slices()] = noise
    array[:, CUBE:, :CUBE, :CUBE] = 0
    return array


def layers() -> dict[str, SampleLayer]:
    one, two = (1, 1, 1), (2, 2, 1)
    return {
        "color": SampleLayer("color", "lz4", {one: voxels("u1", 1, one, 1), two: voxels("u1", 1, two, 2)}),
        "labels": SampleLayer("segmentation", "raw", {one: voxels("u4", 1, one, 3)}),
        "rgb": SampleLayer("color", "lz4hc", {one: voxels("u1", 3, one, 4)}),
        "depth": SampleLayer("color", "lz4", {one: voxels("f4", 1, one, 5)}),
    }


def write_wkw(path: Path, samples: dict[str, SampleLayer]) -> None:
    """A dataset of webknossos with these layers; what is outside of the bounding box is stored as noise."""
    described = []
    for name, sample in samples.items():
        first = next(iter(sample.mags.values()))
        for mag, data in sample.mags.items():
            array = wkw.create(
                path / name / mag_name(mag),
                dtype=data.dtype,
                channels=len(data),
                block_len=32,
                file_len=CUBE // 32,
                block_type=sample.block_type,
            )
            stored = data.copy()
            stored[:, :2, :2, :2] = 99  # before the box, in a file that has voxels
            array[:, : data.shape[1], : data.shape[2], : data.shape[3]] = stored
            missing = path / name / mag_name(mag) / "z0/y0/x1.wkw"
            missing.unlink(missing_ok=True)
        described.append(
            properties.Layer(
                name=name,
                category=sample.category,
                data_format="wkw",
                dtype=first.dtype,
                channels=len(first),
                bounding_box=BoundingBox(offset=OFFSET, size=SIZE),
                mags=tuple(properties.Mag(mag=mag) for mag in sample.mags),
            )
        )
    properties.write(path, properties.Dataset(name="brain", scale=VOXEL_SIZE, layers=tuple(described)))


def write_sharded(path: Path, data: NDArray[Any]) -> None:
    """An array [c, x, y, z] as webknossos stores it in Zarr v3."""
    fastzarr.create_array(
        path,
        data=data,
        chunks=(1, 32, 32, 32),
        shards=(1, 64, 64, 64),
        filters=[{"name": "transpose", "configuration": {"order": [3, 2, 1, 0]}}],
        compressors=[{"name": "zstd", "configuration": {"level": 3, "checksum": True}}],
        dimension_names=["c", "x", "y", "z"],
        fill_value=0,
    )


def write_v2(path: Path, data: NDArray[Any]) -> None:
    """An array [c, x, y, z] in Zarr v2."""
    fastzarr.create_array(
        path, data=data, chunks=(1, 32, 32, 32), zarr_format=2, order="F", fill_value=0,
        attributes={"_ARRAY_DIMENSIONS": ["c", "x", "y", "z"]},
    )  # fmt: skip
