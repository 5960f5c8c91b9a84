"""Documents of a dataset as if it were stored as Zarr v3 or v2 in cubes that are buckets of webknossos."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal

from fastzarr.serve.datasets import Dataset, Layer
from fastzarr.serve.volume import BUCKET, Volume
from fastzarr.volumes import ome, properties
from fastzarr.volumes.boxes import Vec3, mag_name

ZarrFormat = Literal[2, 3]
Document = dict[str, Any]

AXES = ("c", "x", "y", "z")
SEPARATOR = "."


@dataclass(frozen=True, kw_only=True, eq=False)
class VirtualArray:
    """A magnification of a layer as an array [c, x, y, z] that begins at position 0."""

    volume: Volume
    """What it is read from."""
    shape: tuple[int, ...]
    """Channels, and the end of the layer's bounding box in voxels of the magnification."""

    @property
    def chunks(self) -> tuple[int, ...]:
        """Chunk shape: all channels of a bucket; its bytes in Fortran order are the bucket."""
        return (self.shape[0], BUCKET, BUCKET, BUCKET)

    def point(self, key: str) -> Vec3 | None:
        """The bucket that is the chunk of a key; None where the grid has no such chunk."""
        parts = key.split(SEPARATOR)
        numbers = [int(part) for part in parts if part.isascii() and part.isdecimal() and len(part) < 10]
        if len(numbers) != len(AXES) or SEPARATOR.join(map(str, numbers)) != key:
            return None
        counts = [-(-size // length) for size, length in zip(self.shape, self.chunks, strict=True)]
        if any(number >= count for number, count in zip(numbers, counts, strict=True)):
            return None
        return numbers[1], numbers[2], numbers[3]

    def document(self, zarr_format: ZarrFormat) -> Document:
        """`zarr.json`, or `.zarray`."""
        dtype = self.volume.dtype
        if zarr_format == 2:
            return {
                "zarr_format": 2,
                "shape": list(self.shape),
                "chunks": list(self.chunks),
                "dtype": dtype.str,
                "fill_value": 0,
                "order": "F",
                "compressor": None,
                "filters": None,
                "dimension_separator": SEPARATOR,
            }
        return {
            "zarr_format": 3,
            "node_type": "array",
            "shape": list(self.shape),
            "data_type": dtype.name,
            "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": list(self.chunks)}},
            "chunk_key_encoding": {"name": "v2", "configuration": {"separator": SEPARATOR}},
            "fill_value": 0,
            "codecs": [
                {"name": "transpose", "configuration": {"order": [3, 2, 1, 0]}},
                {"name": "bytes", "configuration": {"endian": "little"}},
            ],
            "dimension_names": list(AXES),
            "attributes": {},
        }


@dataclass(frozen=True, kw_only=True, eq=False)
class Tree:
    """All there is besides chunks."""

    documents: Mapping[str, bytes]
    """Metadata documents by key."""
    arrays: Mapping[str, VirtualArray]
    """Magnifications by path, `LAYER/MAG`."""
    directories: Mapping[str, tuple[str, ...]]
    """Names in each group and array by path, those of groups and arrays with a slash at their end."""


@lru_cache(1024)
def tree(dataset: Dataset, zarr_format: ZarrFormat) -> Tree:
    """The groups and arrays of a dataset, consolidated at each level."""
    arrays = {
        f"{layer.name}/{mag_name(mag)}": _array(layer, mag, volume)
        for layer in dataset.layers.values()
        for mag, volume in layer.mags.items()
    }
    nodes: dict[str, Document] = {"": {}}
    for layer in dataset.layers.values():
        nodes[layer.name] = _image(dataset, layer, zarr_format)
    documents = (_documents_v2 if zarr_format == 2 else _documents_v3)(nodes, arrays)
    documents[properties.DOCUMENT] = datasource(dataset, zarr_format).to_json()
    directories: dict[str, set[str]] = {path: set() for path in (*nodes, *arrays)}
    for path in directories.keys() - {""}:
        above, _, name = path.rpartition("/")
        directories[above].add(f"{name}/")
    for key in documents:
        above, _, name = key.rpartition("/")
        directories[above].add(name)
    return Tree(
        documents={key: json.dumps(document, indent=2).encode() for key, document in documents.items()},
        arrays=arrays,
        directories={path: tuple(sorted(names)) for path, names in directories.items()},
    )


def datasource(dataset: Dataset, zarr_format: ZarrFormat) -> properties.Dataset:
    """What webknossos reads of the tree of a dataset when it is given its URL."""
    layers = [
        properties.Layer(
            name=layer.name,
            category=layer.category,
            data_format="zarr" if zarr_format == 2 else "zarr3",
            dtype=layer.dtype,
            channels=layer.channels,
            bounding_box=layer.bounding_box,
            mags=tuple(
                properties.Mag(
                    mag=mag,
                    path=f"./{layer.name}/{mag_name(mag)}",
                    axis_order={axis: number for number, axis in enumerate(AXES)},
                )
                for mag in layer.mags
            ),
            largest_segment_id=layer.largest_segment_id,
        )
        for layer in dataset.layers.values()
    ]
    return properties.Dataset(name=dataset.name, scale=dataset.voxel_size, layers=tuple(layers))


def _array(layer: Layer, mag: Vec3, volume: Volume) -> VirtualArray:
    end = layer.bounding_box.in_mag(mag).end
    return VirtualArray(volume=volume, shape=(volume.channels, *(max(0, n) for n in end)))


def _image(dataset: Dataset, layer: Layer, zarr_format: ZarrFormat) -> Document:
    return ome.attributes(
        AXES,
        dataset.voxel_size,
        {mag: mag_name(mag) for mag in layer.mags},
        name=layer.name,
        version="0.4" if zarr_format == 2 else "0.5",
    )


def _documents_v3(groups: Mapping[str, Document], arrays: Mapping[str, VirtualArray]) -> dict[str, Document]:
    documents: dict[str, Document] = {
        path: {"zarr_format": 3, "node_type": "group", "attributes": attributes}
        for path, attributes in groups.items()
    }
    documents |= {path: array.document(3) for path, array in arrays.items()}
    found = {}
    for path, document in documents.items():
        if path in groups:
            below = {_relative(p, path): found for p, found in documents.items() if _is_below(p, path)}
            consolidated = {"kind": "inline", "must_understand": False, "metadata": below}
            document = {**document, "consolidated_metadata": consolidated}
        found[_key(path, "zarr.json")] = document
    return found


def _documents_v2(groups: Mapping[str, Document], arrays: Mapping[str, VirtualArray]) -> dict[str, Document]:
    documents: dict[str, Document] = {}
    for path, attributes in groups.items():
        documents |= {_key(path, ".zgroup"): {"zarr_format": 2}, _key(path, ".zattrs"): attributes}
    for path, array in arrays.items():
        named: Document = {"_ARRAY_DIMENSIONS": list(AXES)}
        documents |= {_key(path, ".zarray"): array.document(2), _key(path, ".zattrs"): named}
    found = dict(documents)
    for path in groups:
        below = {_relative(k, path): value for k, value in documents.items() if _is_below(k, path)}
        found[_key(path, ".zmetadata")] = {"zarr_consolidated_format": 1, "metadata": below}
    return found


def _key(path: str, name: str) -> str:
    return f"{path}/{name}" if path else name


def _is_below(path: str, group: str) -> bool:
    return path != group and (not group or path.startswith(f"{group}/"))


def _relative(path: str, group: str) -> str:
    return path[len(group) + 1 :] if group else path
