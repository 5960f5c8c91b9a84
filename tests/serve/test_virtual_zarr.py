"""The virtual Zarr tree: its documents, chunks and lists."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np
import pytest
import served_samples
from conftest import Client
from numpy.typing import NDArray

import fastzarr
from fastzarr import wkw
from fastzarr.volumes import ome, properties
from fastzarr.volumes.boxes import BoundingBox, Vec3, mag_name

V3, V2 = "/data/zarr3_experimental", "/data/zarr"
LAYERS = served_samples.layers()
MAGS = [(name, mag) for name, layer in LAYERS.items() for mag in layer.mags]


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("virtual")
    served_samples.write_wkw(root / "brain", LAYERS)
    return root


@pytest.fixture
def client(directory: Path, in_process: Callable[..., Client]) -> Client:
    return in_process(directory)


def expected_chunk(data: NDArray[Any], chunk: tuple[int, ...]) -> NDArray[Any]:
    """The chunk at coordinates [c, x, y, z], whole, zero beyond the array."""
    chunk_shape = (len(data), 32, 32, 32)
    part = data[tuple(slice(n * size, (n + 1) * size) for n, size in zip(chunk, chunk_shape, strict=True))]
    whole = np.zeros(chunk_shape, data.dtype)
    whole[tuple(map(slice, part.shape))] = part
    return whole


@pytest.mark.parametrize(("layer", "mag"), MAGS)
def test_chunks_are_the_voxels_in_fortran_order(client: Client, layer: str, mag: Vec3) -> None:
    data = LAYERS[layer].mags[mag]
    counts = [1, *(-(-size // 32) for size in data.shape[1:])]
    stored = 0
    for chunk in itertools.product(*map(range, counts)):
        key = f"brain/{layer}/{mag_name(mag)}/{'.'.join(map(str, chunk))}"
        answers = [client.get(f"{root}/{key}") for root in (V3, V2)]
        expected = expected_chunk(data, chunk)
        if answers[0].status == 404:
            assert answers[1].status == 404
            assert not expected.any()
            continue
        stored += 1
        for answer in answers:
            assert answer.status == 200
            assert answer.body == expected.tobytes(order="F")
            assert answer.headers["cache-control"] == "public, max-age=60"
            assert answer.headers["content-type"] == "application/octet-stream"
            assert "content-encoding" not in answer.headers
    assert stored > 5


def test_a_chunk_of_no_file_is_absent(client: Client) -> None:
    for root in (V3, V2):
        answer = client.get(f"{root}/brain/color/1/0.2.0.0")
        assert (answer.status, "not stored" in answer.body.decode()) == (404, True)
        assert client.head(f"{root}/brain/color/1/0.2.0.0").status == 404


@pytest.mark.parametrize(
    "key",
    [
        "color/1/1.0.0.0",
        "color/1/0.4.0.0",
        "color/1/0.0.0",
        "color/1/0.0.0.0.0",
        "color/1/0.-1.0.0",
        "color/1/0.00.0.0",
        "color/1/0.1e0.0.0",
        "color/1/0.١.0.0",
        "color/1/0." + "9" * 200 + ".0.0",
        "color/1/c/0/0/0/0",
        "color/1/0.0.0.0/",
        "color/2/0.0.0.0",
        "color/4/zarr.json",
        "nothing/zarr.json",
        "color/1/zarr.json/",
        "color/zarr",
        "color/" + "9" * 5000 + "/zarr.json",
        "color/1-1/zarr.json",
    ],
)
@pytest.mark.parametrize("root", [V3, V2])
def test_other_keys_are_absent(client: Client, root: str, key: str) -> None:
    assert client.get(f"{root}/brain/{quote(key)}").status in (400, 404)


def test_documents_of_zarr_v3(client: Client) -> None:
    group = client.get(f"{V3}/brain/zarr.json")
    assert (group.headers["content-type"], group.headers["cache-control"]) == (
        "application/json",
        "public, no-cache",
    )
    assert (group.json()["zarr_format"], group.json()["node_type"]) == (3, "group")
    assert client.get(f"{V3}/brain/labels/1/zarr.json").json() == {
        "zarr_format": 3,
        "node_type": "array",
        "shape": [1, 105, 76, 57],
        "data_type": "uint32",
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [1, 32, 32, 32]}},
        "chunk_key_encoding": {"name": "v2", "configuration": {"separator": "."}},
        "fill_value": 0,
        "codecs": [
            {"name": "transpose", "configuration": {"order": [3, 2, 1, 0]}},
            {"name": "bytes", "configuration": {"endian": "little"}},
        ],
        "dimension_names": ["c", "x", "y", "z"],
        "attributes": {},
    }
    rgb = client.get(f"{V3}/brain/rgb/1/zarr.json").json()
    assert (rgb["shape"][0], rgb["chunk_grid"]["configuration"]["chunk_shape"][0]) == (3, 3)
    assert client.get(f"{V3}/brain/depth/1/zarr.json").json()["data_type"] == "float32"
    assert client.get(f"{V3}/brain/color/2-2-1/zarr.json").json()["shape"] == [1, 53, 38, 57]


def test_documents_of_zarr_v2(client: Client) -> None:
    assert client.get(f"{V2}/brain/.zgroup").json() == {"zarr_format": 2}
    assert client.get(f"{V2}/brain/labels/1/.zarray").json() == {
        "zarr_format": 2,
        "shape": [1, 105, 76, 57],
        "chunks": [1, 32, 32, 32],
        "dtype": "<u4",
        "fill_value": 0,
        "order": "F",
        "compressor": None,
        "filters": None,
        "dimension_separator": ".",
    }
    assert client.get(f"{V2}/brain/labels/1/.zattrs").json() == {"_ARRAY_DIMENSIONS": ["c", "x", "y", "z"]}
    consolidated = client.get(f"{V2}/brain/.zmetadata").json()["metadata"]
    for key, document in consolidated.items():
        assert client.get(f"{V2}/brain/{key}").json() == document
    assert "color/2-2-1/.zarray" in consolidated
    assert set(client.get(f"{V2}/brain/color/.zmetadata").json()["metadata"]) == {
        ".zgroup",
        ".zattrs",
        *(f"{mag}/{name}" for mag in ("1", "2-2-1") for name in (".zarray", ".zattrs")),
    }


@pytest.mark.parametrize(("root", "name"), [(V3, "zarr.json"), (V2, ".zattrs")])
def test_layers_are_images_of_ome_zarr(client: Client, root: str, name: str) -> None:
    document = client.get(f"{root}/brain/color/{name}").json()
    [image] = ome.parse(document["attributes"] if root == V3 else document, "color")
    assert image.version == ("0.5" if root == V3 else "0.4")
    assert image.voxel_size == served_samples.VOXEL_SIZE
    assert {mag: level.path for mag, level in image.mags().items()} == {(1, 1, 1): "1", (2, 2, 1): "2-2-1"}
    assert [(axis.name, axis.unit) for axis in image.axes] == [
        ("c", None), ("x", "nanometer"), ("y", "nanometer"), ("z", "nanometer"),
    ]  # fmt: skip


def test_consolidated_metadata_are_the_documents(client: Client) -> None:
    found = client.get(f"{V3}/brain/zarr.json").json()["consolidated_metadata"]["metadata"]
    assert set(found) == {*LAYERS, *(f"{name}/{mag_name(mag)}" for name, mag in MAGS)}
    for path, document in found.items():
        own = client.get(f"{V3}/brain/{path}/zarr.json").json()
        own.pop("consolidated_metadata", None)
        assert own == document
    group = fastzarr.open_group({"zarr.json": client.get(f"{V3}/brain/zarr.json").body}, mode="r")
    assert sorted(name for name, _ in group.members(max_depth=None)) == sorted(found)


@pytest.mark.parametrize(("root", "data_format"), [(V3, "zarr3"), (V2, "zarr")])
def test_the_document_of_webknossos(client: Client, root: str, data_format: str) -> None:
    text = client.get(f"{root}/brain/datasource-properties.json").body.decode()
    found = properties.parse(text, "it")
    assert (found.name, found.voxel_size) == ("brain", served_samples.VOXEL_SIZE)
    box = BoundingBox(offset=served_samples.OFFSET, size=served_samples.SIZE)
    for layer in found.layers:
        sample = LAYERS[layer.name]
        assert (layer.category, layer.data_format, layer.bounding_box) == (sample.category, data_format, box)
        for mag in layer.mags:
            assert mag.axis_order == {"c": 0, "x": 1, "y": 2, "z": 3}
            document = "zarr.json" if root == V3 else ".zarray"
            assert mag.path is not None
            assert mag.path.startswith("./")
            shape = client.get(f"{root}/brain/{mag.path[2:]}/{document}").json()["shape"]
            assert tuple(shape) == sample.mags[mag.mag].shape


def test_magnifications_have_webknossos_other_name_too(client: Client) -> None:
    for key in ("zarr.json", "0.0.0.0"):
        long, short = (client.get(f"{V3}/brain/color/{mag}/{key}") for mag in ("1-1-1", "1"))
        assert (long.status, long.body) == (200, short.body)


def test_lists(client: Client) -> None:
    page = client.get(f"{V3}/brain/").body.decode()
    for name in ("../", *(f"{layer}/" for layer in LAYERS), "datasource-properties.json", "zarr.json"):
        assert f'<a href="{name}">{name}</a>' in page
    assert '<a href="2-2-1/">2-2-1/</a>' in client.get(f"{V3}/brain/color/").body.decode()
    assert '<a href=".zarray">.zarray</a>' in client.get(f"{V2}/brain/color/1/").body.decode()
    for path, place in {"brain": "brain/", "brain/color": "color/", "brain/color/1-1-1": "1-1-1/"}.items():
        answer = client.get(f"{V2}/{path}")
        assert (answer.status, answer.headers["location"]) == (301, place)


def test_parts_and_conditions(client: Client) -> None:
    url = f"{V3}/brain/labels/1/0.0.0.0"
    whole = client.get(url)
    tag = whole.headers["etag"]
    answer = client.get(url, range="bytes=-100", if_range=tag)
    assert (answer.status, answer.body) == (206, whole.body[-100:])
    assert answer.headers["content-range"] == f"bytes {len(whole.body) - 100}-{len(whole.body) - 1}/131072"
    assert client.get(url, range="bytes=131072-").status == 416
    head = client.head(url)
    assert (head.status, head.headers["content-length"], head.headers["etag"]) == (200, "131072", tag)
    assert client.get(url, if_none_match=tag).status == 304
    others = [client.get(f"{V3}/brain/labels/1/0.{x}.{y}.0").headers["etag"] for x in (0, 1) for y in (0, 1)]
    assert len({tag, *others}) == 4
    assert re.fullmatch(r'"[0-9a-f]{16}"', tag)
    document = client.get(f"{V3}/brain/zarr.json")
    assert client.get(f"{V3}/brain/zarr.json", if_none_match=document.headers["etag"]).status == 304
    assert client.get(f"{V3}/brain/zarr.json", range="bytes=0-0").body == b"{"


def test_a_chunk_is_read_once(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    url = f"{V3}/brain/color/1/0.0.0.0"
    first = client.get(url)
    volume = client.site.catalogue.datasets["brain"].layers["color"].mags[1, 1, 1]
    monkeypatch.setattr(type(volume), "buckets", lambda *_: pytest.fail("it was read"))
    assert client.get(url).body == first.body
    assert client.get(url, if_none_match=first.headers["etag"]).status == 304
    assert client.get(f"{V2}/brain/color/1/0.0.0.0").body == first.body


def test_changed_and_damaged_files(tmp_path: Path, in_process: Callable[..., Client]) -> None:
    served_samples.write_wkw(tmp_path / "brain", {"color": LAYERS["color"]})
    client = in_process(tmp_path, cache_bytes=0)
    url = f"{V3}/brain/color/1/0.1.1.0"
    file = tmp_path / "brain/color/1/z0/y0/x0.wkw"
    tags = [client.get(url).headers["etag"]]
    content = file.read_bytes()
    array = wkw.open(tmp_path / "brain/color/1")
    for value in (1, 2):
        array[0, 40, 40, 10] = value
        again = client.get(url, if_none_match=tags[-1])
        assert again.status == 200
        assert np.frombuffer(again.body, "u1").reshape((32, 32, 32), order="F")[8, 8, 10] == value
        tags.append(again.headers["etag"])
    assert len(set(tags)) == 3
    file.write_bytes(content[:-100])
    damaged = [client.get(f"{root}/brain/color/1/0.{x}.1.1") for root in (V3, V2) for x in (0, 1)]
    assert {answer.status for answer in damaged} == {500}
    assert "x0.wkw" in damaged[0].json()["messages"][0]["error"]
    assert str(tmp_path) not in damaged[0].body.decode()
    file.write_bytes(b"")
    assert client.get(url).status == 500
    file.unlink()
    assert client.get(url).status == 404


def test_layers_of_zarr_are_virtual_too(tmp_path: Path, in_process: Callable[..., Client]) -> None:
    data = LAYERS["labels"].mags[1, 1, 1]
    served_samples.write_sharded(tmp_path / "sharded", data)
    served_samples.write_v2(tmp_path / "plain", data)
    fastzarr.create_array(tmp_path / "big endian", data=data[0].astype(">f8"), chunks=(50, 40, 57),
                          dimension_names=["x", "y", "z"], zarr_format=3)  # fmt: skip
    fastzarr.create_array(tmp_path / "filled", shape=(40, 40, 40), chunks=(40, 40, 40), dtype="u1",
                          fill_value=7)  # fmt: skip
    client = in_process(tmp_path)
    for name in ("sharded", "plain", "big endian", "filled"):
        dataset = client.site.catalogue.datasets[name]
        [layer] = dataset.layers
        path = f"{name}/{layer}/1".replace(" ", "%20")
        document = client.get(f"{V3}/{path}/zarr.json").json()
        whole = np.full((1, 40, 40, 40), 7, "u1") if name == "filled" else data
        assert tuple(document["shape"]) == whole.shape, json.dumps(document)
        for chunk in itertools.product(*map(range, (1, *(-(-size // 32) for size in whole.shape[1:])))):
            answer = client.get(f"{V3}/{path}/{'.'.join(map(str, chunk))}")
            expected = expected_chunk(whole.astype(document["data_type"]), chunk)
            if answer.status == 404:
                assert not expected.any()
            else:
                assert answer.body == expected.tobytes(order="F"), (name, chunk)
    # What is missing there is not zero: it has to be sent.
    filled = client.get(f"{V3}/filled/{next(iter(dataset.layers))}/1/0.0.0.0")
    assert (filled.status, set(filled.body)) == (200, {7})


def test_answers_to_one_who_showed_a_token_are_private(
    directory: Path, in_process: Callable[..., Client]
) -> None:
    client = in_process(directory, token="secret")
    for key in ("zarr.json", "color/1/0.0.0.0", "color/"):
        assert client.get(f"{V3}/brain/{key}").status == 401
        answer = client.get(f"{V3}/brain/{key}?token=secret")
        assert (answer.status, answer.headers["cache-control"].split(",")[0]) == (200, "private")


def test_memory_is_asked_for_before_it_is_taken(
    directory: Path, in_process: Callable[..., Client], monkeypatch: pytest.MonkeyPatch
) -> None:
    client = in_process(directory, max_response_bytes=100_000)
    assert client.get(f"{V3}/brain/color/1/0.0.0.0").status == 200
    volume = client.site.catalogue.datasets["brain"].layers["labels"].mags[1, 1, 1]
    monkeypatch.setattr(type(volume), "buckets", lambda *_: pytest.fail("it was read"))
    assert client.get(f"{V3}/brain/labels/1/0.0.0.0").status >= 400
