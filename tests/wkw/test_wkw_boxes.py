"""`read` and `write` of boxes, and what growth does with odd requests."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import wkw_layout as layout
from oracle import assert_same

from fastzarr import wkw
from fastzarr.errors import BoundsCheckError, BufferMismatchError, ReadOnlyError


@pytest.mark.parametrize("block_type", layout.BLOCK_TYPES)
def test_boxes_as_the_wheel_reads_and_writes_them(tmp_path: Path, block_type: Any, way: str) -> None:
    wheel = pytest.importorskip("wkw")
    array = wkw.create(tmp_path / "a", dtype="i2", channels=2, block_len=2, file_len=2, block_type=block_type)
    value = layout.noise((2, 5, 7, 3), "int16")
    array.write((3, 0, 6), value)
    with wheel.Dataset.open(str(tmp_path / "a")) as dataset:
        for offset, shape in (
            *[
                ((3, 0, 6), (5, 7, 3)),
                ((0, 0, 0), (12, 8, 12)),
                ((4, 1, 7), (1, 1, 1)),
                ((2, 2, 2), (9, 9, 9)),
            ],
            *[((100, 200, 300), (3, 2, 1)), ((5, 5, 5), (0, 3, 2))],
        ):
            assert_same(array.read(offset, shape), dataset.read(offset, shape))
    assert array.read((3, 0, 6), (5, 7, 3)).flags.f_contiguous


def test_one_channel_may_be_left_out(tmp_path: Path) -> None:
    array = wkw.create(tmp_path / "a", dtype="u1", block_len=2, file_len=2)
    array.write((1, 1, 1), np.full((2, 3, 4), 5))
    assert array[0, 1:3, 1:4, 1:5].min() == 5
    assert array[...].sum() == 5 * 24


@pytest.mark.parametrize(
    ("offset", "shape"),
    [
        *[((-1, 0, 0), (1, 1, 1)), ((0, 0, 0), (1, -1, 1)), ((0, 0), (1, 1, 1)), ((0, 0, 0, 0), (1, 1, 1))],
        *[((2**32, 0, 0), (1, 1, 1)), ((2**32 - 1, 0, 0), (2, 1, 1)), ((0, 0, 0), (1, 1, 2**40))],
    ],
)
def test_boxes_that_there_are_not(tmp_path: Path, offset: Any, shape: Any) -> None:
    array = wkw.create(tmp_path / "a", dtype="u1")
    with pytest.raises(BoundsCheckError, match=r"got .*expected"):
        array.read(offset, shape)


def test_data_of_other_shapes(tmp_path: Path) -> None:
    array = wkw.create(tmp_path / "a", dtype="u1", channels=2, block_len=2, file_len=2)
    for shape in ((3, 3, 3), (1, 3, 3, 3), (3, 3), (2, 3, 3, 3, 1), ()):
        with pytest.raises(BufferMismatchError, match="got data of shape"):
            array.write((0, 0, 0), np.ones(shape))
    array.write((0, 0, 0), np.ones((2, 1, 1, 1)))
    with pytest.raises(ReadOnlyError):
        wkw.open(tmp_path / "a", mode="r").write((0, 0, 0), np.ones((2, 1, 1, 1)))


@pytest.mark.parametrize("block_type", layout.BLOCK_TYPES)
def test_the_last_voxel_of_all(tmp_path: Path, block_type: Any, way: str) -> None:
    """With files of one block: 2³² voxels along each edge."""
    array = wkw.create(tmp_path / "a", dtype="u1", block_len=2, file_len=1, block_type=block_type)
    last = 2**32 - 1
    array.write((last, last, last), np.full((1, 1, 1), 7))
    assert (tmp_path / f"a/z{last // 2}/y{last // 2}/x{last // 2}.wkw").exists()
    again = wkw.open(tmp_path / "a")
    assert again.shape == (1, 2**32, 2**32, 2**32)
    assert again[0, -1, -1, -1] == again[0, last, last, last] == 7
    assert again.read((last - 1, last - 1, last - 1), (2, 2, 2)).sum() == 7
    for box in (np.s_[:, last : last + 2, 0:1, 0:1], np.s_[:, 0 : 2**40, 0:1, 0:1]):
        with pytest.raises(BoundsCheckError):
            again[box] = 1


def test_what_does_not_grow(tmp_path: Path) -> None:
    """Integers, ends that are not said, and ends counted from behind are those of NumPy."""
    array = wkw.create(tmp_path / "a", dtype="u1", block_len=2, file_len=2)
    array[:, 0:4, 0:4, 0:4] = 1
    for selection in (np.s_[0, 4], np.s_[0, 0, 0, 4], np.s_[0, 0, -5]):
        with pytest.raises(BoundsCheckError):
            array[selection] = 2
    array[:, 6:] = 2
    array[:, -1:] = 3
    array[..., :-3] = 4
    expected = np.full((1, 4, 4, 4), 1, "u1")
    expected[:, -1:] = 3
    expected[..., :-3] = 4
    assert array.shape == (1, 4, 4, 4)
    assert_same(array[...], expected)
    array[:, np.int64(4) : np.int64(5), 0:1, 0:1] = 9
    assert array.shape == (1, 8, 4, 4)
    array[..., 4:6] = 5
    assert array.shape == (1, 8, 4, 8)
    assert array[0, 7, 3, 5] == 5


@pytest.mark.parametrize("value", [np.ones((1, 2, 2, 3)), np.ones((7, 7)), "x"])
def test_a_write_that_failed_does_not_grow(tmp_path: Path, value: Any) -> None:
    array = wkw.create(tmp_path / "a", dtype="u1", block_len=2, file_len=2)
    array[:, 0:2, 0:2, 0:2] = 1
    with pytest.raises((ValueError, TypeError)):
        array[:, 10:12, 0:2, 0:2] = value
    assert array.shape == wkw.open(tmp_path / "a").shape == (1, 4, 4, 4)


@pytest.mark.parametrize("selection", [np.s_[:, 0:1.5], np.s_[:, "a":3], np.s_[0:1, 0:3, 0:3, 0:3, 0:3]])
def test_selections_that_there_are_not(tmp_path: Path, selection: Any) -> None:
    array = wkw.create(tmp_path / "a", dtype="u1", block_len=2, file_len=2)
    with pytest.raises((IndexError, TypeError)):
        array[selection] = 1
    assert array.shape == (1, 0, 0, 0)
