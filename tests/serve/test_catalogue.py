"""`Catalogue`: which datasets are found, how they are read, and what is told of those that can't be."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fastzarr
from fastzarr import wkw
from fastzarr.serve import finding
from fastzarr.serve.catalogue import Catalogue
from fastzarr.serve.errors import CatalogueError
from fastzarr.volumes import ome, properties
from fastzarr.volumes.axes import of_shape
from fastzarr.volumes.boxes import BoundingBox


def image(
    path: Path, *, shape: tuple[int, ...] = (1, 20, 30, 40), dtype: str = "uint16", **more: Any
) -> None:
    """An image of OME-Zarr with magnifications 1 and 2-2-1."""
    axes = ["c", "z", "y", "x"]
    attributes = ome.attributes(axes, (4.0, 4.0, 8.0), {(1, 1, 1): "0", (2, 2, 1): "1"}, **more)
    version = more.get("version", "0.5")
    group = fastzarr.create_group(path, zarr_format=2 if version == "0.4" else 3, attributes=attributes)
    group.create_array("0", shape=shape, dtype=dtype, chunks=(1, 8, 8, 8))
    group.create_array(
        "1", shape=(*shape[:2], shape[2] // 2, shape[3] // 2), dtype=dtype, chunks=(1, 8, 8, 8)
    )


def described(path: Path, *mags: properties.Mag, data_format: Any = "wkw", dtype: str = "uint8") -> None:
    """A webknossos dataset with a layer `em`; its files are made by the test."""
    box = BoundingBox(offset=(1, 2, 3), size=(20, 21, 22))
    layer = properties.Layer(
        name="em",
        category="color",
        data_format=data_format,
        dtype=np.dtype(dtype),
        bounding_box=box,
        mags=mags or (properties.Mag(mag=(1, 1, 1)),),
    )
    path.mkdir(parents=True, exist_ok=True)
    properties.write(path, properties.Dataset(name="d", scale=(5.0, 6.0, 7.0), layers=(layer,)))


def voxels(path: Path, dtype: str = "uint8", channels: int = 1) -> None:
    array = wkw.create(path, dtype=dtype, channels=channels, block_len=8, file_len=4)
    array[:, :40, :40, :40] = 1


def test_every_form_is_found(tmp_path: Path) -> None:
    fastzarr.create_array(tmp_path / "a/v3.zarr", shape=(5, 6, 7), dtype="uint8")
    fastzarr.create_array(tmp_path / "a/v2", shape=(5, 6, 7), dtype="uint32", zarr_format=2)
    image(tmp_path / "ome5.ome.zarr")
    image(tmp_path / "ome4", version="0.4")
    described(tmp_path / "b/described")
    voxels(tmp_path / "b/described/em/1")
    voxels(tmp_path / "layer/1")
    voxels(tmp_path / "layer/2-2-1")
    voxels(tmp_path / "mag", "uint64")
    catalogue = Catalogue.of_directory(tmp_path)
    assert catalogue.problems == ()
    found = {
        name: (d.kind, {n: (x.category, x.dtype.name, x.channels, list(x.mags)) for n, x in d.layers.items()})
        for name, d in catalogue.datasets.items()
    }
    assert found == {
        "a.v3.zarr": ("zarr", {"v3": ("color", "uint8", 1, [(1, 1, 1)])}),
        "a.v2": ("zarr", {"v2": ("segmentation", "uint32", 1, [(1, 1, 1)])}),
        "ome5.ome.zarr": ("ome-zarr", {"ome5": ("color", "uint16", 1, [(1, 1, 1), (2, 2, 1)])}),
        "ome4": ("ome-zarr", {"ome4": ("color", "uint16", 1, [(1, 1, 1), (2, 2, 1)])}),
        "b.described": ("wkw", {"em": ("color", "uint8", 1, [(1, 1, 1)])}),
        "layer": ("wkw", {"layer": ("color", "uint8", 1, [(1, 1, 1), (2, 2, 1)])}),
        "mag": ("wkw", {"mag": ("segmentation", "uint64", 1, [(1, 1, 1)])}),
    }
    assert list(found) == sorted(found)
    assert all(d.problems == d.remarks == () for d in catalogue.datasets.values())
    sizes = {name: (d.voxel_size, d.voxel_size_known) for name, d in catalogue.datasets.items()}
    assert sizes["ome4"] == sizes["ome5.ome.zarr"] == ((4.0, 4.0, 8.0), True)
    assert sizes["b.described"] == ((5.0, 6.0, 7.0), True)
    assert sizes["mag"] == ((1.0, 1.0, 1.0), False)
    em = catalogue.datasets["b.described"].layers["em"]
    assert em.bounding_box == BoundingBox(offset=(1, 2, 3), size=(20, 21, 22))
    assert em.default_position == (11, 12, 14)
    assert catalogue.datasets["layer"].layers["layer"].bounding_box.size == (64, 64, 64)


@pytest.mark.parametrize("make", ["array", "image", "described", "mag"])
def test_a_dataset_at_the_directory_itself_is_named_after_it(tmp_path: Path, make: str) -> None:
    path = tmp_path / "brain"
    if make == "array":
        fastzarr.create_array(path, shape=(5, 6, 7), dtype="uint8")
    elif make == "image":
        image(path)
    elif make == "described":
        described(path)
        voxels(path / "em/1")
    else:
        voxels(path)
    assert list(Catalogue.of_directory(path).datasets) == ["brain"]


def test_a_group_is_a_dataset_with_its_arrays_as_layers(tmp_path: Path) -> None:
    root = fastzarr.create_group(tmp_path / "run.zarr")
    root.create_array(
        "salt", shape=(4, 20, 30, 40), dtype="float32", dimension_names=["time", "z", "lat", "lon"]
    )
    root.create_array("lon", shape=(40,), dtype="float64", dimension_names=["lon"])
    root.create_array("deep/er/heat", shape=(20, 30, 40), dtype="float32")
    image(tmp_path / "run.zarr" / "deep" / "picture")
    datasets = Catalogue.of_directory(tmp_path).datasets
    layers = {name: list(dataset.layers) for name, dataset in datasets.items()}
    assert layers == {
        "run.zarr": ["salt"],
        "run.zarr.deep.er": ["heat"],
        "run.zarr.deep.picture": ["picture"],
    }
    (remark,) = datasets["run.zarr"].remarks
    assert remark == "lon: only its stored keys are served: the shape (40,) has fewer than 2 dimensions"


def test_nothing_is_looked_for_in_what_belongs_to_a_dataset(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    array = fastzarr.create_array(tmp_path / "a", shape=(64, 64, 64), chunks=(4, 4, 4), dtype="uint8")
    array[...] = 1
    voxels(tmp_path / "layer/1")
    looked: list[str] = []
    scandir = os.scandir
    monkeypatch.setattr(finding.os, "scandir", lambda path: looked.append(str(path)) or scandir(path))
    assert list(Catalogue.of_directory(tmp_path).datasets) == ["a", "layer"]
    assert [Path(path).name for path in looked[1:]] == ["a", "layer"]


def test_names_that_fall_together_are_numbered(tmp_path: Path) -> None:
    for path in ("a/b", "a.b"):
        fastzarr.create_array(tmp_path / path, shape=(5, 6, 7), dtype="uint8")
    datasets = Catalogue.of_directory(tmp_path).datasets
    assert {name: d.path.relative_to(tmp_path).as_posix() for name, d in datasets.items()} == {
        "a.b": "a/b",
        "a.b-2": "a.b",
    }


def test_links_are_followed_inside_of_the_directory_only(tmp_path: Path) -> None:
    root = tmp_path / "root"
    fastzarr.create_array(root / "data/a", shape=(5, 6, 7), dtype="uint8")
    fastzarr.create_array(tmp_path / "secret", shape=(5, 6, 7), dtype="uint8")
    (root / "out").symlink_to(tmp_path / "secret")
    (root / "again").symlink_to(root / "data")
    (root / "data/loop").symlink_to(root)
    (root / "dangling").symlink_to(tmp_path / "nothing")
    datasets = Catalogue.of_directory(root).datasets
    assert len(datasets) == 1
    assert next(iter(datasets.values())).layers


def test_the_walk_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fastzarr.create_array(tmp_path / "/".join("abcdefghijklmn"), shape=(5, 6, 7), dtype="uint8")
    deep = Catalogue.of_directory(tmp_path)
    assert not deep.datasets
    assert any("12 directories deep" in problem for problem in deep.problems)
    monkeypatch.setattr(finding, "MOST_DIRECTORIES", 3)
    assert any("after 3 directories" in problem for problem in Catalogue.of_directory(tmp_path).problems)


def test_a_directory_without_datasets(tmp_path: Path) -> None:
    catalogue = Catalogue.of_directory(tmp_path)
    assert not catalogue.datasets
    assert "no datasets found, expected a Zarr array" in catalogue.problems[0]
    with pytest.raises(CatalogueError, match="got no directory"):
        Catalogue.of_directory(tmp_path / "nothing")


def broken_array(path: Path) -> None:
    fastzarr.create_array(path, shape=(5, 6, 7), dtype="uint8")
    document = json.loads((path / "zarr.json").read_text())
    document["codecs"] = [{"name": "unheard-of"}]
    (path / "zarr.json").write_text(json.dumps(document))


def broken_json(path: Path) -> None:
    path.mkdir()
    (path / "zarr.json").write_text("{")


def broken_properties(path: Path) -> None:
    path.mkdir()
    (path / "datasource-properties.json").write_text('{"id": {"name": "x"}}')


def broken_header(path: Path) -> None:
    path.mkdir()
    (path / "header.wkw").write_bytes(b"WKX" + bytes(13))


def empty_wkw(path: Path) -> None:
    wkw.create(path, dtype="uint8")


def broken_image(path: Path) -> None:
    fastzarr.create_group(path, attributes={"ome": {"version": "0.5", "multiscales": [{"axes": 7}]}})


BROKEN = {
    broken_array: "unheard-of",
    broken_json: "invalid JSON",
    broken_properties: "dataLayers: missing",
    broken_header: "header.wkw",
    empty_wkw: "no files of voxels",
    broken_image: "axes",
}


@pytest.mark.parametrize("make", BROKEN)
def test_what_can_not_be_opened_is_listed_with_its_reason(tmp_path: Path, make: Any) -> None:
    make(tmp_path / "bad")
    fastzarr.create_array(tmp_path / "good", shape=(5, 6, 7), dtype="uint8")
    datasets = Catalogue.of_directory(tmp_path).datasets
    assert list(datasets) == ["bad", "good"]
    assert not datasets["bad"].layers
    assert BROKEN[make] in datasets["bad"].problems[0]
    assert datasets["good"].layers


def test_magnifications_that_do_not_fit_are_left_out(tmp_path: Path) -> None:
    mags = [properties.Mag(mag=(n, n, n)) for n in (1, 2, 4, 8)]
    described(tmp_path / "d", *mags)
    voxels(tmp_path / "d/em/1")
    voxels(tmp_path / "d/em/2", "uint16")
    voxels(tmp_path / "d/em/4", channels=3)
    dataset = Catalogue.of_directory(tmp_path).datasets["d"]
    assert list(dataset.layers["em"].mags) == [(1, 1, 1)]
    assert len(dataset.problems) == 3
    assert "magnification 2" in dataset.problems[0]
    assert "uint16" in dataset.problems[0]
    assert "magnification 8" in dataset.problems[2]


@pytest.mark.parametrize("path", ["../../secret/1", "absolute", "link", "s3://bucket/em"])
def test_layers_elsewhere_are_not_served(tmp_path: Path, path: str) -> None:
    voxels(tmp_path / "secret/1")
    root = tmp_path / "root"
    told = str(tmp_path / "secret/1") if path == "absolute" else path
    described(root / "d", properties.Mag(mag=(1, 1, 1), path=told))
    if path == "link":
        (root / "d/link").symlink_to(tmp_path / "secret/1")
    dataset = Catalogue.of_directory(root).datasets["d"]
    assert not dataset.layers
    assert (
        "expected a directory beside" in dataset.problems[0]
        or "outside of what is served" in dataset.problems[0]
    )


def test_layers_of_a_neighbour_are_served(tmp_path: Path) -> None:
    voxels(tmp_path / "other/em/1")
    described(tmp_path / "d", properties.Mag(mag=(1, 1, 1), path="../other/em/1"))
    assert Catalogue.of_directory(tmp_path).datasets["d"].layers


def test_axes_that_webknossos_tells(tmp_path: Path) -> None:
    data = np.random.default_rng(0).integers(0, 9, (2, 30, 31, 32)).astype("uint8")
    array = fastzarr.create_array(tmp_path / "d/em/1", shape=data.shape, chunks=(1, 8, 8, 8), dtype="uint8")
    array[...] = data
    order = {"c": 0, "z": 1, "y": 2, "x": 3}
    mag = properties.Mag(mag=(1, 1, 1), axis_order=order, others={"channelIndex": 1})
    described(tmp_path / "d", mag, data_format="zarr3")
    volume = Catalogue.of_directory(tmp_path).datasets["d"].layers["em"].finest
    assert bytes(volume.read((2, 3, 4), (5, 6, 7))) == data[1, 4:11, 3:9, 2:7].tobytes()


def test_labels_of_an_image_are_segmentations_of_it(tmp_path: Path) -> None:
    image(tmp_path / "i", name="brain")
    attributes = ome.attributes(["z", "y", "x"], (8.0, 8.0, 8.0), {(1, 1, 1): "fine"})
    fastzarr.create_group(tmp_path / "i/labels", attributes={"ome": {"labels": ["cells"]}})
    cells = fastzarr.create_group(tmp_path / "i/labels/cells", attributes=attributes)
    cells.create_array("fine", shape=(20, 15, 20), dtype="uint32")
    (dataset,) = Catalogue.of_directory(tmp_path).datasets.values()
    assert {n: (x.category, list(x.mags)) for n, x in dataset.layers.items()} == {
        "brain": ("color", [(1, 1, 1), (2, 2, 1)]),
        "cells": ("segmentation", [(2, 2, 1)]),
    }
    assert dataset.layers["cells"].bounding_box.size == (40, 30, 20)


def test_channels_that_are_no_colours_are_layers(tmp_path: Path) -> None:
    image(tmp_path / "rgb", shape=(3, 20, 30, 40), dtype="uint8")
    image(tmp_path / "stains", shape=(3, 20, 30, 40), dtype="uint16")
    datasets = Catalogue.of_directory(tmp_path).datasets
    assert {n: x.channels for n, x in datasets["rgb"].layers.items()} == {"rgb": 3}
    assert {n: x.channels for n, x in datasets["stains"].layers.items()} == {
        f"stains-{n}": 1 for n in range(3)
    }


def test_images_in_a_collection(tmp_path: Path) -> None:
    """As bioformats2raw writes them."""
    fastzarr.create_group(tmp_path / "c.zarr", attributes={"ome": {"bioformats2raw.layout": 3}})
    for name in ("0", "1"):
        image(tmp_path / "c.zarr" / name)
    datasets = Catalogue.of_directory(tmp_path).datasets
    assert {n: list(d.layers) for n, d in datasets.items()} == {
        "c.zarr": [],
        "c.zarr.0": ["0"],
        "c.zarr.1": ["1"],
    }


@pytest.mark.parametrize("dtype", ["complex64", "float16", "<U4"])
def test_data_types_of_no_volume(tmp_path: Path, dtype: str) -> None:
    fastzarr.create_array(tmp_path / "a", shape=(5, 6, 7), dtype=dtype, zarr_format=2)
    (dataset,) = Catalogue.of_directory(tmp_path).datasets.values()
    assert not dataset.layers
    assert "is none of volumes: integers of 8 to 64 bits" in dataset.remarks[0]


@pytest.mark.parametrize(
    "shape, c_order, f_order",
    [
        ((30, 40), "yx", "xy"),
        ((20, 30, 40), "zyx", "xyz"),
        ((30, 40, 3), "yxc", "xyz"),
        ((3, 30, 40), "zyx", "cxy"),
        ((1, 20, 30, 40), "czyx", "cxyz"),
        ((3, 20, 30, 40), "czyx", "cxyz"),
        ((20, 30, 40, 2), "zyxc", "xyzc"),
        ((50, 20, 30, 40), "tzyx", "xyzt"),
        ((50, 2, 20, 30, 40), "tczyx", "xyzct"),
        ((6, 50, 2, 20, 30, 40), ("d1", "t", "c", "z", "y", "x"), None),
    ],
)
def test_axes_without_names(shape: tuple[int, ...], c_order: Any, f_order: Any) -> None:
    assert of_shape(shape) == tuple(c_order)
    if f_order is not None:
        assert of_shape(shape, x_first=True) == tuple(f_order)


@pytest.mark.parametrize(
    "names, expected",
    [
        (["Z", "Y", "X"], "zyx"),
        (["x", "y", "z"], "xyz"),
        (["time", "y", "x"], "tyx"),
        (["channel", "z", "y", "x"], "czyx"),
        (["phase", "y", "x"], ("phase", "y", "x")),
        (["lat", "lon", "level"], "yxz"),
        (["y", "x", None], "zyx"),
        (["a", "b", "c"], "zyx"),
    ],
)
def test_axes_by_names(tmp_path: Path, names: list[str | None], expected: Any) -> None:
    shape = (20, 30, 40, 50)[: len(names)]
    fastzarr.create_array(tmp_path / "a", shape=shape, dtype="float32", dimension_names=names)
    (dataset,) = Catalogue.of_directory(tmp_path).datasets.values()
    assert next(iter(dataset.layers.values())).finest.axes == tuple(expected)


def test_axes_by_the_order_of_elements(tmp_path: Path) -> None:
    for name, order in (("c", "C"), ("f", "F")):
        fastzarr.create_array(tmp_path / name, shape=(20, 30, 40), dtype="u1", zarr_format=2, order=order)
    datasets = Catalogue.of_directory(tmp_path).datasets
    assert datasets["c"].layers["c"].finest.axes == ("z", "y", "x")
    assert datasets["f"].layers["f"].finest.axes == ("x", "y", "z")


TOML = """
[[dataset]]
name = "mouse"
path = "data/labels"
category = "color"
voxel_size = [4, 4, 35.5]

