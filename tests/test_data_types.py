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
    documents,
    files,
    read_by_tensorstore,
    read_by_zarr,
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


def chunk_files(objects: dict[str, bytes]) -> dict[str, bytes]:
    return {key: data for key, data in objects.items() if not Path(key).name.startswith((".z", "zarr."))}


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


V2_NULL_READS_AS: dict[str, Any] = {"<i4": 0, "|b1": False, "<f2": 0, "<c8": 0, "<U3": "", "|S3": b""}
V2_NULL_READS_AS |= {"|V3": b"\0\0\0", "<M8[s]": "NaT", "<m8[ns]": "NaT"}


# zarr-python reads missing chunks of null the same
@pytest.mark.parametrize("dtype", V2_NULL_READS_AS)
def test_null_reads_as_the_default_of_the_data_type(dtype: str) -> None:
    document = {"zarr_format": 2, "shape": [2], "chunks": [2], "dtype": dtype, "fill_value": None}
    document |= {"order": "C", "filters": None, "compressor": None}
    array = fastzarr.open_array({".zarray": json.dumps(document).encode()})
    assert array.fill_value is None
    assert_same(array[...], np.full(2, V2_NULL_READS_AS[dtype], dtype))


FILLS: dict[str, list[Any]] = {
    "M8[s]": [NAT, "NaT", "2026-01-02", 5, -1, -(2**63), np.datetime64("2026", "Y"), None],
    "m8[10us]": [np.timedelta64("NaT", "us"), "NaT", 5, np.timedelta64(1, "ms"), None],
    "U3": ["", "a", "é𐍈x", None, np.str_("b")],
    "S3": [b"", b"a", b"\xff\xfe\xfd", b"a\0b", "ab", None, np.bytes_(b"x")],
    "V3": [b"abc", np.void(b"abc"), None],
    "string": ["", "a", "é𐍈" * 9, None, np.str_("b")],
}


@FORMATS
@pytest.mark.parametrize(("dtype", "fill"), [(d, f) for d, fills in FILLS.items() for f in fills], ids=repr)
def test_fill_values_given(dtype: str, fill: Any, zarr_format: int, tmp_path: Path) -> None:
    def call(library: Any, store: Any) -> None:
        library.create_array(store, shape=2, dtype=dtype, fill_value=fill, zarr_format=zarr_format)

    ours = written_by_fastzarr(call)
    assert documents(ours) == documents(written_by_zarr(call))
    for key, data in ours.items():
        (tmp_path / key).write_bytes(data)
    array = fastzarr.open_array(tmp_path, mode="r+")
    assert_same(array[...], read_by_zarr(tmp_path))
    array[...] = array[...]
    assert (fill is None and zarr_format == 2) == bool(chunk_files(files(tmp_path)))


@pytest.mark.parametrize(
    ("dtype", "fill", "text"),
    [
        ("M8[s]", 1.5, "expected an integer of 64 bits or"),
        ("M8[s]", 2**63, "expected an integer of 64 bits or"),
        ("M8[s]", True, "expected an integer"),
        ("M8[s]", "yesterday", r"expected a value of data type datetime64\[s\]"),
        ("M8[D]", np.datetime64(1, "s"), r"expected a value of data type datetime64\[D\]"),
        ("M8[s]", np.timedelta64(1, "s"), "expected"),
        ("U3", "abcd", "expected a text of 3 characters at the most"),
        ("U3", 5, "expected a text of 3 characters"),
        ("S3", b"abcd", "expected 3 bytes at the most"),
        ("S3", "é", "expected bytes, or a text of ASCII characters"),
        ("V3", b"abcd", "expected 3 bytes at the most"),
        ("V3", 5, "expected base64 or a list of 3 bytes"),
        ("string", 5, "expected a text"),
        ("string", b"a", "expected a text"),
        ("bytes", 5, "expected bytes"),
        ([("a", "i1")], (1, 2), "expected 1 values, one for each field"),
        ([("a", "i1")], {"b": 1}, r"a value for each of the fields \['a'\]"),
        ([("a", "i1")], (300,), "field 'a': got 300, expected"),
        ([("a", "i1")], b"ab", "expected an object with members"),
    ],
)
def test_fill_values_that_do_not_fit_are_refused(dtype: Any, fill: Any, text: str) -> None:
    for zarr_format in (2, 3):
        with pytest.raises(MetadataError, match=f"fill_value: .*{text}"):
            fastzarr.create_array(None, shape=2, dtype=dtype, fill_value=fill, zarr_format=zarr_format)


