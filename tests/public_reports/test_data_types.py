"""Fill values, byte orders, records, texts: as reported elsewhere."""

import base64
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from oracle import BYTES, TEXTS, assert_same, bits, read_by_tensorstore, read_by_zarr

import fastzarr
from fastzarr.errors import MetadataError

FORMATS = pytest.mark.parametrize("zarr_format", [2, 3])
INF = math.inf


def strict_json(objects: dict[str, bytes]) -> Any:
    def refuse(literal: str) -> None:
        raise AssertionError(f"{literal} is not JSON")

    return json.loads(objects.get("zarr.json", objects.get(".zarray", b"")), parse_constant=refuse)


def chunk_keys(objects: dict[str, bytes]) -> set[str]:
    return {key for key in objects if not key.startswith((".z", "zarr."))}


# zarr-python#2802, zarrita.js#373
@FORMATS
@pytest.mark.parametrize(
    ("dtype", "fill", "text"),
    [
        *[
            (dtype, value, text)
            for dtype in ("f2", "f4", "f8")
            for value, text in ((math.nan, "NaN"), (INF, "Infinity"), (-INF, "-Infinity"))
        ],
        ("c8", complex(math.nan, -INF), ["NaN", "-Infinity"]),
        ("c16", complex(INF, -0.0), ["Infinity", -0.0]),
        ([("a", "<f4"), ("b", "<c8")], (math.nan, complex(1, INF)), {"a": "NaN", "b": [1.0, "Infinity"]}),
    ],
    ids=str,
)
def test_special_floats_are_valid_json_and_read_back(
    dtype: Any, fill: Any, text: Any, zarr_format: int
) -> None:
    objects: dict[str, bytes] = {}
    array = fastzarr.create_array(objects, shape=2, dtype=dtype, fill_value=fill, zarr_format=zarr_format)
    if zarr_format == 3 or not isinstance(text, dict):
        assert str(strict_json(objects)["fill_value"]) == str(text)
    assert_same(fastzarr.open_array(objects)[...], np.array([fill, fill], array.dtype))


# zarr-python#3144
@FORMATS
@pytest.mark.parametrize(
    ("dtype", "zero", "minus"),
    [
        *[
            ("f2", 0.0, -0.0),
            ("f8", 0.0, -0.0),
            ("c8", 0j, complex(0.0, -0.0)),
            ("c16", 0j, complex(-0.0, 0.0)),
        ],
        ([("a", "i4"), ("b", "f4")], (0, 0.0), (0, -0.0)),
    ],
    ids=str,
)
def test_minus_zero_is_no_zero(dtype: Any, zero: Any, minus: Any, zarr_format: int) -> None:
    for fill, value in ((zero, minus), (minus, zero)):
        for shards in (None, (4,)) if zarr_format == 3 else (None,):
            objects: dict[str, bytes] = {}
            array = fastzarr.create_array(
                *(objects,),
                shape=4,
                chunks=2,
                shards=shards,
                dtype=dtype,
                fill_value=fill,
                zarr_format=zarr_format,
            )
            data = np.array([value] * 4, array.dtype)
            array[...] = data
            assert chunk_keys(objects)
            assert_same(fastzarr.open_array(objects)[...], data)
            array[...] = np.array(fill, array.dtype)
            assert not chunk_keys(objects)


# zarr-python PR#738
@FORMATS
@pytest.mark.parametrize("dtype", ["f4", "M8[s]", "m8[ns]", [("a", "f4"), ("t", "M8[s]")]], ids=str)
def test_nan_and_nat_are_left_out_where_they_fill(dtype: Any, zarr_format: int) -> None:
    nothing: Any = (math.nan, "NaT") if isinstance(dtype, list) else math.nan if dtype == "f4" else "NaT"
    objects: dict[str, bytes] = {}
    array = fastzarr.create_array(
        *(objects,), shape=4, chunks=4, dtype=dtype, fill_value=nothing, zarr_format=zarr_format
    )
    fill = np.array(nothing, array.dtype)
    array[...] = fill
    assert not chunk_keys(objects)
    array[1] = np.zeros((), array.dtype)
    assert len(chunk_keys(objects)) == 1
    array[1] = fill
    assert not chunk_keys(objects)


