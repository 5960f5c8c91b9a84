"""Threads, processes, killed and failing writers: as reported elsewhere, for chunks and for shards."""

import itertools
import os
import pickle
import resource
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from multiprocessing import get_all_start_methods, get_context
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from oracle import assert_same, files, read_by_zarr, values

import fastzarr
from fastzarr import chunk_io
from fastzarr.errors import ContainsGroupError
from fastzarr.sharding import ShardLayout

SHARDED = pytest.mark.parametrize("sharded", [False, True], ids=["chunks", "shards"])


def parts_of_one(store: Any, sharded: bool, shape: tuple[int, int] = (8, 40), **options: Any) -> Any:
    """An array in one chunk or one shard."""
    options |= {"chunks": (1, 10), "shards": shape} if sharded else {"chunks": shape}
    return fastzarr.create_array(store, shape=shape, dtype="i4", **options)


# zarr-python#3682; pydata/xarray#10831, #8371, #8876, #9072, #10501
@SHARDED
@pytest.mark.parametrize("compressors", [None, "auto"])
@pytest.mark.parametrize("where", ["memory", "local"])
def test_parts_written_by_threads_are_all_kept(
    where: str, compressors: Any, sharded: bool, tmp_path: Path
) -> None:
    """Each thread has a handle of its own, and leaves its last value of a round beside the others'."""
    store = fastzarr.MemoryStore() if where == "memory" else fastzarr.LocalStore(tmp_path)
    handles = [parts_of_one(store, sharded, compressors=compressors)]
    handles += [fastzarr.open_array(store) for _ in range(7)]
    barrier = threading.Barrier(9)
    failures: list[int] = []

    def work(number: int) -> None:
        for turn in range(1, 201):
            barrier.wait(30)
            handles[number][number, turn % 3 :: 3] = turn * 10 + number
            barrier.wait(30)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    expected = np.zeros((8, 40), "i4")
    for turn in range(1, 201):
        barrier.wait(30)
        barrier.wait(30)
        expected[:, turn % 3 :: 3] = turn * 10 + np.arange(8)[:, None]
        if turn % 20 == 0 and not np.array_equal(handles[0][...], expected):
            failures.append(turn)
    for thread in threads:
        thread.join(30)
    assert not failures
    np.testing.assert_array_equal(handles[0][...], expected)


# zarr-python#3682: within one process also the parts of a shard that one call and another write
def test_calls_that_write_many_shards_side_by_side_keep_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(chunk_io.THREADS_VARIABLE, "4")
    store = fastzarr.MemoryStore()
    array = fastzarr.create_array(store, shape=(12, 24), chunks=(1, 2), shards=(4, 8), dtype="i4")
    with ThreadPoolExecutor(6) as pool:
        for turn in range(1, 41):
            list(
                pool.map(lambda row, turn=turn: array.__setitem__(slice(row, None, 6), turn + row), range(6))
            )
            np.testing.assert_array_equal(array[...], np.tile(turn + np.arange(6), 2)[:, None].repeat(24, 1))


# zarr-python#3682: the same nodes created by threads
@pytest.mark.parametrize("zarr_format", [2, 3])
def test_nodes_that_threads_create_together_are_created_once(zarr_format: Any) -> None:
    barrier = threading.Barrier(6)

    def work(number: int) -> None:
        barrier.wait(20)
        array = root.require_group("a/b").require_array("c", shape=(6, 4), chunks=(1, 4), dtype="i4")
        array[number] = number
        options: dict[str, Any] = {"path": "a/d", "mode": "a", "zarr_format": zarr_format}
        fastzarr.open_array(root.store, shape=(6, 4), chunks=(1, 4), dtype="i4", **options)[number] = number
        fastzarr.open_group(root.store, **(options | {"path": "e"})).attrs[f"{number}"] = number

    with ThreadPoolExecutor(6) as pool:
        for _ in range(20):
            root = fastzarr.create_group({}, zarr_format=zarr_format)
            list(pool.map(work, range(6)))
            for path in ("a/b/c", "a/d"):
                np.testing.assert_array_equal(root[path][:, 0], np.arange(6))
            assert root["e"].attrs.asdict() == {f"{number}": number for number in range(6)}


