"""Selections: steps, bounds, permutations, lists and masks on shards: as reported elsewhere."""

import itertools
from typing import Any

import numpy as np
import pytest
import zarr
from numpy.typing import NDArray
from oracle import assert_same, values

import fastzarr
from fastzarr.errors import BoundsCheckError, ChunkError, SelectionError

LAYOUTS: dict[str, dict[str, Any]] = {
    "chunks": {},
    "shards": {"shards": True},
    "v2": {"zarr_format": 2},
}


def made(data: NDArray[Any], layout: str, chunk: int = 2, library: Any = fastzarr) -> Any:
    options = dict(LAYOUTS[layout])
    if options.pop("shards", False):
        options["shards"] = (3 * chunk,) * data.ndim
    return library.create_array({}, data=data, chunks=(chunk,) * data.ndim, **options)


def orthogonal(data: NDArray[Any], selection: tuple[Any, ...]) -> tuple[NDArray[Any], tuple[int, ...]]:
    """What each item selects along its own dimension, and the axes that integers drop."""
    dropped = tuple(axis for axis, item in enumerate(selection) if isinstance(item, int | np.integer))
    kept = [[item] if axis in dropped else item for axis, item in enumerate(selection)]
    indices = [np.arange(size)[item] for size, item in zip(data.shape, kept, strict=True)]
    return data[np.ix_(*indices)], dropped


# zarr-python PR#4203: a whole shard's length of indices was taken for the whole shard
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("compressors", [None, "auto"])
def test_a_permutation_of_a_whole_shard_is_permuted(compressors: Any, layout: str) -> None:
    data = values((12, 4), "i4")
    array = made(data, layout)
    generator = np.random.default_rng(0)
    for length in (6, 12):
        chosen = [generator.permutation(length), np.arange(length)[::-1], np.zeros(length, int)]
        chosen += [np.sort(generator.integers(0, length, length)), np.roll(np.arange(length), 1)]
        for rows in chosen:
            assert_same(array[rows], data[rows])
            assert_same(array.oindex[rows, ::-1], data[rows, ::-1])
            assert_same(array.vindex[rows, rows % 4], data[rows, rows % 4])
    rows = generator.permutation(12)
    changed = values((12, 4), "i4", seed=1)
    array.oindex[rows] = changed
    data[rows] = changed
    assert_same(array[...], data)
    array.vindex[rows[:6], [0, 1, 2, 3, 3, 3]] = data[rows[:6], [0, 1, 2, 3, 3, 3]] = np.arange(6)
    assert_same(array[...], data)


# zarr-python PR#4203: the fast way must see damage too
def test_a_permutation_of_a_damaged_shard_raises() -> None:
    store: dict[str, bytes] = {}
    array = fastzarr.create_array(store, data=np.arange(1, 13), chunks=2, shards=12, compressors=None)
    shard = bytearray(store["c/0"])
    shard[-70] ^= 1
    store["c/0"] = bytes(shard)
    for rows in (np.arange(12), np.arange(12)[::-1], [0, 0, 5]):
        with pytest.raises(ChunkError, match="c/0"):
            array[rows]


ITEMS: list[Any] = [
    *(3, -1, slice(None), slice(1, 6), slice(None, None, 3), slice(2, 2)),
    *([0, 1], [5, 0, 5], np.array([6, 2]), np.array([True, False, True, True, False, False, True]), []),
]


# zarr-python#2018, #2816, #2817, #3763
@pytest.mark.parametrize("layout", LAYOUTS)
def test_lists_masks_slices_and_integers_together(layout: str) -> None:
    data = values((7, 7), "i4")
    array = made(data, layout)
    theirs = made(data, layout, library=zarr)
    for selection in itertools.product(ITEMS, repeat=2):
        selection = tuple(np.array(item, int) if isinstance(item, list) else item for item in selection)
        expected, dropped = orthogonal(data, selection)
        expected = expected.squeeze(dropped)
        found = array.oindex[selection]
        assert_same(found, expected)
        lists = sum(isinstance(item, np.ndarray) for item in selection)
        if lists == 1:
            assert_same(array[selection], expected)
            if expected.size:
                assert_same(theirs.oindex[selection], expected)


