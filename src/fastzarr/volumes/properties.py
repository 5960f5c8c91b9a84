"""`datasource-properties.json`, which tells what is in a webknossos dataset.

Older forms are read: `wkwResolutions` for `mags`, a list for `scale`, `resolution` for `mag`. Members that
fastzarr doesn't know are kept. Written is the newest form.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np

from fastzarr.errors import MetadataError, NodeNotFoundError
from fastzarr.volumes.boxes import BoundingBox, Vec3, mag_name
from fastzarr.volumes.element_class import default_channels, element_class, parse_element_class
from fastzarr.volumes.fields import Fields, is_finite, is_whole, raise_problems
from fastzarr.volumes.units import NANOMETERS

DOCUMENT = "datasource-properties.json"

DataFormat = Literal["wkw", "zarr", "zarr3", "n5", "neuroglancerPrecomputed"]
Category = Literal["color", "segmentation"]
_FORMATS = ("wkw", "zarr", "zarr3", "n5", "neuroglancerPrecomputed")
_CATEGORIES = ("color", "segmentation")
_Doubles = tuple[float, float, float]


@dataclass(frozen=True, kw_only=True)
class Mag:
    """One magnification of a layer."""

    mag: Vec3
    """Voxels of magnification 1 in one of its voxels, along x, y, z."""
    path: str | None = None
    """Where it is: relative to the dataset's directory, absolute, or a URL. None: `LAYER/MAG`."""
    cube_length: int | None = None
    """Voxels along an edge of a file of WKW, where the document tells."""
    axis_order: Mapping[str, int] | None = None
    """Dimension of the array by axis (`c`, `x`, `y`, `z`), where the document tells."""
    others: Mapping[str, Any] = field(default_factory=dict)
    """Members that fastzarr doesn't know."""

    def to_json(self) -> dict[str, Any]:
        """As a member of `mags`."""
        known = {
            "mag": list(self.mag),
            "path": self.path,
            "cubeLength": self.cube_length,
            "axisOrder": None if self.axis_order is None else dict(self.axis_order),
        }
        return {key: value for key, value in known.items() if value is not None} | dict(self.others)


@dataclass(frozen=True, kw_only=True)
class Layer:
    """One layer of a dataset."""

    name: str
    """Its name."""
    category: Category
    """Whether its values are intensities or labels."""
    data_format: DataFormat
    """How its magnifications are stored."""
    dtype: np.dtype[Any]
    """Data type of one channel."""
    channels: int = 1
    """Number of channels."""
    bounding_box: BoundingBox
    """Where it has data, in voxels of magnification 1."""
    mags: tuple[Mag, ...]
    """Its magnifications."""
    largest_segment_id: int | None = None
    """The largest label of a segmentation, where known."""
    others: Mapping[str, Any] = field(default_factory=dict)
    """Members that fastzarr doesn't know."""

    @property
    def element_class(self) -> str:
        """The data type of all channels as webknossos names it."""
        return element_class(self.dtype, self.channels)

    def path_of(self, mag: Mag) -> str:
        """Where a magnification is, as the document tells or as it follows from the names."""
        return mag.path if mag.path is not None else f"{self.name}/{mag_name(mag.mag)}"

    def to_json(self) -> dict[str, Any]:
        """As a member of `dataLayers`."""
        box = self.bounding_box
        width, height, depth = box.size
        document: dict[str, Any] = {
            "name": self.name,
            "category": self.category,
            "boundingBox": {
                "topLeft": list(box.offset),
                "width": width,
                "height": height,
                "depth": depth,
            },
            "dataFormat": self.data_format,
            "mags": [mag.to_json() for mag in self.mags],
            "numChannels": self.channels,
            "elementClass": self.element_class,
        }
        if self.category == "segmentation":
            document["largestSegmentId"] = self.largest_segment_id
        return document | dict(self.others)


@dataclass(frozen=True, kw_only=True)
class Dataset:
    """What `datasource-properties.json` says."""

    name: str
    """Name of the dataset."""
    scale: _Doubles
    """Size of a voxel of magnification 1 along x, y, z, in `unit`."""
    unit: str = "nanometer"
    """Unit of `scale`."""
    layers: tuple[Layer, ...] = ()
    """Its layers."""
    team: str = ""
    """The team or organization it belongs to."""
    others: Mapping[str, Any] = field(default_factory=dict)
    """Members that fastzarr doesn't know."""

    @property
    def voxel_size(self) -> _Doubles:
        """Size of a voxel of magnification 1 along x, y, z, in nanometres."""
        x, y, z = (factor * NANOMETERS[self.unit] for factor in self.scale)
        return x, y, z

    def to_json(self) -> dict[str, Any]:
        """The document."""
        document = {
            "id": {"name": self.name, "team": self.team},
            "scale": {"factor": list(self.scale), "unit": self.unit},
            "dataLayers": [layer.to_json() for layer in self.layers],
        }
        return document | ({"version": 1} | dict(self.others))


def read(path: str | os.PathLike[str]) -> Dataset:
    """The document in a dataset's directory, or at `path` itself.

    Raises `NodeNotFoundError` where there is none, `MetadataError` with every problem of one that is wrong.
    """
    file = _file(path)
    try:
        text = file.read_text(encoding="utf-8")
    except FileNotFoundError as error:
        raise NodeNotFoundError(f"{file}: no such file, expected a webknossos dataset's") from error
    except UnicodeDecodeError as error:
        raise MetadataError(str(file), [f"got bytes that are no UTF-8 at {error.start}"]) from error
    return parse(text, str(file))


