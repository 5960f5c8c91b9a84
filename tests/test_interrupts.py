"""Interrupts, exits and races: nothing is lost, leaked or left half done."""

import os
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fastzarr
from fastzarr import errors


@pytest.mark.parametrize("threads", ["1", "4"])
@pytest.mark.parametrize("shards", ["None", "(16, 32)"])
def test_an_interrupt_at_any_moment_is_just_that(tmp_path: Path, shards: str, threads: str) -> None:
    script = """
import os, random, signal, sys
import numpy as np, fastzarr
def interrupt(*_): raise KeyboardInterrupt
signal.signal(signal.SIGALRM, interrupt)
shards = eval(sys.argv[2])
array = fastzarr.create_array(
    sys.argv[1], shape=(64, 64), chunks=(8, 16), shards=shards, dtype="i4", compressors=None
)
array[...] = 1
before = len(os.listdir("/proc/self/fd"))
value = np.arange(1, 4097, dtype="i4").reshape(64, 64)
caught = 0
for turn in range(400):
    try:
        try:
            signal.setitimer(signal.ITIMER_REAL, random.uniform(0.0003, 0.004))
            while True:
                array[...] = value
                array[...]
                array[5:40, 7]
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
    except KeyboardInterrupt:
        caught += 1
assert caught == 400, caught
assert len(os.listdir("/proc/self/fd")) - before <= 1, os.listdir("/proc/self/fd")
left = [name for _, _, names in os.walk(sys.argv[1]) for name in names if name.endswith(".partial")]
assert not left, left
array[...] = value
assert (array[...] == value).all()
"""
    environment = {**os.environ, "FASTZARR_THREADS": threads}
    done = subprocess.run(
        [sys.executable, "-c", script, str(tmp_path / "a"), shards],
        env=environment,
        timeout=100,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def test_attributes_set_by_threads_and_handles_are_all_kept(tmp_path: Path) -> None:
    for zarr_format in (2, 3):
        place = tmp_path / str(zarr_format)
        handles = [fastzarr.create_array(place, shape=3, dtype="i4", zarr_format=zarr_format)]
        handles.append(fastzarr.open_array(place))

        def work(number: int, handles: list[fastzarr.Array] = handles) -> None:
            for turn in range(20):
                handles[number % 2].attrs[f"{number}_{turn}"] = turn

        with ThreadPoolExecutor(4) as pool:
            list(pool.map(work, range(4)))
        assert len(fastzarr.open_array(place).attrs) == 80
        assert "0_0" in handles[0].attrs


def test_an_array_equals_itself_opened_again_after_a_change(tmp_path: Path) -> None:
    array = fastzarr.create_array(tmp_path, shape=3, dtype="i4")
    array.attrs["units"] = "m"
    assert array == fastzarr.open_array(tmp_path)


class SlowStore(fastzarr.MemoryStore):
    """Counts what is written, slowly."""

    written = 0

    def set(self, key: str, data: Any) -> None:
        super().set(key, data)
        if "/" in key:
            time.sleep(0.02)
            self.written += 1


def test_nothing_is_written_after_an_interrupted_call_has_raised(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FASTZARR_THREADS", "4")
    store = SlowStore()
    array = fastzarr.create_array(store, shape=40, chunks=1, dtype="i4")
    threading.Timer(0.05, signal.raise_signal, (signal.SIGINT,)).start()
    with pytest.raises(KeyboardInterrupt):
        array[...] = 1
    written = store.written
    time.sleep(0.2)
    assert store.written == written < 40


def test_many_chunks_are_written_at_exit(tmp_path: Path) -> None:
    script = """
import atexit, sys
import numpy as np, fastzarr
array = fastzarr.create_array(sys.argv[1], shape=40, chunks=1, dtype="i4")
array[:10] = 1
atexit.register(lambda: array.__setitem__(..., np.arange(1, 41)))
"""
    environment = {**os.environ, "FASTZARR_THREADS": "4"}
    command = [sys.executable, "-W", "error", "-c", script, str(tmp_path / "a")]
    subprocess.run(command, env=environment, timeout=60, check=True)
    np.testing.assert_array_equal(fastzarr.open_array(tmp_path / "a")[...], np.arange(1, 41))


def test_an_element_of_a_missing_chunk_larger_than_memory_reads_as_fill_value() -> None:
    array = fastzarr.create_array({}, shape=(2**44,), chunks=(2**44,), dtype="f4", fill_value=7)
    assert array[2**40] == 7


@pytest.mark.parametrize("chunks", [(2**62,), (10**30,)])
def test_chunks_that_no_array_can_hold_are_refused(chunks: tuple[int, ...]) -> None:
    with pytest.raises(errors.MetadataError, match=r"got .*less than 2\*\*63"):
        fastzarr.create_array({}, shape=(5,), chunks=chunks, dtype="i4")


def test_more_dimensions_than_numpy_has_are_refused() -> None:
    with pytest.raises(errors.MetadataError, match="got 65 dimensions, expected 64 at the most"):
        fastzarr.create_array({}, shape=(1,) * 65, dtype="i4")


def test_a_pipe_in_the_place_of_a_chunk_does_not_hang(tmp_path: Path) -> None:
    array = fastzarr.create_array(tmp_path, shape=4, dtype="i4", compressors=None)
    Path(tmp_path, "c").mkdir()
    os.mkfifo(tmp_path / "c/0")
    with pytest.raises(errors.ChunkError, match="c/0"):
        array[...]


@pytest.mark.parametrize(
    ("dtype", "value"), [("i1", np.int64(300)), ("i1", np.float64("nan")), ("u1", np.int8(-1))]
)
def test_numpy_scalars_that_do_not_fit_are_refused_as_numpy_does(dtype: str, value: Any) -> None:
    array = fastzarr.create_array({}, shape=4, dtype=dtype, fill_value=5)
    plain = np.full(4, 5, dtype)
    try:
        plain[...] = value
    except (OverflowError, ValueError) as error:
        with pytest.raises(type(error)):
            array[...] = value
        assert (array[...] == 5).all()
    else:
        array[...] = value
        np.testing.assert_array_equal(array[...], plain)


@pytest.mark.parametrize("name", ["zarr.json", "a/.zarray", ".a.partial", "\ud800"])
def test_names_that_nodes_can_not_have(tmp_path: Path, name: str) -> None:
    with pytest.raises(errors.KeyNameError, match="can't be the name of a node"):
        fastzarr.create_array(tmp_path / "s", name=name, shape=3, dtype="i4")
    assert not (tmp_path / "s").exists()


@pytest.mark.parametrize("shape", [True, b"ab", {1, 2}, {3: 4}])
def test_shapes_that_are_none(shape: Any) -> None:
    with pytest.raises(errors.MetadataError, match="shape: got"):
        fastzarr.create_array({}, shape=shape, dtype="i4")


def test_an_array_without_dimensions_can_not_be_iterated() -> None:
    with pytest.raises(TypeError):
        list(fastzarr.create_array({}, shape=(), dtype="i4"))
