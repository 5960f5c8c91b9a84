"""Orthogonal, coordinate, mask and block selections read and write what NumPy's do, whatever the chunks."""

import threading
from typing import Any

import numpy as np
import pytest
import zarr
from hypothesis import given
from hypothesis import strategies as st
from numpy.lib.recfunctions import repack_fields
from numpy.typing import NDArray
from oracle import assert_same
from zarr.storage import MemoryStore

import fastzarr
from fastzarr.errors import BoundsCheckError, BufferMismatchError, NegativeStepError, SelectionError
from fastzarr.indexing import Grid
from fastzarr.testing import strategies

RECORD = np.dtype([("a", "<i2"), ("b", "<f8"), ("c", "S3")])


def crossed(selection: tuple[Any, ...], numbers: NDArray[Any]) -> NDArray[Any]:
    """What an orthogonal selection takes of `numbers`, one dimension after the other."""
    for axis, item in reversed(list(enumerate(selection))):
        index = item if isinstance(item, slice) or np.ndim(item) == 0 else np.asarray(item)
        index = index.astype(int) if isinstance(index, np.ndarray) and not index.size else index
        if isinstance(index, np.ndarray) and index.dtype == bool:
            index = np.flatnonzero(index)
        numbers = numbers[(slice(None),) * axis + (index,)]
    return numbers


def drawn_selection(data: st.DataObject, shape: tuple[int, ...]) -> tuple[str, Any, NDArray[Any]]:
    """Kind, selection, and the numbers of the elements it takes."""
    numbers = np.arange(int(np.prod(shape))).reshape(shape)
    kinds = ["basic", "orthogonal"]
    if shape:
        kinds.append("mask")
        if all(shape):
            kinds.append("coordinate")
    kind = data.draw(st.sampled_from(kinds))
    if kind == "orthogonal":
        selection: Any = data.draw(strategies.orthogonal_selections(shape))
        return kind, selection, np.asarray(crossed(selection, numbers))
    if kind == "mask":
        selection = data.draw(strategies.masks(shape))
    elif kind == "coordinate":
        selection = data.draw(strategies.coordinate_selections(shape))
    else:
        selection = data.draw(strategies.selections(shape))
    taken = numbers[selection]
    return kind, selection, np.atleast_1d(taken) if kind == "coordinate" else np.asarray(taken)


def drawn_array(data: st.DataObject) -> tuple[fastzarr.Array, NDArray[Any]]:
    """An array of any chunks, and its elements, all different; half of the chunks are missing."""
    shape = data.draw(strategies.shapes(max_side=9))
    arguments = data.draw(strategies.chunk_grids(shape))
    array = fastzarr.create_array(None, shape=shape, dtype="i4", compressors=None, **arguments)
    expected = np.zeros(shape, "i4")
    if data.draw(st.booleans()):
        expected[...] = np.arange(1, expected.size + 1).reshape(shape)
        array[...] = expected
    return array, expected


@given(st.data())
def test_reading_any_kind(data: st.DataObject) -> None:
    array, elements = drawn_array(data)
    kind, selection, numbers = drawn_selection(data, array.shape)
    expected = elements.reshape(-1)[numbers]
    read = getattr(array, f"get_{kind}_selection")
    assert_same(read(selection), expected)
    out = np.full(expected.shape[::-1], -1, "i4").T
    assert read(selection, out=out) is out
    assert_same(out, expected)


@given(st.data())
def test_writing_any_kind_where_the_last_value_of_an_element_stays(data: st.DataObject) -> None:
    array, elements = drawn_array(data)
    kind, selection, numbers = drawn_selection(data, array.shape)
    value = -1 - np.arange(numbers.size, dtype="i4").reshape(numbers.shape)
    if data.draw(st.booleans()):
        value = value[..., :1] if value.ndim else value
    getattr(array, f"set_{kind}_selection")(selection, value)
    flat = elements.reshape(-1)
    for number, element in zip(numbers.flat, np.broadcast_to(value, numbers.shape).flat, strict=True):
        flat[number] = element
    assert_same(array[...], elements)
    assert_same(fastzarr.open_array(array.store, mode="r")[...], elements)


