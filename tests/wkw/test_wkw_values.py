"""Values that the voxels can't have are refused; NumPy would let them wrap around."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fastzarr import wkw
from fastzarr.errors import BufferMismatchError

BOX = (8, 8, 8)


@pytest.mark.parametrize(
    ("dtype", "values"),
    [
        ("uint8", np.full(BOX, 300)),
        ("uint8", np.full(BOX, -1, "int8")),
        ("uint8", np.full(BOX, 1.5)),
        ("uint16", np.full(BOX, np.nan)),
        ("uint64", np.full(BOX, -1)),
        ("int8", np.full(BOX, 128, "uint8")),
        ("float32", np.full(BOX, 2**24 + 1)),
    ],
)
def test_are_refused(tmp_path: Path, dtype: str, values: Any) -> None:
    array = wkw.create(tmp_path / "a", dtype=dtype, file_len=1)
    array.write((0, 0, 0), np.ones(BOX, dtype))
    message = f"values that {dtype} has not, such as {values.flat[0]}; expected {dtype}"
    for write in (
        lambda: array.write((0, 0, 0), values),
        lambda: array.__setitem__((0, slice(8), slice(8), slice(8)), values),
        lambda: array.oindex.__setitem__((0, slice(8), slice(8), slice(8)), values),
        lambda: array.__setitem__((0, 1, 1, 1), values.flat[0]),
    ):
        with pytest.raises(BufferMismatchError, match=message.replace(".", r"\.")):
            write()
    assert (array.read((0, 0, 0), BOX) == 1).all()


@pytest.mark.parametrize(
    ("dtype", "values"),
    [
        ("uint8", np.full(BOX, 255)),
        ("uint8", np.full(BOX, 7.0)),
        ("uint8", np.full(BOX, True)),
        ("uint64", np.full(BOX, 2**62)),
        ("float32", np.full(BOX, 0.1)),
        ("float32", np.full(BOX, np.nan)),
        ("float64", np.full(BOX, 2**53)),
    ],
)
def test_stay_the_same(tmp_path: Path, dtype: str, values: Any) -> None:
    array = wkw.create(tmp_path / "a", dtype=dtype, file_len=1)
    array.write((0, 0, 0), values)
    assert np.array_equal(array.read((0, 0, 0), BOX)[0], values.astype(dtype), equal_nan=dtype[0] == "f")
