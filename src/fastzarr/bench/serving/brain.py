"""The volumes that are served: a T1 image of a brain and the atlas of its regions, resampled to a cube.

Both are cut to the box of the atlas. The image is interpolated linearly; because that leaves it smoother
than any scanner, what is left of the original after a mean over 3³ voxels is added, repeated over the output
at its own resolution. Labels are those of the nearest voxel.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fastzarr.bench.errors import BenchmarkError

TEMPLATES = Path("/usr/share/mricron/templates")
IMAGE, ATLAS = "ch2better.nii.gz", "aal.nii.gz"

SHEAR = 1e-3
"""Most that an axis may deviate from those of the world, as a share of the voxel size."""


@dataclass(frozen=True, kw_only=True)
class Scan:
    """A volume along the axes of the world; x to the right, y to the front, z up."""

    values: NDArray[Any]
    """Indexed [x, y, z]."""
    spacing: NDArray[np.float64]
    """Edges of a voxel, millimetres."""
    origin: NDArray[np.float64]
    """Centre of the first voxel, millimetres."""


@dataclass(frozen=True, kw_only=True)
class Brain:
    """An image and its labels, cut to one box, as a cube of `edge` voxels along each axis."""

    image: Scan
    labels: Scan
    low: NDArray[np.float64]
    """Lower corner of the box, millimetres."""
    high: NDArray[np.float64]
    """Upper corner of the box, millimetres."""
    edge: int
    """Voxels along each axis."""

    @property
    def voxel_size(self) -> tuple[float, float, float]:
        """Edges of a voxel of the cube (x, y, z), nanometres."""
        x, y, z = 1e6 * (self.high - self.low) / self.edge
        return float(x), float(y), float(z)

    def _positions(self, axis: int) -> NDArray[np.float64]:
        """Millimetres of the centres of the cube's voxels along an axis."""
        step = (self.high[axis] - self.low[axis]) / self.edge
        found: NDArray[np.float64] = self.low[axis] + step * (np.arange(self.edge) + 0.5)
        return found

    def image_planes(self) -> Iterator[NDArray[np.uint8]]:
        """The image plane by plane along z, indexed [y, x]; each is overwritten by the next."""
        values = np.ascontiguousarray(self.image.values.T, dtype=np.float32)
        noise = values - _mean(values)
        x, y, z = (self._weights(axis) for axis in range(3))
        rows, columns = (np.arange(self.edge) % n for n in noise.shape[1:])
        plane = np.empty((self.edge, self.edge), np.uint8)
        for number, (low, high, share) in enumerate(zip(*z, strict=True)):
            section = _between(values[low], values[high], share)
            section = _between(section[y[0]], section[y[1]], y[2][:, None])
            found = _between(section.take(x[0], 1), section.take(x[1], 1), x[2])
            found += noise[number % len(noise)].take(columns, 1).take(rows, 0)
            np.copyto(plane, np.rint(found.clip(0, 255, out=found), out=found), casting="unsafe")
            yield plane

    def label_planes(self) -> Iterator[NDArray[np.uint32]]:
        """The labels plane by plane along z, indexed [y, x]."""
        values = np.ascontiguousarray(self.labels.values.T, dtype=np.uint32)
        x, y, z = (self._nearest(axis) for axis in range(3))
        for at in z:
            yield values[at].take(x, 1).take(y, 0)

    def _nearest(self, axis: int) -> NDArray[np.intp]:
        at = (self._positions(axis) - self.labels.origin[axis]) / self.labels.spacing[axis]
        last = self.labels.values.shape[axis] - 1
        found: NDArray[np.intp] = np.rint(at.clip(0, last)).astype(np.intp)
        return found

    def _weights(self, axis: int) -> tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.float32]]:
        """Voxels of the image below and above each position, and the share of the upper one."""
        last = self.image.values.shape[axis] - 1
        at = np.clip((self._positions(axis) - self.image.origin[axis]) / self.image.spacing[axis], 0, last)
        low = np.minimum(at.astype(np.intp), max(0, last - 1))
        return low, np.minimum(low + 1, last), (at - low).astype(np.float32)


