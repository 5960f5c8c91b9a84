"""What an array tells of itself, and what it takes: attributes, values, output buffers."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import zarr
from numpy.typing import NDArray
from oracle import assert_same
from zarr.storage import LocalStore

import fastzarr
from fastzarr.errors import BufferMismatchError, MetadataError

FORMATS = pytest.mark.parametrize("zarr_format", [2, 3])


@pytest.fixture
def array() -> fastzarr.Array:
    return fastzarr.create_array(None, data=np.arange(20, dtype="f4").reshape(4, 5), chunks=(2, 3))


# What it tells


@FORMATS
def test_properties_are_those_of_zarr_python(zarr_format: int, tmp_path: Path) -> None:
    given: dict[str, Any] = {
        "name": "a/b",
        "shape": (4, 5),
        "chunks": (2, 3),
        "dtype": ">i2",
        "zarr_format": zarr_format,
        "fill_value": 3,
        "attributes": {"unit": "m"},
    }
    theirs = zarr.create_array(LocalStore(tmp_path), **given)
    ours = fastzarr.open_array(tmp_path, path="a/b", mode="r")
    names = (
        *("shape", "chunks", "ndim", "size", "nbytes", "nchunks", "cdata_shape", "order"),
        *("fill_value", "path", "name", "basename", "read_only"),
    )
    for name in names:
        expected = True if name == "read_only" else getattr(theirs, name)
        assert getattr(ours, name) == expected, name
    assert ours.dtype.newbyteorder("=") == theirs.dtype.newbyteorder("=")
    assert ours.attrs.asdict() == theirs.attrs.asdict()


def test_dtype_is_the_stored_one_in_v2_and_native_in_v3() -> None:
    assert fastzarr.create_array(None, shape=1, dtype=">i2", zarr_format=2).dtype == np.dtype(">i2")
    assert fastzarr.create_array(None, shape=1, dtype=">i2", zarr_format=3).dtype == np.dtype("i2")


def test_codecs_that_an_array_tells() -> None:
    array = fastzarr.create_array(
        *(None,),
        shape=(2, 2),
        dtype=">i2",
        filters=fastzarr.codecs.TransposeCodec(order=(1, 0)),
        serializer=fastzarr.codecs.BytesCodec(endian="big"),
        compressors=[fastzarr.codecs.BloscCodec(cname="lz4"), fastzarr.codecs.Crc32cCodec()],
    )
    assert array.filters == (fastzarr.codecs.TransposeCodec(order=(1, 0)),)
    assert array.serializer == fastzarr.codecs.BytesCodec(endian="big")
    blosc, crc32c = array.compressors
    expected = {"typesize": 2, "cname": "lz4", "clevel": 5, "shuffle": "shuffle", "blocksize": 0}
    assert blosc.config() == expected
    assert crc32c == fastzarr.codecs.Crc32cCodec()
    older = fastzarr.create_array(
        None, shape=(2, 2), dtype="i2", order="F", compressors={"id": "zlib"}, zarr_format=2
    )
    assert (older.filters, older.serializer) == ((), None)
    assert older.compressors == (fastzarr.codecs.ZlibCodec(level=1),)


@FORMATS
@pytest.mark.parametrize("order", ["C", "F"])
def test_order_of_what_is_read(order: Any, zarr_format: int) -> None:
    array = fastzarr.create_array(None, data=np.arange(6).reshape(2, 3), order=order, zarr_format=zarr_format)
    assert array.order == order
    assert array[...].flags.f_contiguous == (order == "F")
    configured = fastzarr.open_array(array.store, config={"order": "F"})
    assert configured.order == (order if zarr_format == 2 else "F")


def test_repr_and_info(array: fastzarr.Array, tmp_path: Path) -> None:
    assert repr(array) == f"<Array {array.store} shape=(4, 5) dtype=float32>"
    local = fastzarr.create_array(tmp_path, name="a/b", shape=(1000, 1000), dtype="i4", fill_value=7)
    assert repr(local) == f"<Array file://{tmp_path}/a/b shape=(1000, 1000) dtype=int32>"
    lines = dict(line.split(":", 1) for line in str(local.info).splitlines())
    told = {name.strip(): value.strip() for name, value in lines.items()}
    assert told["Zarr format"] == "3"
    assert told["Data type"] == "int32"
    assert told["Shape"] == "(1000, 1000)"
    assert told["Fill value"] == "7"
    assert told["Read-only"] == "False"
    assert told["No. bytes"] == "4000000 (3.815 MiB)"
    assert told["Path"] == "/a/b"
    assert "zstd" in told["Compressors"].lower()
    assert len({line.index(":") for line in str(local.info).splitlines()}) == 1, "aligned"


def test_numpy_takes_it(array: fastzarr.Array) -> None:
    assert_same(np.asarray(array), array[...])
    assert np.asarray(array, "i8").dtype == np.int64
    assert np.mean(array) == 9.5  # type: ignore[call-overload]
    with pytest.raises(ValueError, match="can't become a NumPy array without a copy"):
        np.asarray(array, copy=False)
    assert [row.tolist() for row in array] == array[...].tolist()  # type: ignore[attr-defined]


# Attributes


@FORMATS
def test_attributes_write_through(zarr_format: int, tmp_path: Path) -> None:
    array = fastzarr.create_array(tmp_path, shape=2, dtype="i4", zarr_format=zarr_format)

    def stored() -> dict[str, Any]:
        return zarr.open_array(LocalStore(tmp_path), mode="r").attrs.asdict()

    array.attrs["a"] = 1
    assert stored() == {"a": 1}
    array.attrs.update(b=[1, {"c": None}], d="text")
    assert stored() == {"a": 1, "b": [1, {"c": None}], "d": "text"}
    del array.attrs["a"]
    assert "a" not in array.attrs
    with pytest.raises(KeyError):
        del array.attrs["a"]
    assert list(array.attrs) == ["b", "d"]
    array.attrs.put({"only": True})
    assert stored() == array.attrs.asdict() == {"only": True}
    assert array.update_attributes({"more": 1.5}) is array
    assert fastzarr.open_array(tmp_path).attrs == {"only": True, "more": 1.5}
    array.attrs.clear()
    assert stored() == {}


@pytest.mark.parametrize(
    "value", [pytest.param(object(), id="object()"), np.float32(1), {1, 2}, b"bytes", 1j], ids=repr
)
def test_attributes_that_json_cannot_say_change_nothing(value: Any) -> None:
    objects: dict[str, bytes] = {}
    array = fastzarr.create_array(objects, shape=2, dtype="i4", attributes={"a": 1})
    before = dict(objects)
    for change in (lambda: array.attrs.__setitem__("x", value), lambda: array.attrs.put({"x": [value]})):
        with pytest.raises(MetadataError, match=r"attributes: 'x': got .*, expected what JSON can say"):
            change()
    assert objects == before
    assert array.attrs.asdict() == {"a": 1}


def test_attributes_are_as_they_read_back() -> None:
    """Tuples are lists, and later changes of what was given don't matter."""
    given = {"list": [1, 2], "tuple": (1, 2)}
    array = fastzarr.create_array(None, shape=2, dtype="i4", attributes=given)
    given["list"].append(3)  # type: ignore[attr-defined]
    assert array.attrs.asdict() == {"list": [1, 2], "tuple": [1, 2]}
    assert fastzarr.open_array(array.store).attrs == array.attrs


