"""What a client asks of a layer: cubes and boxes of voxels, taken from JSON and queries, and checked."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, NoReturn

from fastzarr.serve.datasets import Dataset, Layer
from fastzarr.serve.http import HttpError, Request
from fastzarr.serve.settings import Settings
from fastzarr.serve.site import Site
from fastzarr.serve.volume import NOWHERE, Point, Volume
from fastzarr.volumes.boxes import Vec3, mag_name, parse_mag

FARTHEST = 1 << 31
"""Voxels from the origin, in either direction."""
_INTEGER = re.compile(r"-?[0-9]{1,10}")
_MAG_1 = [1, 1, 1]
_NO_MAPPING = "mappings of segment ids are not served; ask without"


class Wish(NamedTuple):
    """A box of voxels of one magnification."""

    volume: Volume | None
    """None where the layer hasn't the magnification."""
    offset: Point
    """Its first voxel, in voxels of the magnification."""
    size: Point
    """Its voxels along x, y and z."""
    bucket: Point | None
    """Coordinates in cubes, where it is a cube that lies on the grid of those; else None."""
    additional: Mapping[str, int]
    """Index along axes beside channels and space."""
    four_bit: bool
    """Whether two voxels are to be put into a byte."""

    @property
    def nbytes(self) -> int:
        """Bytes of its voxels, before any are put together."""
        x, y, z = self.size
        return 0 if self.volume is None else x * y * z * self.volume.voxel_bytes


def dataset_of(site: Site, name: str) -> Dataset:
    """The dataset of a name; 404 where there is none."""
    dataset: Dataset | None = site.catalogue.datasets.get(name)
    if dataset is None:
        raise HttpError(404, f"there is no dataset {name[:80]!r}")
    return dataset


def layer_of(site: Site, request: Request) -> Layer:
    """The layer of a request; 404 where there is none."""
    name, title = request.params["dataset"], request.params["layer"]
    dataset = dataset_of(site, name)
    layer = dataset.layers.get(title)
    if layer is None:
        there = ", ".join(list(dataset.layers)[:10]) or "none"
        raise HttpError(404, f"dataset {name} has no layer {title[:80]!r}; it has {there}")
    return layer


def of_json(body: bytes) -> Any:
    """The body's JSON; 400 where it is none."""
    try:
        return json.loads(body)
    except (ValueError, RecursionError) as error:
        # The error may quote the whole body.
        raise HttpError(400, f"the body is no JSON: {str(error)[:200]}") from None


