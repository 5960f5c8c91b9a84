"""webknossos's requests, answered with the bytes of NumPy slices, whatever the data are stored as."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import fastzarr
from fastzarr import wkw
from fastzarr.volumes import ome, properties
from fastzarr.volumes.boxes import BoundingBox

BOX = BoundingBox(offset=(10, 20, 5), size=(70, 50, 40))
EXTENT = (96, 96, 64)
MAGS = ((1, 1, 1), (2, 2, 1))
WKW = ("wkw raw", "wkw lz4", "wkw lz4hc")
DESCRIBED = (*WKW, "zarr3 sharded", "zarr2 F")
FORMS = (*DESCRIBED, "ome 0.5", "ome 0.4", "array v3", "array v2")


def noise(dtype: str, channels: int, extent: tuple[int, ...] = EXTENT) -> NDArray[Any]:
    values = np.random.default_rng(3).integers(1, 200, (channels, *extent))
    return values.astype(dtype)


def save(path: Path, form: str, data: NDArray[Any]) -> None:
    """`data` [c, x, y, z] as one magnification."""
    channels = len(data)
    if form in WKW:
        array = wkw.create(path, dtype=data.dtype, channels=channels, file_len=2, block_type=form[4:])
        array[:, : data.shape[1], : data.shape[2], : data.shape[3]] = data
        return
    x_first = form in ("zarr3 sharded", "zarr2 F")
    stored = data if x_first else data.transpose(0, 3, 2, 1)
    chunks = (channels, 32, 32, 32)
    how: dict[str, Any] = {"chunks": chunks}
    if form == "zarr3 sharded":
        transpose = fastzarr.codecs.TransposeCodec(order=(3, 2, 1, 0))
        how |= {"shards": (channels, 64, 64, 64), "filters": [transpose]}
    elif form in ("zarr2 F", "ome 0.4", "array v2"):
        how |= {"zarr_format": 2, "order": "F" if x_first else "C"}
    if form.startswith("array"):
        how["chunks"] = (channels, 20, 32, 32)
    array = fastzarr.create_array(path, shape=stored.shape, dtype=data.dtype, fill_value=0, **how)
    array[...] = stored


def expected_in(form: str, data: NDArray[Any]) -> NDArray[Any]:
    """What of `data` is served: with a bounding box only what is in it."""
    if form not in DESCRIBED:
        return data
    clipped = np.zeros_like(data)
    inside = (slice(None), *BOX.slices())
    clipped[inside] = data[inside]
    return clipped


def make_dataset(root: Path, form: str, dtype: str = "uint8", channels: int = 1) -> NDArray[Any]:
    """A dataset `sample` with one layer; what it has at magnification 1."""
    data = noise(dtype, channels)
    coarse = data[:, ::2, ::2, :]
    path = root / "sample"
    category: properties.Category = "color"
    if form in DESCRIBED:
        save(path / "grey" / "1", form, data)
        save(path / "grey" / "2-2-1", form, coarse)
        layer = properties.Layer(
            name="grey",
            category=category,
            data_format="wkw" if form in WKW else "zarr3",
            dtype=np.dtype(dtype),
            channels=channels,
            bounding_box=BOX,
            mags=tuple(properties.Mag(mag=mag) for mag in MAGS),
        )
        properties.write(path, properties.Dataset(name="x", scale=(4.0, 4.0, 8.0), layers=(layer,)))
    elif form.startswith("ome"):
        version: Any = form[4:]
        attributes = ome.attributes(
            ["c", "z", "y", "x"],
            (4.0, 4.0, 8.0),
            {(1, 1, 1): "0", (2, 2, 1): "1"},
            name="grey",
            version=version,
        )
        fastzarr.create_group(path, zarr_format=2 if version == "0.4" else 3, attributes=attributes)
        save(path / "0", form, data)
        save(path / "1", form, coarse)
    else:
        save(path, form, data)
    return expected_in(form, data)


def wire(data: NDArray[Any], offset: tuple[int, ...], size: tuple[int, ...]) -> bytes:
    """Voxels of `data` [c, x, y, z] as the wire has them; zero outside."""
    out = np.zeros((data.shape[0], *size), data.dtype.newbyteorder("<"))
    low = [max(0, o) for o in offset]
    high = [min(n, o + s) for n, o, s in zip(data.shape[1:], offset, size, strict=True)]
    if all(a < b for a, b in zip(low, high, strict=True)):
        part = data[(slice(None), *(slice(a, b) for a, b in zip(low, high, strict=True)))]
        out[(slice(None), *(slice(a - o, b - o) for a, b, o in zip(low, high, offset, strict=True)))] = part
    return out.tobytes(order="F")


def coarse_of(data: NDArray[Any], form: str) -> NDArray[Any]:
    """What magnification 2-2-1 has: every other voxel, as they were before those outside became zero."""
    whole = noise(data.dtype.name, len(data))[:, ::2, ::2, :]
    if form not in DESCRIBED:
        return whole
    clipped = np.zeros_like(whole)
    inside = (slice(None), *BOX.in_mag((2, 2, 1)).slices())
    clipped[inside] = whole[inside]
    return clipped


def layer_path(form: str, prefix: str = "/data/datasets/sample") -> str:
    return f"{prefix}/layers/{'sample' if form.startswith('array') else 'grey'}"


def bucket(x: int, y: int, z: int, edge: int = 32, **more: Any) -> dict[str, Any]:
    return {"position": [x, y, z], "mag": [1, 1, 1], "cubeSize": edge, **more}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("dtype, channels", [("uint8", 1), ("uint8", 3), ("uint32", 1)])
def test_buckets(
    tmp_path: Path, in_process: Callable[..., Any], form: str, dtype: str, channels: int
) -> None:
    data = make_dataset(tmp_path, form, dtype, channels)
    client = in_process(tmp_path)
    corners = [(0, 0, 0), (32, 32, 0), (64, 64, 32), (3, 4, 5), (32, 32, 0)]
    for _ in range(2):  # the second time from the cache
        answer = client.post(f"{layer_path(form)}/data", [bucket(*corner) for corner in corners])
        assert answer.status == 200
        assert answer.headers["content-type"] == "application/octet-stream"
        assert answer.body == b"".join(wire(data, corner, (32, 32, 32)) for corner in corners)
        for name in ("missing-buckets", "empty-bucket-indices", "failure-bucket-indices"):
            assert answer.headers[name] == "[]"


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("dtype", ["int8", "uint16", "int32", "uint64", "int64", "float32", "float64"])
def test_data_types(tmp_path: Path, in_process: Callable[..., Any], form: str, dtype: str) -> None:
    data = make_dataset(tmp_path, form, dtype)
    client = in_process(tmp_path)
    answer = client.post(f"{layer_path(form)}/data", [bucket(32, 32, 0), bucket(64, 32, 32)])
    assert answer.body == wire(data, (32, 32, 0), (32, 32, 32)) + wire(data, (64, 32, 32), (32, 32, 32))
    query = "x=7&y=19&z=3&width=20&height=31&depth=11&mag=1-1-1"
    assert client.get(f"{layer_path(form)}/data?{query}").body == wire(data, (7, 19, 3), (20, 31, 11))


@pytest.mark.parametrize("form", FORMS)
def test_cutouts(tmp_path: Path, in_process: Callable[..., Any], form: str) -> None:
    data = make_dataset(tmp_path, form, "uint16")
    client = in_process(tmp_path)
    for corner, size in [
        ((10, 20, 5), (70, 50, 40)),
        ((-4, -4, -4), (12, 12, 40)),
        ((90, 90, 60), (20, 20, 20)),
        ((32, 32, 32), (32, 32, 32)),
        ((500, 0, 0), (5, 5, 5)),
    ]:
        query = "x={}&y={}&z={}&width={}&height={}&depth={}&mag=1-1-1".format(*corner, *size)
        answer = client.get(f"{layer_path(form)}/data?{query}")
        assert (answer.status, answer.body) == (200, wire(data, corner, size))
        assert answer.headers["missing-buckets"] == "[]"
        told = {"position": list(corner), "cubeSize": list(size), "mag": [1, 1, 1]}
        assert client.post(f"{layer_path(form)}/readData", told).body == answer.body


@pytest.mark.parametrize("form", [form for form in FORMS if not form.startswith("array")])
def test_coarser_magnifications_are_asked_for_at_positions_of_the_finest(
    tmp_path: Path, in_process: Callable[..., Any], form: str
) -> None:
    data = coarse_of(make_dataset(tmp_path, form), form)
    client = in_process(tmp_path)
    asked = [
        {"position": [0, 0, 0], "mag": [2, 2, 1], "cubeSize": 32},
        {"position": [64, 0, 32], "mag": "2-2-1", "cubeSize": 16},
        {"position": [21, 20, 7], "mag": [2, 2, 1], "cubeSize": 8},
        {"position": [64, 64, 32], "zoomStep": 1, "cubeSize": 16},
    ]
    answer = client.post(f"{layer_path(form)}/data", asked)
    assert answer.body == b"".join(
        [
            wire(data, (0, 0, 0), (32, 32, 32)),
            wire(data, (32, 0, 32), (16, 16, 16)),
            wire(data, (10, 10, 7), (8, 8, 8)),
            wire(data, (32, 32, 32), (16, 16, 16)),
        ]
    )
    query = "x=21&y=20&z=7&width=5&height=6&depth=7&mag=2-2-1"
    assert client.get(f"{layer_path(form)}/data?{query}").body == wire(data, (10, 10, 7), (5, 6, 7))


@pytest.mark.parametrize("prefix", ["/data/datasets", "/data/v9/datasets/some-org", "/data/v15/datasets"])
def test_paths_with_version_and_organization(
    tmp_path: Path, in_process: Callable[..., Any], prefix: str
) -> None:
    data = make_dataset(tmp_path, "wkw lz4")
    client = in_process(tmp_path)
    layer = layer_path("wkw lz4", f"{prefix}/sample")
    expected = wire(data, (32, 32, 0), (32, 32, 32))
    assert client.post(f"{layer}/data", [bucket(32, 32, 0)]).body == expected
    query = "x=32&y=32&z=0&width=32&height=32&depth=32"
    assert client.get(f"{layer}/data?{query}").body == expected
    assert client.post(f"{layer}/readData", bucket(32, 32, 0) | {"cubeSize": [32] * 3}).body == expected
    assert client.get(f"{layer}/mag1/x1/y1/z0/bucket.raw?cubeSize=32").body == expected
    whole = wire(data, (0, 0, 0), (128, 128, 128))
    assert client.get(f"{layer}/mag1/x0/y0/z0/bucket.raw").body == whole


def test_what_is_not_there_is_left_out_and_told(tmp_path: Path, in_process: Callable[..., Any]) -> None:
    data = make_dataset(tmp_path, "wkw raw")
    (tmp_path / "sample/grey/1/z0/y0/x1.wkw").unlink()
    client = in_process(tmp_path)
    asked = [
        bucket(64, 0, 0),  # of the file that is missing
        bucket(32, 32, 0),
        bucket(320, 0, 0),  # outside
        bucket(32, 32, 0, mag=[8, 8, 8]),  # of a magnification that isn't there
        bucket(-32, 0, 0),
        bucket(333, 1, 1),
    ]
    for _ in range(2):
        answer = client.post(f"{layer_path('wkw raw')}/data", asked)
        assert (answer.status, answer.body) == (200, wire(data, (32, 32, 0), (32, 32, 32)))
        assert (
            answer.headers["missing-buckets"] == answer.headers["empty-bucket-indices"] == "[0, 2, 3, 4, 5]"
        )
        assert answer.headers["failure-bucket-indices"] == "[]"
    nothing = client.post(f"{layer_path('wkw raw')}/data", [])
    assert (nothing.status, nothing.body, nothing.headers["missing-buckets"]) == (200, b"", "[]")
    query = "x=64&y=0&z=0&width=32&height=32&depth=32&mag=1-1-1"
    assert client.get(f"{layer_path('wkw raw')}/data?{query}").body == bytes(32**3)
    assert client.get(f"{layer_path('wkw raw')}/data?{query.replace('1-1-1', '8')}").status == 404


@pytest.mark.parametrize("form", ["wkw lz4", "zarr3 sharded", "array v3", "array v2"])
def test_what_can_not_be_read_is_a_failure_and_never_zeros(
    tmp_path: Path, in_process: Callable[..., Any], form: str
) -> None:
    data = make_dataset(tmp_path, form)
    client = in_process(tmp_path)
    layer = next(iter(client.site.catalogue.datasets["sample"].layers.values()))
    for name in layer.finest.paths((2, 0, 0)) or ():
        path = Path(name)
        if path.exists() and name not in (layer.finest.paths((1, 1, 1)) or ()):
            path.write_bytes(path.read_bytes()[:100])
    asked = [bucket(64, 0, 0), bucket(32, 32, 0), bucket(320, 0, 0)]
    answer = client.post(f"{layer_path(form)}/data", asked)
    assert (answer.status, answer.body) == (200, wire(data, (32, 32, 0), (32, 32, 32)))
    assert answer.headers["failure-bucket-indices"] == "[0]"
    assert answer.headers["empty-bucket-indices"] == "[2]"
    assert answer.headers["missing-buckets"] == "[0, 2]"
    all_fail = client.post(f"{layer_path(form)}/data", [bucket(64, 0, 0), bucket(65, 1, 1)])
    assert all_fail.status == 500
    assert "can't be read" in all_fail.body.decode()
    assert str(tmp_path) not in all_fail.body.decode()
    query = "x=60&y=0&z=0&width=32&height=32&depth=32&mag=1-1-1"
    assert client.get(f"{layer_path(form)}/data?{query}").status == 500


@pytest.mark.parametrize("size", [(32, 32, 32), (5, 5, 5), (1, 1, 1)])
def test_four_bits_are_the_upper_halves_of_two_bytes(
    tmp_path: Path, in_process: Callable[..., Any], size: tuple[int, int, int]
) -> None:
    data = make_dataset(tmp_path, "wkw lz4")
    client = in_process(tmp_path)
    values = [*wire(data, (40, 30, 8), size), 0]
    expected = bytes((a & 0xF0) | (b >> 4) for a, b in zip(values[0:-1:2], values[1::2], strict=False))
    assert len(expected) == -(-(size[0] ** 3) // 2)
    layer = layer_path("wkw lz4")
    query = "x=40&y=30&z=8&width={}&height={}&depth={}&mag=1-1-1&halfByte=true".format(*size)
    assert client.get(f"{layer}/data?{query}").body == expected
    both = client.post(
        f"{layer}/data", [bucket(40, 30, 8, size[0], fourBit=True), bucket(40, 30, 8, 2, fourBit=False)]
    )
    assert both.body == expected + wire(data, (40, 30, 8), (2, 2, 2))


def test_four_bits_of_other_data_types_are_refused(tmp_path: Path, in_process: Callable[..., Any]) -> None:
    make_dataset(tmp_path, "wkw lz4", "uint16")
    answer = in_process(tmp_path).post(f"{layer_path('')}/data", [bucket(0, 0, 0, fourBit=True)])
    assert answer.status == 400
    assert "fourBit: got a layer of uint16, expected a color layer of uint8" in answer.body.decode()


def test_additional_coordinates(tmp_path: Path, in_process: Callable[..., Any]) -> None:
    data = np.random.default_rng(0).integers(0, 99, (3, 64, 64, 64)).astype("uint16")
    array = fastzarr.create_array(
        tmp_path / "sample",
        shape=data.shape,
        chunks=(1, 32, 32, 32),
        dtype="uint16",
        dimension_names=["t", "z", "y", "x"],
    )
    array[...] = data
    client = in_process(tmp_path)
    layer = "/data/datasets/sample/layers/sample/data"
    for index in (0, 2, 2):
        at = [{"name": "t", "value": index}]
        expected = data[index].transpose(2, 1, 0)[None]
        asked = [bucket(32, 0, 32, additionalCoordinates=at), bucket(1, 2, 3, 8, additionalCoordinates=at)]
        answer = client.post(layer, asked)
        assert answer.body == wire(expected, (32, 0, 32), (32, 32, 32)) + wire(expected, (1, 2, 3), (8, 8, 8))
    assert client.post(layer, [bucket(32, 0, 32)]).body == wire(
        data[0].transpose(2, 1, 0)[None], (32, 0, 32), (32, 32, 32)
    )
    beyond = client.post(layer, [bucket(0, 0, 0, additionalCoordinates=[{"name": "t", "value": 3}])])
    assert beyond.status == 400
    assert "'t': got 3, expected t below 3" in beyond.body.decode()


WRONG: dict[str, tuple[Any, str]] = {
    "no JSON": (b"{", "the body is no JSON"),
    "not UTF-8": (b"\xff\xfe[", "the body is no JSON"),
    "too deep": (b"[" * 100_000, "the body is no JSON"),
    "huge number": (b'[{"position":[' + b"9" * 5000 + b",0,0]}]", "the body is no JSON"),
    "an object": ({}, "got an object, expected a list of buckets"),
    "a number": (b"7", "got 7, expected a list of buckets"),
    "a list of numbers": ([1], "[0]: got 1, expected an object"),
    "no position": ([{"mag": [1, 1, 1], "cubeSize": 32}], "[0].position: got null, expected three"),
    "two numbers": ([bucket(0, 0, 0) | {"position": [1, 2]}], "[0].position: got a list"),
    "text": ([bucket(0, 0, 0) | {"position": "123"}], '[0].position: got "123"'),
    "a boolean": ([bucket(0, 0, 0) | {"position": [True, 0, 0]}], "[0].position"),
    "a float": ([bucket(0, 0, 0) | {"position": [1.0, 0, 0]}], "[0].position"),
    "a float of another magnification": (
        [bucket(0, 0, 0) | {"position": [1.5, 0, 0], "mag": [2, 2, 1]}],
        "[0].position",
    ),
    "not a number": (b'[{"position":[NaN,0,0],"mag":[1,1,1],"cubeSize":32}]', "[0].position"),
    "infinite": (b'[{"position":[1e999,0,0],"mag":[1,1,1],"cubeSize":32}]', "[0].position"),
    "far away": ([bucket(0, 2**40, 0)], "[0].position: got [0, 1099511627776, 0]"),
    "no size": ([{"position": [0, 0, 0], "mag": [1, 1, 1]}], "[0].cubeSize: got null"),
    "size 0": ([bucket(0, 0, 0, 0)], "[0].cubeSize: got 0, expected 1 to 512"),
    "size 513": ([bucket(0, 0, 0, 513)], "[0].cubeSize: got 513"),
    "size -1": ([bucket(0, 0, 0, -1)], "[0].cubeSize: got -1"),
    "size true": ([bucket(0, 0, 0, True)], "[0].cubeSize"),
    "no magnification": ([{"position": [0, 0, 0], "cubeSize": 32}], "[0].mag: got null"),
    "magnification 0": ([bucket(0, 0, 0, mag=[0, 1, 1])], "[0].mag: got a list"),
    "magnification in words": ([bucket(0, 0, 0, mag="one")], '[0].mag: got "one"'),
    "zoomStep 99": ([{"position": [0, 0, 0], "cubeSize": 32, "zoomStep": 99}], "[0].mag: got null"),
    "mapping": ([bucket(0, 0, 0, applyAgglomerate="a")], "[0].applyAgglomerate: mappings"),
    "fourBit 1": ([bucket(0, 0, 0, fourBit=1)], "[0].fourBit: got 1, expected true or false"),
    "additional": (
        [bucket(0, 0, 0, additionalCoordinates={"t": 1})],
        "additionalCoordinates: expected a list",
    ),
    "unknown axis": (
        [bucket(0, 0, 0, additionalCoordinates=[{"name": "t", "value": 0}])],
        "additional coordinate 't': got 0, expected none",
    ),
    "too many": ([bucket(0, 0, 0)] * 513, "got 513 buckets, expected at most 512 at a time"),
    "too large": ([bucket(0, 0, 0, 512)] * 9, "bytes, expected at most"),
}


@pytest.mark.parametrize("wrong", WRONG)
def test_requests_that_are_wrong(tmp_path: Path, in_process: Callable[..., Any], wrong: str) -> None:
    make_dataset(tmp_path, "wkw lz4")
    body, expected = WRONG[wrong]
    answer = in_process(tmp_path).post(f"{layer_path('wkw lz4')}/data", body)
    assert answer.status == 400
    assert expected in json.loads(answer.body)["messages"][0]["error"]
    assert len(answer.body) < 600


@pytest.mark.parametrize(
    "query, expected",
    [
        ("y=0&z=0&width=1&height=1&depth=1", "x: got nothing"),
        ("x=1.5&y=0&z=0&width=1&height=1&depth=1", "x: got '1.5'"),
        ("x=%D9%A1&y=0&z=0&width=1&height=1&depth=1", "x: got"),
        ("x=0&y=0&z=0&width=0&height=1&depth=1", "the size is [0, 1, 1], expected 1 to 512"),
        ("x=0&y=0&z=0&width=513&height=1&depth=1", "the size is [513, 1, 1]"),
        ("x=9999999999&y=0&z=0&width=1&height=1&depth=1", "the position is"),
        ("x=0&y=0&z=0&width=1&height=1&depth=1&mag=1-1", "mag: got '1-1'"),
        ("x=0&y=0&z=0&width=1&height=1&depth=1&halfByte=1", "halfByte: got '1'"),
        ("x=0&y=0&z=0&width=1&height=1&depth=1&mappingName=a", "mappingName: mappings"),
    ],
)
def test_cutouts_that_are_wrong(
    tmp_path: Path, in_process: Callable[..., Any], query: str, expected: str
) -> None:
    make_dataset(tmp_path, "wkw lz4")
    answer = in_process(tmp_path).get(f"{layer_path('wkw lz4')}/data?{query}")
    assert answer.status == 400
    assert expected in answer.body.decode()


def test_what_is_not_served(tmp_path: Path, in_process: Callable[..., Any]) -> None:
    make_dataset(tmp_path, "wkw lz4")
    client = in_process(tmp_path)
    for path, expected in [
        ("/data/datasets/other/layers/grey/data", "there is no dataset 'other'"),
        ("/data/datasets/sample/layers/other/data", "no layer 'other'; it has grey"),
    ]:
        answer = client.post(path, [bucket(0, 0, 0)])
        assert answer.status == 404
        assert expected in answer.body.decode()
    text = client.post(f"{layer_path('wkw lz4')}/data", [bucket(0, 0, 0)], content_type="text/plain")
    assert text.status == 415
    assert client.get(f"{layer_path('wkw lz4')}/mag1/x0/y0/zz/bucket.raw").status == 404


def test_the_document_of_a_dataset(tmp_path: Path, in_process: Callable[..., Any]) -> None:
    make_dataset(tmp_path, "wkw lz4")
    client = in_process(tmp_path)
    answer = client.get("/data/v9/datasets/org/sample/datasource-properties.json")
    assert answer.status == 307
    place = answer.headers["location"].removeprefix("http://localhost")
    described = properties.parse(client.get(place).body.decode(), "answer")
    assert described.voxel_size == (4.0, 4.0, 8.0)
    assert described.layers[0].bounding_box == BOX
    assert client.get("/data/datasets/other/datasource-properties.json").status == 404


def test_histogram(tmp_path: Path, in_process: Callable[..., Any]) -> None:
    data = make_dataset(tmp_path, "array v3")
    answer = in_process(tmp_path).get(f"{layer_path('array')}/histogram")
    (found,) = answer.json()
    counts = np.bincount(data.ravel(), minlength=256)
    assert found == {
        "elementCounts": counts.tolist(),
        "numberOfElements": data.size,
        "min": 0,
        "max": 255,
    }


@pytest.mark.parametrize("form", ["wkw lz4", "ome 0.5"])
def test_histograms_are_of_the_coarsest_magnification_in_the_bounding_box(
    tmp_path: Path, in_process: Callable[..., Any], form: str
) -> None:
    data = coarse_of(make_dataset(tmp_path, form, "uint16"), form)
    (found,) = in_process(tmp_path).get(f"{layer_path(form)}/histogram").json()
    inside = data[(slice(None), *BOX.in_mag((2, 2, 1)).slices())] if form in DESCRIBED else data
    assert (found["min"], found["max"]) == (inside.min(), inside.max())
    assert sum(found["elementCounts"]) == found["numberOfElements"] == inside.size
    assert found["elementCounts"] == np.histogram(inside, 256)[0].tolist()


def test_histograms_of_colours_and_of_what_is_no_number(
    tmp_path: Path, in_process: Callable[..., Any]
) -> None:
    data = make_dataset(tmp_path / "rgb", "ome 0.5", channels=3)
    found = in_process(tmp_path / "rgb").get(f"{layer_path('ome')}/histogram").json()
    assert len(found) == len(data) == 3
    values = np.full((8, 8, 8), np.nan, "float32")
    values[0, 0, :3] = (1.5, -2.5, np.inf)
    fastzarr.create_array(tmp_path / "f/sample", data=values)
    (of_floats,) = in_process(tmp_path / "f").get(f"{layer_path('array')}/histogram").json()
    assert (of_floats["numberOfElements"], of_floats["min"], of_floats["max"]) == (2, -2.5, 1.5)


def test_a_place_with_data(tmp_path: Path, in_process: Callable[..., Any]) -> None:
    values = np.zeros((64, 64, 64), "uint16")
    fastzarr.create_array(tmp_path / "sample", data=values, chunks=(32, 32, 32))
    client = in_process(tmp_path, cache_bytes=0)
    path = f"{layer_path('array')}/findData"
    assert client.get(path).json() == {"position": None, "mag": None, "resolution": None}
    fastzarr.open_array(tmp_path / "sample")[50, 40, 3] = 7
    assert client.get(path).json() == {"position": [3, 40, 50], "mag": [1, 1, 1], "resolution": [1, 1, 1]}


@pytest.mark.parametrize(
    ("values", "dtype"),
    [
        ((2**60, 2**60 + 1), "uint64"),
        ((-(2**63), 2**63 - 1), "int64"),
        ((2**64 - 1, 2**64 - 1), "uint64"),
        ((-1.7e308, 1.7e308), "float64"),
        ((3e38, 3e38), "float32"),
        ((1e17, 1e17 + 16), "float64"),
    ],
)
def test_histograms_at_the_ends_of_a_data_type(
    tmp_path: Path, in_process: Callable[..., Any], values: tuple[Any, Any], dtype: str
) -> None:
    data = np.full((8, 8, 8), values[0], dtype)
    data[:2] = values[1]
    fastzarr.create_array(tmp_path / "sample", data=data)
    (found,) = in_process(tmp_path).get("/data/datasets/sample/layers/sample/histogram").json()
    counts = found["elementCounts"]
    assert (found["min"], found["max"], sum(counts)) == (data.min(), data.max(), data.size)
    expected = [data.size] if values[0] == values[1] else [data.size * 3 // 4, data.size // 4]
    assert [count for count in counts if count] == expected


def test_chunks_that_are_decoded_count_as_memory_under_way(
    tmp_path: Path, in_process: Callable[..., Any]
) -> None:
    array = fastzarr.create_array(tmp_path / "a", shape=(64, 64, 64), chunks=(64, 64, 64), dtype="uint8")
    array[...] = 5
    asked = [bucket(0, 0, 0), bucket(32, 32, 32)]
    small = in_process(tmp_path, max_bytes_in_flight=64**3 - 1)
    for answer in (
        small.post("/data/datasets/a/layers/a/data", asked),
        small.get("/data/datasets/a/layers/a/data?x=1&y=0&z=0&width=4&height=4&depth=4&mag=1-1-1"),
        small.get("/data/zarr3_experimental/a/a/1/0.0.0.0"),
        small.get("/data/datasets/a/layers/a/histogram"),
    ):
        assert answer.status == 500
        expected = "a decoded chunk has 262144 bytes, and all that is under way may have 262143"
        assert expected in answer.body.decode()
        assert "larger --max-in-flight" in answer.body.decode()
    less = in_process(tmp_path, max_bytes_in_flight=64**3 + 32**3)
    answer = less.post("/data/datasets/a/layers/a/data", asked)
    expected = "the answer would have 65536 bytes, and 262144 are needed beside it while it is made"
    assert (answer.status, expected in answer.body.decode()) == (400, True)
    assert less.post("/data/datasets/a/layers/a/data", asked[:1]).status == 200
    less.app.budget.taken = 1 << 16
    busy = less.post("/data/datasets/a/layers/a/data", asked[1:])
    assert (busy.status, less.app.budget.taken) == (200, 1 << 16)  # the chunk's other buckets were kept
    busy = in_process(tmp_path, max_bytes_in_flight=64**3 + 2 * 32**3)
    busy.app.budget.taken = 1 << 15
    answer = busy.post("/data/datasets/a/layers/a/data", asked)
    assert (answer.status, answer.headers["retry-after"]) == (503, "1")
    enough = in_process(tmp_path, max_bytes_in_flight=64**3 + 2 * 32**3)
    assert enough.post("/data/datasets/a/layers/a/data", asked).body == b"\5" * (2 * 32**3)
    assert enough.app.budget.taken == 0


@pytest.mark.parametrize("form", ["wkw lz4", "array v3"])
def test_a_chunk_that_is_a_link_out_is_a_failure(
    tmp_path: Path, in_process: Callable[..., Any], form: str
) -> None:
    root = tmp_path / "root"
    make_dataset(root, form)
    client = in_process(root)
    layer = next(iter(client.site.catalogue.datasets["sample"].layers.values()))
    chunk = next(path for path in map(Path, layer.finest.paths((1, 1, 0)) or ()) if path.exists())
    chunk.rename(tmp_path / "elsewhere")
    chunk.symlink_to(tmp_path / "elsewhere")
    answer = client.post(f"{layer_path(form)}/data", [bucket(32, 32, 0)])
    assert answer.status == 500
    assert "a link leads out of the dataset" in answer.body.decode()
    assert "elsewhere" not in answer.body.decode()
