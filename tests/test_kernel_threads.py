"""The parallel engine with threads, processes, interrupts and full disks."""

import multiprocessing
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from kernel_paths import SANITIZED, needs_kernel, noted, run_script, tree, without_kernel

import fastzarr
from fastzarr.chunk_io import THREADS_VARIABLE
from fastzarr.errors import ChunkError

LAYOUTS: dict[str, dict[str, Any]] = {
    "none": {"chunks": (8, 50), "compressors": None},
    "zstd": {"chunks": (8, 50)},
    "blosc": {"chunks": (8, 50), "compressors": {"name": "blosc", "configuration": {"cname": "lz4"}}},
    "shards": {"chunks": (4, 25), "shards": (8, 50), "compressors": None},
    "shards zstd": {"chunks": (4, 25), "shards": (8, 50)},
}
each_layout = pytest.mark.parametrize("layout", LAYOUTS)
some_layouts = pytest.mark.parametrize("layout", ["none", "zstd", "shards zstd"])
each_path = pytest.mark.parametrize("path", [pytest.param("kernel", marks=needs_kernel), "python"])


def create(root: Path, layout: str, path: str, shape: tuple[int, int] = (32, 200)) -> fastzarr.Array:
    arguments = {"shape": shape, "dtype": "i4", "config": {"threads": 3}, **LAYOUTS[layout]}
    if path == "kernel":
        return fastzarr.create_array(root, **arguments)
    with without_kernel():
        return fastzarr.create_array(root, **arguments)


def in_threads(*works: Callable[[], object]) -> None:
    """Call each in a thread of its own; raises what one of them raised."""
    failures: list[BaseException] = []

    def begin(work: Callable[[], object]) -> None:
        try:
            work()
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=begin, args=(work,), daemon=True) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
        assert not thread.is_alive(), "a thread hangs"
    if failures:
        raise failures[0]


@each_path
@each_layout
def test_parts_and_whole_arrays_written_at_once_lose_nothing(tmp_path: Path, layout: str, path: str) -> None:
    """A part that is put back with the chunk around it, as it was before, would show as an older turn."""
    array = create(tmp_path, layout, path)
    elements = [(0, 0), (7, 49), (8, 50), (13, 77), (31, 199), (16, 100)]
    rows = [np.s_[3, 60:90], np.s_[27, :], np.s_[20:24, 110]]
    parts = np.zeros(array.shape, bool)
    for part in (*elements, *rows):
        parts[part] = True
    turns = 3 if SANITIZED else 15

    def write_parts(turn: int) -> None:
        for part in (*elements, *rows):
            array[part] = -turn

    def write_whole(turn: int) -> None:
        array[...] = turn

    def write_most(turn: int) -> None:
        array[4:30, 20:180] = turn

    for turn in range(1, turns + 1):
        works = (write_parts, write_whole, write_parts, write_most)
        in_threads(*(lambda work=work, turn=turn: work(turn) for work in works))
        found = array[...]
        assert (found[~parts] == turn).all()
        assert (np.abs(found[parts]) == turn).all()
        write_parts(turn)
        found = array[...]
        assert (found[parts] == -turn).all()
        assert (found[~parts] == turn).all()


