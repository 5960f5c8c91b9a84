"""Fill values: how they are said in JSON, what missing chunks read as, and which chunks are left out."""

import json
from typing import Any

import numpy as np
import pytest
import zarr
from oracle import DATA_TYPES, assert_same, bits

import fastzarr
from fastzarr.errors import MetadataError

NAN, INFINITY = float("nan"), float("inf")
FORMATS = pytest.mark.parametrize("zarr_format", [2, 3])

PAYLOADS = {
    "float16": np.uint16(0x7E01).view(np.float16),
    "float32": np.uint32(0xFFC12345).view(np.float32),
    "float64": np.uint64(0x7FF0000000000001).view(np.float64),
}
"""NaNs that are not the default one; the last is a signalling NaN."""


def strict_json(data: bytes) -> Any:
    """JSON without the literals NaN and Infinity, which the standard doesn't have."""

    def refuse(literal: str) -> None:
        raise AssertionError(f"{literal} is not JSON")

    return json.loads(data, parse_constant=refuse)


def document(objects: dict[str, bytes]) -> Any:
    return strict_json(objects["zarr.json" if "zarr.json" in objects else ".zarray"])


# zarr-python#2802, zarrita.js#373: NaN and infinities lost, or written as invalid JSON
@FORMATS
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize(("value", "text"), [(NAN, "NaN"), (INFINITY, "Infinity"), (-INFINITY, "-Infinity")])
def test_special_floats_are_strings_and_read_back(
    value: float, text: str, dtype: str, zarr_format: int
) -> None:
    objects: dict[str, bytes] = {}
    fastzarr.create_array(objects, shape=3, dtype=dtype, fill_value=value, zarr_format=zarr_format)
    assert document(objects)["fill_value"] == text
    opened = fastzarr.open_array(objects)
    assert opened.fill_value is not None
    assert bits(opened.fill_value) == bits(np.dtype(dtype).type(value))
    assert_same(opened[...], np.full(3, value, dtype))


@FORMATS
def test_minus_zero_reads_back(zarr_format: int) -> None:
    objects: dict[str, bytes] = {}
    for dtype in ("float32", "complex64"):
        fill = np.array(complex(-0.0, -0.0) if dtype == "complex64" else -0.0, dtype)[()]
        fastzarr.create_array(
            objects, name=dtype, shape=2, dtype=dtype, fill_value=fill, zarr_format=zarr_format
        )
        assert_same(fastzarr.open_array(objects, path=dtype)[...], np.array([fill] * 2))


# zarr-python#3586: any string was taken for a fill value
@pytest.mark.parametrize("dtype", PAYLOADS)
def test_the_payload_of_a_nan_is_kept_as_hexadecimal(dtype: str) -> None:
    fill = PAYLOADS[dtype]
    number = int(fill.view(f"u{fill.itemsize}"))
    for given in (fill, f"0x{number:0{2 * fill.itemsize}x}"):
        objects: dict[str, bytes] = {}
        fastzarr.create_array(objects, shape=2, dtype=dtype, fill_value=given)
        assert document(objects)["fill_value"] == f"0x{number:0{2 * fill.itemsize}x}"
        assert_same(fastzarr.open_array(objects)[...], np.array([fill] * 2))
        theirs = zarr.open_array(zarr.storage.MemoryStore(_buffers(objects)), mode="r")
        if dtype != "float16":  # zarr-python makes a default NaN of it
            assert bits(np.asarray(theirs.fill_value)) == bits(fill)


def _buffers(objects: dict[str, bytes]) -> dict[str, Any]:
    return {key: zarr.core.buffer.cpu.Buffer.from_bytes(data) for key, data in objects.items()}


@pytest.mark.parametrize(
    ("dtype", "value"),
    [
        *[("float32", text) for text in ("hello", "0xZZ", "0x7fc0000", "0x7fc000000", "7fc00000", "nan", "")],
        *[("int8", value) for value in ("3", 1.5, 128, -129, NAN, INFINITY, 1j, [1], b"1")],
        *[("bool", value) for value in (2, "NaN", "true", 0.5)],
        *[("uint64", value) for value in (-1, 2**64)],
        *[("float64", value) for value in (1j, [1.0, 2.0], object(), (1.0,))],
        *[("complex64", value) for value in ("NaN", [1.0], [1.0, 2.0, 3.0], ["x", 0.0])],
    ],
)
@FORMATS
def test_values_that_do_not_fit_are_refused(dtype: str, value: Any, zarr_format: int) -> None:
    objects: dict[str, bytes] = {}
    with pytest.raises(MetadataError, match=r"^fill_value: got .*, expected .*") as caught:
        fastzarr.create_array(objects, shape=2, dtype=dtype, fill_value=value, zarr_format=zarr_format)
    assert dtype in str(caught.value)
    assert repr(value) in str(caught.value)
    assert not objects


