"""One bad dataset is told among its own problems; the others are served."""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fastzarr
from fastzarr import wkw
from fastzarr.serve import opening
from fastzarr.serve.catalogue import Catalogue
from fastzarr.serve.errors import CatalogueError
from fastzarr.volumes import ome, properties
from fastzarr.volumes.boxes import BoundingBox


def array(path: Path, **more: Any) -> None:
    fastzarr.create_array(path, **{"shape": (8, 8, 8), "dtype": "uint8", **more})


def change(path: Path, **members: Any) -> None:
    """Overwrite members of a JSON document."""
    path.write_text(json.dumps(json.loads(path.read_text()) | members))


def describe(path: Path, *, data_format: Any = "zarr3", mag: Any = None, **others: Any) -> None:
    """A webknossos document with a layer `em`, whose members `others` are."""
    box = BoundingBox(offset=(0, 0, 0), size=(8, 8, 8))
    layer = properties.Layer(
        name="em",
        category="color",
        data_format=data_format,
        dtype=np.dtype("u1"),
        bounding_box=box,
        mags=(mag or properties.Mag(mag=(1, 1, 1)),),
        others=others,
    )
    path.mkdir(parents=True, exist_ok=True)
    properties.write(path, properties.Dataset(name="d", scale=(1.0, 1.0, 1.0), layers=(layer,)))


def opened(directory: Path, *, toml: bool = False) -> dict[str, Any]:
    """Datasets of a directory with the problems of each; `good` is among them and has none."""
    array(directory / "good")
    if toml:
        names = sorted(path.name for path in directory.iterdir() if path.is_dir())
        entries = [f'[[dataset]]\nname = "{name}"\npath = "{name}"\n' for name in names]
        (directory / "c.toml").write_text("".join(entries))
        catalogue = Catalogue.of_toml(directory / "c.toml")
    else:
        catalogue = Catalogue.of_directory(directory)
    good = catalogue.datasets["good"]
    assert (list(good.layers), good.problems) == (["good"], ())
    return {name: dataset.problems for name, dataset in catalogue.datasets.items() if name != "good"}


@pytest.mark.parametrize("toml", [False, True])
def test_a_failure_not_foreseen_is_told_and_logged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, *, toml: bool
) -> None:
    array(tmp_path / "bad")
    real = opening.fastzarr.open_array

    def failing(path: Path, **more: Any) -> Any:
        if Path(path).name == "bad":
            raise AttributeError("'str' object has no attribute 'kind'")
        return real(path, **more)

    monkeypatch.setattr(opening.fastzarr, "open_array", failing)
    (problem,) = opened(tmp_path, toml=toml)["bad"]
    assert "unexpected failure, AttributeError: 'str' object has no attribute 'kind'" in problem
    (record,) = caplog.records
    assert (record.levelno, record.exc_info is not None) == (logging.ERROR, True)
    assert str(tmp_path / "bad") in record.getMessage()