# zarr-python#3682: the groups above a node that is created
@pytest.mark.parametrize("zarr_format", [2, 3])
def test_attributes_of_a_group_outlive_what_is_created_below_meanwhile(zarr_format: Any) -> None:
    with ThreadPoolExecutor(2) as pool:
        for _ in range(100):
            root = fastzarr.create_group({}, zarr_format=zarr_format)
            below = pool.submit(root.create_array, "g/a", shape=1, dtype="i4")
            group = pool.submit(root.create_group, "g", attributes={"kept": True})
            below.result()
            if group.exception() is None:
                assert root["g"].attrs.asdict() == {"kept": True}
            else:
                assert isinstance(group.exception(), ContainsGroupError)


WRITER = """
import itertools, sys
import numpy as np, fastzarr
array = fastzarr.open_array(sys.argv[1], mode="r+")
print("ready", flush=True)
for number in itertools.count(1):
    array[...] = np.full(array.shape, number, "i8")
    array[:, 1:-1] = number
"""


# zarr-python#3411, LDeakin/zarrs#420, czbiohub-sf/iohub#415
@SHARDED
@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs signals")
def test_a_killed_writer_leaves_whole_objects(sharded: bool, tmp_path: Path) -> None:
    options: dict[str, Any] = (
        {"chunks": (1, 1 << 13), "shards": (1, 1 << 17)} if sharded else {"chunks": (1, 1 << 17)}
    )
    fastzarr.create_array(tmp_path, shape=(3, 1 << 17), dtype="i8", compressors=None, **options)
    generator = np.random.default_rng(2)
    for _ in range(5):
        writer = subprocess.Popen([sys.executable, "-c", WRITER, str(tmp_path)], stdout=subprocess.PIPE)
        assert writer.stdout is not None
        assert writer.stdout.readline() == b"ready\n"
        time.sleep(generator.uniform(0.02, 0.1))
        writer.kill()
        writer.wait()
        writer.stdout.close()
        found = fastzarr.open_array(tmp_path)[...]
        for row in found:
            ends, middle = np.unique(row[[0, -1]]), np.unique(row[1:-1])
            assert (ends.size, middle.size) == (1, 1), "bytes of two writes"
            assert middle[0] == ends[0]
        assert_same(read_by_zarr(tmp_path), found)
        store = fastzarr.LocalStore(tmp_path)
        assert set(store.list_prefix("")) <= {"zarr.json", *(f"c/{row}/0" for row in range(3))}
        assert set(store.list_dir("c/")) <= {"0", "1", "2"}
    array = fastzarr.open_array(tmp_path)
    array[...] = -1
    assert (array[...] == -1).all()


# zarr-python#3411: what another library's killed writer leaves behind is no chunk either
def test_unfinished_files_are_no_chunks(tmp_path: Path) -> None:
    array = fastzarr.create_array(tmp_path, data=np.arange(1, 9), chunks=4)
    unfinished = tmp_path / "c" / ".1.5f3-0011223344-7.partial"
    unfinished.write_bytes(b"half a chunk")
    assert sorted(array.store.list_prefix("")) == ["c/0", "c/1", "zarr.json"]
    assert list(array.store.list_dir("c/")) == ["0", "1"]
    np.testing.assert_array_equal(array[...], np.arange(1, 9))


class FailingStore(fastzarr.MemoryStore):
    """Fails to write one key."""

    failing: str | None = None

    def set(self, key: str, data: Any) -> None:
        if key == self.failing:
            raise OSError(5, f"Input/output error while writing {key}")
        super().set(key, data)


