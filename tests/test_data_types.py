"""Data types beyond numbers: documents, bits and fill values, against zarr-python and TensorStore."""

import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorstore as ts
import zarr
from hypothesis import given, settings
from hypothesis import strategies as st
from oracle import (
    BYTES,
    SAMPLES,
    TEXTS,
    assert_same,
    bits,
    chunk_files,
    documents,
    files,
    read_by_tensorstore,
    read_by_zarr,
    v3_document,
    written_by_fastzarr,
    written_by_zarr,
)
from zarr.storage import LocalStore

import fastzarr
from fastzarr import data_types
from fastzarr.errors import MetadataError
from fastzarr.testing import strategies

FORMATS = pytest.mark.parametrize("zarr_format", [2, 3])
STABLE_STRUCT = not zarr.__version__.startswith(("3.1.", "3.2."))
"""Whether zarr-python writes records as `struct`, with fill values by field."""
VARIABLE = {"string": TEXTS, "bytes": BYTES}
NAT = np.datetime64("NaT", "s")


def known_to_zarr(name: str, zarr_format: int) -> bool:
    return zarr_format == 2 or "record" not in name or STABLE_STRUCT


NAMES = [*SAMPLES, *VARIABLE]
each_sample = pytest.mark.parametrize("name", NAMES)
each_sample_of_v3 = pytest.mark.parametrize("name", [name for name in NAMES if known_to_zarr(name, 3)])
"""Older releases write 'structured' for records; what newer ones write is among the fixtures."""


def sample(name: str) -> tuple[Any, dict[str, Any]]:
    """Elements, and what tells a library of their data type and missing chunks."""
    data = (SAMPLES | VARIABLE)[name]
    dtype = {"string": "string", "bytes": "variable_length_bytes"}.get(name, data.dtype)
    return data, {"shape": data.shape, "dtype": dtype}


def given_of(name: str, zarr_format: int) -> Any:
    """What zarr-python takes as the dtype; it has a name for bytes in v3 only."""
    if name == "bytes":
        from zarr.core.dtype import VariableLengthBytes

        return VariableLengthBytes()
    return sample(name)[1]["dtype"]


@pytest.mark.parametrize(
    ("name", "zarr_format"),
    [(name, zarr_format) for name in NAMES for zarr_format in (2, 3) if known_to_zarr(name, zarr_format)],
)
def test_documents_are_those_of_zarr_python(name: str, zarr_format: int) -> None:
    data, arguments = sample(name)
    arguments = arguments | {"dtype": given_of(name, zarr_format), "zarr_format": zarr_format}
    if "record" in name:
        # Its default for records has the text "0" in text fields.
        arguments["fill_value"] = data[0, 0] if zarr_format == 2 else data.astype(data.dtype)[0, 0]

    def call(library: Any, store: Any) -> None:
        library.create_array(store, **arguments)

    assert documents(written_by_fastzarr(call)) == documents(written_by_zarr(call))


@each_sample_of_v3
def test_documents_of_shards_are_those_of_zarr_python(name: str) -> None:
    data, arguments = sample(name)
    arguments = arguments | {"shape": (8, 8), "chunks": (2, 2), "shards": (4, 4)}
    if "record" in name:
        arguments["fill_value"] = data.astype(data.dtype)[0, 0]

    def call(library: Any, store: Any) -> None:
        library.create_array(store, **arguments)

    assert documents(written_by_fastzarr(call)) == documents(written_by_zarr(call))


@pytest.mark.parametrize("compressor", [None, {"id": "zlib", "level": 1}], ids=["plain", "zlib"])
@pytest.mark.parametrize("order", ["C", "F"])
@each_sample
def test_v2_elements_and_stored_bytes(name: str, order: Any, compressor: Any, tmp_path: Path) -> None:
    data, arguments = sample(name)
    arguments = arguments | {"zarr_format": 2, "order": order, "compressors": compressor}
    both_ways(name, data, arguments, tmp_path)


