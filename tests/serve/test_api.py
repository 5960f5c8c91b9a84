"""The list of datasets as JSON."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import fastzarr
from fastzarr import wkw


def test_datasets(tmp_path: Path, in_process: Callable[..., Any]) -> None:
    fastzarr.create_array(
        tmp_path / "below/brain", shape=(2, 20, 30, 40), dtype="uint16", dimension_names=["t", "z", "y", "x"]
    )
    labels = wkw.create(tmp_path / "labels" / "2-2-1", dtype="uint32", block_len=8, file_len=2)
    labels[:, :16, :16, :16] = 7
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken/zarr.json").write_text("{")
    client = in_process(tmp_path)
    answer = client.get("/api/datasets")
    assert answer.status == 200
    assert answer.headers["content-type"] == "application/json"
    found = answer.json()
    assert found["problems"] == []
    brain, broken, labelled = found["datasets"]
    assert brain == {
        "name": "below.brain",
        "kind": "zarr",
        "voxel_size": [1.0, 1.0, 1.0],
        "voxel_size_known": False,
        "layers": [
            {
                "name": "brain",
                "category": "color",
                "dtype": "uint16",
                "channels": 1,
                "bounding_box": {"offset": [0, 0, 0], "size": [40, 30, 20]},
                "mags": [[1, 1, 1]],
                "additional_axes": [{"name": "t", "size": 2}],
                "default_position": [20, 15, 10],
                "largest_segment_id": None,
            }
        ],
        "problems": [],
        "remarks": [],
        "urls": {
            "zarr": "http://localhost/zarr/below.brain/",
            "zarr3": "http://localhost/data/zarr3_experimental/below.brain/",
            "zarr2": "http://localhost/data/zarr/below.brain/",
            "neuroglancer": "zarr3://http://localhost/data/zarr3_experimental/below.brain/",
            "webknossos": "http://localhost/data/zarr3_experimental/below.brain/datasource-properties.json",
        },
    }
    assert (broken["name"], broken["layers"]) == ("broken", [])
    assert broken["problems"][0].startswith("broken/zarr.json: got invalid JSON")
    assert str(tmp_path) not in answer.body.decode()
    assert (labelled["kind"], labelled["urls"]["zarr"]) == ("wkw", None)
    assert labelled["layers"][0]["category"] == "segmentation"
    assert labelled["layers"][0]["mags"] == [[2, 2, 1]]
    assert labelled["layers"][0]["bounding_box"] == {"offset": [0, 0, 0], "size": [32, 32, 16]}
    assert client.get("/api/datasets/below.brain").json() == brain
    assert client.get("/api/datasets/other").status == 404


def test_a_problem_names_its_place_once(tmp_path: Path, in_process: Callable[..., Any]) -> None:
    wkw.create(tmp_path / "bare/labels/1", dtype="uint8")
    (found,) = in_process(tmp_path).get("/api/datasets").json()["datasets"]
    assert found["problems"] == [
        "bare/labels/1: there are no files of voxels, expected some beside the header"
    ]


def test_links_carry_the_token_on(tmp_path: Path, in_process: Callable[..., Any]) -> None:
    fastzarr.create_array(tmp_path / "a b", shape=(4, 4, 4), dtype="uint8")
    client = in_process(tmp_path, token="s&t")
    urls = client.get("/api/datasets/a%20b?token=s%26t").json()["urls"]
    assert urls["zarr"] == "http://localhost/zarr/a%20b/?token=s%26t"
    assert urls["webknossos"].endswith("/a%20b/datasource-properties.json?token=s%26t")
    for name in ("zarr", "webknossos"):
        assert client.get(urls[name].removeprefix("http://localhost")).status == 200


def test_what_is_no_volume_has_no_links_to_volumes(tmp_path: Path, in_process: Callable[..., Any]) -> None:
    fastzarr.create_array(tmp_path / "series", shape=(4,), dtype="float64")
    (found,) = in_process(tmp_path).get("/api/datasets").json()["datasets"]
    assert found["remarks"] == [
        "series: only its stored keys are served: the shape (4,) has fewer than 2 dimensions"
    ]
    assert found["urls"]["zarr"] == "http://localhost/zarr/series/"
    assert found["urls"]["zarr3"] is found["urls"]["zarr2"] is found["urls"]["neuroglancer"] is None
