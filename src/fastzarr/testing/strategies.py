"""Hypothesis strategies for arrays: shapes, chunk grids, data types, elements, selections of every kind."""

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


def chunk_grids(shape: tuple[int, ...]) -> st.SearchStrategy[dict[str, Any]]:
    """Arguments of `create_array` for chunks of any shape, or shards of them, in either kind of grid."""
    regular = chunk_shapes(shape).map(lambda chunks: {"chunks": chunks})
    factors = st.tuples(*(st.integers(1, 3) for _ in shape))
    sharded = st.builds(
        lambda chunks, factors: {
            "chunks": chunks,
            "shards": tuple(chunk * factor for chunk, factor in zip(chunks, factors, strict=True)),
        },
        *(chunk_shapes(shape), factors),
    )
    if not shape or not all(shape):
        return regular | sharded
    edges = st.tuples(*(_edges(size) for size in shape)).map(lambda chunks: {"chunks": chunks})
    return (
        regular | sharded | edges | chunk_shapes(shape).flatmap(lambda chunks: _edged_shards(shape, chunks))
    )


def _edges(size: int, unit: int = 1) -> st.SearchStrategy[list[int]]:
    """Sizes of multiples of `unit` that add up to `size`, which is one."""
    cuts = st.sets(st.integers(1, size // unit - 1)) if size > unit else st.just(set())
    return cuts.map(lambda cuts: [int(edge) * unit for edge in np.diff([0, *sorted(cuts), size // unit])])


def _edged_shards(shape: tuple[int, ...], chunks: tuple[int, ...]) -> st.SearchStrategy[dict[str, Any]]:
    shards = [
        st.just(chunk * 2) if size % chunk else _edges(size, chunk)
        for size, chunk in zip(shape, chunks, strict=True)
    ]
    return st.tuples(*shards).map(lambda shards: {"chunks": chunks, "shards": shards})


def dtypes() -> st.SearchStrategy[np.dtype[Any]]:
    """Numbers of all data types as NumPy dtypes, in either byte order."""
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
    """Basic selections that are valid for `shape`: integers, slices, one `...`."""
    return st.composite(_selection)(shape)


def slices(size: int) -> st.SearchStrategy[slice]:
    """Slices with steps other than 0, also beyond a dimension of `size`."""
    bound = st.none() | st.integers(-2 * size - 2, 2 * size + 2)
    step = st.none() | st.integers(1, size + 2) | st.integers(-size - 2, -1)
    return st.builds(slice, bound, bound, step)


def orthogonal_selections(shape: tuple[int, ...]) -> st.SearchStrategy[tuple[Any, ...]]:
    """Integers, slices, lists and arrays of integers in any order and number, and booleans."""
    return st.tuples(*(_item(size) | _lists(size) for size in shape))


def coordinate_selections(shape: tuple[int, ...]) -> st.SearchStrategy[tuple[NDArray[np.int64], ...]]:
    """Coordinates for every dimension of `shape`, none of whose sizes is 0, in arrays that broadcast."""
    return npst.mutually_broadcastable_shapes(
        num_shapes=len(shape), max_dims=3, min_side=0, max_side=4
    ).flatmap(
        lambda shapes: st.tuples(
            *(
                npst.arrays(np.int64, given, elements=st.integers(-size, size - 1))
                for size, given in zip(shape, shapes.input_shapes, strict=True)
            )
        )
    )


def masks(shape: tuple[int, ...]) -> st.SearchStrategy[NDArray[np.bool_]]:
    """Booleans in `shape`."""
    return npst.arrays(bool, shape)


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


def _lists(size: int) -> st.SearchStrategy[Any]:
    masks = npst.arrays(bool, size)
    if size == 0:
        return masks | st.just([])
    indices = st.lists(st.integers(-size, size - 1), max_size=2 * size)
    ordered = st.lists(st.integers(0, size - 1), max_size=size).map(sorted)
    return st.one_of(
        indices,
        ordered,
        st.permutations(range(size)),
        indices.map(lambda given: np.array(given, "i2")),
        masks,
    )


def _item(size: int) -> st.SearchStrategy[Any]:
    if size == 0:
        return slices(size)
    index = st.integers(-size, size - 1)
    return st.one_of(slices(size), index, index.map(np.int64))