@given(st.data())
def test_blocks(data: st.DataObject) -> None:
    array, elements = drawn_array(data)
    sizes = array.write_chunk_sizes
    chosen: list[Any] = []
    places: list[slice] = []
    for axis, counts in enumerate(sizes):
        ends = [0, *np.minimum(np.cumsum(counts, dtype=int), array.shape[axis]).tolist()]
        blocks = data.draw(strategies.slices(len(counts)).map(lambda s: slice(s.start, s.stop)))
        if counts and data.draw(st.booleans()):
            block = data.draw(st.integers(-len(counts), len(counts) - 1))
            chosen.append(block)
            blocks = slice(block % len(counts), block % len(counts) + 1)
        else:
            chosen.append(blocks)
        taken = range(*blocks.indices(len(counts)))
        places.append(slice(ends[taken.start], ends[taken.stop]) if taken else slice(0, 0))
    selection, place = tuple(chosen), tuple(places)
    assert_same(array.blocks[selection], elements[place])
    array.blocks[selection] = 7
    elements[place] = 7
    assert_same(array[...], elements)


BRACKETS: list[tuple[tuple[int, ...], Any]] = [
    *(
        ((7,), s)
        for s in ([1, 5, 1], np.array([[6, 0], [-1, 3]]), [True, False] * 3 + [True], slice(5, 1, -2))
    ),
    *(((7,), s) for s in (np.arange(7)[::-1], np.array([2], "u1"), np.int16(3), [8], [1.0], [[0], [1, 2]])),
    *(((4, 5), s) for s in ([1, 0], (0, [1, 4]), ([3, 0], slice(1, 4)), ([0, 1], [1, 2]), (2, 3))),
    *(((4, 5), s) for s in (([[0], [1]], [0, 1]), np.eye(4, 5, dtype=bool), ([0], [1, 2, 3]), ([0, 1], 7))),
    *(((4, 5), s) for s in (([True, False, True, False], [1, 2]), np.eye(5, 4, dtype=bool), None, 1.5, "f")),
    *(((4, 5), s) for s in ([0, -5], [0, 4], (slice(None), np.array([[1]])), (0, 0, [0]), True, ([0], None))),
    *(((3, 4, 5), s) for s in ((0, [1, 2]), ([1, 2], 0), (slice(None), [3, 0]), (0, slice(None), [1, 2]))),
    *(((3, 4, 5), s) for s in (([0, 1], [1, 2]), ([2, 0], [1, 3], [0, 4]), ([0, 1], [0, 1], slice(None)))),
    *(((), s) for s in ((), ..., 0, [0])),
]
"""Shape, and what stands between the brackets."""


def outcome(call: Any) -> tuple[type[Exception] | None, Any]:
    try:
        return None, np.asarray(call())
    except (IndexError, ValueError) as error:
        return (ValueError if isinstance(error, ValueError) else IndexError), None


@pytest.mark.parametrize("shards", [False, True])
@pytest.mark.parametrize(("shape", "selection"), BRACKETS)
@pytest.mark.parametrize("access", ["brackets", "oindex", "vindex"])
def test_as_in_zarr_python(shape: tuple[int, ...], selection: Any, access: str, shards: bool) -> None:
    """The same elements; where zarr-python has an error, an `IndexError` or what NumPy returns."""
    elements = np.arange(int(np.prod(shape)), dtype="i4").reshape(shape)
    chunks = tuple(2 for _ in shape)
    extra = {"shards": tuple(4 for _ in shape)} if shards else {}
    ours = fastzarr.create_array(None, shape=shape, chunks=chunks, dtype="i4", **extra)
    theirs = zarr.create_array(MemoryStore(), shape=shape, chunks=chunks, dtype="i4")
    ours[...] = theirs[...] = elements
    mine, other = (array if access == "brackets" else getattr(array, access) for array in (ours, theirs))
    failed, found = outcome(lambda: mine[selection])
    their_failure, expected = outcome(lambda: other[selection])
    if their_failure is None:
        assert_same(found, expected)
    elif failed is not IndexError:
        assert_same(found, np.asarray(elements[selection]))


