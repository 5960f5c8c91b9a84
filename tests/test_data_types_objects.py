"""Texts, byte strings and objects of v2: what numcodecs makes of them, and which chunks are left out."""

import json
from typing import Any

import numcodecs
import numpy as np
import pytest
from numpy.typing import NDArray
from oracle import BYTES, TEXTS, assert_same

import fastzarr
from fastzarr.errors import MetadataError


def objects_of(values: list[Any]) -> NDArray[Any]:
    array = np.empty(len(values), object)
    for place, value in enumerate(values):
        array[place] = value
    return array


FILTERS: list[tuple[list[Any], list[Any]]] = [
    ([numcodecs.VLenArray("<i4")], [np.array([1, 2]), np.array([3]), np.array([], "i4")]),
    ([numcodecs.JSON()], [[1, 2], {"a": None}, "x"]),
    ([numcodecs.VLenBytes(), numcodecs.Adler32()], [b"a", b"", b"\xff\0"]),
    ([numcodecs.VLenUTF8(), numcodecs.CRC32()], ["a", "", "é𐍈"]),
    ([numcodecs.Categorize(["a", "b"], object)], ["a", "b", "a"]),
]
if hasattr(numcodecs, "MsgPack"):  # with msgpack installed
    FILTERS.append(([numcodecs.MsgPack()], [[1, 2], {"a": 1.5}, "x"]))
each_filter = pytest.mark.parametrize(("filters", "values"), FILTERS, ids=lambda given: str(given)[:20])


@each_filter
def test_filters_of_object_arrays_store_what_numcodecs_makes(filters: list[Any], values: list[Any]) -> None:
    objects: dict[str, bytes] = {}
    array = fastzarr.create_array(
        objects, shape=3, dtype=object, zarr_format=2, filters=filters, compressors={"id": "bz2", "level": 1}
    )
    array[...] = objects_of(values)
    assert json.loads(objects[".zarray"])["filters"] == json.loads(
        json.dumps([codec.get_config() for codec in filters])
    )
    expected: Any = objects_of(values)
    for codec in (*filters, numcodecs.BZ2()):
        expected = codec.encode(expected)
    assert objects["0"] == bytes(expected)
    found = fastzarr.open_array(objects, mode="r+")
    for place, value in enumerate(values):
        np.testing.assert_equal(found[place], value)
        found[place] = value
    assert objects["0"] == bytes(expected)


@each_filter
def test_missing_chunks_of_object_arrays(filters: list[Any], values: list[Any]) -> None:
    fills = {"vlen-array": np.empty(0, "i4"), "json2": None, "msgpack2": None, "vlen-bytes": b""}
    expected = fills.get(filters[0].codec_id, "")
    array = fastzarr.create_array(None, shape=3, dtype=object, zarr_format=2, filters=filters, chunks=2)
    for found in (array[0], array[...][2]):
        np.testing.assert_equal(found, expected)
        assert type(found) is type(expected)


@pytest.mark.parametrize(
    ("codec", "fill", "element"),
    [
        *[(numcodecs.VLenArray("<i4"), fill, np.empty(0, "<i4")) for fill in (0, "", None)],
        (numcodecs.VLenArray("<i4"), [1, 2], np.array([1, 2], "<i4")),
        *[(numcodecs.JSON(), fill, fill) for fill in (0, "", None, [1, [2]], {"a": 1})],
        *[(numcodecs.VLenUTF8(), fill, "") for fill in (0, "", None)],
        *[(numcodecs.VLenBytes(), fill, b"") for fill in (0, "", None)],
        *[(numcodecs.VLenUTF8(), "0", "0"), (numcodecs.VLenBytes(), "MA==", b"0")],
    ],
    ids=repr,
)
def test_fill_values_of_object_arrays(codec: Any, fill: Any, element: Any) -> None:
    document = {"zarr_format": 2, "shape": [3], "chunks": [2], "dtype": "|O", "fill_value": fill}
    document |= {"order": "C", "filters": [codec.get_config()], "compressor": None}
    objects = {".zarray": json.dumps(document).encode()}
    array = fastzarr.open_array(objects, mode="r+")
    for found in (array[1], array[...][2]):
        np.testing.assert_equal(found, element)
    array[...] = array[...]
    assert (len(objects) == 1) == (fill is not None)
    np.testing.assert_equal(fastzarr.open_array(objects)[2], element)


