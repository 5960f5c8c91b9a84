"""Cutouts and writes of any kind are NumPy's, over files of every block type, missing ones and growth."""

import contextlib
import tempfile
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
import wkw_layout as layout
from hypothesis import given, settings
from hypothesis import strategies as st
from kernel_paths import without_kernel
from oracle import assert_same

import fastzarr
from fastzarr import wkw
from fastzarr.errors import BoundsCheckError, BufferMismatchError, SelectionError
from fastzarr.testing import strategies

SHAPE = (2, 12, 8, 16)
EDGE = 4


def build(root: Path) -> layout.Volume:
    """Files of every block type beside each other, some missing; edges of files every 4 voxels."""
    kinds = list(layout.BLOCK_TYPES)
    return layout.write(
        root,
        layout.noise(SHAPE, "uint16"),
        block_len=2,
        file_len=2,
        block_type="lz4",
        file_block_types={p: kinds[sum(p) % 3] for p in np.ndindex(3, 2, 4)},
        missing=[(1, 0, 0), (0, 1, 2), (2, 1, 3)],
    )


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("volumes") / "mixed"
    build(root)
    return root


@pytest.fixture(scope="module")
def stored(root: Path) -> layout.Volume:
    return layout.read(root, SHAPE)


@pytest.fixture(scope="module", params=["kernel", "python"])
def array(request: Any, root: Path) -> Any:
    """Open once, without the kernel in one of the cases."""
    with without_kernel() if request.param == "python" else contextlib.nullcontext():
        return wkw.open(root, mode="r", shape=SHAPE)


@given(selection=strategies.selections(SHAPE))
def test_reading(array: Any, stored: layout.Volume, selection: Any) -> None:
    assert_same(array[selection], stored[selection])


@given(data=st.data())
def test_reading_boxes(array: Any, stored: layout.Volume, data: st.DataObject) -> None:
    """Contiguous, as servers and scripts ask for them."""
    box = [slice(None)]
    for size in SHAPE[1:]:
        start = data.draw(st.integers(0, size))
        box.append(slice(start, data.draw(st.integers(start, size))))
    assert_same(array[tuple(box)], stored[tuple(box)])


@given(selection=strategies.selections(SHAPE), data=st.data())
def test_read_into_any_layout(array: Any, stored: layout.Volume, selection: Any, data: st.DataObject) -> None:
    expected = stored[selection]
    steps = [data.draw(st.sampled_from([1, 2, -1, -3])) for _ in expected.shape]
    axes = data.draw(st.permutations(range(expected.ndim)))
    sizes = [size * abs(step) + 2 for size, step in zip(expected.shape, steps, strict=True)]
    around = np.full([sizes[axis] for axis in axes], 7, expected.dtype)

    def window(base: Any) -> Any:
        view = base.transpose(np.argsort(axes)) if axes else base
        for axis, (size, step) in enumerate(zip(expected.shape, steps, strict=True)):
            place = [slice(None)] * expected.ndim
            place[axis] = slice(1, 1 + size * abs(step))
            view = view[tuple(place)]
            place[axis] = slice(None, None, step)
            view = view[tuple(place)]
        return view if axes else view[...]

    beside = np.ones(around.shape, bool)
    window(beside)[...] = False
    out = window(around)
    assert out.shape == expected.shape
    array.read_into(out, selection=selection)
    assert_same(out, expected)
    assert (around[beside] == 7).all()


@given(data=st.data())
def test_orthogonal_selections(array: Any, stored: layout.Volume, data: st.DataObject) -> None:
    pieces = [
        data.draw(st.lists(st.integers(-size, size - 1), max_size=4).map(lambda v: np.array(v, "i8")))
        for size in SHAPE
    ]
    assert_same(array.oindex[tuple(pieces)], stored[np.ix_(*pieces)])
    mask = data.draw(st.lists(st.booleans(), min_size=SHAPE[1], max_size=SHAPE[1]))
    found = array.oindex[:, np.array(mask), 3, ::2]
    assert_same(found, stored[:, np.array(mask)][:, :, 3, ::2])