def cubes(body: bytes, layer: Layer, settings: Settings) -> list[Wish]:
    """The buckets that a list asks for; 400 for what is no such list, or too long."""
    items = of_json(body)
    if type(items) is not list:
        raise HttpError(400, f"got {_name(items)}, expected a list of buckets")
    if len(items) > settings.max_buckets:
        raise HttpError(400, f"got {len(items)} buckets, expected at most {settings.max_buckets} at a time")
    largest = settings.max_cuboid_edge
    finest = layer.mags.get((1, 1, 1))
    wishes = []
    for number, item in enumerate(items):
        try:
            (x, y, z), edge, mag = item["position"], item["cubeSize"], item.get("mag")
            if mag == _MAG_1 and len(item) == 3:
                volume, additional, four_bit = finest, NOWHERE, False
            else:
                volume, (mx, my, mz), additional, four_bit = _particulars(item, layer, number)
                x, y, z = x // mx, y // my, z // mz
        except (TypeError, KeyError, ValueError, AttributeError):
            _refuse(item, number)
        if not (type(x) is type(y) is type(z) is type(edge) is int):
            _refuse(item, number)
        if not 0 < edge <= largest:
            raise HttpError(400, f"[{number}].cubeSize: got {edge}, expected 1 to {largest}")
        if not -FARTHEST <= min(x, y, z) <= max(x, y, z) <= FARTHEST:
            raise HttpError(400, f"[{number}].position: got {[x, y, z]}, expected numbers below {FARTHEST}")
        on_grid = not (x % edge or y % edge or z % edge)
        bucket = (x // edge, y // edge, z // edge) if on_grid else None
        wishes.append(Wish(volume, (x, y, z), (edge, edge, edge), bucket, additional, four_bit))
    return wishes


def box(body: bytes, layer: Layer, settings: Settings) -> Wish:
    """The one box that an object asks for, with a size along each axis."""
    item = of_json(body)
    if type(item) is not dict:
        raise HttpError(400, f"got {_name(item)}, expected an object with position, cubeSize and mag")
    volume, mag, additional, four_bit = _particulars(item, layer, None)
    position = _three(item.get("position"), "position")
    return _box(
        volume, mag, position, _three(item.get("cubeSize"), "cubeSize"), additional, four_bit, settings
    )


def box_of_query(query: Mapping[str, str], layer: Layer, settings: Settings) -> Wish:
    """The box that a query asks for by x, y, z, width, height, depth and mag."""
    if query.get("mappingName"):
        raise HttpError(400, f"mappingName: {_NO_MAPPING}")
    position = (whole(query, "x"), whole(query, "y"), whole(query, "z"))
    size = (whole(query, "width"), whole(query, "height"), whole(query, "depth"))
    given = query.get("mag") or query.get("resolution") or "1-1-1"
    mag = parse_mag(given) if len(given) < 40 else None
    if mag is None:
        raise HttpError(400, f"mag: got {given[:40]!r}, expected one such as 2-2-1")
    half_byte = query.get("halfByte", "false").lower()
    if half_byte not in ("true", "false"):
        raise HttpError(400, f"halfByte: got {half_byte[:40]!r}, expected true or false")
    more = query.get("additionalCoordinates")
    volume = layer.mags.get(mag)
    additional = NOWHERE if not more else _additional(of_json(more.encode()), volume)
    return _box(volume, mag, position, size, additional, _four_bit(half_byte == "true", layer), settings)


def whole(query: Mapping[str, str], key: str, default: int | None = None) -> int:
    """A whole number of a query; 400 where it is none."""
    text = query.get(key)
    if text is None and default is not None:
        return default
    if text is None or not _INTEGER.fullmatch(text):
        found = "nothing" if text is None else repr(text[:40])
        raise HttpError(400, f"{key}: got {found}, expected a whole number")
    return int(text)


def _box(
    volume: Volume | None,
    mag: Vec3,
    position: Point,
    size: Point,
    additional: Mapping[str, int],
    four_bit: bool,
    settings: Settings,
) -> Wish:
    largest = settings.max_cuboid_edge
    if not all(0 < edge <= largest for edge in size):
        raise HttpError(400, f"the size is {list(size)}, expected 1 to {largest} voxels along each axis")
    if any(abs(place) > FARTHEST for place in position):
        raise HttpError(400, f"the position is {list(position)}, expected numbers below {FARTHEST}")
    if volume is None:
        raise HttpError(404, f"the layer has no magnification {mag_name(mag)}")
    x, y, z = (place // step for place, step in zip(position, mag, strict=True))
    edge = size[0]
    is_bucket = size == (edge, edge, edge) and not (x % edge or y % edge or z % edge)
    bucket = (x // edge, y // edge, z // edge) if is_bucket else None
    return Wish(volume, (x, y, z), size, bucket, additional, four_bit)


def _particulars(
    item: Mapping[str, Any], layer: Layer, number: int | None
) -> tuple[Volume | None, Vec3, Mapping[str, int], bool]:
    """Volume, magnification, and what is asked for besides, of any item."""
    place = "" if number is None else f"[{number}]."
    mag = item.get("mag")
    if mag is None and type(step := item.get("zoomStep")) is int and 0 <= step < 32:
        found = next((m for m in layer.mags if max(m) == 1 << step), (1 << step,) * 3)
    else:
        found = _mag(mag, place)
    if item.get("applyAgglomerate"):
        raise HttpError(400, f"{place}applyAgglomerate: {_NO_MAPPING}")
    four_bit = item.get("fourBit", item.get("halfByte"))
    if four_bit not in (None, False, True) or type(four_bit) is int:
        raise HttpError(400, f"{place}fourBit: got {_name(four_bit)}, expected true or false")
    volume = layer.mags.get(found)
    additional = _additional(item.get("additionalCoordinates"), volume)
    return volume, found, additional, _four_bit(bool(four_bit), layer)


def _mag(value: Any, place: str) -> Vec3:
    parsed = parse_mag(value) if isinstance(value, str) and len(value) < 40 else None
    if parsed is not None:
        return parsed
    if isinstance(value, list) and len(value) == 3 and all(type(n) is int and n > 0 for n in value):
        return value[0], value[1], value[2]
    raise HttpError(400, f"{place}mag: got {_name(value)}, expected three whole numbers above 0")


def _additional(value: Any, volume: Volume | None) -> Mapping[str, int]:
    """Indices by axis; 400 where the volume has no such place."""
    if value is None or value == []:
        return NOWHERE
    expected = 'additionalCoordinates: expected a list of objects such as {"name": "t", "value": 3}'
    if not isinstance(value, list) or len(value) > 64:
        raise HttpError(400, expected)
    found: dict[str, int] = {}
    for entry in value:
        if not isinstance(entry, dict) or not isinstance(name := entry.get("name"), str):
            raise HttpError(400, expected)
        index = entry.get("value")
        if type(index) is not int or name in found:
            raise HttpError(400, expected)
        found[name] = index
    if volume is not None:
        volume.indices(found)
    return found


def _four_bit(asked: bool, layer: Layer) -> bool:
    if asked and (layer.dtype != "u1" or layer.category != "color"):
        raise HttpError(400, f"fourBit: got a layer of {layer.dtype}, expected a color layer of uint8")
    return asked


def _three(value: Any, key: str) -> Point:
    if not isinstance(value, list) or len(value) != 3 or not all(type(n) is int for n in value):
        raise HttpError(400, f"{key}: got {_name(value)}, expected three whole numbers")
    return value[0], value[1], value[2]


def _refuse(item: Any, number: int) -> NoReturn:
    """Say what is wrong with a bucket that is no such thing."""
    if not isinstance(item, dict):
        raise HttpError(400, f"[{number}]: got {_name(item)}, expected an object")
    _three(item.get("position"), f"[{number}].position")
    edge = item.get("cubeSize")
    raise HttpError(400, f"[{number}].cubeSize: got {_name(edge)}, expected a whole number")


def _name(value: Any) -> str:
    """A value of JSON as messages show it."""
    text = json.dumps(value) if isinstance(value, str | int | float | None) else ""
    if text and len(text) <= 40:
        return text
    names: Sequence[tuple[type, str]] = ((dict, "an object"), (list, "a list"), (str, "a string"))
    return next((name for kind, name in names if isinstance(value, kind)), "a number")