# JuliaIO/Zarr.jl#281, #297: writes that were never done, without an error
@SHARDED
@pytest.mark.parametrize("threads", ["1", "4"])
def test_what_a_call_wrote_is_stored_when_it_returns(
    threads: str, sharded: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(chunk_io.THREADS_VARIABLE, threads)
    store = FailingStore()
    options: dict[str, Any] = {"shards": (4,)} if sharded else {}
    data = np.arange(1, 41, dtype="i4")
    array = fastzarr.create_array(store, data=data, chunks=2, **options)
    stored = set(store.list_prefix("c/"))
    assert stored == {f"c/{number}" for number in range(10 if sharded else 20)}
    store.failing = "c/7"
    for _ in range(3):
        with pytest.raises(OSError, match="c/7"):
            array[...] = data + 1
    store.failing = None
    array[...] = data + 2
    np.testing.assert_array_equal(array[...], data + 2)


# acquire-project/acquire-zarr#231
@SHARDED
@pytest.mark.skipif(not hasattr(resource, "RLIMIT_FSIZE"), reason="needs a limit of file sizes")
def test_a_file_that_may_not_grow_raises_and_leaves_the_old_one(sharded: bool, tmp_path: Path) -> None:
    array = parts_of_one(tmp_path, sharded, (8, 4000), compressors=None)
    array[0, :10] = 1
    before = files(tmp_path)
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, limits[1]))
    try:
        for selection in (..., 1, np.s_[:, 5:]):
            with pytest.raises(OSError, match="File too large while writing key 'c/0/0'"):
                array[selection] = np.arange(1, 1 + array[selection].size).reshape(array[selection].shape)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        signal.signal(signal.SIGXFSZ, handler)
    assert {path: data for path, data in files(tmp_path).items() if path in before} == before
    assert not [path for path in files(tmp_path) if path.endswith(".partial")]


FORK = """
import os, sys, threading
import numpy as np, fastzarr
array = fastzarr.open_array(sys.argv[1], mode="r+")
array[...] = 1
stop = threading.Event()
def work(rows):
    while not stop.is_set():
        array[rows] = array[rows] + 1
threads = [threading.Thread(target=work, args=(rows,)) for rows in (slice(0, 2), slice(2, 4), slice(0, 4))]
for thread in threads: thread.start()
try:
    for turn in range(1, 9):
        child = os.fork()
        if child == 0:
            array[4:] = turn
            assert (array[4:] == turn).all()
            assert array[...].shape == array.shape
            os._exit(0)
        _, status = os.waitpid(child, 0)
        assert status == 0, status
finally:
    stop.set()
    for thread in threads: thread.join()
print("done")
"""


# zarrs/zarrs-python#171, czbiohub-sf/iohub#416, zarr-python#2812, #766
@SHARDED
@pytest.mark.parametrize("compressors", [None, "auto"])
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_child_forked_while_threads_read_and_write(compressors: Any, sharded: bool, tmp_path: Path) -> None:
    options: dict[str, Any] = {"shards": (4, 100)} if sharded else {}
    fastzarr.create_array(
        *(tmp_path,), shape=(8, 1000), chunks=(2, 10), dtype="i4", compressors=compressors, **options
    )
    run = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", FORK, str(tmp_path)],
        env={**os.environ, chunk_io.THREADS_VARIABLE: "3"},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert (run.stdout, run.returncode) == ("done\n", 0), run.stderr


FORK_REMOTE = """
import functools, http.server, os, sys, threading
import numpy as np, fastzarr
from fastzarr.errors import StoreError

class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_): pass

handler = functools.partial(Quiet, directory=sys.argv[1])
server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
threading.Thread(target=server.serve_forever, daemon=True).start()
array = fastzarr.open_array(f"http://127.0.0.1:{server.server_port}/a", mode="r")
assert array[...].sum() == 45
child = os.fork()
if child == 0:
    for call in (lambda: array[...], lambda: fastzarr.open_array(array.store)):
        try:
            call()
        except StoreError as error:
            assert "spawn" in str(error), error
        else:
            os._exit(1)
    os._exit(0)
_, status = os.waitpid(child, 0)
assert status == 0, status
assert array[...].sum() == 45
print("done")
"""


# zarrs/zarrs-python#171: threads of a compiled library are gone in a child; it says so, it doesn't hang
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_child_is_told_that_it_can_not_read_over_a_network(tmp_path: Path) -> None:
    pytest.importorskip("obstore")
    fastzarr.create_array(tmp_path / "a", data=np.arange(10), chunks=3)
    run = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", FORK_REMOTE, str(tmp_path)],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert (run.stdout, run.returncode) == ("done\n", 0), run.stderr


def _add_one(array: fastzarr.Array, part: slice) -> None:
    array[part] = array[part] + 1