def test_an_object_codec_may_stand_as_the_compressor() -> None:
    document = {"zarr_format": 2, "shape": [2], "chunks": [2], "dtype": "|O", "fill_value": None}
    document |= {"order": "C", "filters": None, "compressor": {"id": "vlen-utf8"}}
    data = numcodecs.VLenUTF8().encode(objects_of(["a", "é"]))
    array = fastzarr.open_array({".zarray": json.dumps(document).encode(), "0": bytes(data)})
    assert array[...].tolist() == ["a", "é"]


def test_objects_that_no_codec_names_or_that_would_run_code_are_refused() -> None:
    for filters, text in (
        ([numcodecs.Delta("i4")], "'|O' without a filter that says what is stored"),
        ([numcodecs.Pickle()], "'pickle', which is refused: decoding it runs what the file says"),
        ([{"id": "vlen-array", "dtype": "|O"}], "dtype: got object, expected no objects"),
        ([{"id": "vlen-array", "dtype": "foo"}], "dtype: got 'foo', expected a NumPy dtype"),
        (["vlen-utf8"], "expected a numcodecs codec or {'id': …}"),
    ):
        with pytest.raises(MetadataError) as caught:
            fastzarr.create_array(None, shape=3, dtype=object, zarr_format=2, filters=filters)
        assert text in str(caught.value)


VARIABLE = [
    *[(TEXTS, "string", zarr_format, text) for zarr_format in (2, 3) for text in ("", "é")],
    *[(BYTES, "bytes", zarr_format, data) for zarr_format in (2, 3) for data in (b"", b"\0")],
]


@pytest.mark.parametrize(("data", "dtype", "zarr_format", "fill"), VARIABLE)
def test_chunks_of_the_fill_value_are_left_out(data: Any, dtype: str, zarr_format: int, fill: Any) -> None:
    objects: dict[str, bytes] = {}
    array = fastzarr.create_array(
        *(objects,), shape=(2, 3), chunks=(2, 2), dtype=dtype, zarr_format=zarr_format, fill_value=fill
    )
    before = set(objects)
    array[...] = fill
    assert set(objects) == before
    for place in np.ndindex(2, 2):
        array[place] = data[0, 2]
        assert len(objects) == len(before) + 1
        array[place] = fill
        assert set(objects) == before


def test_floats_in_objects_are_compared_by_text() -> None:
    objects: dict[str, bytes] = {}
    array = fastzarr.create_array(
        *(objects,), shape=1, dtype=object, zarr_format=2, filters=[numcodecs.JSON()], fill_value=0.0
    )
    for value, stored in ((0.0, False), (-0.0, True), (0, True), (False, True), ([], True)):
        array[0] = value
        assert ("0" in objects) == stored, value


# zarr-python#1389, zarr-python#3558
@pytest.mark.parametrize("zarr_format", [2, 3])
@pytest.mark.parametrize(("data", "dtype"), [(TEXTS, "string"), (BYTES, "bytes")], ids=["string", "bytes"])
def test_variable_length_elements_from_memory_of_any_order(data: Any, dtype: str, zarr_format: int) -> None:
    for given in (np.asfortranarray(data), data[::-1, ::-1], data.astype(object), data.T.copy().T):
        for chunks in ((2, 3), (1, 2), (4, 4)):
            objects: dict[str, bytes] = {}
            array = fastzarr.create_array(
                objects, shape=data.shape, chunks=chunks, dtype=dtype, zarr_format=zarr_format
            )
            array[...] = given
            assert_same(fastzarr.open_array(objects)[...], given.astype(array.dtype))
            assert_same(fastzarr.open_array(objects)[:, 1:], given.astype(array.dtype)[:, 1:])


@pytest.mark.parametrize("zarr_format", [2, 3])
def test_texts_are_taken_in_every_form(zarr_format: int) -> None:
    for given in (
        ["a", "é"],
        np.array(["a", "é"]),
        objects_of(["a", "é"]),
        ("a", "é"),
        np.array(["a", "é"], ">U3"),
        np.array(["a", "Ā"], ">U3"),
    ):
        array = fastzarr.create_array(None, shape=2, dtype=str, zarr_format=zarr_format)
        array[...] = given
        expected = [str(text) for text in given]
        assert_same(array[...], np.array(expected, np.dtypes.StringDType()))
    array[1] = "later"
    assert array[1] == "later"
    assert type(array[1]) is str
