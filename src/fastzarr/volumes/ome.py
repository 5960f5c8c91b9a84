"""Multiscale images of OME-Zarr 0.4 and 0.5, in the attributes of a group.

0.4 keeps `multiscales` in the attributes themselves (Zarr v2), 0.5 in their member `ome` (Zarr v3).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from fastzarr.errors import MetadataError
from fastzarr.volumes.boxes import Vec3, mag_name
from fastzarr.volumes.fields import Fields, is_finite, raise_problems
from fastzarr.volumes.units import NANOMETERS

Version = Literal["0.4", "0.5"]

_NEAR = 0.05
"""Part by which a ratio of scales may miss a whole number: pyramids of odd sizes have such ratios."""
_SPACE = ("x", "y", "z")
_Doubles = tuple[float, float, float]


@dataclass(frozen=True, kw_only=True)
class Axis:
    """One dimension of the arrays of an image."""

    name: str
    """`x`, `y`, `z`, `c`, `t` or another name."""
    type: str | None = None
    """`space`, `channel`, `time`, or another, where told."""
    unit: str | None = None
    """Unit of its coordinates, where told."""


@dataclass(frozen=True, kw_only=True)
class Level:
    """One array of an image."""

    path: str
    """Path of the array below the group."""
    scale: tuple[float, ...]
    """Size of an element along each dimension, in units of the axes."""
    translation: tuple[float, ...]
    """Position of the first element."""


@dataclass(frozen=True, kw_only=True)
class Multiscale:
    """An image: the same at several scales, the finest first."""

    axes: tuple[Axis, ...]
    """Axes of all its arrays, in the order of their dimensions."""
    levels: tuple[Level, ...]
    """Its arrays."""
    name: str | None = None
    """Its name, where told."""
    version: Version = "0.5"
    """Version of OME-Zarr."""

    def dimension(self, axis: str) -> int | None:
        """The dimension of an axis, or None where the image has none of that name."""
        return next((n for n, found in enumerate(self.axes) if found.name == axis), None)

    @property
    def voxel_size(self) -> _Doubles:
        """Size of a voxel of the first level along x, y, z, in nanometres; without a unit taken as such."""
        return self._voxel_size(self.levels[0])

    def mag(self, level: Level) -> Vec3:
        """Voxels of the first level in one of `level`, along x, y, z.

        Raises `MetadataError` for ratios of scales that are not near whole numbers.
        """
        first = self._voxel_size(self.levels[0])
        ratios = [size / base for size, base in zip(self._voxel_size(level), first, strict=True)]
        x, y, z = (max(1, round(ratio)) for ratio in ratios)
        if any(abs(ratio / whole - 1) > _NEAR for ratio, whole in zip(ratios, (x, y, z), strict=True)):
            found = ", ".join(f"{ratio:g}" for ratio in ratios)
            expected = "ratios of scales along x, y, z near whole numbers"
            raise MetadataError(f"multiscale level {level.path!r}", [f"got {found}, expected {expected}"])
        return x, y, z

    def mags(self) -> dict[Vec3, Level]:
        """The levels by magnification; raises `MetadataError`, also where two have the same."""
        levels: dict[Vec3, Level] = {}
        for level in self.levels:
            mag = self.mag(level)
            if mag in levels:
                problem = f"got magnification {mag_name(mag)}, which {levels[mag].path!r} has too"
                raise MetadataError(f"multiscale level {level.path!r}", [problem])
            levels[mag] = level
        return levels

    def offset(self, level: Level) -> Vec3:
        """Position of the first voxel of a level along x, y, z, in its voxels, rounded.

        The centre of a larger voxel lies further inside than that of a small one; that part is not counted.
        """
        x, y, z = (round(shift) for shift in self._shift(level))
        return x, y, z

    def _shift(self, level: Level) -> list[float]:
        shifts = []
        for axis in _SPACE:
            n = self.dimension(axis)
            if n is None:
                shifts.append(0.0)
                continue
            finest = self.levels[0].scale[n]
            inside = (level.scale[n] - finest) / 2
            position = level.translation[n]
            shifts.append((position - inside if position >= inside > 0 else position) / level.scale[n])
        return shifts

    def _voxel_size(self, level: Level) -> _Doubles:
        x, y, z = (self._size_along(axis, level) for axis in _SPACE)
        return x, y, z

    def _size_along(self, axis: str, level: Level) -> float:
        n = self.dimension(axis)
        if n is None:
            return 1.0
        return level.scale[n] * NANOMETERS[self.axes[n].unit or "nanometer"]


def parse(attributes: Mapping[str, Any], where: str) -> tuple[Multiscale, ...]:
    """The images that a group's attributes tell of, none where it is no image; raises `MetadataError`.

    `where` names the group in errors.
    """
    problems: list[str] = []
    inner = attributes.get("ome")
    if isinstance(inner, Mapping) and "multiscales" in inner:
        place, version, images = "ome.multiscales", inner.get("version"), inner["multiscales"]
    elif "multiscales" in attributes:
        place, version, images = "multiscales", None, attributes["multiscales"]
    else:
        return ()
    document = Fields({}, "", problems)
    found = [
        _multiscale(Fields(entry, f"{place}[{n}]", problems), version)
        for n, entry in enumerate(document.items(place, images, at_least=1))
    ]
    raise_problems(where, problems)
    return tuple(image for image in found if image is not None)


def attributes(
    axes: Sequence[str],
    voxel_size: _Doubles,
    mags: Mapping[Vec3, str],
    *,
    name: str | None = None,
    version: Version = "0.5",
) -> dict[str, Any]:
    """Attributes of a group that is an image.

    `axes`: names by dimension, of `c`, `x`, `y`, `z`. `voxel_size`: of magnification 1, in nanometres.
    `mags`: paths of the arrays by magnification.
    """
    described = [
        {"name": axis, "type": "space", "unit": "nanometer"}
        if axis in _SPACE
        else {"name": axis, "type": "channel"}
        for axis in axes
    ]
    datasets = []
    for mag in sorted(mags):
        size = dict(zip(_SPACE, (s * m for s, m in zip(voxel_size, mag, strict=True)), strict=True))
        scale = [size.get(axis, 1.0) for axis in axes]
        datasets.append({"path": mags[mag], "coordinateTransformations": [{"type": "scale", "scale": scale}]})
    image: dict[str, Any] = {"axes": described, "datasets": datasets}
    if name is not None:
        image["name"] = name
    if version == "0.4":
        return {"multiscales": [{"version": version, **image}]}
    return {"ome": {"version": version, "multiscales": [image]}}


def _multiscale(members: Fields, version: object) -> Multiscale | None:
    count = len(members.problems)
    if version is None:
        _, version = members.take("version")
    if version not in (None, "0.4", "0.5"):
        members.problem("version", version, "'0.4' or '0.5'")
        return None
    name = members.text("name", default="") or None
    axes = _axes(members)
    shared = _transformations(members, len(axes))
    key, given = members.take("datasets")
    levels = [
        _level(Fields(entry, f"{members.name(key)}[{n}]", members.problems), len(axes), shared)
        for n, entry in enumerate(members.items(members.name(key), given, at_least=1))
    ]
    if len(members.problems) > count:
        return None
    return Multiscale(
        name=name,
        axes=axes,
        levels=tuple(levels),
        version="0.4" if version in (None, "0.4") else "0.5",
    )


def _axes(members: Fields) -> tuple[Axis, ...]:
    key, given = members.take("axes")
    axes = []
    for n, entry in enumerate(members.items(key, given, at_least=1)):
        axis = Fields(entry, f"{members.name(key)}[{n}]", members.problems)
        name, kind = axis.text("name"), axis.text("type", default="") or None
        unit = axis.text("unit", default="") or None
        if name in _SPACE and unit is not None and unit not in NANOMETERS:
            axis.problem("unit", unit, f"one of {', '.join(NANOMETERS)}")
        axes.append(Axis(name=name, type=kind, unit=unit))
    names = [axis.name for axis in axes]
    if len(set(names)) < len(names):
        members.problem(key, names, "names that differ")
    elif axes and not {"x", "y"} <= set(names):
        members.problem(key, names, "axes x and y among them")
    return tuple(axes)


def _level(
    members: Fields, dimensions: int, shared: tuple[tuple[float, ...], tuple[float, ...]] | None
) -> Level:
    path = members.text("path")
    own = _transformations(members, dimensions)
    if own is None:
        members.missing("coordinateTransformations", "a list with a scale")
        own = ((1.0,) * dimensions, (0.0,) * dimensions)
    scale, translation = own
    if shared is not None:
        scale = tuple(a * b for a, b in zip(scale, shared[0], strict=True))
        moved = (t * s for t, s in zip(translation, shared[0], strict=True))
        translation = tuple(a + b for a, b in zip(moved, shared[1], strict=True))
    return Level(path=path, scale=scale, translation=translation)


def _transformations(members: Fields, dimensions: int) -> tuple[tuple[float, ...], tuple[float, ...]] | None:
    """Scale and translation, in the order in which they are told; None where there are none."""
    key, given = members.take("coordinateTransformations")
    if given is None:
        return None
    scale, translation = (1.0,) * dimensions, (0.0,) * dimensions
    for n, entry in enumerate(members.items(key, given)):
        step = Fields(entry, f"{members.name(key)}[{n}]", members.problems)
        kind = step.choice("type", ("scale", "translation", "identity"))
        _, values = step.take(kind)
        if kind == "identity":
            continue
        if not isinstance(values, list) or len(values) != dimensions or not all(map(is_finite, values)):
            step.problem(kind, values, f"{dimensions} numbers, one for each axis")
        elif kind == "scale" and min(values) <= 0:
            step.problem(kind, values, "numbers above 0")
        elif kind == "scale":
            scale = tuple(s * v for s, v in zip(scale, values, strict=True))
            translation = tuple(t * v for t, v in zip(translation, values, strict=True))
        else:
            translation = tuple(t + v for t, v in zip(translation, values, strict=True))
    return scale, translation