# Values


@pytest.mark.parametrize(
    "value",
    [5, 5.7, True, np.int8(5), np.float64(5.7), [1, 2, 3, 4, 5], [[1], [2], [3], [4]], (1,) * 5],
    ids=repr,
)
@pytest.mark.parametrize("dtype", ["i2", "u1", "f4", "c8", "bool", ">f8"])
@FORMATS
def test_values_are_cast_as_numpy_assignment_does(value: Any, dtype: str, zarr_format: int) -> None:
    array = fastzarr.create_array(None, shape=(4, 5), chunks=(2, 3), dtype=dtype, zarr_format=zarr_format)
    expected = np.zeros((4, 5), dtype)
    array[...] = value
    expected[...] = value
    assert_same(array[...], expected)
    array[1, :] = expected[1] * 0
    array[1:2, 2:3] = 1
    expected[1] = 0
    expected[1:2, 2:3] = 1
    assert_same(array[...], expected)


@pytest.mark.parametrize("given", ["f8", "i8", "c16", ">i4", "bool"])
@pytest.mark.parametrize("stored", ["i2", "f2", "f4", "u8", "bool", ">i4"])
@pytest.mark.filterwarnings("ignore:invalid value encountered in cast:RuntimeWarning")
@pytest.mark.filterwarnings("ignore:Casting complex values:numpy.exceptions.ComplexWarning")
def test_arrays_of_another_dtype_are_cast(given: str, stored: str) -> None:
    value = (np.arange(-10, 10).reshape(4, 5) * 1.5).astype(given)
    for layout in (value, np.asfortranarray(value), value[::-1]):
        array = fastzarr.create_array(None, shape=(4, 5), chunks=(4, 2), dtype=stored, zarr_format=2)
        expected = np.zeros((4, 5), stored)
        array[...] = layout
        expected[...] = layout
        assert_same(array[...], expected)