# zarr-python#2816, #3763
@pytest.mark.parametrize("layout", LAYOUTS)
def test_an_integer_beside_lists_in_three_dimensions(layout: str) -> None:
    data = values((7, 6, 5), "i4")
    array = made(data, layout)
    for selection in itertools.permutations([3, np.array([0, 1, 4]), slice(1, 5)]):
        expected, dropped = orthogonal(data, selection)
        assert_same(array[selection], expected.squeeze(dropped))
        assert_same(array.oindex[selection], expected.squeeze(dropped))
        changed = values(expected.squeeze(dropped).shape, "i4", seed=2)
        array[selection] = changed
        indices = [np.arange(size)[item] for size, item in zip(data.shape, selection, strict=True)]
        data[np.ix_(*map(np.atleast_1d, indices))] = np.expand_dims(changed, dropped)
        assert_same(array[...], data)
    assert_same(array[5, [0, 1], 2], data[5, [0, 1], 2])
    assert_same(array[[5, 0], [0, 1], [2, 2]], data[[5, 0], [0, 1], [2, 2]])


# zarr-python#2018
@pytest.mark.parametrize("layout", LAYOUTS)
def test_masks_and_blocks(layout: str) -> None:
    data = values((7, 6), "i4")
    array = made(data, layout)
    for seed in range(4):
        mask = np.random.default_rng(seed).random(data.shape) < (0.3, 0.9, 0, 1)[seed]
        assert_same(array[mask], data[mask])
        assert_same(array.vindex[mask], data[mask])
        array.vindex[mask] = data[mask] = np.arange(mask.sum())
        assert_same(array[...], data)
    block = 6 if layout == "shards" else 2
    assert_same(array.blocks[0], data[:block])
    assert_same(array.blocks[-1, 0], data[6:, :block])
    array.blocks[0, 0] = data[:block, :block] = 8
    assert_same(array[...], data)


# zarr-python's NegativeStepError; TensorStore and NumPy have negative steps
@pytest.mark.parametrize("layout", LAYOUTS)
def test_slices_are_numpys(layout: str) -> None:
    data = values((7,), "i4")
    array = made(data, layout, chunk=3)
    bounds = [None, *range(-9, 10, 2), 100, -100]
    for start, stop, step in itertools.product(bounds, bounds, (None, 1, 2, 7, 50, -1, -2, -50)):
        selection = slice(start, stop, step)
        assert_same(array[selection], data[selection])
    array[::-2] = data[::-2] = np.arange(4)
    assert_same(array[...], data)
    with pytest.raises(SelectionError, match="slice step cannot be zero"):
        array[::0]


# zarr-python's BoundsCheckError
@pytest.mark.parametrize("layout", LAYOUTS)
def test_integers_of_any_type_within_bounds(layout: str) -> None:
    data = values((7, 5), "i4")
    array = made(data, layout)
    for kind in (int, np.int8, np.uint8, np.int64, np.uint64):
        assert_same(array[kind(6)], data[6])
        assert_same(array[kind(6), ..., kind(1)], data[6, 1])
    for selection in ((..., 2), (1, ...), ..., (), (slice(0, 0), 1), (slice(5, 2),), (slice(3, 100),)):
        assert_same(array[selection], data[selection])
    outside: list[Any] = [7, -8, (0, 5), (0, -6), 2**40, np.int64(7), ([0, 7],), ([0, -8],)]
    for selection in outside:
        for read in (array.__getitem__, array.oindex.__getitem__):
            with pytest.raises(BoundsCheckError) as caught:
                read(selection)
            assert isinstance(caught.value, IndexError)
    with pytest.raises(IndexError):
        array[7] = 1
    with pytest.raises(IndexError):
        array.vindex[[0, 7], [0, 0]]
    assert_same(array[...], data)
