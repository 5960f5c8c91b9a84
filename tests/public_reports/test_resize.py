"""Arrays that grow and shrink: as reported elsewhere."""

import json
import threading
import time
import tracemalloc
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import zarr
from oracle import assert_same, files, read_by_tensorstore, read_by_zarr

import fastzarr

FORMATS = pytest.mark.parametrize("zarr_format", [2, 3])
LAYOUTS: dict[str, dict[str, Any]] = {
    "v2": {"zarr_format": 2},
    "v2, nested": {"zarr_format": 2, "chunk_key_encoding": {"name": "v2", "separator": "/"}},
    "v3": {},
    "v3, dots": {"chunk_key_encoding": {"name": "default", "separator": "."}},
    "shards": {"shards": True},
}


def made(library: Any, store: Any, layout: str, chunks: tuple[int, ...], **options: Any) -> Any:
    given = dict(LAYOUTS[layout])
    if given.pop("shards", False):
        given["shards"], chunks = chunks, (1,) * len(chunks)
    return library.create_array(store, chunks=chunks, **given, **options)


# dask/dask#7673, zarr-python#1533, JuliaIO/Zarr.jl#266
@pytest.mark.parametrize("separator", [".", "/", None])
def test_the_separator_of_v2_is_followed_and_kept(separator: str | None, tmp_path: Path) -> None:
    data = np.arange(1, 25, dtype="i4").reshape(4, 6)
    options = {} if separator is None else {"chunk_key_encoding": {"name": "v2", "separator": separator}}
    theirs = zarr.create_array(
        tmp_path, shape=(4, 6), chunks=(2, 3), dtype="i4", zarr_format=2, compressors=None, **options
    )
    theirs[...] = data
    path = tmp_path / ".zarray"
    if separator is None:  # as written before the member existed
        document = json.loads(path.read_text())
        document.pop("dimension_separator", None)
        path.write_text(json.dumps(document))
    key = f"1{separator or '.'}1"
    array = fastzarr.open_array(tmp_path)
    assert_same(array[...], data)
    before = json.loads(path.read_text())
    array.attrs["a"] = 1
    array.resize((6, 6))
    array[4:] = 7
    assert json.loads(path.read_text()) == before | {"shape": [6, 6]}
    assert (tmp_path / key).is_file()
    assert (tmp_path / key.replace("1", "2", 1)).is_file()
    assert_same(read_by_zarr(tmp_path), np.vstack([data, np.full((2, 6), 7, "i4")]))


STEPS = [(1, 1), (4, 6), (5, 2), (2, 9), (0, 6), (3, 3), (4, 6)]


# zarr-python#1017; zarr-specs#188, #208
@pytest.mark.parametrize("layout", LAYOUTS)
def test_shrinking_and_growing_is_as_with_zarr_python(layout: str, tmp_path: Path) -> None:
    """Whole chunks outside are gone; what lies outside in a chunk that stays may be seen again."""
    shape, chunks = (4, 6), (2, 3)
    ours, theirs = (
        made(library, tmp_path / library.__name__, layout, chunks, shape=shape, dtype="i4", fill_value=9)
        for library in (fastzarr, zarr)
    )
    for array in (ours, theirs):
        array[...] = 1
    for step in STEPS:
        for array in (ours, theirs):
            array.resize(step)
        keys = {name: set(files(tmp_path / name)) for name in ("fastzarr", "zarr")}
        assert keys["fastzarr"] | {".zattrs"} == keys["zarr"] | {".zattrs"}
        assert_same(ours[...], np.asarray(theirs[...]))
        assert_same(read_by_zarr(tmp_path / "fastzarr"), np.asarray(theirs[...]))
        if step == (4, 6):
            for array in (ours, theirs):
                array[...] = 2
    assert ours.shape == (4, 6)


# zarr-python#1017: writing all of a chunk that lies in the array makes the rest of it the fill value
@pytest.mark.parametrize("layout", LAYOUTS)
def test_cells_outside_of_a_chunk_that_is_written_are_the_fill_value_again(layout: str) -> None:
    array = made(fastzarr, {}, layout, (2, 3), shape=(4, 6), dtype="i4", fill_value=9)
    array[...] = 1
    array.resize((3, 5))
    array[2:, 3:] = 5
    array.resize((4, 6))
    expected = np.ones((4, 6), "i4")
    expected[2:, 3:] = [[5, 5, 9], [9, 9, 9]]
    expected[3, :3] = 1
    assert_same(array[...], expected)


# zarr-python#1017; zarr-specs#188, #208: the option to see nothing again
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("smaller", [(1, 1), (3, 5), (4, 2), (2, 6), (3, 0), (9, 1)])
def test_what_lies_beyond_is_erased_where_asked_for(layout: str, smaller: tuple[int, int]) -> None:
    array = made(fastzarr, {}, layout, (2, 3), shape=(4, 6), dtype="i4", fill_value=9)
    array[...] = 1
    array.resize(smaller, erase_beyond=True)
    array.resize((4, 6))
    expected = np.full((4, 6), 9, "i4")
    expected[: smaller[0], : smaller[1]] = 1
    assert_same(array[...], expected)


