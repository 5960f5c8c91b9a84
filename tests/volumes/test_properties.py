"""`datasource-properties.json`: forms old and new, what is kept, and what is said of wrong ones."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fastzarr.errors import MetadataError, NodeNotFoundError
from fastzarr.volumes import properties
from fastzarr.volumes.boxes import BoundingBox, mag_name, parse_mag
from fastzarr.volumes.element_class import DTYPES, element_class, parse_element_class
from fastzarr.volumes.properties import Dataset, Layer, Mag

NEW: dict[str, Any] = {
    "id": {"name": "demo", "team": ""},
    "scale": {"factor": [11.24, 11.24, 25.0], "unit": "nanometer"},
    "dataLayers": [
        {
            "name": "segmentation",
            "category": "segmentation",
            "boundingBox": {"topLeft": [10, 20, 30], "width": 70, "height": 60, "depth": 50},
            "dataFormat": "zarr3",
            "mags": [
                {
                    "mag": [1, 1, 1],
                    "path": "./segmentation/1",
                    "axisOrder": {"c": 0, "x": 1, "y": 2, "z": 3},
                },
                {"mag": [2, 2, 1], "path": "./segmentation/2-2-1", "cubeLength": 64, "credentials": None},
            ],
            "largestSegmentId": 1000,
            "numChannels": 1,
            "elementClass": "uint32",
            "defaultViewConfiguration": {"alpha": 20},
        }
    ],
    "version": 1,
    "folderId": "abc",
}
"""As the package `webknossos` 4.3 writes it, with members of others."""


def changed(path: str, value: object) -> str:
    """`NEW` with another value at a path; None takes the member out."""
    document = json.loads(json.dumps(NEW))
    *parents, last = (int(key) if key.isdecimal() else key for key in path.split("."))
    place = document
    for key in parents:
        place = place[key]
    if value is None:
        del place[last]
    else:
        place[last] = value
    return json.dumps(document)


def test_newest_form_is_read_and_written_as_it_was(tmp_path: Path) -> None:
    (tmp_path / properties.DOCUMENT).write_text(json.dumps(NEW))
    dataset = properties.read(tmp_path)
    assert dataset.voxel_size == (11.24, 11.24, 25.0)
    (layer,) = dataset.layers
    assert layer.dtype == np.uint32
    assert layer.bounding_box == BoundingBox(offset=(10, 20, 30), size=(70, 60, 50))
    assert [mag.mag for mag in layer.mags] == [(1, 1, 1), (2, 2, 1)]
    written = properties.write(tmp_path, dataset)
    assert json.loads(written.read_text()) == NEW
    assert [path.name for path in tmp_path.iterdir()] == [properties.DOCUMENT]


def test_old_form_is_read() -> None:
    old = {
        "id": {"name": "old"},
        "scale": [1, 2, 3],
        "dataLayers": [
            {
                "name": "color",
                "category": "color",
                "elementClass": "uint24",
                "boundingBox": {"topLeft": [0, 0, 0], "width": 7, "height": 6, "depth": 5},
                "wkwResolutions": [
                    {"resolution": 1, "cubeLength": 32},
                    {"resolution": [2, 2, 1], "cubeLength": 32},
                ],
            }
        ],
    }
    dataset = properties.parse(json.dumps(old), "old")
    (layer,) = dataset.layers
    assert (dataset.voxel_size, layer.data_format) == ((1.0, 2.0, 3.0), "wkw")
    assert (layer.dtype, layer.channels) == (np.uint8, 3)
    assert [layer.path_of(mag) for mag in layer.mags] == ["color/1", "color/2-2-1"]
    assert properties.parse(json.dumps(dataset.to_json()), "new") == Dataset(
        name="old", scale=(1.0, 2.0, 3.0), layers=(layer,), others={"version": 1}
    )


def test_units_become_nanometres() -> None:
    for key, given in (
        ("scale", {"factor": [1, 2, 0.5], "unit": "micrometer"}),
        ("voxelSize", [1e3, 2e3, 500]),
    ):
        document = json.loads(changed("scale", None))
        document[key] = given
        assert properties.parse(json.dumps(document), "here").voxel_size == (1e3, 2e3, 500.0)


@pytest.mark.parametrize(
    ("path", "value", "text"),
    [
        ("id", None, "id: missing, expected an object"),
        ("id.name", 3, "id.name: got 3, expected a string that is not empty"),
        ("scale", None, "scale: missing, expected three sizes of a voxel"),
        ("scale", [1, 2], r"scale: got \[1, 2\], expected three numbers above 0"),
        ("scale.factor", [1, 2, 0], r"scale.factor: got \[1, 2, 0\], expected three numbers above 0"),
        ("scale.unit", "furlong", "scale.unit: got 'furlong', expected one of yoctometer"),
        ("dataLayers", {}, "dataLayers: got {}, expected a list"),
        ("dataLayers.0", 5, r"dataLayers\[0\]: got 5, expected an object"),
        ("dataLayers.0.name", None, r"dataLayers\[0\].name: missing, expected a string"),
        ("dataLayers.0.category", "mesh", r"category: got 'mesh', expected one of color, segmentation"),
        ("dataLayers.0.dataFormat", "tiff", r"dataFormat: got 'tiff', expected one of wkw, zarr, zarr3"),
        ("dataLayers.0.elementClass", "uint25", r"elementClass: got 'uint25', expected uint8"),
        ("dataLayers.0.numChannels", 0, r"numChannels: got 0, expected a whole number of 1 or more"),
        ("dataLayers.0.numChannels", True, r"numChannels: got True, expected a whole number"),
        ("dataLayers.0.boundingBox.width", -1, r"boundingBox.width: got -1, expected a whole number of 0"),
        ("dataLayers.0.boundingBox.depth", None, r"boundingBox.depth: missing, expected a whole number"),
        ("dataLayers.0.boundingBox.topLeft", [0, 0], r"topLeft: got \[0, 0\], expected three whole numbers"),
        ("dataLayers.0.mags", None, r"dataLayers\[0\].mags: missing, expected a list"),
        (
            "dataLayers.0.mags.1.mag",
            [1, 0, 1],
            r"mags\[1\].mag: got \[1, 0, 1\], expected a whole number above",
        ),
        ("dataLayers.0.mags.1.mag", 1, r"mags: got \['1', '1'\], expected each magnification once"),
        ("dataLayers.0.mags.1.path", 7, r"mags\[1\].path: got 7, expected a string"),
        (
            "dataLayers.0.mags.0.axisOrder",
            {"x": 0},
            r"axisOrder: got {'x': 0}, expected the dimension of each",
        ),
        (
            "dataLayers.0.largestSegmentId",
            -3,
            r"largestSegmentId: got -3, expected a whole number of 0 or more",
        ),
    ],
)
def test_error_names_member_value_and_what_is_allowed(path: str, value: object, text: str) -> None:
    with pytest.raises(MetadataError, match=text) as caught:
        properties.parse(changed(path, value), "/data/demo")
    assert str(caught.value).startswith("/data/demo: ")
    assert len(caught.value.problems) == 1


def test_all_problems_are_told_at_once() -> None:
    document = json.loads(changed("scale", None))
    document["dataLayers"][0] |= {"category": "mesh", "elementClass": "bool"}
    document["dataLayers"].append({"name": "second"})
    with pytest.raises(MetadataError) as caught:
        properties.parse(json.dumps(document), "here")
    assert len(caught.value.problems) > 5


def test_layers_of_one_name_are_refused() -> None:
    document = json.loads(json.dumps(NEW))
    document["dataLayers"] *= 2
    with pytest.raises(
        MetadataError, match=r"dataLayers\[1\].name: got 'segmentation', expected a name that"
    ):
        properties.parse(json.dumps(document), "here")


def test_what_is_no_json_is_named(tmp_path: Path) -> None:
    with pytest.raises(NodeNotFoundError, match=r"datasource-properties.json: no such file"):
        properties.read(tmp_path)
    for content in (b"{", b"\xff\xfe", b"[" * 100_000):
        (tmp_path / properties.DOCUMENT).write_bytes(content)
        with pytest.raises(MetadataError, match=r"datasource-properties\.json: got"):
            properties.read(tmp_path)


def test_element_classes_are_those_of_webknossos() -> None:
    names = {
        (np.uint8, 1): "uint8",
        (np.uint8, 3): "uint24",
        (np.uint16, 3): "uint48",
        (np.uint64, 2): "uint128",
        (np.int32, 1): "int32",
        (np.float32, 1): "float",
        (np.float64, 1): "double",
        (np.float32, 2): "double",
        (np.float32, 3): "float96",
    }
    for (dtype, channels), name in names.items():
        assert element_class(np.dtype(dtype), channels) == name
    for dtype in DTYPES:
        for channels in (1, 2, 3, 5):
            assert parse_element_class(element_class(dtype, channels), channels) == dtype
    assert parse_element_class("uint8", 3) == np.uint8
    assert parse_element_class("uint24", 1) is None
    assert parse_element_class("complex64", 1) is None


def test_names_of_magnifications() -> None:
    for mag, name in (((1, 1, 1), "1"), ((16, 16, 16), "16"), ((2, 2, 1), "2-2-1")):
        assert mag_name(mag) == name
        assert parse_mag(name) == mag
    assert [parse_mag(name) for name in ("0", "01", "2-2", "color", "-1", "1-1-1-1", "")] == [None] * 7


def test_boxes_in_magnifications_cover_what_they_touch() -> None:
    box = BoundingBox(offset=(3, -1, 0), size=(4, 2, 5))
    assert box.in_mag((2, 2, 1)) == BoundingBox(offset=(1, -1, 0), size=(3, 2, 5))
    assert box.in_mag((2, 2, 1)).from_mag((2, 2, 1)) == BoundingBox(offset=(2, -2, 0), size=(6, 4, 5))
    far = BoundingBox(offset=(100, 0, 0), size=(1, 1, 1))
    assert box.intersection(far).is_empty()
    assert box.intersection(box) == box


def test_layer_without_paths_finds_its_magnifications() -> None:
    mag = Mag(mag=(4, 4, 2))
    box = BoundingBox(offset=(0, 0, 0), size=(1, 1, 1))
    layer = Layer(
        name="a", category="color", data_format="wkw", dtype=np.dtype("u1"), bounding_box=box, mags=(mag,)
    )
    assert layer.path_of(mag) == "a/4-4-2"
    assert "largestSegmentId" not in layer.to_json()
