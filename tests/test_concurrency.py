"""Threads, processes, pickles: nobody loses data, nothing hangs."""

import multiprocessing
import os
import pickle
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fastzarr
from fastzarr import chunk_io
from fastzarr.errors import ChunkError


def in_threads(count: int, work: Callable[[int], None]) -> None:
    """Run `work(number)` in threads that begin together; raises what one of them raised."""
    barrier = threading.Barrier(count)
    failures: list[BaseException] = []

    def begin(number: int) -> None:
        try:
            barrier.wait(20)
            work(number)
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=begin, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
        assert not thread.is_alive()
    if failures:
        raise failures[0]


# zarr-python#3682, pydata/xarray#10831, pydata/xarray#8371: parts of one chunk, written at the same time
@pytest.mark.parametrize("compressors", [None, "auto"])
@pytest.mark.parametrize("where", ["memory", "local"])
def test_threads_that_write_parts_of_one_chunk_lose_nothing(
    where: str, compressors: Any, tmp_path: Path
) -> None:
    store = None if where == "memory" else tmp_path
    array = fastzarr.create_array(store, shape=(8, 50), chunks=(8, 50), dtype="i4", compressors=compressors)
    for turn in range(1, 101):
        in_threads(8, lambda number, turn=turn: array.__setitem__(number, turn * 10 + number))
        expected = np.repeat(turn * 10 + np.arange(8)[:, None], 50, axis=1)
        np.testing.assert_array_equal(array[...], expected)


def test_arrays_opened_twice_share_the_locks(tmp_path: Path) -> None:
    """Also through a linked path, another store object or a pickled array."""
    first = fastzarr.create_array(tmp_path / "data", shape=(4, 50), chunks=(4, 50), dtype="i4")
    (tmp_path / "link").symlink_to("data")
    arrays = [
        first,
        fastzarr.open_array(tmp_path / "data", mode="r+"),
        fastzarr.open_array(tmp_path / "link", mode="r+"),
        pickle.loads(pickle.dumps(first)),
    ]
    for turn in range(1, 101):
        in_threads(4, lambda number, turn=turn: arrays[number].__setitem__(number, turn * 10 + number))
        np.testing.assert_array_equal(first[:, 0], turn * 10 + np.arange(4))


def test_readers_see_one_write_or_the_other(tmp_path: Path) -> None:
    array = fastzarr.create_array(tmp_path, shape=20_000, chunks=20_000, dtype="i8", compressors=None)
    array[...] = 1
    stop = threading.Event()

    def work(number: int) -> None:
        if number == 0:
            for value in range(2, 300):
                array[...] = value
            stop.set()
        while not stop.is_set():
            found = array[...]
            assert found[0] == found[-1]
            assert (found == found[0]).all()

    in_threads(3, work)


@pytest.mark.parametrize("compressors", [None, "auto"])
def test_threads_that_make_the_same_directories(tmp_path: Path, compressors: Any) -> None:
    array = fastzarr.create_array(
        tmp_path, shape=(8, 6, 6), chunks=(1, 2, 2), dtype="i4", compressors=compressors
    )
    in_threads(8, lambda number: array.__setitem__(number, number + 1))
    np.testing.assert_array_equal(array[:, 0, 0], np.arange(8) + 1)
    for turn in range(20):
        root = tmp_path / str(turn)
        stores = [fastzarr.LocalStore(root) for _ in range(8)]
        in_threads(8, lambda n, stores=stores: stores[n].set(f"a/b/c/{n}", b"1"))
        assert sorted(p.name for p in (root / "a/b/c").iterdir()) == [str(n) for n in range(8)]


