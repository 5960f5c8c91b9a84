"""Resize and append: what zarr-python has afterwards, element by element and key by key."""

from typing import Any

import numpy as np
import pytest
import zarr
from hypothesis import given, settings
from hypothesis import strategies as st
from oracle import assert_same, documents

import fastzarr

FORMATS = pytest.mark.parametrize("zarr_format", [2, 3])
SHAPES = st.tuples(st.integers(0, 7), st.integers(0, 7))
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("resize"), SHAPES),
        st.tuples(st.just("append"), st.tuples(st.integers(0, 3), st.integers(0, 1))),
        st.tuples(st.just("write"), SHAPES),
    ),
    max_size=6,
)


def step(array: Any, kind: str, numbers: tuple[int, int], value: int) -> None:
    if kind == "resize":
        array.resize(numbers)
    elif kind == "append":
        count, axis = numbers
        shape = [count, count]
        shape[1 - axis] = array.shape[1 - axis]
        data = np.full(shape, value, "i4")
        assert array.append(data, axis=axis) == array.shape
    else:
        array[: numbers[0], : numbers[1]] = value


@FORMATS
@settings(max_examples=80, deadline=None)
@given(steps=STEPS)
def test_any_steps_leave_what_zarr_python_leaves(
    steps: list[tuple[str, tuple[int, int]]], zarr_format: int
) -> None:
    options: dict[str, Any] = {
        "shape": (5, 4),
        "chunks": (2, 3),
        "dtype": "i4",
        "fill_value": -1,
        "compressors": None,
        "zarr_format": zarr_format,
    }
    memory, objects = zarr.storage.MemoryStore(), {}
    pair = zarr.create_array(memory, **options), fastzarr.create_array(objects, **options)
    for array in pair:
        array[...] = np.arange(20).reshape(5, 4)
    for number, (kind, numbers) in enumerate(steps):
        for array in pair:
            step(array, kind, numbers, 100 + number)
        theirs, ours = pair
        assert_same(ours[...], np.asarray(theirs[...]))
        stored = {key: buffer.to_bytes() for key, buffer in memory._store_dict.items()}
        assert objects.keys() == stored.keys()
        assert documents(objects) == documents(stored)