@pytest.mark.parametrize("endian", ["little", "big"])
@each_sample_of_v3
def test_v3_elements_and_stored_bytes(name: str, endian: str, tmp_path: Path) -> None:
    data, arguments = sample(name)
    arguments = arguments | {"zarr_format": 3, "compressors": None}
    if name not in VARIABLE:
        arguments["serializer"] = {"name": "bytes", "configuration": {"endian": endian}}
    both_ways(name, data, arguments, tmp_path)


def both_ways(name: str, data: Any, arguments: dict[str, Any], tmp_path: Path) -> None:
    arguments = arguments | {"chunks": (1, 2), "config": {"write_empty_chunks": True}}
    if "record" in name:
        arguments["fill_value"] = data[0, 0]
    fastzarr.create_array(tmp_path / "ours", **arguments)[...] = data
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        given = arguments | {"dtype": given_of(name, arguments["zarr_format"])}
        zarr.create_array(LocalStore(tmp_path / "theirs"), **given)[...] = data
    if arguments["compressors"] is None:
        assert chunk_files(files(tmp_path / "ours")) == chunk_files(files(tmp_path / "theirs"))
    if name != "nested record" or arguments["zarr_format"] == 3:  # it can't read those that it wrote in v2
        assert_same(read_by_zarr(tmp_path / "ours"), data)
    for root in ("ours", "theirs"):
        array = fastzarr.open_array(tmp_path / root)
        assert_same(array[...], data)
        assert_same(array[1:, 1:], data[1:, 1:])
        assert_same(array.fill_value, fastzarr.open_array(tmp_path / "ours").fill_value)


@each_sample
def test_partial_writes_keep_the_other_elements(name: str) -> None:
    data, arguments = sample(name)
    for zarr_format in (2, 3):
        array = fastzarr.create_array(None, **arguments, chunks=(4, 3), zarr_format=zarr_format)
        array[0, 1:] = data[0, 1:]
        expected = np.full(data.shape, array.fill_value, array.dtype)
        expected[0, 1:] = data[0, 1:]
        assert_same(array[...], expected)
        array[0, 0] = data[0, 0]
        assert_same(array[0], data[0])


def test_a_record_in_v3_has_the_document_of_its_specification() -> None:
    dtype = np.dtype([("x", ">f4"), ("n", [("t", "M8[s]"), ("s", "S2")])], align=False)
    objects: dict[str, bytes] = {}
    fastzarr.create_array(objects, shape=1, dtype=dtype, fill_value=(np.nan, ("NaT", b"ab")))
    document = json.loads(objects["zarr.json"])
    time = {"name": "numpy.datetime64", "configuration": {"unit": "s", "scale_factor": 1}}
    text = {"name": "null_terminated_bytes", "configuration": {"length_bytes": 2}}
    inner = [{"name": "t", "data_type": time}, {"name": "s", "data_type": text}]
    assert document["data_type"]["configuration"]["fields"] == [
        {"name": "x", "data_type": "float32"},
        {"name": "n", "data_type": {"name": "struct", "configuration": {"fields": inner}}},
    ]
    assert document["fill_value"] == {"x": "NaN", "n": {"t": -(2**63), "s": "YWI="}}
    assert document["codecs"][0] == {"name": "bytes", "configuration": {"endian": "little"}}


@pytest.mark.parametrize("zarr_format", [2, 3])
def test_gaps_and_order_in_memory_of_a_record_are_not_stored(zarr_format: int) -> None:
    packed = np.dtype([("a", "<i4"), ("b", "u1")])
    gaps = np.dtype({"names": ["a", "b"], "formats": ["<i4", "u1"], "offsets": [4, 0], "itemsize": 12})
    data = np.array([(1, 2), (3, 4)], gaps)
    objects: dict[str, bytes] = {}
    array = fastzarr.create_array(objects, data=data, compressors=None, zarr_format=zarr_format)
    assert array.dtype == packed
    assert objects["0" if zarr_format == 2 else "c/0"] == data.astype(packed).tobytes()


