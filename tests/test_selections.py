"""Basic selections read and write what NumPy's do, whatever the chunks, codecs and data type."""

import functools
import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from oracle import assert_same, bits

import fastzarr
from fastzarr.errors import BoundsCheckError, SelectionError
from fastzarr.testing import strategies

CHAINS: list[dict[str, Any]] = [
    {"compressors": None},
    {"compressors": None, "serializer": {"name": "bytes", "configuration": {"endian": "big"}}},
    {"compressors": {"name": "zstd", "configuration": {"level": 1}}},
    {"compressors": [{"name": "blosc", "configuration": {"cname": "lz4"}}, {"name": "crc32c"}]},
    {"compressors": None, "zarr_format": 2},
    {"compressors": None, "zarr_format": 2, "order": "F"},
    {"compressors": {"id": "lz4"}, "zarr_format": 2, "order": "F"},
]


@pytest.fixture(autouse=True, scope="module")
def _poisoned_memory() -> Iterator[None]:
    """New memory is never zero by chance: what is not written would show."""

    def empty(shape: Any, dtype: Any = float, order: Any = "C") -> NDArray[Any]:
        made = real(shape, dtype, order)
        made.reshape(-1, order="A").view(np.uint8)[...] = 0xA5
        return made

    real = np.empty
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(np, "empty", functools.wraps(real)(empty))
        yield


@dataclass
class Drawn:
    """An array with elements written, the same in NumPy, and a selection of both."""

    array: fastzarr.Array
    expected: NDArray[Any]
    selection: Any


@st.composite
def drawn(draw: st.DrawFn) -> Drawn:
    shape = draw(strategies.shapes())
    dtype = draw(strategies.dtypes())
    chain = draw(st.sampled_from(CHAINS))
    axes = draw(st.permutations(range(len(shape))))
    if chain.get("zarr_format") != 2 and draw(st.booleans()):
        chain = chain | {"filters": {"name": "transpose", "configuration": {"order": list(axes)}}}
    array = fastzarr.create_array(
        None, shape=shape, dtype=dtype, chunks=draw(strategies.chunk_shapes(shape)), **chain
    )
    expected = np.zeros(shape, array.dtype)
    for _ in range(draw(st.integers(0, 2))):
        selection = draw(strategies.selections(shape))
        value = draw(strategies.arrays(array.dtype, expected[selection].shape))
        array[selection] = value
        expected[selection] = value
    return Drawn(array, expected, draw(strategies.selections(shape)))


@given(drawn())
def test_reading(case: Drawn) -> None:
    expected = case.expected[case.selection]
    found = case.array[case.selection]
    assert_same(found, expected)
    assert np.ndim(found) == 0 or found.dtype == case.array.dtype


@given(drawn(), st.data())
def test_writing(case: Drawn, data: st.DataObject) -> None:
    shape = case.expected[case.selection].shape
    value = data.draw(strategies.arrays(case.array.dtype, shape))
    layout = data.draw(st.sampled_from(["C", "F", "foreign", "broadcast", "scalar", "other dtype"]))
    if layout == "F":
        value = value.copy("F")
    elif layout == "foreign":
        value = value.astype(value.dtype.newbyteorder())
    elif layout == "broadcast" and value.ndim:
        value = value[..., :1]
    elif layout == "scalar":
        value = value[(0,) * value.ndim] if value.size else value.dtype.type(1)
    elif layout == "other dtype":
        value = np.ones(shape, np.int8)
    case.array[case.selection] = value
    case.expected[case.selection] = value
    assert_same(case.array[...], case.expected)
    reopened = fastzarr.open_array(case.array.store, mode="r")
    assert_same(reopened[case.selection], case.expected[case.selection])


@given(drawn(), st.data())
def test_read_into_any_layout(case: Drawn, data: st.DataObject) -> None:
    expected = case.expected[case.selection]
    margin = data.draw(st.integers(0, 2))
    steps = [data.draw(st.sampled_from([1, 2, -1, -3])) for _ in expected.shape]
    axes = data.draw(st.permutations(range(expected.ndim)))
    sizes = [size * abs(step) + 2 * margin for size, step in zip(expected.shape, steps, strict=True)]
    around = np.full([sizes[axis] for axis in axes], 1, case.array.dtype)
    window = around.transpose(np.argsort(axes)) if axes else around
    within = tuple(
        slice(margin, margin + size * abs(s)) for size, s in zip(expected.shape, steps, strict=True)
    )
    out = window[within][tuple(slice(None, None, step) for step in steps)] if axes else around[...]
    assert out.shape == expected.shape
    beside = np.ones(around.shape, bool)
    if axes:
        beside.transpose(np.argsort(axes))[within][tuple(slice(None, None, step) for step in steps)] = False
    else:
        beside[...] = False
    case.array.read_into(out, selection=case.selection)
    assert_same(out, expected)
    assert (around[beside] == 1).all()