@pytest.mark.parametrize(
    ("selection", "text"),
    [
        (([0, 1], [0, 1, 2]), r"got coordinates of shapes \(2,\), \(3,\), expected ones that broadcast"),
        (([0], [7]), r"dimension 1: got index 7, expected -5 to 4 \(size 5\)"),
        ((slice(None), [-6, 2]), r"dimension 1: got index -6, expected -5 to 4 \(size 5\)"),
        ([1.0], r"dimension 0: got an array of float64, expected integers or booleans"),
        (([[0, 1]], slice(None)), r"dimension 0: got an array with 2 dimensions, expected 1; see vindex"),
        ((slice(None), [True]), r"dimension 1: got 1 booleans, expected 5"),
        ([[0], [1, 2]], r"dimension 0: got \[\[0\], \[1, 2\]\]: .*inhomogeneous"),
    ],
)
def test_errors_name_dimension_found_and_expected(selection: Any, text: str) -> None:
    array = fastzarr.create_array(None, shape=(4, 5), dtype="i4")
    with pytest.raises(SelectionError, match=text):
        array[selection]
    with pytest.raises(SelectionError, match=text):
        array[selection] = 1


def test_errors_of_each_kind() -> None:
    array = fastzarr.create_array(None, shape=(4, 5), chunks=(2, 2), dtype="i4")
    with pytest.raises(SelectionError, match="got 2 arrays for 3 dimensions, expected one, or one for each"):
        fastzarr.create_array(None, shape=(2, 2, 2), dtype="i4")[[0, 1], [0, 1]]
    with pytest.raises(SelectionError, match=r"got a mask of bool of shape \(5, 4\), .* shape \(4, 5\)"):
        array.get_mask_selection(np.zeros((5, 4), bool))
    with pytest.raises(SelectionError, match="got 1 arrays of coordinates for 2 dimensions"):
        array.vindex[[0, 1]]
    with pytest.raises(SelectionError, match=r"dimension 0: got \[0\], expected an integer, a slice or"):
        array.get_basic_selection([0])
    with pytest.raises(BoundsCheckError, match=r"dimension 1: got index 3, expected -3 to 2 \(size 3\)"):
        array.blocks[0, 3]
    with pytest.raises(NegativeStepError, match="dimension 0: got step -1 of chunks, expected 1"):
        array.blocks[::-1]
    with pytest.raises(SelectionError, match="dimension 0: got step 2 of chunks, expected 1"):
        array.blocks[::2]
    with pytest.raises(BufferMismatchError, match=r"got shape \(2,\), expected \(3,\)"):
        array.get_coordinate_selection(([0, 1, 2], 0), out=np.empty(2, "i4"))


def test_values_for_points_may_be_flat() -> None:
    """zarr-python takes the elements of a value in C order, whatever its shape."""
    array = fastzarr.create_array(None, shape=(3, 4), chunks=(2, 3), dtype="i4")
    array.vindex[[[0, 1], [2, 0]], [[1, 1], [2, 3]]] = [5, 6, 7, 8]
    assert array.vindex[[[0, 1], [2, 0]], [[1, 1], [2, 3]]].tolist() == [[5, 6], [7, 8]]
    array.vindex[np.eye(3, 4, dtype=bool)] = [[1, 2, 3]]
    assert array[[0, 1, 2], [0, 1, 2]].tolist() == [1, 2, 3]
    with pytest.raises(BufferMismatchError, match=r"got a value of shape \(2,\)"):
        array.vindex[[0, 1, 2], 0] = [1, 2]