def test_orthogonal_selections_out_of_order(root: Path, stored: layout.Volume) -> None:
    array = wkw.open(root, mode="r", shape=SHAPE)
    assert_same(array.oindex[[0], [0], [0], [14, 0, 15]], stored[0:1, 0:1, 0:1][..., [14, 0, 15]])
    assert_same(array.oindex[[1, 0], [9, 1, 8], :, [-2, 0, -1]], stored[::-1, [9, 1, 8]][..., [14, 0, 15]])


def test_the_whole_and_what_numpy_makes_of_it(array: Any, stored: layout.Volume) -> None:
    assert (array.shape, array.ndim, array.size) == (SHAPE, 4, stored.size)
    assert (array.dtype, array.nbytes) == (stored.dtype, stored.nbytes)
    assert (array.chunks, array.shards, array.fill_value) == ((2, 2, 2, 2), (2, 4, 4, 4), 0)
    for found in (array[...], array[:], np.asarray(array), np.array(array), array.__array__()):
        assert_same(found, stored)
    assert_same(np.asarray(array, "f8"), stored.astype("f8"))
    assert isinstance(array[0, 1, 2, 3], np.uint16)
    assert array[-1, -2, -3, -4] == stored[-1, -2, -3, -4]


def test_nothing_and_what_is_outside(array: Any, stored: layout.Volume) -> None:
    for selection in (np.s_[:, 5:5], np.s_[:, 9:3], np.s_[:, 12:], np.s_[:, 100:200], np.s_[0, 3, 2, 50:]):
        assert_same(array[selection], stored[selection])
    for selection in (2, np.s_[:, 12], np.s_[:, :, -9], np.s_[0, 0, 0, 16]):
        with pytest.raises(BoundsCheckError, match=r"dimension \d: got index"):
            array[selection]
    for selection in (np.s_[0, 0, 0, 0, 0], "x", 1.5, None, np.s_[..., ...]):
        with pytest.raises(SelectionError):
            array[selection]
    with pytest.raises((BufferMismatchError, ValueError)):
        array.read_into(np.empty((2, 12, 8, 15), "u2"))
    with pytest.raises((fastzarr.errors.ZarrError, TypeError)):
        array[0] = 1


@pytest.mark.parametrize(
    "shape", [(2, 12, 8, 16), (2, 11, 7, 15), (2, 1, 1, 1), (2, 30, 8, 5), (2, 0, 8, 16)], ids=str
)
def test_a_given_extent(root: Path, stored: layout.Volume, shape: tuple[int, ...], way: str) -> None:
    """Shorter than the files, or longer: what is not stored is zero."""
    expected = np.zeros(shape, stored.dtype)
    common = tuple(slice(min(a, b)) for a, b in zip(shape, SHAPE, strict=True))
    expected[common] = stored[common]
    array = wkw.open(root, mode="r", shape=shape)
    assert array.shape == shape
    assert_same(array[...], expected)
    assert_same(array[:, ::-1, 1:, -1:], expected[:, ::-1, 1:, -1:])


@pytest.mark.parametrize("shape", [(1, 4, 4, 4), (3, 4, 4, 4), (4, 4, 4), (2, -1, 4, 4), (2, 4, 4, 1.5), 5])
def test_an_extent_that_no_volume_has(root: Path, shape: Any) -> None:
    with pytest.raises((ValueError, TypeError), match="shape"):
        wkw.open(root, shape=shape)


def test_the_extent_is_that_of_the_files(root: Path, tmp_path: Path, stored: layout.Volume) -> None:
    assert wkw.open(root).shape == SHAPE
    made = wkw.create(tmp_path / "a", dtype="u1", block_len=2, file_len=2)
    assert made.shape == (1, 0, 0, 0)
    made[:, 9:10, 0:1, 5:6] = 1
    for array in (made, wkw.open(tmp_path / "a")):
        assert array.shape[0] == 1
        assert array.shape[1] >= 10
        assert array.shape[3] >= 6
        assert array[0, 9, 0, 5] == array[...].sum() == 1
    assert wkw.open(tmp_path / "a").shape == (1, 12, 4, 8)