def test_subarrays_in_records_are_v2_only() -> None:
    dtype = np.dtype([("m", ">i2", (2, 3)), ("b", "u1")])
    data = np.array([([[1, 2, 3], [4, 5, 6]], 7), ([[0, -1, 0], [0, 0, 0]], 0)], dtype)
    objects: dict[str, bytes] = {}
    fastzarr.create_array(objects, data=data, zarr_format=2, compressors=None)
    assert json.loads(objects[".zarray"])["dtype"] == [["m", ">i2", [2, 3]], ["b", "|u1"]]
    assert objects["0"] == data.tobytes()
    assert_same(fastzarr.open_array(objects)[...], data)
    with pytest.raises(
        MetadataError, match=r"subarrays in fields \['m'\], which v3 can't say; use zarr_form"
    ):
        fastzarr.create_array(None, data=data)


# Through ml_dtypes; TensorStore is the oracle, since zarr-python has none of them.
ML_NAMES = ("bfloat16", "float8_e3m4", "float8_e4m3fn", "float8_e5m2", "float4_e2m1fn", "int2", "int4")


@FORMATS
@pytest.mark.parametrize("name", ML_NAMES)
def test_small_numbers_against_tensorstore(name: str, zarr_format: int, tmp_path: Path) -> None:
    pytest.importorskip("ml_dtypes")
    data = np.array([[0, 1, -1], [1, 0, -2]], np.float32).astype(data_types.from_numpy(name).dtype)
    arguments: dict[str, Any] = {"shape": (2, 3), "chunks": (2, 2), "dtype": name, "zarr_format": zarr_format}
    if name == "float4_e2m1fn" and zarr_format == 2:
        arguments["fill_value"] = None  # TensorStore reads base64 only
    fastzarr.create_array(tmp_path / "ours", **arguments, compressors=None)[...] = data
    driver = "zarr" if zarr_format == 2 else "zarr3"
    spec = {
        "driver": driver,
        "kvstore": {"driver": "file", "path": f"{tmp_path / 'theirs'}/"},
        "create": True,
    }
    layout = ts.ChunkLayout(chunk_shape=(2, 2))
    theirs = ts.open(spec, dtype=ts.dtype(data.dtype), shape=(2, 3), chunk_layout=layout).result()
    theirs.write(data).result()
    assert bits(read_by_tensorstore(tmp_path / "ours")) == bits(data)
    found = fastzarr.open_array(tmp_path / "theirs")
    assert found.dtype == data.dtype
    assert bits(found[...]) == bits(data)


@pytest.mark.parametrize(
    ("name", "fill", "stored"),
    [
        *[
            ("bfloat16", fill, stored)
            for fill, stored in [
                (1.5, 1.5),
                ("NaN", "NaN"),
                ("0x7fc1", "0x7fc1"),
                (np.inf, "Infinity"),
                (3, 3.0),
            ]
        ],
        *[("int4", -8, -8), ("int4", np.int64(7), 7), ("uint2", 3, 3), ("int2", 1.0, 1)],
        *[
            ("float8_e5m2", "-Infinity", "-Infinity"),
            ("float8_e4m3fn", "NaN", "NaN"),
            ("float8_e5m2", -0.0, -0.0),
        ],
    ],
)
def test_fill_values_of_small_numbers(name: str, fill: Any, stored: Any) -> None:
    pytest.importorskip("ml_dtypes")
    objects: dict[str, bytes] = {}
    array = fastzarr.create_array(objects, shape=3, dtype=name, fill_value=fill)
    document = json.loads(objects["zarr.json"])
    assert repr(document["fill_value"]) == repr(stored)
    reopened = fastzarr.open_array(objects, mode="r+")
    assert bits(reopened.fill_value) == bits(array.fill_value)
    reopened[...] = reopened[...]
    assert objects.keys() == {"zarr.json"}


@pytest.mark.parametrize(
    ("name", "fill"),
    [
        ("int4", 8),
        ("int4", 1.5),
        ("int4", "1"),
        ("int4", True),
        ("uint2", -1),
        ("bfloat16", "0x7f"),
        ("bfloat16", "x"),
        ("float4_e2m1fn", "NaN"),
    ],
)
def test_fill_values_that_small_numbers_cannot_hold(name: str, fill: Any) -> None:
    pytest.importorskip("ml_dtypes")
    with pytest.raises(MetadataError, match=f"fill_value: got .*{name}"):
        fastzarr.create_array(None, shape=3, dtype=name, fill_value=fill)