GARBAGE = (
    {"shape": [0, 0, 0]},
    {"shape": [2**70, 2**70, 2**70]},
    {"shape": [2**63, 4, 4]},
    {"chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [2**40, 2**40, 2**40]}}},
    {"chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [0, 0, 0]}}},
    {"chunk_grid": [[]]},
    {"data_type": "string", "fill_value": ""},
    {"data_type": {"name": []}},
    {"codecs": [{"name": "sharding_indexed", "configuration": {"codecs": ["zstd"]}}]},
    {"codecs": ["bytes", "crc32c", None, {}]},
    {"attributes": {"ome": {"multiscales": [{"axes": [[]]}]}}},
    {"node_type": "group", "attributes": {"ome": {"multiscales": [{"axes": 1, "datasets": [None]}]}}},
    {"dimension_names": [[], {}, 1]},
)


@pytest.mark.parametrize("toml", [False, True])
def test_garbage_in_documents_of_zarr(tmp_path: Path, *, toml: bool) -> None:
    for number, members in enumerate(GARBAGE):
        array(tmp_path / f"bad{number}")
        change(tmp_path / f"bad{number}/zarr.json", **members)
    array(tmp_path / "deep")
    (tmp_path / "deep/zarr.json").write_text('{"a":' * 100_000)
    problems = opened(tmp_path, toml=toml)
    assert set(problems) == {"deep", *(f"bad{number}" for number in range(len(GARBAGE)))}
    assert not [text for of_one in problems.values() for text in of_one if "unexpected" in text]


def test_strings_are_no_volume(tmp_path: Path) -> None:
    array(tmp_path / "words", dtype="string")
    dataset = Catalogue.of_directory(tmp_path).datasets["words"]
    assert (dataset.layers, dataset.problems) == ({}, ())
    (remark,) = dataset.remarks
    assert "only its stored keys are served: the data type" in remark
    assert "is none of volumes" in remark


def test_bare_names_of_codecs_in_shards_are_served(tmp_path: Path) -> None:
    array(tmp_path / "short", chunks=(4, 4, 4), shards=(8, 8, 8))
    document = json.loads((tmp_path / "short/zarr.json").read_text())
    little = {"name": "bytes", "configuration": {"endian": "little"}}
    document["codecs"][0]["configuration"] |= {"codecs": ["bytes"], "index_codecs": [little, "crc32c"]}
    (tmp_path / "short/zarr.json").write_text(json.dumps(document))
    assert opened(tmp_path) == {"short": ()}


@pytest.mark.parametrize(
    ("axes", "words"),
    [
        ([{"bounds": [0, 1]}], "additionalAxes: got [{'bounds': [0, 1]}], expected a list of objects"),
        ([{"name": "t"}], "expected a list of objects with name and index"),
        ([{"name": "t", "index": []}], "expected a list of objects with name and index"),
        (7, "additionalAxes: got 7, expected a list"),
    ],
)
def test_additional_axes_are_checked(tmp_path: Path, axes: Any, words: str) -> None:
    describe(tmp_path / "bad", additionalAxes=axes)
    array(tmp_path / "bad/em/1", shape=(1, 8, 8, 8))
    problem, nothing = opened(tmp_path)["bad"]
    assert words in problem
    assert nothing == "layer 'em': no magnification of it can be read"


@pytest.mark.parametrize("channel", ["1", -1, 2, 1.0, True, []])
def test_the_index_of_a_channel_is_checked(tmp_path: Path, channel: Any) -> None:
    described = properties.Mag(mag=(1, 1, 1), others={"channelIndex": channel})
    describe(tmp_path / "bad", mag=described)
    array(tmp_path / "bad/em/1", shape=(2, 8, 8, 8))
    problem = opened(tmp_path)["bad"][0]
    assert f"channelIndex: got {channel!r}, expected a whole number from 0 to 1" in problem


def test_the_index_of_a_channel_is_used(tmp_path: Path) -> None:
    describe(tmp_path / "d", mag=properties.Mag(mag=(1, 1, 1), others={"channelIndex": 1}))
    array(tmp_path / "d/em/1", shape=(2, 8, 8, 8))
    assert opened(tmp_path) == {"d": ()}


LINKED = ("datasource-properties.json", "header.wkw", "zarr.json", ".zarray", ".zattrs")


def dataset_with(path: Path, document: str) -> None:
    """A dataset that has a document of that name."""
    if document == "header.wkw":
        wkw.create(path, dtype="uint8", block_len=8, file_len=1)[:, :8, :8, :8] = 1
    elif document == "datasource-properties.json":
        describe(path)
        array(path / "em/1", shape=(1, 8, 8, 8))
    else:
        array(path, zarr_format=3 if document == "zarr.json" else 2, attributes={"a": 1})


def moved(document: Path, target: Path) -> None:
    """Put a document somewhere else, with a link where it was."""
    document.rename(target)
    document.symlink_to(target)


@pytest.mark.parametrize("toml", [False, True])
@pytest.mark.parametrize("document", LINKED)
def test_documents_that_lead_out_are_refused(tmp_path: Path, document: str, *, toml: bool) -> None:
    root = tmp_path / "root"
    dataset_with(root / "bad", document)
    moved(root / "bad" / document, tmp_path / "secret")
    (problem,) = opened(root, toml=toml)["bad"]
    assert f"{document}: got a link that leads out of what is served" in problem


def test_a_document_that_leads_elsewhere_inside_is_read(tmp_path: Path) -> None:
    dataset_with(tmp_path / "d", "datasource-properties.json")
    moved(tmp_path / "d/datasource-properties.json", tmp_path / "kept")
    assert opened(tmp_path) == {"d": ()}


@pytest.mark.parametrize("document", LINKED[:3])
def test_what_is_no_file_is_not_waited_for(tmp_path: Path, document: str) -> None:
    (tmp_path / "bad").mkdir()
    os.mkfifo(tmp_path / "bad" / document)
    (problem,) = opened(tmp_path)["bad"]
    assert "got something else than a file" in problem


def test_parts_that_lead_out_are_refused(tmp_path: Path) -> None:
    """Magnifications of WKW, arrays of a group, labels of an image, magnifications that are described."""
    root, outside = tmp_path / "root", tmp_path / "outside"
    dataset_with(outside / "wkw", "header.wkw")
    array(outside / "zarr")
    group = fastzarr.create_group(
        root / "image", attributes=ome.attributes(["z", "y", "x"], (1.0, 1.0, 1.0), {(1, 1, 1): "0"})
    )
    group.create_array("0", shape=(8, 8, 8), dtype="uint8")
    labels = ome.attributes(["z", "y", "x"], (1.0, 1.0, 1.0), {(1, 1, 1): "0"})
    fastzarr.create_group(outside / "cells", attributes=labels).create_array("0", shape=(8, 8, 8), dtype="u1")
    (root / "image/labels").mkdir()
    (root / "image/labels/cells").symlink_to(outside / "cells")
    fastzarr.create_group(root / "group")
    (root / "group/a").symlink_to(outside / "zarr")
    dataset_with(root / "layer/1", "header.wkw")
    (root / "layer/2").symlink_to(outside / "wkw")
    describe(root / "described")
    array(root / "described/em/1", shape=(1, 8, 8, 8))
    moved(root / "described/em/1/zarr.json", tmp_path / "secret")
    problems = opened(root)
    assert set(problems) == {"image", "group", "layer", "described"}
    for of_one in problems.values():
        assert "got a link that leads out of what is served" in of_one[0]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('[[dataset]]\nname = "a"\npath = "a\\u0000b"\n', "dataset[0].path: got 'a\\x00b', expected a path"),
        ("a = " + "[" * 100_000, "can't be read as TOML"),
        ("a = " + "{a = " * 100_000, "can't be read as TOML"),
    ],
)
def test_lists_that_are_garbage_are_refused(tmp_path: Path, text: str, words: str) -> None:
    (tmp_path / "c.toml").write_text(text)
    with pytest.raises(CatalogueError) as refused:
        Catalogue.of_toml(tmp_path / "c.toml")
    assert words in str(refused.value)


def test_arrays_elsewhere_have_no_stored_keys(tmp_path: Path, in_process: Callable[..., Any]) -> None:
    describe(tmp_path / "d", mag=properties.Mag(mag=(1, 1, 1), path="../other"))
    array(tmp_path / "other", shape=(1, 8, 8, 8))
    client = in_process(tmp_path)
    urls = client.get("/api/datasets/d").json()["urls"]
    assert urls["zarr"] is None
    assert client.get(urls["zarr3"].removeprefix("http://localhost") + "em/1/zarr.json").status == 200
    assert client.get("/api/datasets/other").json()["urls"]["zarr"] == "http://localhost/zarr/other/"