def load(image: Path | None, labels: Path | None, edge: int) -> Brain:
    """The brain in NIfTI files, or that of Debian's package mricron-data where none are given.

    BenchmarkError where a file is not there, cannot be read, or the two do not overlap.
    """
    if (image is None) != (labels is None):
        given, missing = ("--image", "--labels") if labels is None else ("--labels", "--image")
        raise BenchmarkError(f"got {given} alone, expected both; give {missing} too, or neither")
    image, labels = image or TEMPLATES / IMAGE, labels or TEMPLATES / ATLAS
    scan, atlas = _read(image), _read(labels)
    found = atlas.values.astype(np.int64)
    if (found != atlas.values).any() or found.min() < 0 or found.max() >= 2**32 or not found.any():
        raise BenchmarkError(f"{labels}: expected labels, whole numbers from 0 to 4294967295 and not all 0")
    inside = [np.flatnonzero(found.any(axis=tuple({0, 1, 2} - {axis}))) for axis in range(3)]
    low = atlas.origin + atlas.spacing * (np.array([at[0] for at in inside]) - 0.5)
    high = atlas.origin + atlas.spacing * (np.array([at[-1] for at in inside]) + 0.5)
    end = scan.origin + scan.spacing * (np.array(scan.values.shape) - 1)
    if (high <= scan.origin).any() or (low >= end).any():
        raise BenchmarkError(f"{image} and {labels} do not overlap: expected two volumes of one space")
    return Brain(image=_as_bytes(scan), labels=atlas, low=low, high=high, edge=edge)


def _read(path: Path) -> Scan:
    if not path.exists():
        remedy = (
            "install it: apt-get install mricron-data; or give volumes of your own by --image and --labels"
            if path.is_relative_to(TEMPLATES)
            else "give a NIfTI file that is there"
        )
        raise BenchmarkError(f"{path} does not exist; {remedy}")
    import nibabel
    from nibabel.filebasedimages import ImageFileError

    try:
        library: Any = nibabel
        image = library.as_closest_canonical(library.load(path))
        values = np.asanyarray(image.dataobj)
    except (ImageFileError, OSError, EOFError, ValueError) as error:
        raise BenchmarkError(f"{path}: cannot be read as NIfTI: {error}") from error
    matrix = np.asarray(image.affine, dtype=np.float64)
    spacing = np.diag(matrix)[:3]
    off = np.abs(matrix[:3, :3] - np.diag(spacing)).max()
    if values.ndim != 3 or not (spacing > 0).all() or off > SHEAR * spacing.min():
        raise BenchmarkError(
            f"{path}: got shape {values.shape} and affine {matrix.tolist()}, expected three axes along those "
            f"of the world; resample it first"
        )
    return Scan(values=values, spacing=spacing, origin=matrix[:3, 3])


def _as_bytes(scan: Scan) -> Scan:
    """Values from 0 to 255: as they are where they fit, else from 0 to the value that 0.1 % are above."""
    values = scan.values
    if values.dtype != np.uint8:
        top = float(np.percentile(values, 99.9))
        if not top > 0:
            raise BenchmarkError("the image has no values above 0")
        values = np.clip(values.astype(np.float32) * (255 / top), 0, 255)
    return Scan(values=values, spacing=scan.spacing, origin=scan.origin)


def _mean(values: NDArray[np.float32]) -> NDArray[np.float32]:
    """Mean over 3³ voxels; at the edges the outermost voxel counts again."""
    for axis in range(3):
        steps = np.arange(values.shape[axis])
        below, above = np.maximum(steps - 1, 0), np.minimum(steps + 1, steps[-1])
        values = (values.take(below, axis) + values + values.take(above, axis)) / 3
    return values


def _between(
    low: NDArray[np.float32], high: NDArray[np.float32], share: NDArray[np.float32]
) -> NDArray[np.float32]:
    return low + (high - low) * share