@pytest.mark.parametrize("shape", [(3, 5), (4,), (5, 4), (4, 5, 1), (2, 4, 5), (0,)])
def test_values_of_another_shape_are_refused(shape: tuple[int, ...], array: fastzarr.Array) -> None:
    before = array[...]
    with pytest.raises(
        BufferMismatchError, match=r"got a value of shape .*, expected one that broadcasts to \(4, 5\)"
    ):
        array[...] = np.zeros(shape)
    assert_same(array[...], before)


def test_a_value_may_be_a_view_of_the_array_itself(array: fastzarr.Array) -> None:
    expected = array[...]
    array[...] = array[::1][::-1]
    assert_same(array[...], expected[::-1])


def test_what_no_number_is_is_refused(array: fastzarr.Array) -> None:
    before = array[...]
    for value in ("text", object(), [[1], [2, 3]], {"a": 1}):
        with pytest.raises((TypeError, ValueError)):
            array[...] = value
    assert_same(array[...], before)


# Output buffers


def read_only(out: NDArray[Any]) -> NDArray[Any]:
    out.flags.writeable = False
    return out


BAD_OUTPUTS: list[tuple[Any, str]] = [
    (np.empty((5, 4), "f4"), r"out: got shape \(5, 4\), expected \(4, 5\), the shape of the selection"),
    (np.empty((4, 5, 1), "f4"), r"out: got shape \(4, 5, 1\), expected \(4, 5\)"),
    (np.empty((4, 5), "f8"), r"out: got dtype <f8, expected <f4, the array's"),
    (np.empty((4, 5), ">f4"), r"out: got dtype >f4, expected <f4, the array's"),
    (read_only(np.empty((4, 5), "f4")), r"out: got a read-only array, expected a writable one"),
    (np.broadcast_to(np.empty((1, 5), "f4"), (4, 5)), r"out: got "),
    (
        np.lib.stride_tricks.as_strided(np.empty(8, "f4"), (4, 5), (4, 4)),
        r"out: got strides \(4, 4\) in which elements share memory, expected each to have its own",
    ),
    (
        np.lib.stride_tricks.as_strided(np.empty(5, "f4"), (4, 5), (0, 4)),
        r"out: got strides \(0, 4\) in which elements share memory",
    ),
    ([[0.0] * 5] * 4, r"out: got list, expected a NumPy array"),
    (bytearray(80), r"out: got bytearray, expected a NumPy array"),
]


