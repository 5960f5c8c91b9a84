"""What data types and their fill values may be given as, and how documents say them."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import zarr
from oracle import (
    assert_same,
    chunk_files,
    documents,
    files,
    read_by_zarr,
    v3_document,
    written_by_fastzarr,
    written_by_zarr,
)

import fastzarr
from fastzarr import data_types
from fastzarr.errors import MetadataError

FORMATS = pytest.mark.parametrize("zarr_format", [2, 3])
NAT = np.datetime64("NaT", "s")


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