# zarr-python#766: arrays that could not be sent to other processes
@SHARDED
@pytest.mark.parametrize("method", sorted({"fork", "forkserver", "spawn"} & set(get_all_start_methods())))
@pytest.mark.filterwarnings("ignore:.*multi-threaded, use of fork:DeprecationWarning")
def test_arrays_work_in_other_processes(method: Any, sharded: bool, tmp_path: Path) -> None:
    options: dict[str, Any] = {"shards": (20,)} if sharded else {}
    data = np.arange(80)
    array = fastzarr.create_array(tmp_path, data=data, chunks=5, **options)
    copied = pickle.loads(pickle.dumps(array))
    assert copied == array
    assert (copied.chunks, copied.shards) == (array.chunks, array.shards)
    context = get_context(method)
    children = [context.Process(target=_add_one, args=(array, slice(start, start + 40))) for start in (0, 40)]
    for child in children:
        child.start()
    for child in children:
        child.join(30)
        assert child.exitcode == 0
    np.testing.assert_array_equal(array[...], data + 1)


# zarr-python PR#4157
@SHARDED
@pytest.mark.parametrize("compressors", [None, "auto"])
@pytest.mark.parametrize("order", ["C", "F"])
def test_the_callers_memory_is_not_kept(order: Any, compressors: Any, sharded: bool) -> None:
    array = parts_of_one(None, sharded, compressors=compressors)
    data = values((8, 40), "i4").copy(order)
    for selection in (np.s_[...], np.s_[0], np.s_[:, 10:20], np.s_[1:3, 5:35]):
        given = data[selection].copy(order)
        array[selection] = given
        given[...] = -1
        assert_same(array[...], data)
    found = array[...]
    found[...] = -1
    assert_same(array[...], data)


# zarr-python#4165, #4187: an array that was closed, or forgotten, took the store of another with it
def test_arrays_on_one_store_don_t_depend_on_each_other(tmp_path: Path) -> None:
    for store in (fastzarr.MemoryStore(), fastzarr.LocalStore(tmp_path)):
        arrays = {
            name: fastzarr.create_array(store, name=name, data=np.arange(9), chunks=2) for name in "abc"
        }
        arrays["b"][...] = 5
        del arrays["b"]
        fastzarr.open_array(store, path="c", mode="r")[...]
        for name in "ac":
            arrays[name][1] = 7
            np.testing.assert_array_equal(fastzarr.open_array(store, path=name)[:3], [0, 7, 2])
        np.testing.assert_array_equal(fastzarr.open_array(store, path="b")[...], 5)
        copied = pickle.loads(pickle.dumps(arrays["a"]))
        del arrays
        np.testing.assert_array_equal(copied[:2], [0, 7])


# zarr-python#3411, czbiohub-sf/iohub#415: an index of one write, inner chunks of the next
@pytest.mark.parametrize("where", ["memory", "local"])
def test_a_shard_that_is_replaced_while_it_is_read(
    where: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The inner chunk that is read is the same in both; it only lies elsewhere in the new shard."""
    store: Any = fastzarr.MemoryStore() if where == "memory" else fastzarr.LocalStore(tmp_path)
    array = fastzarr.create_array(store, shape=8, chunks=4, shards=8, dtype="i4", compressors=None)
    array[...] = [1, 1, 1, 1, 2, 2, 2, 2]
    after = bytes(store.get("c/0"))
    array[:4] = 0
    decode_index = ShardLayout.decode_index

    def replaced_meanwhile(layout: ShardLayout, data: Any) -> Any:
        store.set("c/0", after)
        return decode_index(layout, data)

    with monkeypatch.context() as patch:
        patch.setattr(ShardLayout, "decode_index", replaced_meanwhile)
        np.testing.assert_array_equal(array[4:], [2, 2, 2, 2])
    np.testing.assert_array_equal(array[:4], [1, 1, 1, 1])


# zarr-python#3411: readers beside a writer, of inner chunks that the writer doesn't change
def test_readers_of_a_shard_beside_a_writer(tmp_path: Path) -> None:
    array = fastzarr.create_array(tmp_path, shape=4000, chunks=500, shards=4000, dtype="i4", compressors=None)
    array[...] = 1
    stop = threading.Event()

    def write() -> None:
        for number in itertools.count(2):
            if stop.is_set():
                return
            array[:500] = 2 * (number % 2)
            array[600:1100] = 3

    writer = threading.Thread(target=write)
    writer.start()
    try:
        for _ in range(500):
            assert (fastzarr.open_array(tmp_path)[1200:] == 1).all()
            assert set(np.unique(array[400:600])) <= {0, 1, 2, 3}
    finally:
        stop.set()
        writer.join()