@pytest.mark.parametrize(("out", "text"), BAD_OUTPUTS, ids=[text for _, text in BAD_OUTPUTS])
def test_outputs_that_do_not_fit_are_refused(out: Any, text: str, array: fastzarr.Array) -> None:
    before = None if isinstance(out, list | bytearray) else out.tobytes()
    with pytest.raises(BufferMismatchError, match=text) as caught:
        array.read_into(out)
    assert caught.value.kind == "buffer-mismatch"
    assert isinstance(caught.value, ValueError)
    assert before is None or out.tobytes() == before


def test_strided_outputs_without_overlap_are_filled(array: fastzarr.Array) -> None:
    expected = array[...]
    memory = np.zeros(400, "f4")
    for strides in ((20, 4), (4, 16), (80, 8), (-20, 4), (24, -4)):
        start = 200 * 4
        out = np.ndarray((4, 5), "f4", memory.data, start, strides)
        array.read_into(out)
        assert_same(out, expected)


def test_outputs_that_interleave_are_filled_or_refused(array: fastzarr.Array) -> None:
    """Each element has its own place, although rows lie within one another."""
    memory = np.zeros(100, "f4")
    out = np.ndarray((4, 5), "f4", memory.data, 0, (4, 16))
    array.read_into(out)
    assert_same(out, array[...])


def test_subclasses_of_arrays_are_filled(array: fastzarr.Array, tmp_path: Path) -> None:
    mapped = np.memmap(tmp_path / "out", "f4", "w+", shape=(4, 5))
    array.read_into(mapped)
    assert_same(np.asarray(mapped), array[...])
    masked = np.ma.zeros((4, 5), "f4")
    array.read_into(masked)
    assert_same(masked.data, array[...])
    matrix = np.zeros((4, 5), "f4").view(np.matrix)
    array.read_into(matrix)
    assert_same(np.asarray(matrix), array[...])


def test_values_that_are_subclasses_of_arrays(array: fastzarr.Array) -> None:
    value = np.ma.masked_array(np.ones((4, 5), "f4"), mask=np.eye(4, 5))
    array[...] = value
    assert_same(array[...], np.ones((4, 5), "f4"))
    array[...] = np.full((4, 5), 2, "f4").view(np.matrix)
    assert_same(array[...], np.full((4, 5), 2, "f4"))
    array[1:2] = np.full((1, 5), 3, "f4").view(np.matrix)
    assert array[1].tolist() == [3] * 5


def test_equality_is_of_place_and_metadata(tmp_path: Path) -> None:
    first = fastzarr.create_array(tmp_path, name="a", shape=2, dtype="i4")
    assert first == fastzarr.open_array(tmp_path, path="a", mode="r")
    assert first != fastzarr.create_array(tmp_path, name="b", shape=2, dtype="i4")
    assert first != "a"


# zarr-python#2675, zarr-python#1279: order F in the document, order C in the bytes
@pytest.mark.parametrize("compressor", [None, {"id": "blosc"}, {"id": "zlib"}], ids=["none", "blosc", "zlib"])
@pytest.mark.parametrize("given", ["C", "F"])
def test_v2_order_f_is_the_order_of_the_bytes(given: Any, compressor: Any, tmp_path: Path) -> None:
    data = np.arange(77, dtype="<i4").reshape(7, 11).copy(given)
    array = fastzarr.create_array(
        *(tmp_path,),
        shape=(7, 11),
        chunks=(3, 5),
        dtype="<i4",
        order="F",
        compressors=compressor,
        zarr_format=2,
    )
    array[...] = data
    array[1:4, 3:9] = data[1:4, 3:9]
    assert json.loads((tmp_path / ".zarray").read_text())["order"] == "F"
    if compressor is None:
        assert (tmp_path / "0.0").read_bytes() == data[:3, :5].tobytes("F")
    assert_same(array[...], data)
    assert_same(np.asarray(zarr.open_array(LocalStore(tmp_path), mode="r")[...]), data)