def test_small_numbers_of_two_bytes_in_both_orders(tmp_path: Path) -> None:
    pytest.importorskip("ml_dtypes")
    data = np.arange(6).reshape(2, 3).astype(data_types.from_numpy("bfloat16").dtype)
    for endian, order in (("little", "<"), ("big", ">")):
        root = tmp_path / endian
        serializer = {"name": "bytes", "configuration": {"endian": endian}}
        fastzarr.create_array(root, data=data, compressors=None, serializer=serializer, chunks=(2, 3))
        assert (root / "c/0/0").read_bytes() == data.view("u2").astype(f"{order}u2").tobytes()
        assert bits(fastzarr.open_array(root)[...]) == bits(read_by_tensorstore(root)) == bits(data)


def test_without_ml_dtypes_the_error_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "ml_dtypes", None)
    with pytest.raises(
        MetadataError, match=r"'bfloat16' needs the package ml_dtypes .*fastzarr\[ml-dtypes\]"
    ):
        fastzarr.open_array(v3_document("bfloat16", 0))


RECORD_OF_ALL = [("a", "<i2"), ("b", ">f4"), ("n", [("t", "<M8[s]"), ("s", "S3"), ("u", ">U1")]), ("v", "V3")]
ANY_BITS = ("M8[ns]", ">m8[10us]", "S3", "V3", "V8", "V16", RECORD_OF_ALL)


@settings(max_examples=150)
@given(st.data())
def test_what_is_written_is_read_bit_by_bit(data: st.DataObject) -> None:
    """Any bits, in chunks and shards of any shape, whole and in part, with any fill value."""
    dtype = np.dtype(data.draw(st.sampled_from(ANY_BITS)))
    shape = data.draw(strategies.shapes(max_dims=2, max_side=6))
    draw_elements = lambda shape: data.draw(strategies.arrays(dtype, shape).map(sensible))  # noqa: E731
    zarr_format = data.draw(st.sampled_from([2, 3]))
    grid = strategies.chunk_grids(shape) if zarr_format == 3 else strategies.chunk_shapes(shape)
    chunks = data.draw(grid)
    fill = draw_elements(())[()]
    objects: dict[str, bytes] = {}
    array = fastzarr.create_array(
        objects,
        shape=shape,
        dtype=dtype,
        fill_value=fill,
        zarr_format=zarr_format,
        **(chunks if isinstance(chunks, dict) else {"chunks": chunks}),
    )
    expected = np.full(shape, fill, dtype)
    for _ in range(3):
        selection = data.draw(strategies.selections(shape))
        elements = draw_elements(expected[selection].shape)
        expected[selection] = elements
        array[selection] = elements
        assert_same(whole(objects), expected.astype(array.dtype))
    array[...] = fill
    assert not chunk_files(objects)
    assert_same(whole(objects), np.full(shape, fill, array.dtype))


def whole(objects: dict[str, bytes]) -> Any:
    """All elements, with the dtype that a scalar of bytes has lost."""
    array = fastzarr.open_array(objects)
    return np.asarray(array[...], array.dtype)


def sensible(elements: Any) -> Any:
    """Elements whose texts are code points, and byte strings as NumPy gives them back."""
    if elements.dtype.names:
        elements["n"]["u"] = "é"
    return elements


def time_json(kind: str, unit: str, scale_factor: int) -> dict[str, Any]:
    return {"name": f"numpy.{kind}64", "configuration": {"unit": unit, "scale_factor": scale_factor}}


def length_json(name: str, length: int) -> dict[str, Any]:
    return {"name": name, "configuration": {"length_bytes": length}}