class FailingStore(fastzarr.MemoryStore):
    """Fails to erase one key, or to write one."""

    failing: tuple[str, str] = ("", "")

    def erase(self, key: str) -> None:
        if self.failing == ("erase", key):
            raise OSError(5, f"Input/output error while erasing {key}")
        super().erase(key)

    def set(self, key: str, data: Any) -> None:
        if self.failing == ("set", key):
            raise OSError(5, f"Input/output error while writing {key}")
        super().set(key, data)


# JuliaIO/Zarr.jl#342
@FORMATS
@pytest.mark.parametrize("verb", ["erase", "set"])
def test_a_failed_resize_loses_nothing_that_the_shape_tells_of(verb: str, zarr_format: Any) -> None:
    store = FailingStore()
    data = np.arange(1, 13)
    array = fastzarr.create_array(store, data=data, chunks=2, zarr_format=zarr_format)
    document, prefix = ("zarr.json", "c/") if zarr_format == 3 else (".zarray", "")
    store.failing = (verb, f"{prefix}4" if verb == "erase" else document)
    with pytest.raises(OSError, match="Input/output error"):
        array.resize(5)
    store.failing = ("", "")
    for found in (array, fastzarr.open_array(store)):
        assert found.shape == fastzarr.open_array(store).shape
        np.testing.assert_array_equal(found[...], data[: found.shape[0]])
    array.resize(5)
    np.testing.assert_array_equal(fastzarr.open_array(store)[...], data[:5])


# zarr-python#3702
@pytest.mark.parametrize("layout", ["v2", "v3", "shards"])
def test_a_huge_array_grows_at_once(layout: str, tmp_path: Path) -> None:
    size = 2**40
    array = made(fastzarr, tmp_path, layout, (1000,), shape=(size,), dtype="u1")
    array[size - 1] = 7
    tracemalloc.start()
    start = time.process_time()
    array.resize(2 * size)
    chunks = 1 if layout == "shards" else 1000
    assert array.nchunks == -(-2 * size // chunks)
    assert array[size - 1] == 7
    assert array[2 * size - 1] == 0
    array.resize(size + 5)
    assert array[size - 2 :].tolist() == [0, 7, 0, 0, 0, 0, 0]
    assert array.append(np.ones(3, "u1")) == (size + 8,)
    seconds, peak = time.process_time() - start, tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert seconds < 1
    assert peak < 50 << 20


# zarr-python#1977, #150, #187, #972
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("shape", [(0,), (0, 3), (3, 0)])
def test_append_to_an_array_without_elements(shape: tuple[int, ...], layout: str, tmp_path: Path) -> None:
    axis = shape.index(0)
    array = made(fastzarr, tmp_path, layout, (2,) * len(shape), shape=shape, dtype="i4")
    empty = np.zeros(shape, "i4")
    assert array.append(empty, axis=axis) == shape
    data = np.arange(1, 1 + 5 * int(np.prod([size or 1 for size in shape])), dtype="i4")
    data = data.reshape([5 if size == 0 else size for size in shape])
    assert array.append(data, axis=axis) == data.shape
    expected = np.concatenate([data, data], axis=axis)
    array.append(data, axis=axis)
    for read in (read_by_zarr, read_by_tensorstore):
        assert_same(read(tmp_path), expected)
    assert_same(array[...], expected)


# acquire-project/acquire-zarr#159, #158: a stream of appended frames
@pytest.mark.parametrize("frames", [1, 5, 8])
def test_appended_frames_are_in_whole_shards_with_an_index(frames: int, tmp_path: Path) -> None:
    array = fastzarr.create_array(tmp_path, shape=(0, 3), chunks=(1, 3), shards=(4, 3), dtype="u2")
    data = np.arange(1, 1 + 3 * frames, dtype="u2").reshape(frames, 3)
    for frame in data:
        array.append(frame[None])
        for read in (read_by_zarr, read_by_tensorstore):
            assert_same(read(tmp_path)[-1], frame)
    assert_same(read_by_zarr(tmp_path), data)


# zarr-python#3682: appending from threads
@pytest.mark.parametrize("handles", [1, 4])
@pytest.mark.parametrize("layout", ["v3", "shards"])
@pytest.mark.parametrize("rows", [1, 3])
def test_all_that_threads_append_is_kept(rows: int, layout: str, handles: int, tmp_path: Path) -> None:
    array = made(fastzarr, tmp_path, layout, (4, 5), shape=(0, 5), dtype="i4")
    arrays = [array, *(fastzarr.open_array(tmp_path) for _ in range(handles - 1))]
    barrier = threading.Barrier(4)

    def work(number: int) -> None:
        barrier.wait(20)
        for turn in range(10):
            arrays[number % handles].append(np.full((rows, 5), 1 + number * 10 + turn))

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(work, range(4)))
    found = fastzarr.open_array(tmp_path)[...]
    assert found.shape == (40 * rows, 5)
    assert (found == found[:, :1]).all()
    np.testing.assert_array_equal(np.sort(found[:, 0]), np.repeat(np.arange(1, 41), rows))