# zarr-python#2282, zarr-python#275
def test_v2_fixed_bytes_and_records_are_base64_and_older_forms_are_read() -> None:
    objects: dict[str, bytes] = {}
    fastzarr.create_array(objects, shape=2, dtype="S4", fill_value=b"X", zarr_format=2)
    document = strict_json(objects)
    assert document["fill_value"] == "WA=="
    older = {
        "|S4": {0: b"", "": b"", (88,): b"X"},
        "record": {0: (0, b""), "AQAAAHh5": (1, b"xy"), (1, "eHk="): (1, b"xy")},
    }
    for dtype, forms in older.items():
        for fill, element in forms.items():
            given = list(fill) if isinstance(fill, tuple) else fill
            found = [["a", "<i4"], ["b", "|S2"]] if dtype == "record" else dtype
            array = fastzarr.open_array(
                {".zarray": json.dumps(document | {"dtype": found, "fill_value": given}).encode()}
            )
            assert_same(array[...], np.array([element] * 2, array.dtype))


# zarr-python#342, #3028, #3863; pydata/xarray#7790
@FORMATS
@pytest.mark.parametrize("dtype", ["m8[s]", "M8[ns]", "M8[D]", "M8[10us]", ">M8[s]", "<m8[25Y]"])
def test_nat_as_fill_value_of_every_unit(dtype: str, zarr_format: int, tmp_path: Path) -> None:
    dtype_ = np.dtype(dtype)
    for given in ("NaT", dtype_.newbyteorder("=").type("NaT", np.datetime_data(dtype_)), -(2**63)):
        array = fastzarr.create_array(
            *(tmp_path,),
            shape=4,
            chunks=2,
            dtype=dtype,
            fill_value=given,
            zarr_format=zarr_format,
            overwrite=True,
        )
        array[:2] = np.array("NaT", dtype)
        assert {path.name for path in tmp_path.iterdir()} <= {".zarray", ".zattrs", "zarr.json"}
        found = fastzarr.open_array(tmp_path)
        assert np.datetime_data(found.dtype) == np.datetime_data(dtype_)
        assert np.isnat(found[...]).all()
        assert np.isnat(found.fill_value)
        assert np.isnat(read_by_zarr(tmp_path)).all()
    name = ".zarray" if zarr_format == 2 else "zarr.json"
    document = json.loads((tmp_path / name).read_bytes())
    assert document["fill_value"] == -(2**63)
    (tmp_path / name).write_text(json.dumps(document | {"fill_value": "NaT"}))
    assert np.isnat(fastzarr.open_array(tmp_path)[...]).all()


# zarr-python#3586
def test_only_the_bits_of_a_float_are_taken_as_text() -> None:
    objects: dict[str, bytes] = {}
    fastzarr.create_array(objects, shape=2, dtype="f4")
    document = strict_json(objects)
    for text in ("hello", "0xZZ", "0x7fc0000", "7fc00000", "0x7fc000000", "1.5", "nan"):
        with pytest.raises(MetadataError, match=f"fill_value: got '{text}', expected a number"):
            fastzarr.open_array({"zarr.json": json.dumps(document | {"fill_value": text}).encode()})
    for text, number in (("0x7fc00000", 0x7FC00000), ("0xffc12345", 0xFFC12345), ("0x00000001", 1)):
        array = fastzarr.open_array({"zarr.json": json.dumps(document | {"fill_value": text}).encode()})
        assert bits(array[...]) == np.array([number] * 2, "u4").tobytes()


# zarr-python#2324, Zarr.jl#230, Unidata/netcdf-c#2062
@FORMATS
@pytest.mark.parametrize("name", ["i2", "f4", "c16", "U3", "M8[s]", "m8[10us]"])
def test_big_endian_elements(name: str, zarr_format: int, tmp_path: Path) -> None:
    raw = np.array([1, -2, 300]) if name != "U3" else np.array(["a", "é𐍈", ""])
    data = raw.astype(f"<{name}")
    arguments: dict[str, Any] = {
        "shape": 3,
        "dtype": f">{name}",
        "zarr_format": zarr_format,
        "compressors": None,
    }
    if zarr_format == 3:
        arguments["serializer"] = {"name": "bytes", "configuration": {"endian": "big"}}
    for given in (data, data.astype(f">{name}")):
        array = fastzarr.create_array(tmp_path, **arguments, overwrite=True)
        array[...] = given
        key = "0" if zarr_format == 2 else "c/0"
        assert (tmp_path / key).read_bytes() == data.astype(f">{name}").tobytes()
        array[1:2] = given[1:2]
        assert_same(fastzarr.open_array(tmp_path)[...], data)
        assert_same(read_by_zarr(tmp_path), data)
    if name in ("i2", "f4", "c16"):
        assert_same(read_by_tensorstore(tmp_path), data)