BLOCK_TYPES = st.sampled_from([*layout.BLOCK_TYPES])
ROOM = (2, 14, 10, 12)


@st.composite
def boxes(draw: st.DrawFn) -> tuple[slice, ...]:
    box = [draw(st.sampled_from([slice(None), slice(0, 2), slice(1, 2), slice(0, 1)]))]
    for size in ROOM[1:]:
        start = draw(st.integers(0, size - 1))
        box.append(slice(start, draw(st.integers(start, size)), draw(st.sampled_from([None, None, 1, 2]))))
    return tuple(box)


@settings(max_examples=100)
@pytest.mark.parametrize("python", [False, True], ids=["kernel", "python"])
@given(block_type=BLOCK_TYPES, steps=st.lists(boxes(), min_size=1, max_size=5), data=st.data())
def test_growing_by_writes(
    python: bool, block_type: Any, steps: list[tuple[slice, ...]], data: st.DataObject
) -> None:
    """Each file by its blocks: what is beside a write in the same block, file and channel stays."""
    wheel: ModuleType | None
    try:
        import wkw as wheel
    except ImportError:
        wheel = None
    model = np.zeros(ROOM, "u2")
    with tempfile.TemporaryDirectory() as directory, pytest.MonkeyPatch.context() as patch:
        if python:
            patch.setattr(fastzarr.chunk_io.kernel, "TRANSFER", None)
        root = Path(directory, "a")
        array = wkw.create(root, dtype="u2", channels=2, block_len=2, file_len=2, block_type=block_type)
        for number, box in enumerate(steps, 1):
            shape = model[box].shape
            match data.draw(st.sampled_from(["scalar", "C", "F", "broadcast", "zeros", "reversed"])):
                case "scalar":
                    value: Any = number
                case "zeros":
                    value = np.zeros(shape, "u2")
                case "broadcast":
                    value = layout.noise(shape[-1:], "uint16", number)
                case "reversed":
                    value = layout.noise(shape, "uint16", number)[::-1, ::-1, :, ::-1]
                case order:
                    value = layout.noise(shape, "uint16", number).copy(order)
            model[box] = value
            array[box] = value
        again = wkw.open(root, mode="r", shape=ROOM)
        assert_same(again[...], model)
        assert_same(layout.read(root, ROOM), model)
        within = array[...]
        assert_same(within, model[tuple(slice(size) for size in within.shape)]) if all(
            a <= b for a, b in zip(within.shape, ROOM, strict=True)
        ) else None
        if wheel is not None:
            with wheel.Dataset.open(str(root)) as dataset:
                assert_same(dataset.read((0, 0, 0), ROOM[1:]), model)


@pytest.mark.parametrize("block_type", layout.BLOCK_TYPES)
@given(selection=strategies.selections((2, 7, 6, 5)), data=st.data())
@settings(max_examples=60)
def test_writing_any_selection_within_an_extent(block_type: Any, selection: Any, data: st.DataObject) -> None:
    shape = (2, 7, 6, 5)
    model = layout.noise(shape, "int32", 3)
    with tempfile.TemporaryDirectory() as directory:
        root = Path(directory, "a")
        wkw.create(root, dtype="i4", channels=2, block_len=2, file_len=2, block_type=block_type)
        array = wkw.open(root, shape=shape)
        array[...] = model
        value = data.draw(strategies.arrays(model.dtype, model[selection].shape))
        model[selection] = value
        array[selection] = value
        assert_same(array[...], model)
        assert_same(layout.read(root, shape), model)


