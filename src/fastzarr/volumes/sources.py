"""What can be converted: datasets, layers and magnifications of webknossos, Zarr, OME-Zarr, NIfTI, arrays."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import fastzarr
from fastzarr import wkw
from fastzarr.errors import MetadataError, NodeNotFoundError
from fastzarr.volumes import axes, nifti, ome, properties
from fastzarr.volumes.boxes import BoundingBox, Vec3, mag_name, parse_mag
from fastzarr.volumes.properties import Category, Dataset, Layer, Mag
from fastzarr.volumes.voxels import AXES, Readable, Voxels, conventional_axes, of_array
from fastzarr.wkw.array import DOCUMENT as WKW_HEADER

_ONE: Vec3 = (1, 1, 1)
_KEPT = ("defaultViewConfiguration", "adminViewConfiguration")
"""Members of a layer's description that also hold for its copy; others name files beside it."""


@dataclass(frozen=True, kw_only=True)
class SourceLayer:
    """A layer to convert."""

    name: str
    """Its name."""
    category: Category | None
    """Intensities or labels, where the source tells."""
    box: BoundingBox
    """Where it has data, in voxels of magnification 1."""
    mags: Mapping[Vec3, Voxels]
    """Its magnifications."""
    largest_segment_id: int | None = None
    """The largest label, where the source tells."""
    others: Mapping[str, Any] = field(default_factory=dict)
    """Members of its description that are kept."""


@dataclass(frozen=True, kw_only=True)
class Source:
    """What is converted."""

    name: str
    """Its name."""
    voxel_size: tuple[float, float, float] | None
    """Size of a voxel of magnification 1 along x, y, z, in nanometres, where the source tells."""
    layers: tuple[SourceLayer, ...]
    """Its layers."""


@dataclass(frozen=True, kw_only=True)
class Choice:
    """What a caller says of a source that does not tell by itself."""

    axes: str | None = None
    """Axes of a Zarr array or an array in memory by dimension, letters of `tcxyz`."""
    time: int | None = None
    """Which of several volumes along the axis t."""
    offset: Vec3 | None = None
    """Position of the first voxel along x, y, z, in voxels of magnification 1."""


def open_source(source: Any, scratch: Path, choice: Choice) -> Source:
    """What is at a path or URL, or an array; `scratch` is a directory for what has to be unpacked.

    Raises `NodeNotFoundError` where nothing is there, `MetadataError` for what can't be understood.
    """
    if not isinstance(source, str | os.PathLike):
        return _of_array(source, "array", choice)
    text = os.fspath(source)
    if "://" in text:
        return _of_node(text, _titled(text.rstrip("/").rpartition("/")[2]), choice)
    path = Path(text).absolute()
    if not path.exists():
        raise NodeNotFoundError(f"{path}: no such file or directory, expected a volume")
    if path.is_file():
        if not nifti.is_nifti(path):
            expected = " or ".join(nifti.SUFFIXES)
            raise MetadataError(str(path), [f"got a file, expected a directory, or a file named *{expected}"])
        return _of_nifti(path, scratch, choice)
    if (path / properties.DOCUMENT).exists():
        dataset = properties.read(path)
        return _of_dataset(path, dataset, dataset.layers)
    for root in path.parents[:2]:
        if (root / properties.DOCUMENT).exists() and (found := _within(root, path)) is not None:
            return found
    if (path / WKW_HEADER).exists():
        mag = parse_mag(path.name)
        return _of_wkw({mag or _ONE: path}, path.name if mag is None else path.parent.name or path.name)
    entries = [entry for entry in path.iterdir() if (entry / WKW_HEADER).exists()]
    mags = {mag: entry for entry in entries if (mag := parse_mag(entry.name)) is not None}
    if mags:
        return _of_wkw(mags, path.name)
    try:
        return _of_node(str(path), _titled(path.name), choice)
    except NodeNotFoundError as error:
        _refuse_several(path, error)
        raise


def _refuse_several(path: Path, error: NodeNotFoundError) -> None:
    """Raise `MetadataError` where layers of WKW are below `path`, which no document joins to a dataset."""
    headers = [*path.glob("*/header.wkw"), *path.glob("*/*/header.wkw")]
    layers = sorted({header.relative_to(path).parts[0] for header in headers})
    if layers:
        names = ", ".join(layers[:10]) + ", …" * (len(layers) > 10)
        found = f"got WKW in {names} and no {properties.DOCUMENT}"
        expected = f"one layer; convert one after the other, such as {path / layers[0]}"
        raise MetadataError(str(path), [f"{found}, expected {expected}"]) from error