[[dataset]]
name = "described"
path = "data/described"
[dataset.layers.em]
category = "segmentation"

[[dataset]]
name = "gone"
path = "nowhere"

[[dataset]]
name = "nothing"
path = "data"
"""


def test_datasets_of_a_toml_file(tmp_path: Path) -> None:
    fastzarr.create_array(tmp_path / "elsewhere", shape=(5, 6, 7), dtype="uint32")
    (tmp_path / "data").mkdir()
    (tmp_path / "data/labels").symlink_to(tmp_path / "elsewhere")
    described(tmp_path / "data/described")
    voxels(tmp_path / "data/described/em/1")
    file = tmp_path / "catalogue.toml"
    file.write_text(TOML)
    datasets = Catalogue.of_toml(file).datasets
    assert list(datasets) == ["described", "gone", "mouse", "nothing"]
    mouse = datasets["mouse"]
    assert (mouse.voxel_size, mouse.voxel_size_known) == ((4.0, 4.0, 35.5), True)
    assert mouse.layers["labels"].category == "color"
    assert datasets["described"].layers["em"].category == "segmentation"
    assert "No such file" in datasets["gone"].problems[0]
    assert "expected a Zarr array, an OME-Zarr image" in datasets["nothing"].problems[0]


@pytest.mark.parametrize(
    "text, expected",
    [
        ("x = [", "can't be read as TOML"),
        ("", "dataset: missing, expected a list"),
        ("dataset = []", "dataset: got [], expected a list of 1 or more"),
        ("[[dataset]]\nname='a'", "dataset[0].path: missing, expected a string"),
        ("[[dataset]]\nname='a/b'\npath='x'", "dataset[0].name: got 'a/b', expected a name without slashes"),
        ("[[dataset]]\nname='a'\npath='x'\ncolour=1", "dataset[0].colour: got 1, expected one of name, path"),
        ("[[dataset]]\nname='a'\npath='x'\ncategory='grey'", "category: got 'grey', expected one of color"),
        (
            "[[dataset]]\nname='a'\npath='x'\nvoxel_size=[1,2]",
            "voxel_size: got [1, 2], expected three numbers",
        ),
        ("[[dataset]]\nname='a'\npath='x'\n" * 2, "got 'a' twice"),
        ("port = 3\n[[dataset]]\nname='a'\npath='x'", "port: got an unknown member"),
    ],
)
def test_toml_files_that_are_wrong(tmp_path: Path, text: str, expected: str) -> None:
    file = tmp_path / "catalogue.toml"
    file.write_text(text)
    with pytest.raises(CatalogueError) as raised:
        Catalogue.of_toml(file)
    assert expected in str(raised.value)
    assert str(file) in str(raised.value)