@pytest.mark.parametrize("threads", ["1", "2", "7"])
def test_the_number_of_threads_changes_nothing(
    threads: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv(chunk_io.THREADS_VARIABLE, threads)
    data = np.arange(23 * 17, dtype="f4").reshape(23, 17)
    array = fastzarr.create_array(tmp_path, data=data, chunks=(3, 4))
    np.testing.assert_array_equal(array[...], data)
    np.testing.assert_array_equal(array[2::3, 1::5], data[2::3, 1::5])


@pytest.mark.parametrize("value", ["0", "-1", "two", "", "1.5"])
def test_a_wrong_number_of_threads_is_refused(value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    array = fastzarr.create_array(None, data=np.arange(8), chunks=2)
    monkeypatch.setenv(chunk_io.THREADS_VARIABLE, value)
    with pytest.raises(ValueError, match=f"FASTZARR_THREADS: got '{value}', expected a number of threads"):
        array[...]


def test_one_chunk_stays_on_the_callers_thread() -> None:
    seen: set[int] = set()

    class Noting(fastzarr.MemoryStore):
        def get(self, key: str) -> Any:
            seen.add(threading.get_ident())
            return super().get(key)

        def get_into(self, key: str, out: memoryview) -> int | None:
            seen.add(threading.get_ident())
            return super().get_into(key, out)

        def set(self, key: str, data: Any) -> None:
            seen.add(threading.get_ident())
            super().set(key, data)

    array = fastzarr.create_array(Noting(), shape=(4, 5), chunks=(2, 5), dtype="i4")
    array[:2] = 1
    array[1, 2] = 5
    assert array[1, 2] == 5
    array[:2]
    assert seen == {threading.get_ident()}


def test_the_first_failure_comes_out_and_the_pool_serves_on() -> None:
    objects: dict[str, bytes] = {}
    array = fastzarr.create_array(objects, data=np.arange(1, 201), chunks=1)
    sound = dict(objects)
    for key in ("c/7", "c/150"):
        objects[key] = b"bad"
    for _ in range(3):
        with pytest.raises(ChunkError, match=r"chunk 'c/(7|150)'"):
            array[...]
    objects.update(sound)
    np.testing.assert_array_equal(array[...], np.arange(1, 201))


@pytest.mark.parametrize("zarr_format", [2, 3])
@pytest.mark.parametrize("where", ["memory", "local"])
def test_arrays_pickle(where: str, zarr_format: int, tmp_path: Path) -> None:
    array = fastzarr.create_array(
        None if where == "memory" else tmp_path,
        name="a/b",
        data=np.arange(12).reshape(3, 4),
        chunks=(2, 3),
        attributes={"x": [1]},
        order="F",
        config={"write_empty_chunks": True},
        zarr_format=zarr_format,
    )
    copied = pickle.loads(pickle.dumps(array))
    np.testing.assert_array_equal(copied[...], array[...])
    assert copied.metadata == array.metadata
    assert copied.attrs.asdict() == {"x": [1]}
    assert copied.path == "a/b"
    if where == "local":
        assert copied == array
        copied[0] = 7
        assert (array[0] == 7).all()
    read_only = fastzarr.open_array(array.store, path="a/b", mode="r")
    assert pickle.loads(pickle.dumps(read_only)).read_only


def _double(array: fastzarr.Array, row: int) -> int:
    array[row] = array[row] * 2
    return os.getpid()


def _exercise(root: str) -> None:
    """In a child: read and write with the pool that the parent had used."""
    array = fastzarr.open_array(root, mode="r+")
    array[...] = array[...] + 1


# zarrs/zarrs-python#171, czbiohub-sf/iohub#416, zarr-python#2812: a process forked after threads began hung
@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
@pytest.mark.filterwarnings("ignore:.*multi-threaded, use of fork:DeprecationWarning")
def test_processes(method: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if method not in multiprocessing.get_all_start_methods():
        pytest.skip(f"no {method} here")
    monkeypatch.setenv(chunk_io.THREADS_VARIABLE, "2")
    data = np.arange(4 * 60).reshape(4, 60)
    array = fastzarr.create_array(tmp_path, data=data, chunks=(1, 5))
    array[...]
    context = multiprocessing.get_context(method)
    children = [context.Process(target=_double, args=(array, row)) for row in range(4)]
    for child in children:
        child.start()
    for child in children:
        child.join(60)
        assert child.exitcode == 0
    np.testing.assert_array_equal(array[...], data * 2)
    child = context.Process(target=_exercise, args=(str(tmp_path),))
    child.start()
    child.join(60)
    assert child.exitcode == 0
    np.testing.assert_array_equal(array[...], data * 2 + 1)


FORK_WHILE_BUSY = """
import os, sys, threading, warnings
warnings.simplefilter("ignore")
import numpy as np, fastzarr
array = fastzarr.create_array(sys.argv[1], shape=(4, 1000), chunks=(1, 10), dtype="i4")
array[...] = 1
stop = threading.Event()
def work(row):
    while not stop.is_set():
        array[row] = array[row] + 1
threads = [threading.Thread(target=work, args=(row,)) for row in (0, 1, 2)]
for thread in threads: thread.start()
for turn in range(10):
    child = os.fork()
    if child == 0:
        array[3] = turn
        assert (array[3] == turn).all()
        array[:2]
        os._exit(0)
    _, status = os.waitpid(child, 0)
    assert status == 0, status
stop.set()
for thread in threads: thread.join()
print("done")
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_child_forked_while_other_threads_hold_locks(tmp_path: Path) -> None:
    run = subprocess.run(
        [sys.executable, "-c", FORK_WHILE_BUSY, str(tmp_path)],
        env={**os.environ, chunk_io.THREADS_VARIABLE: "3"},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert (run.stdout, run.returncode) == ("done\n", 0), run.stderr


def test_many_threads_and_many_chunks_at_once() -> None:
    """Calls that use the pool don't wait for each other's work in the pool."""
    arrays = [fastzarr.create_array(None, shape=(40,), chunks=(1,), dtype="i4") for _ in range(6)]

    def work(number: int) -> None:
        for turn in range(1, 8):
            arrays[number][...] = turn
            assert (arrays[number][...] == turn).all()

    in_threads(6, work)


# zarr-python#4165: closing, or forgetting, one array broke another
def test_forgetting_one_array_keeps_the_other(tmp_path: Path) -> None:
    store = fastzarr.LocalStore(tmp_path)
    first = fastzarr.create_array(store, name="a", data=np.arange(8), chunks=1)
    second = fastzarr.create_array(store, name="b", data=np.arange(8), chunks=1)
    first[...]
    del first
    np.testing.assert_array_equal(second[...], np.arange(8))


def test_one_lock_for_a_chunk_however_its_array_was_opened(tmp_path: Path) -> None:
    fastzarr.create_array(tmp_path, name="a/b", shape=3, dtype="i4")
    whole, below = fastzarr.LocalStore(tmp_path), fastzarr.LocalStore(tmp_path / "a")
    here = fastzarr.LocalStore(tmp_path / "a" / "b")
    lock = chunk_io.ChunkLocks(whole, "a/b").of((2,))
    assert lock is chunk_io.ChunkLocks(below, "b").of((2,))
    assert lock is chunk_io.ChunkLocks(here, "").of((2,))
    assert chunk_io.document_lock(whole, "a/b") is chunk_io.document_lock(below, "b")
    assert chunk_io.document_lock(whole, "a/b") is chunk_io.document_lock(
        fastzarr.LocalStore(tmp_path / "a" / "b"), ""
    )
