"""Boxes of voxels and magnifications."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

Vec3 = tuple[int, int, int]
"""Whole numbers along x, y and z."""

_MAG = re.compile(r"[1-9][0-9]*(-[1-9][0-9]*-[1-9][0-9]*)?")


@dataclass(frozen=True, kw_only=True)
class BoundingBox:
    """The voxels `offset[i] <= position[i] < offset[i] + size[i]` along x, y and z."""

    offset: Vec3
    """First voxel of the box."""
    size: Vec3
    """Number of voxels."""

    @property
    def end(self) -> Vec3:
        """The first voxel behind the box."""
        return _vec3(o + s for o, s in zip(self.offset, self.size, strict=True))

    def is_empty(self) -> bool:
        """Whether it has no voxel."""
        return min(self.size) < 1

    def intersection(self, other: BoundingBox) -> BoundingBox:
        """The voxels of both; where there are none, a box of no size."""
        offset = _vec3(map(max, self.offset, other.offset))
        end = _vec3(map(min, self.end, other.end))
        return BoundingBox(offset=offset, size=_vec3(max(0, e - o) for o, e in zip(offset, end, strict=True)))

    def in_mag(self, mag: Vec3) -> BoundingBox:
        """The voxels of a magnification that have a part in the box, which is one of magnification 1."""
        offset = _vec3(o // m for o, m in zip(self.offset, mag, strict=True))
        end = _vec3(-(-e // m) for e, m in zip(self.end, mag, strict=True))
        return BoundingBox(offset=offset, size=_vec3(e - o for o, e in zip(offset, end, strict=True)))

    def from_mag(self, mag: Vec3) -> BoundingBox:
        """The voxels of magnification 1 that a box of voxels of `mag` covers."""
        offset = _vec3(o * m for o, m in zip(self.offset, mag, strict=True))
        return BoundingBox(offset=offset, size=_vec3(s * m for s, m in zip(self.size, mag, strict=True)))

    def slices(self) -> tuple[slice, slice, slice]:
        """The box as a selection of an array with dimensions x, y, z."""
        x, y, z = (slice(o, e) for o, e in zip(self.offset, self.end, strict=True))
        return x, y, z


def mag_name(mag: Vec3) -> str:
    """Name of a magnification's directory: `2`, or `2-2-1` where it differs along the axes."""
    return str(mag[0]) if mag[0] == mag[1] == mag[2] else "-".join(map(str, mag))


def parse_mag(name: str) -> Vec3 | None:
    """The magnification that a directory's name means, or None where it means none."""
    if not _MAG.fullmatch(name):
        return None
    parts = [int(part) for part in name.split("-")]
    return _vec3(parts * 3 if len(parts) == 1 else parts)


def _vec3(values: Iterable[int]) -> Vec3:
    x, y, z = values
    return x, y, z