def _titled(name: str) -> str:
    """What a directory of Zarr is called, without the ending that says so."""
    bare = name.removesuffix(".zarr")
    return (bare.removesuffix(".ome") if bare != name else name) or name


def _within(root: Path, path: Path) -> Source | None:
    """The part of a dataset that is at `path`: a layer or a magnification of one."""
    dataset = properties.read(root)
    for layer in dataset.layers:
        places = [(mag, (root / layer.path_of(mag)).resolve()) for mag in layer.mags]
        at = tuple(mag for mag, place in places if place == path.resolve())
        inside = tuple(mag for mag, place in places if place.parent == path.resolve())
        if chosen := at or inside:
            return _of_dataset(root, dataset, (replace(layer, mags=chosen),))
    return None


def _of_dataset(root: Path, dataset: Dataset, layers: tuple[Layer, ...]) -> Source:
    if not layers:
        raise MetadataError(str(root), ["got a dataset without layers, expected at least one"])
    return Source(
        name=dataset.name,
        voxel_size=dataset.voxel_size,
        layers=tuple(_layer(root, layer) for layer in layers),
    )


def _layer(root: Path, layer: Layer) -> SourceLayer:
    where = f"{root / properties.DOCUMENT}: layer {layer.name!r}"
    if not layer.mags:
        raise MetadataError(where, ["mags: got none, expected at least one"])
    if min(layer.bounding_box.offset) < 0:
        corner = layer.bounding_box.offset
        raise MetadataError(where, [f"boundingBox.topLeft: got {corner}, expected 0 or more"])
    mags = {mag.mag: _mag(root, layer, mag, where) for mag in layer.mags}
    for mag, voxels in mags.items():
        if (voxels.dtype, voxels.channels) != (layer.dtype, layer.channels):
            found = f"{voxels.channels} channels of {voxels.dtype}"
            expected = f"{layer.channels} of {layer.dtype}, as its elementClass and numChannels say"
            raise MetadataError(where, [f"mag {mag_name(mag)}: got {found}, expected {expected}"])
    return SourceLayer(
        name=layer.name,
        category=layer.category,
        box=layer.bounding_box,
        mags=mags,
        largest_segment_id=layer.largest_segment_id,
        others={key: value for key, value in layer.others.items() if key in _KEPT},
    )


def _mag(root: Path, layer: Layer, mag: Mag, where: str) -> Voxels:
    stored = layer.path_of(mag)
    path = (root / stored).resolve()
    if "://" in stored or not path.is_relative_to(root.resolve()):
        expected = "a path within the dataset; convert what is elsewhere by its own path"
        raise MetadataError(where, [f"mag {mag_name(mag.mag)}: got path {stored!r}, expected {expected}"])
    box = layer.bounding_box.in_mag(mag.mag)
    if layer.data_format == "wkw":
        return of_array(_open_wkw(path), AXES, box=box, where=str(path))
    if layer.data_format not in ("zarr", "zarr3"):
        raise MetadataError(where, [f"dataFormat: got {layer.data_format!r}, expected wkw, zarr or zarr3"])
    array = fastzarr.open_array(path, mode="r")
    order = mag.axis_order
    if order is None:
        roles = AXES if array.ndim == 4 else AXES[1:]
    else:
        roles = "".join(sorted((axis for axis in order if order[axis] < array.ndim), key=lambda a: order[a]))
    return of_array(array, roles, box=box, where=str(path))


def _of_wkw(mags: Mapping[Vec3, Path], name: str) -> Source:
    """Magnifications without a dataset's document: their extent is that of their files."""
    voxels = {mag: of_array(_open_wkw(path), AXES, where=str(path)) for mag, path in mags.items()}
    finest = min(voxels)
    box = voxels[finest].box.from_mag(finest)
    layer = SourceLayer(name=name, category=None, box=box, mags=voxels)
    return Source(name=name, voxel_size=None, layers=(layer,))


def _open_wkw(path: Path) -> Readable:
    return wkw.open(path, mode="r")


