"""Threads, processes, pickles: nobody loses voxels, nobody reads a mixture, nothing hangs."""

import multiprocessing
import os
import pickle
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import wkw_layout as layout
from kernel_paths import SANITIZED, run_script
from test_concurrency import in_threads

from fastzarr import wkw


def create(root: Path, block_type: Any, **arguments: Any) -> Any:
    return wkw.create(
        root, **{"dtype": "u4", "block_len": 4, "file_len": 2} | arguments, block_type=block_type
    )


@pytest.mark.parametrize("block_type", layout.BLOCK_TYPES)
def test_threads_that_write_parts_of_one_file_lose_nothing(tmp_path: Path, block_type: Any, way: str) -> None:
    """Parts of one block, too: its voxels lie side by side."""
    array = create(tmp_path / "a", block_type)
    for turn in range(1, 41):
        in_threads(8, lambda n, turn=turn: array.__setitem__(np.s_[:, 0:8, n : n + 1, 0:8], turn * 10 + n))
        expected = np.broadcast_to(turn * 10 + np.arange(8)[:, None], (1, 8, 8, 8))
        np.testing.assert_array_equal(array[...], expected)
    np.testing.assert_array_equal(layout.read(tmp_path / "a", (1, 8, 8, 8)), expected)


@pytest.mark.parametrize("block_type", layout.BLOCK_TYPES)
def test_arrays_opened_twice_share_the_locks(tmp_path: Path, block_type: Any, way: str) -> None:
    """Also through a linked path, or a pickle."""
    first = create(tmp_path / "a", block_type)
    (tmp_path / "link").symlink_to("a")
    others = [wkw.open(tmp_path / "a"), wkw.open(tmp_path / "link"), pickle.loads(pickle.dumps(first))]
    arrays = [first, *others]
    for turn in range(1, 41):
        in_threads(
            4, lambda n, turn=turn: arrays[n].__setitem__(np.s_[:, n : n + 1, 0:8, 0:8], turn * 10 + n)
        )
        found = wkw.open(tmp_path / "a", mode="r")[0, :4]
        np.testing.assert_array_equal(
            found, np.broadcast_to((turn * 10 + np.arange(4))[:, None, None], (4, 8, 8))
        )


@pytest.mark.parametrize("block_type", layout.BLOCK_TYPES)
def test_threads_that_grow_a_dataset(tmp_path: Path, block_type: Any, way: str) -> None:
    array = create(tmp_path / "a", block_type)

    def work(number: int) -> None:
        for turn in range(4):
            start = (turn * 8 + number) * 4
            array[:, start : start + 4, 4 * turn : 4 * turn + 4, 0:4] = start + 1

    in_threads(8, work)
    expected = np.zeros((1, 128, 16, 8), "u4")
    for start in range(0, 128, 4):
        turn = start // 32
        expected[:, start : start + 4, 4 * turn : 4 * turn + 4, :4] = start + 1
    assert wkw.open(tmp_path / "a").shape == (1, 128, 16, 8)
    np.testing.assert_array_equal(wkw.open(tmp_path / "a")[...], expected)
    np.testing.assert_array_equal(array[:, 0:128, 0:16, 0:4], expected[..., :4])


READER = """
import sys
import numpy as np
from fastzarr import wkw
array = wkw.open(sys.argv[1], mode="r")
seen = set()
print("ready", flush=True)
while not seen or max(seen) < 1000:
    found = np.unique(array[...])
    assert found.size == 1, found
    seen.add(int(found[0]))
    found = np.unique(array[:, 2:15:3, ::-1, 5:])
    assert found.size == 1, found
print(len(seen))
"""