def test_hexadecimal_is_refused_in_v2_which_would_lose_it() -> None:
    with pytest.raises(MetadataError, match=r"fill_value: got '0x7fc00001', expected a number, \"NaN\""):
        fastzarr.create_array({}, shape=2, dtype="f4", fill_value="0x7fc00001", zarr_format=2)


# zarr-python#2271, zarr-python#3198, Unidata/netcdf-c#2063, saalfeldlab/n5-zarr#62: null refused, or made 0
@pytest.mark.parametrize("dtype", DATA_TYPES)
def test_v2_null_stays_null_and_reads_as_zero(dtype: str) -> None:
    objects: dict[str, bytes] = {}
    fastzarr.create_array(objects, shape=4, dtype=dtype, chunks=2, fill_value=None, zarr_format=2)
    assert document(objects)["fill_value"] is None
    array = fastzarr.open_array(objects, mode="r+")
    assert array.fill_value is None
    assert_same(array[...], np.zeros(4, dtype))
    array.attrs["a"] = 1
    assert document(objects)["fill_value"] is None
    array[:2] = 0
    assert "0" in objects, "without a fill value nothing can be left out"
    array[3] = 1
    assert_same(array[...], np.array([0, 0, 0, 1], dtype))


# Unidata/netcdf-c#2059: a document without the member
def test_v2_without_a_fill_value_is_refused() -> None:
    objects: dict[str, bytes] = {}
    fastzarr.create_array(objects, shape=4, dtype="i4", zarr_format=2)
    stored = document(objects)
    del stored["fill_value"]
    objects[".zarray"] = json.dumps(stored).encode()
    with pytest.raises(MetadataError, match="missing members: fill_value"):
        fastzarr.open_array(objects)


# zarr-python#2929: equal documents were unequal when the fill value is NaN
@FORMATS
def test_metadata_with_nan_equals_itself(zarr_format: int) -> None:
    objects: dict[str, bytes] = {}
    fastzarr.create_array(objects, shape=4, dtype="f4", fill_value=NAN, zarr_format=zarr_format)
    first, second = fastzarr.open_array(objects), fastzarr.open_array(objects)
    assert first == second
    assert first.metadata == second.metadata
    other = fastzarr.create_array({}, shape=4, dtype="f4", fill_value=0, zarr_format=zarr_format)
    assert other.metadata != first.metadata


def chunk_keys(objects: dict[str, bytes]) -> set[str]:
    return {key for key in objects if not key.endswith(("zarr.json", ".zarray", ".zattrs"))}


@FORMATS
@pytest.mark.parametrize("dtype", DATA_TYPES)
def test_chunks_of_fill_values_are_left_out_and_erased(dtype: str, zarr_format: int) -> None:
    objects: dict[str, bytes] = {}
    array = fastzarr.create_array(
        *(objects,), shape=(4, 6), chunks=(2, 3), dtype=dtype, fill_value=1, zarr_format=zarr_format
    )
    array[...] = 1
    assert chunk_keys(objects) == set()
    array[...] = 0
    assert len(chunk_keys(objects)) == 4
    array[:2, :3] = 1
    assert len(chunk_keys(objects)) == 3, "stored before, all fill value now"
    array[3, 5] = 1
    assert len(chunk_keys(objects)) == 3
    array[2:, 3:] = 1
    assert len(chunk_keys(objects)) == 2
    expected = np.zeros((4, 6), dtype)
    expected[:2, :3] = expected[2:, 3:] = 1
    assert_same(array[...], expected)


def test_one_element_elsewhere_keeps_the_chunk() -> None:
    shape = (3, 5)
    for position in np.ndindex(shape):
        objects: dict[str, bytes] = {}
        data = np.zeros(shape, "u1")
        data[position] = 1
        array = fastzarr.create_array(objects, data=data, chunks=shape)
        assert chunk_keys(objects) == {"c/0/0"}
        array[position] = 0
        assert chunk_keys(objects) == set()


def test_a_large_chunk_is_compared_to_its_end() -> None:
    objects: dict[str, bytes] = {}
    data = np.zeros(600_000, "f8")
    for position in (0, 1, 40_000, 300_000, 599_998, 599_999):
        data[position] = 1
        fastzarr.create_array(objects, data=data, chunks=data.size, compressors=None, overwrite=True)
        assert chunk_keys(objects) == {"c/0"}, position
        data[position] = 0
    fastzarr.create_array(objects, data=data, chunks=data.size, compressors=None, overwrite=True)
    assert chunk_keys(objects) == set()


