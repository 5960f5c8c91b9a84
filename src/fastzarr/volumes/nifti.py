"""Volumes of NIfTI files, read through nibabel.

The voxels keep the order of the file: its first dimension is x. Voxel sizes come from the header; without a
unit they are millimetres, as everywhere. Rows are read when they are wanted; a compressed file is unpacked
first, into a directory that the caller gives, because what is compressed as a whole can't be read in parts.
"""

from __future__ import annotations

import gzip
import itertools
import math
import os
import shutil
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fastzarr.errors import ChunkError, MetadataError
from fastzarr.volumes.properties import Category
from fastzarr.volumes.voxels import ArrayVoxels, of_array

SUFFIXES = (".nii", ".nii.gz")
_UNITS = {"unknown": 1e6, "meter": 1e9, "mm": 1e6, "micron": 1e3}
"""Nanometres of NIfTI's units."""
_AXES = "xyzt"


@dataclass(frozen=True, kw_only=True)
class Image:
    """A volume in a NIfTI file."""

    voxels: ArrayVoxels
    """Its voxels."""
    voxel_size: tuple[float, float, float]
    """Size of a voxel along x, y, z, in nanometres."""
    category: Category
    """Segmentation where the header says that values are labels."""
    affine: tuple[tuple[float, ...], ...]
    """From voxels to the world's coordinates in the file's unit, four rows."""


def is_nifti(path: str | os.PathLike[str]) -> bool:
    """Whether the name is that of a NIfTI file."""
    return os.fspath(path).lower().endswith(SUFFIXES)


def open_image(path: str | os.PathLike[str], scratch: Path, *, time: int | None = None) -> Image:
    """The volume in a file; `time` chooses one where there are several.

    `scratch`: directory for what is unpacked of a compressed file. Raises `MetadataError`.
    """
    nibabel = _nibabel()
    where = os.fspath(path)
    file = _unpacked(Path(path), scratch) if where.lower().endswith(".gz") else Path(path)
    try:
        image = nibabel.load(file, mmap=False)
    except nibabel.filebasedimages.ImageFileError as error:
        raise MetadataError(where, [f"got no NIfTI file: {error}"]) from error
    header = image.header
    array = _Voxels(file, image.dataobj, where)
    zooms = [float(zoom) for zoom in header.get_zooms()[:3]]
    unit = _UNITS.get(header.get_xyzt_units()[0], _UNITS["unknown"])
    x, y, z = (zoom * unit if zoom > 0 else unit for zoom in [*zooms, 0.0, 0.0, 0.0][:3])
    return Image(
        voxels=of_array(array, array.axes, index={} if time is None else {"t": time}, where=where),
        voxel_size=(x, y, z),
        category="segmentation" if header.get_intent()[0] == "label" else "color",
        affine=tuple(tuple(map(float, row)) for row in np.asarray(image.affine)),
    )


class _Voxels:
    """The array of a file that is not compressed; scaled as its header says, colours as channels.

    Of each plane only the rows are read that are wanted.
    """

    def __init__(self, file: Path, proxy: Any, where: str) -> None:
        self._file, self._where = file, where
        stored = self._stored = proxy.dtype
        shape = tuple(map(int, proxy.shape))
        self._scaling = proxy.slope, proxy.inter
        self._offset = int(proxy.offset)
        problems = []
        if stored.names not in (None, ("R", "G", "B"), ("R", "G", "B", "A")) or stored.kind == "c":
            problems.append(f"data type: got {stored}, expected real numbers or RGB")
        if not len(shape) >= 2 or any(size != 1 for size in shape[len(_AXES) :]):
            problems.append(f"shape: got {shape}, expected x, y, z and perhaps time")
        size, needed = file.stat().st_size, self._offset + math.prod(shape) * stored.itemsize
        if size < needed:
            problems.append(f"got {size} bytes, expected {needed}: the file is truncated")
        if problems:
            raise MetadataError(where, problems)
        self._dimensions = shape[: len(_AXES)]
        self.axes = _AXES[: len(shape)] + ("c" if stored.names else "")
        self.shape = (*self._dimensions, *([len(stored.names)] if stored.names else []))
        one = np.zeros(1, stored["R"] if stored.names else stored)
        self.dtype = self._scaled(one).dtype.newbyteorder("=")

    def __getitem__(self, selection: Any) -> NDArray[Any]:
        spatial = selection[: len(self._dimensions)]
        x, y, *beyond = spatial
        planes = [
            range(*item.indices(n)) if isinstance(item, slice) else [item]
            for item, n in zip(beyond, self._dimensions[2:], strict=True)
        ]
        columns, rows = range(self._dimensions[0])[x], range(self._dimensions[1])[y]
        found = np.empty((len(columns), len(rows), *map(len, planes)), self._stored, order="F")
        flat = found.reshape((len(columns), len(rows), -1), order="F")
        with self._file.open("rb", buffering=0) as opened:
            for number, coords in enumerate(itertools.product(*reversed(planes))):
                flat[:, :, number] = self._rows(opened.fileno(), rows, coords)[x]
        for axis in reversed(range(len(spatial))):
            if not isinstance(spatial[axis], slice):
                found = found.take(0, axis)
        if self._stored.names is None:
            return self._scaled(found).astype(self.dtype, copy=False)
        return np.stack([found[name] for name in self._stored.names], axis=-1)[..., selection[-1]]

    def _rows(self, file: int, rows: range, coords: Sequence[int]) -> NDArray[Any]:
        """Rows of one plane, whole; `coords` of the plane, the last dimension first."""
        width, height = self._dimensions[:2]
        plane = 0
        for coord, size in zip(coords, reversed(self._dimensions[2:]), strict=True):
            plane = plane * size + coord
        count = width * len(rows)
        start = self._offset + (plane * height + rows.start) * width * self._stored.itemsize
        data = os.pread(file, count * self._stored.itemsize, start)
        if len(data) != count * self._stored.itemsize:
            raise ChunkError(self._where, f"got {len(data)} bytes at {start}, expected {count} voxels")
        return np.frombuffer(data, self._stored).reshape((width, len(rows)), order="F")

    def _scaled(self, values: NDArray[Any]) -> NDArray[Any]:
        slope, intercept = self._scaling
        if (slope, intercept) == (1.0, 0.0):
            return values
        return _nibabel().volumeutils.apply_read_scaling(values, slope, intercept)  # type: ignore[no-any-return]


def _unpacked(path: Path, scratch: Path) -> Path:
    """The content of a compressed file, unpacked anew where it is not there whole."""
    target = scratch / path.name[: -len(".gz")]
    partial = target.with_name(f".{target.name}.{os.getpid()}.partial")
    try:
        with gzip.open(path) as packed, partial.open("wb") as plain:
            shutil.copyfileobj(packed, plain, 1 << 20)
        partial.replace(target)
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise MetadataError(os.fspath(path), [f"got a damaged gzip file: {error}"]) from error
    finally:
        partial.unlink(missing_ok=True)
    return target


def _nibabel() -> ModuleType:
    try:
        import nibabel
    except ImportError as error:
        raise ImportError("NIfTI files need nibabel: pip install 'fastzarr[convert]'") from error
    return nibabel