@some_layouts
def test_readers_see_whole_chunks_while_they_are_written(tmp_path: Path, layout: str) -> None:
    array = create(tmp_path, layout, "kernel")
    array[...] = 1
    ended = threading.Event()

    def write() -> None:
        for turn in range(2, 40):
            array[...] = turn
        ended.set()

    def read() -> None:
        while not ended.is_set():
            for found in (array[...], array[8:24, 50:150]):
                blocks = found.reshape(found.shape[0] // 8, 8, -1, 50)
                assert (blocks == blocks[:, :1, :, :1]).all()

    in_threads(write, read, read)


@each_layout
def test_threads_that_write_and_read_arrays_of_their_own(tmp_path: Path, layout: str) -> None:
    arrays = [create(tmp_path / str(number), layout, "kernel") for number in range(6)]

    def work(number: int) -> None:
        for turn in range(1, 6):
            values = np.arange(32 * 200, dtype="i4").reshape(32, 200) * turn + number
            arrays[number][...] = values
            assert (arrays[number][...] == values).all()
            assert (arrays[number][::-3, 5:170:7] == values[::-3, 5:170:7]).all()

    in_threads(*(lambda number=number: work(number) for number in range(6)))


@each_path
@each_layout
def test_one_chunk_that_fails_ends_the_call_and_is_named(tmp_path: Path, layout: str, path: str) -> None:
    array = create(tmp_path, layout, path)
    array[...] = np.arange(32 * 200).reshape(32, 200)
    file = tmp_path / "c/2/1"
    sound = file.read_bytes()
    file.write_bytes(sound[:-1])
    for call in (
        lambda: array[...],
        lambda: array[1:31, 1:],
        lambda: array.__setitem__(np.s_[20:31, 60:], 5),
    ):
        with pytest.raises(ChunkError, match="'c/2/1'") as caught:
            call()
        assert caught.value.key == "c/2/1"
    file.write_bytes(sound)
    array[...] = 7
    assert (array[...] == 7).all(), "the pool serves on"


@needs_kernel
def test_the_rest_is_not_read_after_a_failure(tmp_path: Path) -> None:
    array = fastzarr.create_array(
        tmp_path, shape=4000, chunks=1, dtype="i4", compressors=None, config={"write_empty_chunks": True}
    )
    array[...] = 1
    for file in (tmp_path / "c").iterdir():
        file.write_bytes(b"")
    with noted() as notes:
        opened = fastzarr.open_array(tmp_path, mode="r", config={"threads": 3})
        with pytest.raises(ChunkError, match="got 0 bytes, expected 4"):
            opened[...]
    assert 0 < notes.given["read"] <= 3 * 64


INTERRUPTED = """
import sys
import numpy as np, fastzarr
array = fastzarr.open_array(sys.argv[1], mode="r+")
value = np.random.default_rng(2).integers(1, 200, array.shape, array.dtype)
print("begin", flush=True)
try:
    {call}
except KeyboardInterrupt:
    print("interrupted", flush=True)
"""


@pytest.mark.parametrize("call", ["while True: array[...] = value", "while True: array[...]"])
@some_layouts
def test_an_interrupt_ends_a_call_of_many_chunks(tmp_path: Path, layout: str, call: str) -> None:
    arguments = {"shape": (1024, 2000), "dtype": "u1", **LAYOUTS[layout]}
    array = fastzarr.create_array(tmp_path, **arguments)
    value = np.random.default_rng(2).integers(1, 200, array.shape, array.dtype)
    array[...] = 255 - value
    command = [sys.executable, "-c", INTERRUPTED.format(call=call), str(tmp_path)]
    environment = {**os.environ, THREADS_VARIABLE: "3"}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == "begin\n"
        with pytest.raises(subprocess.TimeoutExpired):
            child.wait(0.1)
        child.send_signal(signal.SIGINT)
        try:
            printed, _ = child.communicate(timeout=30)
        finally:
            child.kill()
    assert (child.returncode, printed) == (0, "interrupted\n")
    assert not [name for name in tree(tmp_path) if name.endswith(".partial")]
    assert_each_chunk_is_of_one(array, value, 255 - value)


def assert_each_chunk_is_of_one(array: fastzarr.Array, *values: Any) -> None:
    """Each stored chunk or shard has all of its elements from one of some arrays."""
    found = array[...]
    for part in np.ndindex(array.shape[0] // 8, array.shape[1] // 50):
        box = tuple(slice(at * size, (at + 1) * size) for at, size in zip(part, (8, 50), strict=True))
        assert any((found[box] == value[box]).all() for value in values), part


KILLED = """
import sys
import numpy as np, fastzarr
array = fastzarr.open_array(sys.argv[1], mode="r+")
values = np.load(sys.argv[2])
print("begin", flush=True)
while True:
    for value in values:
        array[...] = value
"""


@some_layouts
def test_a_killed_writer_leaves_whole_chunks(tmp_path: Path, layout: str) -> None:
    root = tmp_path / "array"
    array = fastzarr.create_array(root, shape=(256, 1000), dtype="u1", **LAYOUTS[layout])
    values = np.random.default_rng(2).integers(1, 200, (2, *array.shape), array.dtype)
    array[...] = values[0]
    np.save(tmp_path / "values.npy", values)
    command = [sys.executable, "-c", KILLED, str(root), str(tmp_path / "values.npy")]
    environment = {**os.environ, THREADS_VARIABLE: "3"}
    for turn in range(3):
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as child:
            assert child.stdout is not None
            assert child.stdout.readline() == "begin\n"
            with pytest.raises(subprocess.TimeoutExpired):
                child.wait(0.02 + 0.013 * turn)
            child.kill()
        assert_each_chunk_is_of_one(array, *values)
        keys = {f"c/{row}/{column}" for row in range(32) for column in range(20)}
        assert set(array.store.list_prefix("c/")) == keys
        assert {path for path in tree(root) if path not in keys and not path.endswith(".partial")} == {
            *(f"c/{row}" for row in range(32)),
            *("c", "zarr.json"),
        }


FORKED = """
import os, sys, threading, warnings
warnings.simplefilter("ignore")
import numpy as np, fastzarr
layout = eval(sys.argv[2])
def create(number):
    return fastzarr.create_array(f"{sys.argv[1]}/{number}", shape=(64, 500), dtype="i4", **layout)
arrays = [create(number) for number in range(4)]
values = np.arange(64 * 500, dtype="i4").reshape(64, 500)
for array in arrays: array[...] = values
ended = threading.Event()
def work(number):
    while not ended.is_set():
        arrays[number][...] = arrays[number][...]
threads = [threading.Thread(target=work, args=(number,)) for number in (0, 1, 2)]
for thread in threads: thread.start()
for turn in range(8):
    child = os.fork()
    if child == 0:
        arrays[3][...] = values + turn
        assert (arrays[3][...] == values + turn).all()
        assert (arrays[0][5:40, ::3] == values[5:40, ::3]).all()
        os._exit(0)
    _, status = os.waitpid(child, 0)
    assert status == 0, status
ended.set()
for thread in threads: thread.join()
print("done")
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.skipif(
    SANITIZED, reason="the sanitizer's malloc, older than GCC 14, may be locked in a forked child"
)
@some_layouts
def test_a_child_forked_in_the_middle_of_calls(tmp_path: Path, layout: str) -> None:
    assert run_script(FORKED, tmp_path, LAYOUTS[layout], threads=3) == "done\n"


def _double(job: tuple[str, int]) -> int:
    root, row = job
    array = fastzarr.open_array(root, mode="r+")
    array[8 * row : 8 * row + 8] = array[8 * row : 8 * row + 8] * 2
    return int(array[8 * row, 1])


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
@pytest.mark.filterwarnings("ignore:.*multi-threaded, use of fork:DeprecationWarning")
def test_pools_of_processes(tmp_path: Path, method: str) -> None:
    if method not in multiprocessing.get_all_start_methods():
        pytest.skip(f"no {method} here")
    values = np.arange(32 * 200, dtype="i4").reshape(32, 200)
    for layout in ("none", "shards zstd"):
        array = create(tmp_path / layout, layout, "kernel")
        array[...] = values
        array[...]
    jobs = [(str(tmp_path / layout), row) for layout in ("none", "shards zstd") for row in range(4)]
    with multiprocessing.get_context(method).Pool(2) as pool:
        assert pool.map_async(_double, jobs).get(60) == [2 * int(values[8 * row, 1]) for _, row in jobs]
    for layout in ("none", "shards zstd"):
        assert (fastzarr.open_array(tmp_path / layout)[...] == values * 2).all()


EXITING = """
import sys, threading, time
import numpy as np, fastzarr
array = fastzarr.create_array(sys.argv[1], shape=(256, 1000), dtype="i4", **eval(sys.argv[2]))
value = np.arange(256 * 1000, dtype="i4").reshape(256, 1000)
array[...] = value
begun = threading.Barrier(3)
def work():
    begun.wait()
    while True:
        array[...] = value
        array[...]
for _ in range(2): threading.Thread(target=work, daemon=True).start()
begun.wait()
time.sleep(float(sys.argv[3]))
"""


@some_layouts
def test_the_program_ends_while_threads_are_in_calls(tmp_path: Path, layout: str) -> None:
    for number, pause in enumerate((0.005, 0.02)):
        assert run_script(EXITING, tmp_path / str(number), LAYOUTS[layout], pause) == ""


FULL = """
import resource, sys
import numpy as np, fastzarr
array = fastzarr.create_array(sys.argv[1], shape=(64, 500), dtype="i4", **eval(sys.argv[2]))
value = np.random.default_rng(3).integers(1, 2**31, array.shape, "i4")
array[...] = value
_, most = resource.getrlimit(resource.RLIMIT_FSIZE)
for call in (
    lambda: array.__setitem__(..., value + 1),
    lambda: array.__setitem__(np.s_[:, :450], value[:, :450] + 1),
    lambda: array.__setitem__(np.s_[3:50, 2:400], value[3:50, 2:400] + 1),
):
    resource.setrlimit(resource.RLIMIT_FSIZE, (700, most))
    try:
        call()
    except OSError as error:
        print("c/" in str(error), error.strerror.split(" while")[0])
    else:
        print("no error")
    resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))
assert (array[...] == value).all()
"""


@each_layout
def test_a_file_that_can_not_grow_is_an_error_that_names_it(tmp_path: Path, layout: str) -> None:
    """As on a full disk: the first bytes are written, the others are not."""
    assert run_script(FULL, tmp_path, LAYOUTS[layout]) == "True File too large\n" * 3
    assert not [name for name in tree(tmp_path) if name.endswith(".partial")]
