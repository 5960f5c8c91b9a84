"""How bytes go between the caller's memory and the store: copies, calls and peak memory, all counted."""

import json
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from oracle import DTYPES

import fastzarr
from fastzarr import chunk_io
from fastzarr.codecs import registry

MIB = 1 << 20


class Recording(fastzarr.MemoryStore):
    """Notes every call, and where the memory it is given begins."""

    def __init__(self, *arguments: Any, **keywords: Any) -> None:
        super().__init__(*arguments, **keywords)
        self.calls: list[tuple[str, str]] = []
        self.places: list[int] = []

    def _note(self, verb: str, key: str, data: Any = None) -> None:
        self.calls.append((verb, key))
        if data is not None:
            view = memoryview(data)
            assert view.contiguous
            assert (view.ndim, view.itemsize, view.nbytes) == (1, 1, len(view)), "flat bytes"
            self.places.append(np.frombuffer(data, "u1").ctypes.data if len(view) else 0)

    def get(self, key: str) -> Any:
        self._note("get", key)
        return super().get(key)

    def get_into(self, key: str, out: memoryview) -> int | None:
        self._note("get_into", key, out)
        return super().get_into(key, out)

    def set(self, key: str, data: Any) -> None:
        self._note("set", key, data)
        super().set(key, data)

    def erase(self, key: str) -> None:
        self._note("erase", key)
        super().erase(key)

    def taken(self) -> list[tuple[str, str]]:
        calls, self.calls = self.calls, []
        return calls


def recorded(**arguments: Any) -> tuple[fastzarr.Array, Recording]:
    store = Recording()
    given = {"shape": (4, 6), "chunks": (2, 6), "dtype": "f4", "compressors": None} | arguments
    array = fastzarr.create_array(store, **given)
    store.calls.clear()
    store.places.clear()
    return array, store


def place(array: NDArray[Any]) -> int:
    return array.ctypes.data


NATIVE: list[dict[str, Any]] = [
    {},
    {"zarr_format": 2},
    {"dtype": "u1"},
    {"dtype": "c16"},
    {"dtype": "bool"},
    {"chunks": (4, 6)},
    {"shape": (3, 4, 6), "chunks": (1, 4, 6)},
    {"shape": (7,), "chunks": (7,)},
    {"dtype": ">f4", "zarr_format": 2},
]


@pytest.mark.parametrize("arguments", NATIVE, ids=repr)
def test_a_full_chunk_without_codec_is_written_from_the_callers_memory(arguments: dict[str, Any]) -> None:
    array, store = recorded(**arguments)
    data = np.ones(array.shape, array.dtype)
    array[: array.chunks[0]] = data[: array.chunks[0]]
    assert [verb for verb, _ in store.taken()] == ["set"]
    assert store.places == [place(data)], "a copy was made"
    array[...] = data
    assert {verb for verb, _ in store.taken()} == {"set"}, "the old chunk was read"
    step = data[: array.chunks[0]].nbytes
    assert sorted(store.places[1:]) == [place(data) + step * n for n in range(array.nchunks)]


# CliMA/Oceananigans.jl#5776: a view that was not flat, given to a store
@pytest.mark.parametrize("dtype", DTYPES, ids=lambda dtype: dtype.str)
def test_stores_get_flat_bytes_whatever_the_rank(dtype: np.dtype[Any]) -> None:
    for rank in range(5):
        for zarr_format, compressors in ((2, None), (3, None), (3, "auto")):
            shape = (2,) * rank
            array, store = recorded(
                shape=shape, chunks=shape, dtype=dtype, compressors=compressors, zarr_format=zarr_format
            )
            array[...] = np.ones(shape, dtype)
            assert [verb for verb, _ in store.taken()] == ["set"]
            assert (array[...] == 1).all()


def test_fortran_order_is_written_from_the_callers_memory() -> None:
    transposed = {"filters": {"name": "transpose", "configuration": {"order": [1, 0]}}}
    for arguments in ({"zarr_format": 2, "order": "F", "chunks": (4, 6)}, {**transposed, "chunks": (4, 6)}):
        array, store = recorded(**arguments)
        data = np.ones((4, 6), "f4", order="F")
        array[...] = data
        assert store.places == [place(data)]
        out = np.empty((4, 6), "f4", order="F")
        array.read_into(out)
        assert store.places[1:] == [place(out)]


@pytest.mark.parametrize("arguments", NATIVE, ids=repr)
def test_reading_into_contiguous_memory_has_no_copy_between(arguments: dict[str, Any]) -> None:
    array, store = recorded(**arguments)
    array[...] = np.ones(array.shape, array.dtype)
    store.taken()
    store.places.clear()
    out = np.empty(array.shape, array.dtype)
    array.read_into(out)
    assert {verb for verb, _ in store.taken()} == {"get_into"}
    step = out[: array.chunks[0]].nbytes
    assert sorted(store.places) == [place(out) + step * n for n in range(array.nchunks)]
    assert (out == 1).all()
    store.places.clear()
    found = array[: array.chunks[0]]
    assert store.places == [place(found)], "a new array is filled by the store"


def test_one_step_read_into_its_place_in_a_larger_array() -> None:
    array, store = recorded(shape=(5, 4, 6), chunks=(1, 4, 6))
    array[...] = 1
    out = np.empty((5, 4, 6), "f4")
    for step in range(5):
        store.places.clear()
        array.read_into(out[step], selection=step)
        assert store.places == [place(out[step])]


