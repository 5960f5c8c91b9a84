"""Hypothesis strategies for arrays: shapes, chunk shapes, data types, elements, basic selections."""

from typing import Any

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst
from numpy.typing import NDArray

from fastzarr.data_types import numbers
from fastzarr.indexing import BasicSelection


def shapes(*, max_dims: int = 3, max_side: int = 12) -> st.SearchStrategy[tuple[int, ...]]:
    """Array shapes, those without elements and without dimensions included."""
    return st.lists(st.integers(0, max_side), max_size=max_dims).map(tuple)


def chunk_shapes(shape: tuple[int, ...]) -> st.SearchStrategy[tuple[int, ...]]:
    """Chunk shapes for an array of `shape`, chunks larger than the array included."""
    return st.tuples(*(st.integers(1, size + 3) for size in shape))


def dtypes() -> st.SearchStrategy[np.dtype[Any]]:
    """All data types as NumPy dtypes, in either byte order."""
    named = st.sampled_from(numbers.NAMES).map(np.dtype)
    return st.tuples(named, st.sampled_from("<>")).map(lambda given: given[0].newbyteorder(given[1]))


def arrays(dtype: np.dtype[Any], shape: tuple[int, ...]) -> st.SearchStrategy[NDArray[Any]]:
    """Arrays of any bits, NaN payloads and signs of zero included; half of them of few distinct elements."""
    if dtype.kind == "b":
        return npst.arrays(dtype, shape)
    count = int(np.prod(shape)) * dtype.itemsize
    any_bits = st.binary(min_size=count, max_size=count)
    few = st.binary(min_size=dtype.itemsize, max_size=dtype.itemsize).map(
        lambda one: one * (count // len(one))
    )
    return st.one_of(any_bits, few).map(lambda data: np.frombuffer(data, dtype).reshape(shape).copy())


def selections(shape: tuple[int, ...]) -> st.SearchStrategy[BasicSelection]:
    """Basic selections that are valid for `shape`: integers, slices with steps of 1 or more, one `...`."""
    return st.composite(_selection)(shape)


def slices(size: int) -> st.SearchStrategy[slice]:
    """Slices with a step of 1 or more, also beyond a dimension of `size`."""
    bound = st.none() | st.integers(-2 * size - 2, 2 * size + 2)
    return st.builds(slice, bound, bound, st.none() | st.integers(1, size + 2))


def _selection(draw: st.DrawFn, shape: tuple[int, ...]) -> BasicSelection:
    items: list[Any] = [draw(_item(size)) for size in shape]
    hidden = draw(st.integers(0, len(items)))
    start = draw(st.integers(0, len(items) - hidden))
    if draw(st.booleans()):
        items[start : start + hidden] = [...]
    elif draw(st.booleans()):
        items = items[: len(items) - hidden]
    if len(items) == 1 and draw(st.booleans()):
        return items[0]  # type: ignore[no-any-return]
    return tuple(items)


def _item(size: int) -> st.SearchStrategy[Any]:
    if size == 0:
        return slices(size)
    index = st.integers(-size, size - 1)
    return st.one_of(slices(size), index, index.map(np.int64))