def _of_nifti(path: Path, scratch: Path, choice: Choice) -> Source:
    image = nifti.open_image(path, scratch, time=choice.time)
    voxels = image.voxels
    if choice.offset is not None:
        box = BoundingBox(offset=choice.offset, size=voxels.box.size)
        voxels = replace(voxels, offset=choice.offset, box=box)
    name = path.name[: -len(".nii.gz" if path.name.lower().endswith(".gz") else ".nii")]
    layer = SourceLayer(name=name, category=image.category, box=voxels.box, mags={_ONE: voxels})
    return Source(name=name, voxel_size=image.voxel_size, layers=(layer,))


def _of_array(array: Any, where: str, choice: Choice) -> Source:
    shape = getattr(array, "shape", None)
    if shape is None or not hasattr(array, "dtype"):
        expected = "a path, a URL or an array with shape and dtype"
        raise MetadataError("source", [f"got {type(array).__name__}, expected {expected}"])
    roles = choice.axes or conventional_axes(shape, where)
    index = {} if choice.time is None else {"t": choice.time}
    voxels = of_array(array, roles, offset=choice.offset or (0, 0, 0), index=index, where=where)
    layer = SourceLayer(name="color", category=None, box=voxels.box, mags={_ONE: voxels})
    return Source(name=where, voxel_size=None, layers=(layer,))


def _of_node(store: str, name: str, choice: Choice) -> Source:
    """A Zarr array, or a group that is an image of OME-Zarr."""
    node = fastzarr.open(store, mode="r")
    if isinstance(node, fastzarr.Array):
        return _of_zarr_array(store, node, name, choice)
    images = ome.parse(node.attrs.asdict(), store)
    if not images:
        below = ", ".join(sorted(node)) or "nothing"
        expected = "an array, an image of OME-Zarr or a dataset of webknossos"
        raise MetadataError(
            store, [f"got a group with {below} below, expected {expected}; name one of these"]
        )
    image = images[0]
    mags: dict[Vec3, Voxels] = {}
    for mag, level in image.mags().items():
        array = node[level.path]
        if not isinstance(array, fastzarr.Array):
            raise MetadataError(store, [f"multiscale level {level.path!r}: got a group, expected an array"])
        mags[mag] = _of_level(array, image, level, choice, f"{store}/{level.path}")
    finest = min(mags)
    layer = SourceLayer(
        name=image.name or name, category=None, box=mags[finest].box.from_mag(finest), mags=mags
    )
    return Source(name=image.name or name, voxel_size=image.voxel_size, layers=(layer,))


def _of_level(
    array: fastzarr.Array, image: ome.Multiscale, level: ome.Level, choice: Choice, where: str
) -> Voxels:
    names = [axis.name for axis in image.axes]
    if not set(names) <= set("tcxyz"):
        raise MetadataError(where, [f"axes: got {names}, expected names among t, c, x, y, z"])
    offset = image.offset(level)
    if choice.offset is not None:
        offset = BoundingBox(offset=choice.offset, size=_ONE).in_mag(image.mag(level)).offset
    if min(offset) < 0:
        expected = "0 or more; give an offset to place the image"
        raise MetadataError(where, [f"translation: got {offset} voxels, expected {expected}"])
    index = {} if choice.time is None else {"t": choice.time}
    return of_array(array, "".join(names), offset=offset, index=index, where=where)


def _of_zarr_array(store: str, array: fastzarr.Array, name: str, choice: Choice) -> Source:
    """An array; what the image of OME-Zarr that it belongs to says of it is heeded."""
    if choice.axes is None and "://" not in store:
        found = _level_of_image(Path(store), array, choice)
        if found is not None:
            return found
    if choice.axes is None and array.ndim > 1:
        roles = axes.of_array(array)
        if set(roles) <= set("tcxyz"):
            choice = replace(choice, axes="".join(roles))
    source = _of_array(array, store, choice)
    return Source(name=name, voxel_size=None, layers=(replace(source.layers[0], name=name),))


def _level_of_image(path: Path, array: fastzarr.Array, choice: Choice) -> Source | None:
    try:
        group = fastzarr.open_group(path.parent, mode="r")
    except NodeNotFoundError:
        return None
    for image in ome.parse(group.attrs.asdict(), str(path.parent)):
        for level in image.levels:
            if level.path == path.name:
                voxels = _of_level(array, image, level, choice, str(path))
                mag = image.mag(level)
                name = image.name or _titled(path.parent.name)
                box = voxels.box.from_mag(mag)
                layer = SourceLayer(name=name, category=None, box=box, mags={mag: voxels})
                return Source(name=name, voxel_size=image.voxel_size, layers=(layer,))
    return None
