"""Coarser magnifications: which ones, and their voxels from those of a finer one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fastzarr.errors import MetadataError
from fastzarr.volumes.boxes import BoundingBox, Vec3
from fastzarr.volumes.properties import Category
from fastzarr.volumes.voxels import Voxels

MOST_MAGS = 16
"""Of coarser ones that are made."""
_ALIKE = 2**0.5
"""Axes whose voxels are longer than the shortest by more are not halved."""


def next_mag(mag: Vec3, voxel_size: tuple[float, float, float]) -> Vec3:
    """The magnification to make of `mag`: twice as coarse where that brings voxels nearer to cubes."""
    sizes = [size * m for size, m in zip(voxel_size, mag, strict=True)]
    x, y, z = (m * 2 if size <= min(sizes) * _ALIKE else m for m, size in zip(mag, sizes, strict=True))
    return x, y, z


def coarser_mags(mag: Vec3, voxel_size: tuple[float, float, float], count: int) -> list[Vec3]:
    """The next `count` magnifications after `mag`."""
    found: list[Vec3] = []
    for _ in range(count):
        mag = next_mag(mag, voxel_size)
        found.append(mag)
    return found


def enough(mag: Vec3, voxel_size: tuple[float, float, float], size: Vec3, edge: int) -> int:
    """How many coarser magnifications there are until one fits in `edge` voxels along each axis.

    Raises `MetadataError` where those are more than `MOST_MAGS`.
    """
    for count, coarser in enumerate([mag, *coarser_mags(mag, voxel_size, MOST_MAGS)]):
        if all(-(-s // m) <= edge for s, m in zip(size, coarser, strict=True)):
            return count
    expected = f"a box of {size} voxels of {voxel_size} nm to fit in {edge} voxels after {MOST_MAGS} of them"
    remedy = "give a number of magnifications, or another voxel_size"
    raise MetadataError("downsample", [f"got 'auto', expected {expected}; {remedy}"])


@dataclass(frozen=True, kw_only=True)
class Downsampled:
    """Voxels of a coarser magnification: the mean of colours, the most frequent label of segmentations."""

    finer: Voxels
    """Voxels of the finer one."""
    factor: Vec3
    """Its voxels in each of these, along x, y, z."""
    category: Category
    """What its voxels mean."""

    @property
    def dtype(self) -> np.dtype[Any]:
        """That of the finer one."""
        return self.finer.dtype

    @property
    def channels(self) -> int:
        """That of the finer one."""
        return self.finer.channels

    @property
    def box(self) -> BoundingBox:
        """All voxels that have a part in the finer one's."""
        return self.finer.box.in_mag(self.factor)

    @property
    def chunk_nbytes(self) -> int:
        """That of the finer one."""
        return self.finer.chunk_nbytes

    @property
    def voxel_nbytes(self) -> int:
        """Bytes of memory that reading takes: the finer voxels, their windows, and sums or counts."""
        window = int(np.prod(self.factor))
        return window * self.finer.voxel_nbytes * 3 + self.channels * 40

    def read(self, box: BoundingBox) -> NDArray[Any]:
        """The voxels of a part of `box`. Beyond the edge of the finer one its last voxels are repeated."""
        wanted = box.from_mag(self.factor)
        there = wanted.intersection(self.finer.box)
        values = self.finer.read(there)
        around = [
            (t - w, (w + n) - (t + s))
            for w, n, t, s in zip(wanted.offset, wanted.size, there.offset, there.size, strict=True)
        ]
        if any(map(any, around)):
            values = np.pad(values, [(0, 0), *around], mode="edge")
        windows = _windows(values, self.factor)
        return mode(windows) if self.category == "segmentation" else mean(windows)


def _windows(values: NDArray[Any], factor: Vec3) -> list[NDArray[Any]]:
    """The voxels of each window by their place in it, x fastest."""
    fx, fy, fz = factor
    return [values[:, x::fx, y::fy, z::fz] for z in range(fz) for y in range(fy) for x in range(fx)]


def mean(windows: list[NDArray[Any]]) -> NDArray[Any]:
    """Mean of each window; of integers rounded to the nearest, halves up, without an overflow."""
    dtype, count = windows[0].dtype, len(windows)
    if dtype.kind == "f":
        with np.errstate(over="ignore", invalid="ignore"):
            found = _sum(windows, 1) / count
            if np.isinf(found).any():  # where only the sum is too large, not what is summed
                found = np.where(np.isinf(found), _sum(windows, count), found)
        return found.astype(dtype)
    wide = np.dtype(np.uint64 if dtype.kind == "u" else np.int64)
    whole, rest = np.zeros(windows[0].shape, wide), np.zeros(windows[0].shape, wide)
    for values in windows:
        quotient = values // dtype.type(count)
        whole += quotient
        rest += values - quotient * dtype.type(count)
    return (whole + (rest + wide.type(count // 2)) // wide.type(count)).astype(dtype)


def _sum(windows: list[NDArray[Any]], divisor: int) -> NDArray[np.float64]:
    total = np.zeros(windows[0].shape, np.float64)
    for values in windows:
        total += values if divisor == 1 else values / np.float64(divisor)
    return total


def mode(windows: list[NDArray[Any]]) -> NDArray[Any]:
    """The most frequent value of each window; of several the largest, so that background never wins."""
    best = windows[0].copy()
    most = np.zeros(best.shape, np.uint8)
    for values in windows:
        count = np.zeros(best.shape, np.uint8)
        for others in windows:
            count += values == others
        better = (count > most) | ((count == most) & (values > best))
        best[better] = values[better]
        most[better] = count[better]
    return best