def write(path: str | os.PathLike[str], dataset: Dataset) -> Path:
    """Write the document into a dataset's directory; it appears whole or not at all."""
    file = _file(path)
    partial = file.with_name(f".{file.name}.{os.getpid()}.partial")
    try:
        with partial.open("x", encoding="utf-8") as opened:
            json.dump(dataset.to_json(), opened, indent=4)
            opened.flush()
            os.fsync(opened.fileno())
        partial.replace(file)
    finally:
        partial.unlink(missing_ok=True)
    return file


def parse(text: str, where: str) -> Dataset:
    """The document from its text; `where` names it in errors. Raises `MetadataError`."""
    try:
        value = json.loads(text)
    except (json.JSONDecodeError, RecursionError) as error:
        raise MetadataError(where, [f"got no valid JSON: {error}"]) from error
    problems: list[str] = []
    document = Fields(value, "", problems)
    identity = document.object("id")
    name, team = identity.text("name"), identity.text("team", default="")
    scale, unit = _scale(document)
    key, given = document.take("dataLayers")
    layers = [
        _layer(Fields(entry, f"{key}[{n}]", problems)) for n, entry in enumerate(document.items(key, given))
    ]
    seen: set[str] = set()
    for n, layer in enumerate(layers):
        if layer is not None and layer.name in seen:
            document.problem(f"dataLayers[{n}].name", layer.name, "a name that no other layer has")
        seen |= {layer.name} if layer is not None else set()
    raise_problems(where, problems)
    found = tuple(layer for layer in layers if layer is not None)
    return Dataset(name=name, team=team, scale=scale, unit=unit, layers=found, others=document.rest)


def _file(path: str | os.PathLike[str]) -> Path:
    return Path(path) if Path(path).name == DOCUMENT else Path(path) / DOCUMENT


def _scale(document: Fields) -> tuple[_Doubles, str]:
    """Size of a voxel: a list is of nanometres."""
    key, value = document.take("scale", "voxelSize")
    unit = "nanometer"
    if isinstance(value, Mapping):
        members = Fields(value, key, document.problems)
        unit = members.choice("unit", tuple(NANOMETERS), default=unit)
        key, value = f"{key}.factor", members.take("factor")[1]
    if value is None:
        document.missing(key, "three sizes of a voxel")
    elif (
        not isinstance(value, list)
        or len(value) != 3
        or not all(is_finite(size) and size > 0 for size in value)
    ):
        document.problem(key, value, "three numbers above 0")
    else:
        x, y, z = (float(size) for size in value)
        return (x, y, z), unit
    return (1.0, 1.0, 1.0), unit


def _layer(members: Fields) -> Layer | None:
    count = len(members.problems)
    name = members.text("name")
    category = members.choice("category", _CATEGORIES)
    data_format = members.choice("dataFormat", _FORMATS, default="wkw")
    class_name = members.text("elementClass")
    channels = members.count("numChannels", default=default_channels(class_name)) or 1
    dtype = parse_element_class(class_name, channels)
    if class_name and dtype is None:
        expected = "uint8, uint16, uint24, uint32, uint64, int8 to int64, float or double"
        members.problem("elementClass", class_name, f"{expected}, with numChannels {channels}")
    box = _bounding_box(members.object("boundingBox"))
    key, given = members.take("mags", "wkwResolutions")
    mags = [
        _mag(Fields(entry, f"{members.name(key)}[{n}]", members.problems))
        for n, entry in enumerate(members.items(key, given))
    ]
    if len({mag.mag for mag in mags}) < len(mags) and len(members.problems) == count:
        members.problem(key, [mag_name(mag.mag) for mag in mags], "each magnification once")
    largest = members.count("largestSegmentId", least=0)
    if len(members.problems) > count or dtype is None:
        return None
    return Layer(
        name=name,
        category=category,  # type: ignore[arg-type]
        data_format=data_format,  # type: ignore[arg-type]
        dtype=dtype,
        channels=channels,
        bounding_box=box,
        mags=tuple(mags),
        largest_segment_id=largest,
        others=members.rest,
    )


def _bounding_box(members: Fields) -> BoundingBox:
    key, corner = members.take("topLeft")
    if not isinstance(corner, list) or len(corner) != 3 or not all(map(is_whole, corner)):
        members.problem(key, corner, "three whole numbers")
        corner = [0, 0, 0]
    x, y, z = corner
    sizes = [members.count(key, least=0) for key in ("width", "height", "depth")]
    for name, size in zip(("width", "height", "depth"), sizes, strict=True):
        if size is None and not any(problem.startswith(members.name(name)) for problem in members.problems):
            members.missing(name, "a whole number of 0 or more")
    width, height, depth = (size or 0 for size in sizes)
    return BoundingBox(offset=(x, y, z), size=(width, height, depth))


def _mag(members: Fields) -> Mag:
    key, value = members.take("mag", "resolution")
    if is_whole(value):
        value = [value] * 3
    if not isinstance(value, list) or len(value) != 3 or not all(is_whole(n) and n > 0 for n in value):
        members.problem(key, value, "a whole number above 0, or three")
        value = [1, 1, 1]
    x, y, z = value
    _, path = members.take("path")
    if path is not None and (not isinstance(path, str) or not path):
        members.problem("path", path, "a string that is not empty")
    _, order = members.take("axisOrder")
    if order is not None and not (
        isinstance(order, dict) and all(map(is_whole, order.values())) and {"x", "y", "z"} <= order.keys()
    ):
        members.problem("axisOrder", order, "the dimension of each of x, y and z, and of c if there is one")
    cube_length = members.count("cubeLength")
    return Mag(mag=(x, y, z), path=path, cube_length=cube_length, axis_order=order, others=members.rest)