# zarr-python#3144: a chunk of -0.0 was left out, because it equals 0.0
@FORMATS
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "complex64", "complex128"])
def test_minus_zero_is_not_zero(dtype: str, zarr_format: int) -> None:
    zero, minus = np.array(0, dtype)[()], -np.zeros(1, dtype)[0]
    for fill, value in ((zero, minus), (minus, zero)):
        objects: dict[str, bytes] = {}
        array = fastzarr.create_array(
            *(objects,), shape=4, chunks=4, dtype=dtype, fill_value=fill, zarr_format=zarr_format
        )
        array[...] = fill
        assert chunk_keys(objects) == set()
        array[...] = value
        assert len(chunk_keys(objects)) == 1
        assert_same(fastzarr.open_array(objects)[...], np.array([value] * 4))


def test_parts_of_a_complex_number_are_compared_by_bits() -> None:
    for value in (complex(-0.0, 0.0), complex(0.0, -0.0)):
        objects: dict[str, bytes] = {}
        fastzarr.create_array(objects, data=np.full(4, value), fill_value=0)
        assert len(chunk_keys(objects)) == 1
        assert_same(fastzarr.open_array(objects)[...], np.full(4, value))


# zarr-developers/zarr-python PR#738: NaN was never, or always, taken for the fill value
@FORMATS
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "complex64"])
def test_nan_as_fill_value(dtype: str, zarr_format: int) -> None:
    objects: dict[str, bytes] = {}
    array = fastzarr.create_array(
        *(objects,), shape=4, chunks=4, dtype=dtype, fill_value=NAN, zarr_format=zarr_format
    )
    array[...] = array.fill_value
    assert chunk_keys(objects) == set()
    array[1] = 1
    assert len(chunk_keys(objects)) == 1
    array[1] = array.fill_value
    assert chunk_keys(objects) == set()


@pytest.mark.parametrize("dtype", PAYLOADS)
def test_a_nan_with_another_payload_is_kept(dtype: str) -> None:
    objects: dict[str, bytes] = {}
    data = np.array([PAYLOADS[dtype]] * 3)
    fastzarr.create_array(objects, data=data, fill_value=NAN)
    assert len(chunk_keys(objects)) == 1
    assert_same(fastzarr.open_array(objects)[...], data)


@FORMATS
def test_write_empty_chunks_stores_them(zarr_format: int) -> None:
    objects: dict[str, bytes] = {}
    array = fastzarr.create_array(
        *(objects,),
        shape=4,
        chunks=2,
        dtype="i4",
        zarr_format=zarr_format,
        config={"write_empty_chunks": True},
    )
    array[...] = 0
    assert len(chunk_keys(objects)) == 2
    fastzarr.open_array(objects, mode="r+")[...] = 0
    assert chunk_keys(objects) == set()


@FORMATS
def test_big_endian_chunks_are_compared_as_they_are(zarr_format: int) -> None:
    objects: dict[str, bytes] = {}
    array = fastzarr.create_array(
        *(objects,), shape=2, chunks=2, dtype=">i4", fill_value=1, zarr_format=zarr_format
    )
    array[...] = 1
    assert chunk_keys(objects) == set()
    array[...] = 1 << 24
    assert len(chunk_keys(objects)) == 1


# zarr-python#757, zarr-python#2851: how chunks at the edge are filled up, and that the old one is not needed
@FORMATS
def test_edge_chunks_are_padded_with_the_fill_value(zarr_format: int) -> None:
    objects: dict[str, bytes] = {}
    array = fastzarr.create_array(
        *(objects,), shape=10, chunks=4, dtype="<i2", fill_value=7, compressors=None, zarr_format=zarr_format
    )
    key = "c/2" if zarr_format == 3 else "2"
    array[8:10] = [1, 2]
    assert objects[key] == np.array([1, 2, 7, 7], "<i2").tobytes()
    objects[key] = b"not a chunk"
    array[8:10] = [3, 4]
    assert objects[key] == np.array([3, 4, 7, 7], "<i2").tobytes()
    array[9] = 5
    assert objects[key] == np.array([3, 5, 7, 7], "<i2").tobytes()


@FORMATS
def test_an_edge_chunk_of_fill_values_is_left_out(zarr_format: int) -> None:
    objects: dict[str, bytes] = {}
    array = fastzarr.create_array(
        *(objects,), shape=(5, 5), chunks=(4, 4), dtype="i2", fill_value=7, zarr_format=zarr_format
    )
    array[4:, 4:] = 7
    assert chunk_keys(objects) == set()


def test_what_other_writers_padded_with_does_not_matter() -> None:
    objects: dict[str, bytes] = {}
    array = fastzarr.create_array(objects, shape=3, chunks=4, dtype="<i2", compressors=None)
    objects["c/0"] = np.array([1, 2, 3, -9], "<i2").tobytes()
    np.testing.assert_array_equal(array[...], [1, 2, 3])
    array[0] = 0
    np.testing.assert_array_equal(array[...], [0, 2, 3])