RECORD = [["a", "<i2"], ["b", "|S2"]]
ZERO, ONE = (0, b""), (1, b"xy")
V3_RECORD = {"name": "structured", "configuration": {"fields": [["a", "int16"], ["b", "STRING"]]}}
V3_RECORD["configuration"]["fields"][1][1] = {
    "name": "null_terminated_bytes",
    "configuration": {"length_bytes": 2},
}  # type: ignore[index]
"""As zarr-python before 3.3 wrote it."""


@pytest.mark.parametrize(
    ("dtype", "fill", "element"),
    [
        *[
            ("|S4", "WA==", b"X"),
            ("|S4", "", b""),
            ("|S4", 0, b""),
            ("|S4", [88], b"X"),
            ("|S1", "\0", b""),
            ("<c8", 0, 0),
            (">c16", 1.5, 1.5),
            ("|S4", "WAAAAA==", b"X"),
        ],
        *[
            ("<U2", 0, ""),
            ("<U2", "a\0", "a"),
            ("|V2", 0, b"\0\0"),
            ("|V2", "", b"\0\0"),
            ("|V2", [1, 2], b"\1\2"),
        ],
        *[(RECORD, 0, ZERO), (RECORD, "AQB4eQ==", ONE), (RECORD, [1, "eHk="], ONE)],
        *[("<M8[s]", 0, 0), ("<M8[s]", "NaT", "NaT"), ("<M8[s]", -(2**63), "NaT"), ("<M8[s]", 3.0, 3)],
    ],
    ids=repr,
)
def test_forms_of_fill_values_in_v2_documents(dtype: Any, fill: Any, element: Any) -> None:
    document = {"zarr_format": 2, "shape": [2], "chunks": [2], "dtype": dtype, "fill_value": fill}
    document |= {"order": "C", "filters": None, "compressor": None}
    array = fastzarr.open_array({".zarray": json.dumps(document).encode()})
    assert_same(array[...], np.array([element] * 2, array.dtype))


