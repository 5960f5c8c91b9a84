"""Images of OME-Zarr."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import fastzarr
from fastzarr.serve.datasets import Category, Dataset, VoxelSize
from fastzarr.serve.links import require_inside
from fastzarr.serve.parts import Parts
from fastzarr.volumes import axes, ome
from fastzarr.volumes.boxes import Vec3, mag_name


def open_image(parts: Parts, path: Path, name: str) -> Dataset:
    """The image of OME-Zarr in a directory, with the label images below it."""
    group = fastzarr.open_group(path, mode="r")
    attributes = group.attrs.asdict()
    images = ome.parse(attributes, str(path))
    inner = attributes.get("ome", attributes)
    category: Category = "segmentation" if "image-label" in inner else "color"
    for number, image in enumerate(images):
        given = image.name if image.name and "/" not in image.name else None
        title = given or (stem(path) or name if number == 0 else f"{stem(path)}-{number}")
        arrays = _levels(parts, path, image, (1, 1, 1))
        parts.attempt(title, parts.add_arrays, title, category, arrays, axes.of_ome(image.axes))
    _labels(parts, path, images[0])
    return parts.dataset(name, path, "ome-zarr", images[0].voxel_size)


def _labels(parts: Parts, path: Path, image: ome.Multiscale) -> None:
    """Label images below an image, as segmentations of it."""
    labels = path / "labels"
    if not labels.is_dir() or not labels.resolve().is_relative_to(path.resolve()):
        return
    for place in sorted(labels.iterdir()):
        if not place.is_dir() or place.name.startswith("."):
            continue
        for label in parts.attempt(f"labels/{place.name}", _label_images, parts, place) or ():
            title = place.name if place.name not in parts.layers else f"{place.name}-labels"
            arrays = _levels(parts, place, label, _near(label.voxel_size, image.voxel_size))
            roles = axes.of_ome(label.axes)
            parts.attempt(title, parts.add_arrays, title, "segmentation", arrays, roles)


def _label_images(parts: Parts, path: Path) -> tuple[ome.Multiscale, ...]:
    require_inside(path, parts.hints.roots)
    return ome.parse(fastzarr.open_group(path, mode="r").attrs.asdict(), str(path))


def _near(size: VoxelSize, base: VoxelSize) -> Vec3:
    """The magnification of voxels of `size` where `base` is 1, rounded."""
    x, y, z = (max(1, round(a / b)) for a, b in zip(size, base, strict=True))
    return x, y, z


def _levels(parts: Parts, path: Path, image: ome.Multiscale, factor: Vec3) -> dict[Vec3, Any]:
    """Arrays of an image by magnification; `factor` is that of its finest."""
    found: dict[Vec3, Any] = {}
    for level in image.levels:
        mag = parts.attempt(level.path, image.mag, level)
        array = parts.attempt(level.path, open_below, parts, path, level.path)
        if mag is None or array is None:
            continue
        x, y, z = (a * b for a, b in zip(mag, factor, strict=True))
        reason = axes.reason_against(array)
        if reason is not None:
            parts.remarks.append(f"{level.path}: only its stored keys are served: {reason}")
        elif len(array.shape) != len(image.axes):
            expected = f"{len(image.axes)} dimensions, as the image has axes"
            parts.problems.append(f"{level.path}: got the shape {array.shape}, expected {expected}")
        elif (x, y, z) in found:
            parts.problems.append(f"{level.path}: another level has magnification {mag_name((x, y, z))} too")
        else:
            found[x, y, z] = array
    return found


def open_below(parts: Parts, path: Path, below: str) -> fastzarr.Array:
    """An array in a group; its store is the group's directory, out of which nothing leads."""
    require_inside(path / below, parts.hints.roots)
    return fastzarr.open_array(path, path=below, mode="r")


def stem(path: Path) -> str:
    """Name of a directory without what tells its format."""
    name = path.name
    for end in (".zarr", ".ome"):
        name = name.removesuffix(end) or name
    return name