@pytest.mark.parametrize(
    "arguments",
    [{}, {"compressors": "auto"}, {"zarr_format": 2}, {"zarr_format": 2, "compressors": {"id": "zlib"}}],
    ids=repr,
)
def test_a_part_of_a_chunk_reads_it_once_and_writes_it_once(arguments: dict[str, Any]) -> None:
    array, store = recorded(**arguments)
    array[...] = 1
    store.taken()
    array[1, 2:4] = 2
    first, second = store.taken()
    assert (first[0] in ("get", "get_into"), second[0]) == (True, "set")
    assert first[1] == second[1]
    array[0, 0]
    assert len(store.taken()) == 1


def test_full_chunks_with_codecs_are_not_read_before_writing() -> None:
    for arguments in ({"compressors": "auto"}, {"compressors": {"name": "crc32c"}}):
        array, store = recorded(shape=(5, 6), **arguments)
        array[...] = 1
        array[...] = 2
        assert {verb for verb, _ in store.taken()} == {"set"}, "edge chunks covered to the edge are full"


def test_a_chunk_of_fill_values_costs_one_erase() -> None:
    array, store = recorded()
    array[:2] = 0
    assert [verb for verb, _ in store.taken()] == ["erase"]


def test_only_the_chunks_of_a_selection_are_touched() -> None:
    array, store = recorded(shape=(40, 60), chunks=(2, 6))
    array[...] = 1
    store.taken()
    array[3:5, 10:13]
    assert sorted(key for _, key in store.taken()) == ["c/1/1", "c/1/2", "c/2/1", "c/2/2"]
    array[5:5]
    assert store.taken() == []
    array[::20, 0]
    assert sorted(key for _, key in store.taken()) == ["c/0/0", "c/10/0"]


def test_what_depends_on_the_array_alone_is_not_done_per_chunk(monkeypatch: pytest.MonkeyPatch) -> None:
    array, _ = recorded(shape=(40, 60), chunks=(2, 6), compressors="auto")

    def never(*_: Any, **__: Any) -> None:
        raise AssertionError("called while a chunk is read or written")

    for owner, name in (
        *[(json, name) for name in ("loads", "dumps", "load", "dump")],
        *[
            (registry, "get"),
            (type(array.compressors[0]), "from_config"),
            (type(array.compressors[0]), "resolve"),
        ],
    ):
        monkeypatch.setattr(owner, name, never)
    array[...] = 1
    array[1, 1:50] = 2
    assert array[...].sum() == 40 * 60 + 49


# Peak memory

CHUNK = 4 * MIB
CODECS: dict[str, Any] = {
    "none": None,
    "zstd": {"name": "zstd", "configuration": {"level": 1}},
    "blosc": {"name": "blosc", "configuration": {"cname": "lz4", "clevel": 1, "shuffle": "shuffle"}},
    "gzip": {"name": "gzip", "configuration": {"level": 1}},
}


def peak(call: Callable[[], object]) -> int:
    """Bytes allocated at the most during a call, beyond what was there."""
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        tracemalloc.reset_peak()
        call()
        return tracemalloc.get_traced_memory()[1] - before
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("codec", CODECS)
def test_peak_memory(codec: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Beyond the caller's buffers: none or, for a part, one chunk without codec; two with one."""
    monkeypatch.setenv(chunk_io.THREADS_VARIABLE, "1")
    shape = (3, CHUNK // 4)
    array = fastzarr.create_array(
        tmp_path, shape=shape, chunks=(1, shape[1]), dtype="f4", compressors=CODECS[codec]
    )
    data = np.random.default_rng(1).normal(size=shape).astype("f2").astype("f4")
    array[...] = data
    array[...]
    out = np.empty(shape, "f4")
    small = MIB // 4
    whole = small if codec == "none" else 2 * CHUNK + small
    # Inflating can't use given memory, so a part of a chunk takes a decoded copy more.
    part = {"none": 1, "gzip": 3}.get(codec, 2) * CHUNK + small
    assert peak(lambda: array.__setitem__(..., data)) <= whole
    assert peak(lambda: array.read_into(out)) <= whole
    np.testing.assert_array_equal(out, data)
    assert peak(lambda: array.__setitem__((1, slice(5, 10)), 3)) <= part
    assert peak(lambda: array[1, 5:10]) <= part
    strided = np.empty((3, shape[1], 2), "f4")[..., 0]
    assert peak(lambda: array.read_into(strided)) <= part


def test_peak_memory_of_a_scalar(tmp_path: Path) -> None:
    """A scalar is spread chunk by chunk, not over the whole selection."""
    shape = (64, MIB // 4)
    array = fastzarr.create_array(tmp_path, shape=shape, chunks=(1, shape[1]), dtype="f4", compressors=None)
    assert peak(lambda: array.__setitem__(..., 5)) <= 8 * MIB
    assert array[63, 5] == 5


def test_peak_memory_of_another_dtype(tmp_path: Path) -> None:
    """Values of another dtype are cast chunk by chunk."""
    shape = (64, MIB // 4)
    array = fastzarr.create_array(tmp_path, shape=shape, chunks=(1, shape[1]), dtype="f4", compressors=None)
    data = np.ones(shape, "u1")
    assert peak(lambda: array.__setitem__(..., data)) <= 8 * MIB
    assert array[63, 5] == 1