# zarr-python#4141, zarr-python#4147; VirtualiZarr PR#1047
@pytest.mark.parametrize("order", ["<", ">", "mixed"])
def test_records_keep_the_byte_order_of_each_field(order: str) -> None:
    first, second = ("<", ">") if order == "mixed" else (order, order)
    inner = [("x", f"{second}f8"), ("u", f"{first}U2"), ("s", "S3")]
    fields: list[Any] = [("a", f"{first}f4"), ("b", f"{second}i4"), ("n", inner), ("t", f"{second}M8[s]")]
    for dtype in (np.dtype(fields), np.dtype([*fields, ("m", f"{second}i2", (2, 2))])):
        data = np.zeros(3, dtype)
        data["a"], data["b"], data["t"] = [1, -0.0, math.nan], [1, 2**30, -1], [0, "NaT", 5]
        data["n"]["x"], data["n"]["u"], data["n"]["s"] = [1e-300, 2, 3], ["a", "é", "𐍈"], [b"", b"a", b"abc"]
        if "m" in dtype.names:
            data["m"] = np.arange(12).reshape(3, 2, 2)
        objects: dict[str, bytes] = {}
        array = fastzarr.create_array(objects, shape=3, dtype=dtype, zarr_format=2, compressors=None)
        native = data.astype(dtype.newbyteorder("="))
        for given in (data, native):
            array[...] = given
            assert objects["0"] == data.tobytes()
            array[1] = given[1]
            assert objects["0"] == data.tobytes()
        assert bits(fastzarr.open_array(objects)[...].astype(native.dtype)) == bits(native)
        if "m" in dtype.names:
            continue
        for endian, sign in (("little", "<"), ("big", ">")):
            objects = {}
            serializer = {"name": "bytes", "configuration": {"endian": endian}}
            array = fastzarr.create_array(objects, data=data, serializer=serializer, compressors=None)
            assert objects["c/0"] == data.astype(dtype.newbyteorder(sign)).tobytes()
            array[1:] = data[1:]
            assert bits(fastzarr.open_array(objects)[...]) == bits(native)


# zarr-python#2681, #2998, #4183
def test_shards_of_records_with_a_fill_value_that_is_not_zero() -> None:
    dtype = np.dtype([("a", "<i4"), ("b", "S2")])
    fill = (7, b"x")
    objects: dict[str, bytes] = {}
    array = fastzarr.create_array(objects, shape=12, chunks=2, shards=6, dtype=dtype, fill_value=fill)
    assert strict_json(objects)["fill_value"] == {"a": 7, "b": base64.b64encode(b"x").decode()}
    expected = np.array([fill] * 12, dtype)
    assert_same(array[...], expected)
    array[3] = np.array((1, b"yz"), dtype)
    expected[3] = (1, b"yz")
    assert_same(fastzarr.open_array(objects)[...], expected)
    array[3] = np.array(fill, dtype)
    assert not chunk_keys(objects)


# zarrs' fixed_length_utf32_v2_be; Zarr.jl#259
@FORMATS
@pytest.mark.parametrize("dtype", ["<U1", ">U1", "<U2", ">U2"])
def test_texts_of_fixed_length(dtype: str, zarr_format: int, tmp_path: Path) -> None:
    data = np.array(["a", "é", "𐍈", "", "\0", "x\0"] + (["𐍈é", "\0b"] if dtype[-1] == "2" else []), dtype)
    array = fastzarr.create_array(tmp_path, data=data, zarr_format=zarr_format, compressors=None)
    assert array.dtype.newbyteorder("=") == np.dtype(dtype).newbyteorder("=")
    stored = (tmp_path / ("0" if zarr_format == 2 else "c/0")).read_bytes()
    order = "utf-32-be" if dtype[0] == ">" and zarr_format == 2 else "utf-32-le"
    assert stored[:8].decode(order).rstrip("\0") == ("aé" if dtype[-1] == "1" else "a")
    for found in (fastzarr.open_array(tmp_path)[...], read_by_zarr(tmp_path)):
        assert_same(found, data)
        assert found.tolist() == data.tolist()


# zarr-python#1389, zarr-python#3558
@FORMATS
@pytest.mark.parametrize(("data", "dtype"), [(TEXTS, "string"), (BYTES, "bytes")], ids=["string", "bytes"])
def test_elements_of_variable_length_from_fortran_order(
    data: Any, dtype: str, zarr_format: int, tmp_path: Path
) -> None:
    given = np.asfortranarray(data)
    for chunks in ((2, 3), (2, 2), (3, 4)):
        array = fastzarr.create_array(
            *(tmp_path,), shape=(2, 3), chunks=chunks, dtype=dtype, zarr_format=zarr_format, overwrite=True
        )
        array[...] = given
        for found in (fastzarr.open_array(tmp_path)[...], read_by_zarr(tmp_path)):
            assert found.tolist() == data.tolist()
        array[:, 1:] = given[:, :2]
        assert fastzarr.open_array(tmp_path)[:, 1:].tolist() == data[:, :2].tolist()