@pytest.mark.parametrize("grid", [{}, {"shards": (4, 4)}])
def test_fields(grid: dict[str, Any]) -> None:
    elements = np.zeros((5, 6), RECORD)
    elements["a"] = np.arange(30).reshape(5, 6)
    elements["b"] = elements["a"] / 2
    elements["c"] = b"xyz"
    array = fastzarr.create_array(None, data=elements, chunks=(2, 2), **grid)
    for selection, expected in (
        *((selection, elements["a"]) for selection in ("a", ("a",), ("a", ...))),
        (("b", slice(1, 4), 2), elements["b"][1:4, 2]),
        (("a", "c"), elements[["a", "c"]]),
        (("c", "a", slice(None), 1), elements[["c", "a"]][:, 1]),
    ):
        found = array[selection]
        assert found.dtype == repack_fields(expected).dtype
        np.testing.assert_array_equal(found, expected)
    assert_same(array["b", [4, 0, 4]], elements["b"][[4, 0, 4]])
    assert_same(array.oindex["a", [4, 0], [1, 5]], elements["a"][np.ix_([4, 0], [1, 5])])
    assert_same(array.vindex["a", [4, 0], [1, 5]], elements["a"][[4, 0], [1, 5]])
    assert_same(array.get_mask_selection(elements["a"] > 7, fields="b"), elements["b"][elements["a"] > 7])
    assert_same(array.blocks["a", -1], elements["a"][-1:] if not grid else elements["a"][4:])
    out = np.empty((5, 6), "f8")
    assert array.get_basic_selection(fields="b", out=out) is out
    assert_same(out, elements["b"])
    array["a"] = -elements["a"]
    elements["a"] = -elements["a"]
    array["b", 1:4, ::2] = 99
    elements["b"][1:4, ::2] = 99
    array.set_orthogonal_selection((0, [5, 0]), [b"p", b"q"], fields=["c"])
    elements["c"][0, [5, 0]] = [b"p", b"q"]
    array[4, 5] = (1, 2, b"3")
    elements[4, 5] = (1, 2, b"3")
    np.testing.assert_array_equal(array[...], elements)
    with pytest.raises(SelectionError, match=r"got field 'x', expected one of: 'a', 'b', 'c'"):
        array["x"]
    with pytest.raises(SelectionError, match=r"got fields \['a', 'b'\] to write, expected one"):
        array["a", "b"] = 0
    plain = fastzarr.create_array(None, shape=3, dtype="i4")
    with pytest.raises(SelectionError, match="expected one of: none, since the data type has no fields"):
        plain.get_basic_selection(fields="a")


