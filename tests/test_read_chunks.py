"""`Array.read_chunks`: decoded chunks by their coordinates, in stored order."""

import contextlib
import itertools
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from kernel_paths import without_kernel
from numpy.typing import NDArray

import fastzarr
from fastzarr.errors import BoundsCheckError, ChunkError, ChunkShapeError, SelectionError

CODECS: list[Any] = [
    None,
    {"name": "zstd", "configuration": {"level": 1, "checksum": True}},
    {"name": "numcodecs.lz4", "configuration": {"acceleration": 1}},
    {"name": "gzip", "configuration": {"level": 1}},
]


def expected(data: NDArray[Any], chunks: tuple[int, ...], coords: Any, fill: Any) -> NDArray[Any]:
    """A whole chunk, with the fill value beyond the array."""
    whole = np.full(chunks, fill, data.dtype)
    part = data[tuple(slice(n * size, (n + 1) * size) for n, size in zip(coords, chunks, strict=True))]
    whole[tuple(map(slice, part.shape))] = part
    return whole


def check(array: fastzarr.Array, data: NDArray[Any], coords: Any, stored: Any) -> None:
    rows, found = array.read_chunks(coords)
    assert found.tolist() == stored
    for row, place in zip(rows, coords, strict=True):
        chunk = np.ndarray(array.chunks, array.dtype, row, strides=array.chunk_strides)
        np.testing.assert_array_equal(chunk, expected(data, array.chunks, place, array.fill_value))


@st.composite
def cases(draw: st.DrawFn) -> dict[str, Any]:
    ndim = draw(st.integers(1, 4))
    chunks = tuple(draw(st.integers(1, 4)) for _ in range(ndim))
    counts = tuple(draw(st.integers(1, 3)) for _ in range(ndim))
    sharded = draw(st.booleans())
    return {
        "shape": tuple(draw(st.integers(1, 20 if ndim < 3 else 8)) for _ in range(ndim)),
        "chunks": chunks,
        "shards": tuple(a * b for a, b in zip(chunks, counts, strict=True)) if sharded else None,
        "dtype": draw(st.sampled_from(["u1", "<i2", ">f4", "f8"])),
        "compressors": draw(st.sampled_from(CODECS)),
        "filters": [{"name": "transpose", "configuration": {"order": draw(st.permutations(range(ndim)))}}],
        "fill_value": draw(st.sampled_from([0, 7])),
    }


@settings(max_examples=100)
@given(case=cases(), seed=st.integers(0, 2**32 - 1), kernel=st.booleans())
def test_chunks_are_those_of_the_array(
    tmp_path_factory: pytest.TempPathFactory, case: dict[str, Any], seed: int, kernel: bool
) -> None:
    random = np.random.default_rng(seed)
    data = random.integers(0, 9, case["shape"]).astype(np.dtype(case["dtype"]).newbyteorder("="))
    with contextlib.nullcontext() if kernel else without_kernel():
        array = fastzarr.create_array(tmp_path_factory.mktemp("a") / "a", **case)
        array[...] = data
        every = [*itertools.product(*map(range, array.cdata_shape))]
        coords = [every[n] for n in random.integers(0, len(every), 12)]
        fill = array.fill_value
        stored = [bool((expected(data, array.chunks, place, fill) != fill).any()) for place in coords]
        check(array, data, coords, stored)


@pytest.mark.parametrize("kernel", [True, False])
def test_missing_chunks_and_shards_are_the_fill_value(tmp_path: Path, kernel: bool) -> None:
    data = np.full((8, 8), 3, "u2")
    data[:2, :2] = 1
    data[4:, :4] = 9
    with contextlib.nullcontext() if kernel else without_kernel():
        array = fastzarr.create_array(
            tmp_path / "a", shape=(8, 8), chunks=(2, 2), shards=(4, 4), dtype="u2", fill_value=3
        )
        array[...] = data
        coords = [(3, 3), (0, 0), (0, 1), (2, 0), (0, 0)]
        check(array, data, coords, [False, True, False, True, True])


def test_a_shard_whose_index_is_kept(tmp_path: Path) -> None:
    """Once the file is old enough to tell its versions apart; then another one takes its place."""
    array = fastzarr.create_array(tmp_path / "a", shape=(8, 8), chunks=(2, 2), shards=(8, 8), dtype="u2")
    data = np.arange(1, 65, dtype="u2").reshape(8, 8)
    array[...] = data
    time.sleep(2.1)
    coords = [(3, 3), (1, 0), (2, 2)]
    for _ in range(3):
        check(array, data, coords, [True] * 3)
    array[...] = data + 1
    for _ in range(3):
        check(array, data + 1, coords, [True] * 3)


def test_no_coordinates(tmp_path: Path) -> None:
    array = fastzarr.create_array(tmp_path / "a", shape=(8, 8), chunks=(2, 2), dtype="u2")
    rows, found = array.read_chunks(np.empty((0, 2), int))
    assert rows.shape == (0, 8)
    assert found.shape == (0,)


@pytest.mark.parametrize("shards", [None, (4, 4)])
def test_a_damaged_chunk_raises_and_names_it(tmp_path: Path, shards: Any) -> None:
    array = fastzarr.create_array(
        tmp_path / "a", shape=(4, 4), chunks=(2, 2), shards=shards, dtype="u2", compressors=CODECS[1]
    )
    array[...] = np.arange(1, 17).reshape(4, 4)
    file = tmp_path / "a" / "c" / "0" / "0"
    content = bytearray(file.read_bytes())
    content[10] ^= 0xFF
    file.write_bytes(content)
    with pytest.raises(ChunkError, match="c/0/0"):
        array.read_chunks([(0, 0)])


def test_what_is_no_list_of_chunks_is_refused(tmp_path: Path) -> None:
    array = fastzarr.create_array(tmp_path / "a", shape=(8, 8), chunks=(2, 2), dtype="u2")
    with pytest.raises(BoundsCheckError, match=r"got chunk \(4, 0\), expected one of the grid of \(4, 4\)"):
        array.read_chunks([(0, 0), (4, 0)])
    with pytest.raises(BoundsCheckError, match=r"got chunk \(0, -1\)"):
        array.read_chunks([(0, -1)])
    for coords in ([0, 1], [(0, 1, 2)], [(0.5, 1)], [(True, False)], 3):
        with pytest.raises(SelectionError, match=r"expected integers of shape \(n, 2\)"):
            array.read_chunks(coords)


def test_chunks_without_a_shape_or_size_are_refused(tmp_path: Path) -> None:
    texts = fastzarr.create_array(tmp_path / "t", shape=(4,), chunks=(2,), dtype="T")
    with pytest.raises(TypeError, match="expected elements of fixed size"):
        texts.read_chunks([(0,)])
    uneven = fastzarr.create_array(tmp_path / "r", shape=(5,), chunks=[[2, 3]], dtype="u1")
    with pytest.raises(ChunkShapeError, match="rectilinear"):
        uneven.read_chunks([(0,)])