@pytest.mark.parametrize("kernel", ["1", "0"])
@pytest.mark.parametrize("block_type", layout.COMPRESSED)
@pytest.mark.parametrize("where", ["thread", "process"])
def test_a_reader_sees_one_version_of_a_compressed_file(
    tmp_path: Path, block_type: Any, where: str, kernel: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also of its table and its blocks, which move with each write."""
    if kernel == "0":
        monkeypatch.setattr("fastzarr.chunk_io.kernel.TRANSFER", None)
    monkeypatch.setenv("FASTZARR_KERNEL", kernel)
    array = create(tmp_path / "a", block_type, file_len=4)
    whole = np.s_[:, 0:16, 0:16, 0:16]
    array[whole] = 1
    ended = threading.Event()

    def write() -> None:
        for number in range(2, 150):
            array[whole] = number
            if ended.is_set():
                break
        array[whole] = 1000

    writer = threading.Thread(target=write)
    writer.start()
    try:
        if where == "process":
            assert int(run_script(READER, tmp_path / "a").split()[-1]) >= 1
        else:
            reader = wkw.open(tmp_path / "a", mode="r")
            last = 0
            while last < 1000:
                found = np.unique(reader[...])
                assert found.size == 1
                assert found[0] >= last, "an older version after a newer"
                last = int(found[0])
    finally:
        ended.set()
        writer.join()


@pytest.mark.parametrize("block_type", layout.BLOCK_TYPES)
def test_what_others_write_is_read(tmp_path: Path, block_type: Any, way: str) -> None:
    """Nothing that was read before is kept for later, when a file was replaced, removed or made."""
    array = create(tmp_path / "a", block_type)
    array[:, 0:8, 0:8, 0:8] = 1
    reader = wkw.open(tmp_path / "a", mode="r", shape=(1, 16, 8, 8))
    assert reader[...].sum() == 512
    path = layout.path_of(tmp_path / "a", 0, 0, 0)
    for number, kind in enumerate(layout.BLOCK_TYPES, 2):
        cube = np.full((1, 8, 8, 8), number, "u4")
        cube[:, number] = 77
        path.write_bytes(layout.encode(cube, block_len=4, block_type=kind))
        np.testing.assert_array_equal(reader[:, :8], cube)
    path.with_name("x1.wkw").write_bytes(layout.encode(cube, block_len=4, block_type="lz4"))
    np.testing.assert_array_equal(reader[:, 8:], cube)
    path.unlink()
    assert not reader[:, :8].any()
    np.testing.assert_array_equal(reader[:, 8:], cube)


@pytest.mark.parametrize("block_type", layout.BLOCK_TYPES)
def test_pickles(tmp_path: Path, block_type: Any) -> None:
    array = create(tmp_path / "a", block_type)
    array[:, 0:5, 0:8, 0:8] = 3
    copied = pickle.loads(pickle.dumps(array))
    assert (copied.shape, copied.dtype, copied.block_type) == (array.shape, array.dtype, block_type)
    copied[:, 8:9, 0:1, 0:1] = 4
    assert wkw.open(tmp_path / "a")[0, 8, 0, 0] == 4
    reader = wkw.open(tmp_path / "a", mode="r", shape=(1, 5, 6, 7))
    copied = pickle.loads(pickle.dumps(reader))
    assert copied.read_only
    assert copied.shape == (1, 5, 6, 7)
    assert (copied[...] == 3).all()


def _write(job: tuple[str, int]) -> int:
    root, number = job
    array = wkw.open(root)
    array[:, number * 8 : number * 8 + 8, 0:8, 0:5] = number + 1
    return int(array[0, number * 8, 0, 0])


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
@pytest.mark.filterwarnings("ignore:.*multi-threaded, use of fork:DeprecationWarning")
def test_processes_that_write_files_of_their_own(tmp_path: Path, method: str) -> None:
    if method not in multiprocessing.get_all_start_methods():
        pytest.skip(f"no {method} here")
    for block_type in layout.BLOCK_TYPES:
        array = create(tmp_path / block_type, block_type)
        array[:, 0:8, 0:8, 0:8] = 99
    jobs = [(str(tmp_path / block_type), number) for block_type in layout.BLOCK_TYPES for number in range(6)]
    with multiprocessing.get_context(method).Pool(2) as pool:
        assert pool.map_async(_write, jobs).get(60) == [number + 1 for _, number in jobs]
    expected = np.zeros((1, 48, 8, 8), "u4")
    expected[..., :5] = (np.arange(48) // 8 + 1)[:, None, None]
    expected[:, :8, :, 5:] = 99
    for block_type in layout.BLOCK_TYPES:
        np.testing.assert_array_equal(wkw.open(tmp_path / block_type)[...], expected)


FORKED = """
import os, sys, threading, warnings
warnings.simplefilter("ignore")
import numpy as np
from fastzarr import wkw
values = np.arange(16 ** 3, dtype="u4").reshape(1, 16, 16, 16)
arrays = []
for number in range(4):
    array = wkw.create(f"{sys.argv[1]}/{number}", dtype="u4", block_len=4, file_len=2, block_type=sys.argv[2])
    array[:, 0:16, 0:16, 0:16] = values
    arrays.append(array)
ended = threading.Event()
def work(number):
    while not ended.is_set():
        arrays[number][:, 1:15, 0:16, 2:9] = arrays[number][:, 1:15, 0:16, 2:9]
threads = [threading.Thread(target=work, args=(number,)) for number in (0, 1, 2)]
for thread in threads: thread.start()
for turn in range(8):
    child = os.fork()
    if child == 0:
        arrays[3][:, 0:16, 0:16, 0:16] = values + turn
        assert (arrays[3][...] == values + turn).all()
        arrays[0][:, 5:6, 0:16, 0:16] = values[:, 5:6]
        assert (arrays[0][:, 0:1] == values[:, 0:1]).all()
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
@pytest.mark.parametrize("block_type", layout.BLOCK_TYPES)
def test_a_child_forked_in_the_middle_of_calls(tmp_path: Path, block_type: str) -> None:
    assert run_script(FORKED, tmp_path, block_type, threads=3) == "done\n"