def test_threads_that_write_fields_of_one_chunk_keep_each_others() -> None:
    array = fastzarr.create_array(None, shape=64, chunks=64, dtype=RECORD)

    def write(field: str, value: Any) -> None:
        for index in range(64):
            array[field, index] = value

    threads = [threading.Thread(target=write, args=given) for given in (("a", 1), ("b", 2.5), ("c", b"abc"))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (array[...] == np.array((1, 2.5, b"abc"), RECORD)).all()


def test_an_array_as_index() -> None:
    array = fastzarr.create_array(None, data=np.arange(10), chunks=(3,))
    index = fastzarr.create_array(None, data=np.array([7, 2, 2]))
    assert array[index].tolist() == array.oindex[index].tolist() == array.vindex[index].tolist() == [7, 2, 2]


def test_chunks_not_met_are_not_read() -> None:
    """A permutation of all elements is a permutation, and a chunk is read once, whatever is asked of it."""
    calls: list[str] = []

    class Counting(fastzarr.MemoryStore):
        def get_into(self, key: str, out: memoryview) -> int | None:
            calls.append(key)
            return super().get_into(key, out)

    array = fastzarr.create_array(Counting(), data=np.arange(100), chunks=(10,), compressors=None)
    order = np.random.default_rng(0).permutation(100)
    assert array[order].tolist() == order.tolist()
    assert sorted(calls) == sorted(f"c/{chunk}" for chunk in range(10))
    calls.clear()
    assert array.oindex[[95, 5, 95]].tolist() == [95, 5, 95]
    assert sorted(calls) == ["c/0", "c/9"]


def test_plans_are_made_chunk_by_chunk() -> None:
    """Of a hundred million chunks, the first share is there at once; of points, only their chunks matter."""
    grid = Grid((10**12, 10**12), (10, 10))
    assert next(iter(grid.plan(...))).coords == (0, 0)
    plan = grid.plan_coordinates((np.array([10**12 - 1, 5, 7, 10**12 - 1]), np.array([3, 10**11, 10**11, 4])))
    assert [share.coords for share in plan] == [(0, 10**10), (10**11 - 1, 0)]
    huge = Grid((2**62, 2**62, 2**62), (1, 1, 1))
    points = np.array([2**62 - 1, 0, 2**62 - 1])
    assert [share.coords for share in huge.plan_coordinates((points, points, points))] == [
        (0, 0, 0),
        (2**62 - 1,) * 3,
    ]


def subarrays() -> tuple[fastzarr.Array, NDArray[Any]]:
    """A v2 array of records with a field of two by two numbers, and its elements."""
    elements = np.zeros((3, 4), [("y", "<i4", (2, 2)), ("x", "<i2")])
    elements["y"] = np.arange(48).reshape(3, 4, 2, 2)
    elements["x"] = np.arange(12).reshape(3, 4)
    return fastzarr.create_array({}, data=elements, chunks=(2, 3), zarr_format=2), elements


def test_fields_that_are_subarrays_are_read() -> None:
    array, elements = subarrays()
    mask = elements["x"] % 3 == 1
    assert_same(array["y"], elements["y"])
    assert_same(array["y", 1], elements["y"][1])
    assert_same(array["y", 1, 2], elements["y"][1, 2])
    assert_same(array["y", "x", ::2], elements[["y", "x"]][::2])
    assert_same(array.oindex["y", [2, 0], [3, 1]], elements["y"][np.ix_([2, 0], [3, 1])])
    assert_same(array.vindex["y", [2, 0], [3, 1]], elements["y"][[2, 0], [3, 1]])
    assert_same(array.vindex["y", mask], elements["y"][mask])
    out = np.empty((3, 4, 2, 2), "<i4")
    assert array.get_basic_selection(..., out=out, fields="y") is out
    assert_same(out, elements["y"])
    with pytest.raises(BufferMismatchError, match=r"got shape \(3, 4\), expected \(3, 4, 2, 2\)"):
        array.get_basic_selection(..., out=np.empty((3, 4), "<i4"), fields="y")


@pytest.mark.parametrize(
    "value",
    [7, [7, 8], [[1, 2], [3, 4]], -np.arange(16).reshape(4, 2, 2), -np.arange(48).reshape(3, 4, 2, 2)],
)
def test_fields_that_are_subarrays_are_written(value: Any) -> None:
    array, elements = subarrays()
    array["y"] = value
    elements["y"] = value
    assert_same(array[...], elements)


def test_fields_that_are_subarrays_are_written_in_part() -> None:
    array, elements = subarrays()
    mask = elements["x"] % 3 == 1
    values = -np.arange(16).reshape(4, 2, 2)
    array["y", 1] = elements["y"][1] = values
    array["y", 2, 1] = elements["y"][2, 1] = values[3]
    array.vindex["y", mask] = elements["y"][mask] = values + 100
    array.vindex["y", [0, 2], [0, 3]] = elements["y"][[0, 2], [0, 3]] = values[:2] + 200
    array.oindex["y", [2, 0], [3, 1]] = values.reshape(2, 2, 2, 2)
    elements["y"][np.ix_([2, 0], [3, 1])] = values.reshape(2, 2, 2, 2)
    assert_same(array[...], elements)
    with pytest.raises(BufferMismatchError, match=r"expected one that broadcasts to \(3, 4, 2, 2\)"):
        array["y"] = [1, 2, 3]