@given(strategies.shapes(max_side=6), st.data())
def test_cells_never_written_are_the_fill_value(shape: tuple[int, ...], data: st.DataObject) -> None:
    dtype = data.draw(strategies.dtypes())
    fill = data.draw(strategies.arrays(np.dtype(dtype.newbyteorder("=")), ()))[()]
    array = fastzarr.create_array(
        *(None,), shape=shape, dtype=dtype, chunks=data.draw(strategies.chunk_shapes(shape)), fill_value=fill
    )
    written = data.draw(strategies.selections(shape))
    expected = np.full(shape, array.fill_value, array.dtype)
    value = data.draw(strategies.arrays(array.dtype, expected[written].shape))
    array[written] = value
    expected[written] = value
    assert_same(array[...], expected)


def test_every_slice_of_one_small_dimension() -> None:
    bounds = [None, *range(-7, 8)]
    for chunk in (1, 2, 3, 5, 9):
        array = fastzarr.create_array(None, data=np.arange(5), chunks=(chunk,))
        expected = np.arange(5)
        for start, stop, step in itertools.product(bounds, bounds, (None, 1, 2, 3, 7, -1, -2, -7)):
            selection = slice(start, stop, step)
            np.testing.assert_array_equal(array[selection], expected[selection])


@pytest.mark.parametrize("chunks", [(1, 3, 4), (1, 2, 4), (2, 3, 4), (1, 5, 5)])
@pytest.mark.parametrize("chain", CHAINS)
def test_a_time_series_step_by_step(chain: dict[str, Any], chunks: tuple[int, ...]) -> None:
    data = np.arange(1, 61, dtype="i4").reshape(5, 3, 4)
    array = fastzarr.create_array(None, shape=data.shape, dtype="i4", chunks=chunks, **chain)
    for step in (3, 0, 4, 1, 2):
        array[step] = data[step]
        np.testing.assert_array_equal(array[step], data[step])
    np.testing.assert_array_equal(array[...], data)
    out = np.zeros_like(data)
    for step in (-5, 1, np.int64(2), -2, 4):
        array.read_into(out[step], selection=step)
        np.testing.assert_array_equal(array[step], data[step])
    np.testing.assert_array_equal(out, data)
    array[np.int64(2)] = 7
    assert (array[2] == 7).all()
    assert (array[1] == data[1]).all()
    for step in (5, -6):
        with pytest.raises(BoundsCheckError, match=rf"dimension 0: got index {step}, expected -5 to 4"):
            array[step]


def test_what_a_selection_without_dimensions_returns() -> None:
    """As with NumPy: a scalar, not a 0-dimensional array, when integers take every dimension."""
    array = fastzarr.create_array(None, data=np.arange(6, dtype="f4").reshape(2, 3), chunks=(2, 2))
    for found in (array[1, 2], array[np.int64(1), -1], array[np.array(1), 2]):
        assert isinstance(found, np.float32)
        assert found == 5
    zero_dimensional = fastzarr.create_array(None, data=np.array(5, "f4"))
    assert isinstance(zero_dimensional[()], np.float32)
    assert bits(zero_dimensional[()]) == bits(np.float32(5))


def test_integers_out_of_bounds_name_dimension_and_range() -> None:
    array = fastzarr.create_array(None, shape=(4, 5), dtype="i4")
    for selection in ((0, 5), (0, -6)):
        with pytest.raises(
            BoundsCheckError, match=r"dimension 1: got index -?\d, expected -5 to 4 \(size 5\)"
        ):
            array[selection]
    with pytest.raises(IndexError):
        array[4] = 0
    empty = fastzarr.create_array(None, shape=(0,), dtype="i4")
    with pytest.raises(BoundsCheckError, match=r"got index 0, expected none \(size 0\)"):
        empty[0]


@pytest.mark.parametrize(
    ("selection", "text"),
    [
        ((0, 0, 0), r"got 3 indices for 2 dimensions"),
        ((..., ...), r"got 2 ellipses .* expected one at the most"),
        (slice(None, None, 0), r"dimension 0: got slice\(None, None, 0\): slice step cannot be zero"),
        (slice("a"), r"dimension 0: got slice\(None, 'a', None\): slice indices must be integers"),
        ((0, 1.5), r"dimension 1: got 1.5, expected an integer, a slice or \.\.\."),
        (True, r"dimension 0: got True, expected an integer, a slice or \.\.\."),
        (None, r"dimension 0: got None, expected an integer"),
        ("field", r"dimension 0: got 'field', expected an integer"),
    ],
)
def test_selections_that_are_refused(selection: Any, text: str) -> None:
    array = fastzarr.create_array(None, shape=(4, 5), dtype="i4")
    with pytest.raises(SelectionError, match=text) as caught:
        array[selection]
    assert isinstance(caught.value, IndexError)
    with pytest.raises(SelectionError, match=text):
        array[selection] = 1
    with pytest.raises(SelectionError, match=text):
        array.read_into(np.empty((4, 5), "i4"), selection=selection)


def test_an_index_of_an_array_without_dimensions_is_refused() -> None:
    array = fastzarr.create_array(None, shape=(), dtype="i4")
    with pytest.raises(
        SelectionError, match=r"got index 0 for an array without dimensions, expected \(\) or"
    ):
        array[0]