def v3_document(data_type: Any, fill_value: Any) -> dict[str, bytes]:
    serializer = {"string": "vlen-utf8", "bytes": "vlen-bytes"}.get(
        data_type if isinstance(data_type, str) else ""
    )
    codec = {"name": serializer} if serializer else {"name": "bytes", "configuration": {"endian": "little"}}
    document = {"zarr_format": 3, "node_type": "array", "shape": [2], "data_type": data_type}
    document |= {"chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [2]}}}
    document |= {"chunk_key_encoding": "default", "fill_value": fill_value, "codecs": [codec]}
    return {"zarr.json": json.dumps(document).encode()}


@pytest.mark.parametrize(
    ("data_type", "fill", "element"),
    [
        *[("r16", [1, 255], b"\1\xff"), ("r16", "Af8=", b"\1\xff")],
        *[
            ({"name": "raw_bytes", "configuration": {"length_bytes": 2}}, value, b"\1\xff")
            for value in ("Af8=", [1, 255])
        ],
        *[
            ("string", "é", "é"),
            ("bytes", "Af8=", b"\1\xff"),
            ("bytes", [1, 255], b"\1\xff"),
            ("bytes", [], b""),
        ],
        *[(V3_RECORD, "AQB4eQ==", ONE), (V3_RECORD, {"a": 1, "b": "eHk="}, ONE)],
        *[({"name": "int16"}, 5, 5), ({"name": "int16", "configuration": {}}, 5, 5)],
        ("complex_float32", [1, 2], 1 + 2j),
    ],
    ids=repr,
)
def test_forms_of_data_types_and_fill_values_in_v3_documents(data_type: Any, fill: Any, element: Any) -> None:
    array = fastzarr.open_array(v3_document(data_type, fill))
    assert_same(array[...], np.array([element] * 2, array.dtype))


@pytest.mark.parametrize(
    ("data_type", "text"),
    [
        *[
            ("r12", "expected one of bool"),
            ("r0", "expected one of"),
            ("numpy.datetime64", "got None, expected unit"),
        ],
        *[
            ({"name": "fixed_length_utf32", "configuration": {"length_bytes": n}}, "a multiple of 4")
            for n in (0, 6, "4", True)
        ],
        *[({"name": "raw_bytes", "configuration": c}, "a length_bytes of 1 or more") for c in ({}, None, [])],
        *[
            ({"name": "numpy.datetime64", "configuration": {"unit": u, "scale_factor": s}}, "expected unit")
            for u, s in [("x", 1), ("s", 0), ("s", 2**31), ("generic", 2), (None, 1)]
        ],
        *[
            ({"name": "struct", "configuration": {"fields": f}}, text)
            for f, text in [
                ([], "at least one"),
                (None, "expected a list of fields"),
                ([["a"]], "expected an object with name and data_type"),
                ([["a", "string"]], "field 'a': got string, expected a data type of a fixed size"),
                ([["a", "int8"], ["a", "int8"]], "field 'a' is there twice"),
                ([["", "int8"]], "expected a text that is not empty"),
                ([["a", "nonsense"]], "got 'nonsense', expected one of bool"),
            ]
        ],
        *[
            ({"name": "int8", "configuration": {"x": 1}}, "expected one of"),
            ({"name": "int8", "extra": 1}, "expected one of"),
        ],
        *[(None, "expected one of"), ([], "expected one of"), ({"name": 1}, "expected one of")],
    ],
    ids=repr,
)
def test_data_types_that_no_specification_has_are_refused(data_type: Any, text: str) -> None:
    with pytest.raises(MetadataError, match=text):
        fastzarr.open_array(v3_document(data_type, 0))


@pytest.mark.parametrize(
    ("given", "dtype"),
    [
        *[
            (given, np.dtypes.StringDType())
            for given in (str, "str", "string", "T", np.dtypes.StringDType(), np.dtypes.StringDType)
        ],
        *[(given, np.dtype(object)) for given in (bytes, "bytes", "variable_length_bytes")],
        *[
            ("U5", "U5"),
            ("S5", "S5"),
            ("V5", "V5"),
            (np.dtype("V5"), "V5"),
            ("r16", "V2"),
            ("datetime64[s]", "M8[s]"),
        ],
        *[([("a", "i4"), ("b", ">f8")], [("a", "i4"), ("b", ">f8")]), ([["a", "i4"]], [("a", "i4")])],
        *[
            ([["n", [["x", "i1"]]]], [("n", [("x", "i1")])]),
            (int, "i8"),
            (float, "f8"),
            (complex, "c16"),
            (bool, "?"),
        ],
        ({"name": "numpy.datetime64", "configuration": {"unit": "s", "scale_factor": 10}}, "M8[10s]"),
        *[
            (zarr.dtype.DateTime64(unit="ns"), "M8[ns]"),
            (zarr.dtype.Int8(), "i1"),
            (zarr.dtype.VariableLengthBytes(), object),
        ],
        (data_types.from_numpy("i4"), "i4"),
    ],
    ids=repr,
)
def test_what_is_taken_as_a_dtype(given: Any, dtype: Any) -> None:
    assert data_types.from_numpy(given).dtype == dtype


@pytest.mark.parametrize(
    ("given", "text"),
    [
        *[
            (given, "give dtype='string' for text or 'bytes' for byte strings")
            for given in (object, "O", np.dtype(object))
        ],
        *[(given, "expected a length of 1 or more") for given in ("U", "S", "V", np.str_, np.bytes_, "U0")],
        *[
            ("nonsense", "not understood; expected a NumPy dtype or one of bool"),
            ("longdouble", "expected one of bool"),
        ],
        (np.dtypes.StringDType(na_object=None), "without na_object"),
        *[([("a", object)], "an object dtype"), ([("a", np.dtypes.StringDType())], None)],
        *[({"name": "x"}, "expected one of"), (3, None)],
    ],
    ids=repr,
)
def test_what_is_refused_as_a_dtype(given: Any, text: str) -> None:
    with pytest.raises(MetadataError, match=text):
        fastzarr.create_array(None, shape=1, dtype=given)


def test_the_bytes_codec_refuses_what_has_no_fixed_size() -> None:
    for dtype in ("string", "bytes"):
        with pytest.raises(MetadataError, match=r"codec 'bytes': .*take 'vlen-utf8' or 'vlen-bytes'"):
            fastzarr.create_array(None, shape=1, dtype=dtype, serializer={"name": "bytes"})


def test_names_are_found_again() -> None:
    configurations = {
        **{name: {"unit": "s", "scale_factor": 1} for name in ("numpy.datetime64", "numpy.timedelta64")},
        **{
            name: {"length_bytes": 4} for name in ("raw_bytes", "null_terminated_bytes", "fixed_length_utf32")
        },
        **{name: {"fields": [["a", "int8"]]} for name in ("struct", "structured")},
    }
    for name in data_types.names():
        configuration = configurations.get(name)
        given = {"name": name, "configuration": configuration} if configuration else name.replace("*", "8")
        found = data_types.from_json(given)
        assert data_types.from_json(found.to_json(3)) == found


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