POINT = [
    {"name": "x", "data_type": "int16"},
    {"name": "s", "data_type": length_json("null_terminated_bytes", 2)},
]
NAT_BYTES = b"\0" * 7 + b"\x80"
GOLDEN: list[tuple[int, Any, Any, Any, Any, bytes]] = [
    (2, ">M8[10s]", [1, "NaT"], ">M8[10s]", -(2**63), b"\0" * 7 + b"\1" + NAT_BYTES[::-1]),
    (3, ">M8[10s]", [1, "NaT"], time_json("datetime", "s", 10), -(2**63), b"\1" + b"\0" * 7 + NAT_BYTES),
    (3, "m8[us]", [-1, "NaT"], time_json("timedelta", "us", 1), -(2**63), b"\xff" * 8 + NAT_BYTES),
    (2, ">U1", ["é", "𐍈"], ">U1", "", b"\0\0\0\xe9\0\1\x03\x48"),
    (3, ">U1", ["é", "𐍈"], length_json("fixed_length_utf32", 4), "", b"\xe9\0\0\0\x48\x03\1\0"),
    (2, "S2", [b"a", b"bc"], "|S2", "", b"a\0bc"),
    (3, "S2", [b"a", b"bc"], length_json("null_terminated_bytes", 2), "", b"a\0bc"),
    (2, "V2", [b"ab", b"\0c"], "|V2", "AAA=", b"ab\0c"),
    (3, "V2", [b"ab", b"\0c"], length_json("raw_bytes", 2), "AAA=", b"ab\0c"),
    (3, "r16", [b"ab", b"\0c"], "r16", [0, 0], b"ab\0c"),
    (2, "string", ["a", "é"], "|O", "", b"\2\0\0\0\1\0\0\0a\2\0\0\0\xc3\xa9"),
    (3, "string", ["a", "é"], "string", "", b"\2\0\0\0\1\0\0\0a\2\0\0\0\xc3\xa9"),
    (3, "bytes", [b"\xff", b""], "variable_length_bytes", "", b"\2\0\0\0\1\0\0\0\xff\0\0\0\0"),
    (
        2,
        [("x", ">i2"), ("s", "S2")],
        [(1, b"a"), (-2, b"")],
        [["x", ">i2"], ["s", "|S2"]],
        "AAAAAA==",
        b"\0\1a\0\xff\xfe\0\0",
    ),
    (
        3,
        [("x", ">i2"), ("s", "S2")],
        [(1, b"a"), (-2, b"")],
        {"name": "struct", "configuration": {"fields": POINT}},
        {"x": 0, "s": ""},
        b"\1\0a\0\xfe\xff\0\0",
    ),
]
"""Format, dtype, elements; data type and fill value of the document, and the stored bytes."""


@pytest.mark.parametrize(("zarr_format", "dtype", "elements", "data_type", "fill", "stored"), GOLDEN, ids=str)
def test_golden_documents_and_bytes(
    zarr_format: int, dtype: Any, elements: Any, data_type: Any, fill: Any, stored: bytes
) -> None:
    objects: dict[str, bytes] = {}
    array = fastzarr.create_array(
        objects, shape=2, dtype=dtype, zarr_format=zarr_format, compressors=None, chunks=2
    )
    array[...] = np.array(elements, array.dtype)
    document = json.loads(objects["zarr.json" if zarr_format == 3 else ".zarray"])
    assert document["data_type" if zarr_format == 3 else "dtype"] == data_type
    assert document["fill_value"] == fill
    assert objects["c/0" if zarr_format == 3 else "0"] == stored
    assert_same(fastzarr.open_array(objects)[...], np.array(elements, array.dtype))


def test_records_of_v2_against_tensorstore(tmp_path: Path) -> None:
    """Field by field, which is how TensorStore has them; raw bytes too."""
    data = np.array([(1, 2.5, [1, 2]), (-3, -0.0, [3, 4])], [("a", ">i4"), ("b", "<f4"), ("m", "<u2", (2,))])
    fastzarr.create_array(tmp_path, data=data, zarr_format=2)
    for name in data.dtype.names or ():
        spec = {"driver": "zarr", "kvstore": {"driver": "file", "path": f"{tmp_path}/"}, "field": name}
        assert_same(np.asarray(ts.open(spec).result().read().result()), data[name])
