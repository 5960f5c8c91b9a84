"""Datasets that webknossos's document describes."""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import fastzarr
from fastzarr import wkw
from fastzarr.errors import MetadataError
from fastzarr.serve.datasets import Dataset, Kind
from fastzarr.serve.links import require_inside
from fastzarr.serve.parts import Parts
from fastzarr.serve.volume import Volume
from fastzarr.volumes import axes, properties
from fastzarr.volumes.boxes import Vec3, mag_name
from fastzarr.volumes.fields import is_whole


def open_webknossos(parts: Parts, path: Path, name: str) -> Dataset:
    """The dataset that `datasource-properties.json` in a directory describes."""
    described = properties.read(path)
    for layer in described.layers:
        volumes: dict[Vec3, Volume] = {}
        for mag in layer.mags:
            what = f"layer {layer.name!r}, magnification {mag_name(mag.mag)}"
            volume = parts.attempt(what, _volume, parts, path, layer, mag)
            if volume is not None:
                volumes[mag.mag] = volume
        parts.attempt(
            f"layer {layer.name!r}",
            partial(parts.add, box=layer.bounding_box, largest_segment_id=layer.largest_segment_id),
            layer.name,
            layer.category,
            volumes,
        )
    kind: Kind = "zarr" if {layer.data_format for layer in described.layers} <= {"zarr", "zarr3"} else "wkw"
    return parts.dataset(name, path, kind, described.voxel_size)


def _volume(parts: Parts, path: Path, layer: properties.Layer, mag: properties.Mag) -> Volume:
    place = _inside(path, layer.path_of(mag), parts.hints.roots)
    require_inside(place, parts.hints.roots)
    parts.elsewhere |= not place.is_relative_to(os.path.realpath(path))
    box = layer.bounding_box.in_mag(mag.mag)
    if layer.data_format == "wkw":
        array: Any = wkw.open(place, mode="r", shape=(layer.channels, *(max(0, end) for end in box.end)))
        roles: Sequence[str] = "cxyz"
        channel = None
    elif layer.data_format in ("zarr", "zarr3"):
        array = fastzarr.open_array(place, mode="r")
        roles = _roles(layer, mag, array)
        channel = _channel(mag, array, roles)
    else:
        raise MetadataError("dataFormat", [f"got {layer.data_format!r}, expected wkw, zarr or zarr3"])
    if (reason := axes.reason_against(array)) is not None and 0 not in array.shape:
        raise MetadataError(str(place), [reason])
    if array.dtype.newbyteorder("=") != layer.dtype:
        expected = f"{layer.dtype}, as elementClass says"
        raise MetadataError(str(place), [f"data type: got {array.dtype}, expected {expected}"])
    volume = Volume(array, roles, box=box, channel=channel)
    if volume.channels != layer.channels:
        expected = f"{layer.channels}, as numChannels says"
        raise MetadataError(str(place), [f"channels: got {volume.channels}, expected {expected}"])
    return volume


def _roles(layer: properties.Layer, mag: properties.Mag, array: Any) -> tuple[str, ...]:
    """Axes of an array as the document tells; webknossos's own arrays are [c, x, y, z]."""
    count = len(array.shape)
    order = dict(mag.axis_order or dict(zip("cxyz"[-count:], range(count), strict=False)))
    more = layer.others.get("additionalAxes") or []
    if not isinstance(more, list) or not all(map(_is_axis, more)):
        raise MetadataError(
            "additionalAxes", [f"got {more!r:.80}, expected a list of objects with name and index"]
        )
    order |= {axis["name"]: axis["index"] for axis in more}
    roles = {dimension: axis for axis, dimension in order.items()}
    if sorted(roles) != list(range(count)):
        raise MetadataError("axisOrder", [f"got {order}, expected one axis for each of {count} dimensions"])
    return tuple(roles[dimension] for dimension in range(count))


def _is_axis(given: object) -> bool:
    return isinstance(given, dict) and isinstance(given.get("name"), str) and is_whole(given.get("index"))


def _channel(mag: properties.Mag, array: Any, roles: tuple[str, ...]) -> int | None:
    """The channel that the document tells; None for all."""
    channel = mag.others.get("channelIndex")
    count = array.shape[roles.index("c")] if "c" in roles else 1
    if channel is not None and not (is_whole(channel) and 0 <= channel < count):
        raise MetadataError(
            "channelIndex", [f"got {channel!r}, expected a whole number from 0 to {count - 1}"]
        )
    return channel


def _inside(dataset: Path, told: str, roots: tuple[Path, ...]) -> Path:
    """The directory that a document tells, where it may be served."""
    url = urlsplit(told)
    if url.scheme not in ("", "file"):
        raise MetadataError("path", [f"got {told!r}, expected a directory beside the dataset's document"])
    place = Path(os.path.realpath(dataset / (url.path if url.scheme else told)))
    if not any(place.is_relative_to(root) for root in roots):
        raise MetadataError(
            "path", [f"got {told!r}, which is outside of what is served; list its dataset in a TOML file"]
        )
    return place