def test_a_given_extent_does_not_grow(tmp_path: Path) -> None:
    wkw.create(tmp_path / "a", dtype="u1", block_len=2, file_len=2)
    array = wkw.open(tmp_path / "a", shape=(1, 5, 5, 5))
    array[:, 4:5, 4:5, 4:5] = 3
    before = layout.read(tmp_path / "a", (1, 8, 8, 8))
    with pytest.raises((ValueError, IndexError)):
        array[:, 4:6, 0:1, 0:1] = np.ones((1, 2, 1, 1), "u1")
    with pytest.raises(BoundsCheckError):
        array[0, 5, 0, 0] = 1
    assert array.shape == (1, 5, 5, 5)
    np.testing.assert_array_equal(layout.read(tmp_path / "a", (1, 8, 8, 8)), before)


@pytest.mark.parametrize("block_type", layout.BLOCK_TYPES)
def test_values_that_do_not_fit_change_nothing(tmp_path: Path, block_type: Any) -> None:
    array = wkw.create(tmp_path / "a", dtype="u1", block_len=2, file_len=2, block_type=block_type)
    array[:, 0:4, 0:4, 0:4] = 9
    for value in (np.ones((1, 3, 4, 4)), np.ones((2, 4, 4, 4)), np.ones((1, 1, 4, 4, 4, 1)), "x"):
        with pytest.raises((ValueError, TypeError)):
            array[:, 0:4, 0:4, 0:4] = value
        with pytest.raises((ValueError, TypeError)):
            array[:, 4:8, 0:4, 0:4] = value
    assert_same(wkw.open(tmp_path / "a", mode="r")[...], np.full((1, 4, 4, 4), 9, "u1"))


def test_existing_files_of_another_block_type_keep_theirs_or_take_the_headers(
    tmp_path: Path, way: str
) -> None:
    """Either is right; what is stored is."""
    stored = build(tmp_path / "mixed")
    array = wkw.open(tmp_path / "mixed", shape=SHAPE)
    value = layout.noise((2, 9, 5, 11), "uint16", 5)
    array[:, 2:11, 1:6, 3:14] = stored[:, 2:11, 1:6, 3:14] = value
    assert_same(array[...], stored)
    assert_same(layout.read(tmp_path / "mixed", SHAPE), stored)


@pytest.mark.parametrize("block_type", layout.BLOCK_TYPES)
def test_zeros_are_stored_or_left_out(tmp_path: Path, block_type: Any, way: str) -> None:
    root = tmp_path / "a"
    array = wkw.create(root, dtype="f4", block_len=2, file_len=2, block_type=block_type)
    array[:, 0:8, 0:4, 0:4] = 1
    array[:, 0:4, 0:4, 0:4] = 0
    expected = np.zeros((1, 8, 4, 4), "f4")
    expected[:, 4:] = 1
    assert_same(wkw.open(root, shape=(1, 8, 4, 4))[...], expected)
    assert_same(layout.read(root, (1, 8, 4, 4)), expected)
    array[:, 4:8, 0:4, 0:4] = -0.0
    assert np.signbit(wkw.open(root, shape=(1, 8, 4, 4))[:, 4:]).all(), "minus zero is a value"


@pytest.mark.parametrize("block_type", layout.BLOCK_TYPES)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_every_bit_of_a_float_is_kept(tmp_path: Path, dtype: str, block_type: Any, way: str) -> None:
    kind = np.dtype(dtype)
    unsigned = np.dtype(f"u{kind.itemsize}")
    cube = np.random.default_rng(2).integers(0, 256, 64 * kind.itemsize, np.uint8).view(unsigned)
    infinity = np.array(np.inf, kind).view(unsigned)
    cube[:4] = [infinity + 1, infinity | unsigned.type(1 << (kind.itemsize * 8 - 1)), infinity, 1]
    array = wkw.create(tmp_path / "a", dtype=dtype, block_len=2, file_len=2, block_type=block_type)
    array[:, 0:4, 0:4, 0:4] = cube.view(kind).reshape(1, 4, 4, 4)
    found = wkw.open(tmp_path / "a", mode="r")[...]
    np.testing.assert_array_equal(found.reshape(-1).view(unsigned), cube)
