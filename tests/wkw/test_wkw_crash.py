"""A writer that is killed, or whose disk is full, leaves files that can be read, of blocks old or new."""

import os
import resource
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import wkw_layout as layout
from kernel_paths import tree

from fastzarr import wkw

TESTS = Path(__file__).parents[1]

CALLS = {
    "pwrite64": 16,
    "write": 2,
    "copy_file_range": 2,
    "ftruncate": 2,
    "fallocate": 2,
    "rename": 3,
    "renameat": 3,
    "renameat2": 3,
    "link": 2,
    "linkat": 2,
    "unlink": 3,
    "unlinkat": 3,
    "mkdir": 4,
    "mkdirat": 4,
}
"""System calls that change files, and more of each than a write does. Between them nothing changes."""

DEADLY = 20
"""The how many-eth call of one kind kills a process."""

STEPS = """
import ctypes, os, sys
import numpy as np
from fastzarr import wkw

root, deadly, write, calls = sys.argv[1], int(sys.argv[2]), sys.argv[3], eval(sys.argv[4])
libc = ctypes.CDLL(None)
wkw.open(f"{root}/0", shape=(1, 8, 8, 8))[...]  # all is imported
states = []
for number, (call, nth) in enumerate((call, nth) for call in calls for nth in range(calls[call])):
    array = wkw.open(f"{root}/{number}", shape=(1, 8, 8, 8))
    child = os.fork()
    if child == 0:
        for _ in range(deadly - 1 - nth):
            # counts as a call, and does nothing: no such descriptor, no such path
            getattr(libc, call)(-1, 0, 0, 0, 0)
        exec(write)
        os._exit(0)
    states.append(os.waitpid(child, 0)[1])
print(" ".join(map(str, states)))
"""

WRITES = {
    "part of a block": "array[:, 1:2, 1:2, 1:2] = 9",
    "blocks of a file": "array[:, 0:4, 1:4, 0:2] = 9",
    "a whole file": "array[:, 0:4, 0:4, 0:4] = 9",
    "a new file": "array[:, 5:7, 5:6, 4:8] = 9",
    "a new whole file": "array[:, 4:8, 4:8, 4:8] = 9",
    "two files": "array[:, 2:6, 0:4, 0:4] = 9",
    "zeros": "array[:, 0:4, 0:4, 0:4] = 0",
}


def old() -> layout.Volume:
    volume = np.zeros((1, 8, 8, 8), "u2")
    volume[:, :4, :4, :4] = np.arange(1, 65).reshape(4, 4, 4)
    return volume


def build(root: Path, block_type: str) -> None:
    gaps = [place for place in np.ndindex(2, 2, 2) if place != (0, 0, 0)]
    layout.write(root, old(), block_type=block_type, missing=gaps)


def assert_old_or_new(found: layout.Volume, new: layout.Volume) -> None:
    """Block by block."""
    for place in np.ndindex(4, 4, 4):
        block = (slice(None), *(slice(2 * n, 2 * n + 2) for n in place))
        assert (found[block] == old()[block]).all() or (found[block] == new[block]).all(), place


@pytest.mark.skipif(shutil.which("strace") is None, reason="strace is not installed")
@pytest.mark.parametrize("write", WRITES)
@pytest.mark.parametrize("block_type", ["raw", "lz4"])
def test_killed_at_each_system_call(tmp_path: Path, block_type: Any, write: str) -> None:
    """A child for each call that a write may do; each is killed at its own, before it is done."""
    count = sum(CALLS.values())
    for number in range(count):
        build(tmp_path / str(number), block_type)
    inject = f"inject={','.join(CALLS)}:signal=SIGKILL:when={DEADLY}"
    command = ["strace", "-f", "-qq", "-o", tmp_path / "log", "-e", inject, sys.executable, "-c", STEPS]
    run = subprocess.run(
        [*map(str, command), str(tmp_path), str(DEADLY), WRITES[write], repr(CALLS)],
        env={**os.environ, "FASTZARR_THREADS": "1", "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    if "ptrace" in run.stderr or "invalid" in run.stderr:
        pytest.skip(f"strace may not trace here: {run.stderr.strip()}")
    assert run.returncode == 0, run.stderr
    states = [int(state) for state in run.stdout.split()]
    assert len(states) == count
    assert set(states) == {0, signal.SIGKILL}
    lasts = np.cumsum([*CALLS.values()]) - 1
    assert not any(states[last] for last in lasts), "a write does more calls than are tried"
    new = old()
    exec(WRITES[write], {"array": new})
    for step, state in enumerate(states):
        root = tmp_path / str(step)
        found = wkw.open(root, mode="r", shape=(1, 8, 8, 8))[...]
        np.testing.assert_array_equal(found, layout.read(root, (1, 8, 8, 8)))
        if state == 0:
            np.testing.assert_array_equal(found, new)
        else:
            assert_old_or_new(found, new)
        assert all(n % 4 == 0 for n in wkw.open(root).shape[1:])
        again = wkw.open(root, shape=(1, 8, 8, 8))
        exec(WRITES[write], {"array": again})
        np.testing.assert_array_equal(again[...], new)


WRITER = """
import itertools, sys
import numpy as np
from fastzarr import wkw
array = wkw.open(sys.argv[1], shape=(1, 128, 64, 64))
print("ready", flush=True)
for number in itertools.count(1):
    array[...] = np.full((1, 128, 64, 64), number, "u4")
"""


@pytest.mark.parametrize("block_type", layout.BLOCK_TYPES)
@pytest.mark.parametrize("kernel", ["1", "0"])
def test_killed_at_any_time(tmp_path: Path, block_type: Any, kernel: str) -> None:
    root = tmp_path / "a"
    wkw.create(root, dtype="u4", block_len=16, file_len=4, block_type=block_type)
    generator = np.random.default_rng(1)
    environment = {**os.environ, "FASTZARR_KERNEL": kernel}
    for _ in range(4):
        command = [sys.executable, "-c", WRITER, str(root)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, env=environment) as writer:
            assert writer.stdout is not None
            assert writer.stdout.readline() == b"ready\n"
            time.sleep(generator.uniform(0.01, 0.08))
            writer.kill()
        array = wkw.open(root, mode="r", shape=(1, 128, 64, 64))
        found = array[0]
        for place in np.ndindex(8, 4, 4):
            block = found[tuple(slice(16 * n, 16 * n + 16) for n in place)].reshape(-1, order="F")
            if block_type != "raw":
                assert np.unique(block).size == 1, "a block of two writes"
            else:  # longer than a page, and changed where it is: newer voxels, then older ones
                assert (np.diff(block.astype("i8")) <= 0).all()
                assert np.unique(block).size <= 2
        assert {path.name for path in root.rglob("*.wkw")} <= {"header.wkw", "x0.wkw", "x1.wkw"}
    array = wkw.open(root, shape=(1, 128, 64, 64))
    array[...] = 7
    assert (wkw.open(root, mode="r")[...] == 7).all()


@pytest.mark.skipif(not hasattr(resource, "RLIMIT_FSIZE"), reason="needs a limit of file sizes")
@pytest.mark.parametrize("block_type", layout.BLOCK_TYPES)
def test_a_file_that_may_not_grow(tmp_path: Path, block_type: Any, way: str) -> None:
    root = tmp_path / "a"
    array = wkw.create(root, dtype="u1", block_len=16, file_len=2, block_type=block_type)
    value = np.random.default_rng(3).integers(1, 256, (1, 32, 32, 32), "u1")
    array[:, 0:4, 0:4, 0:4] = 1
    before = tree(root)
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, limits[1]))
    try:
        with pytest.raises(OSError, match=r"File too large.*x1\.wkw|x1\.wkw.*File too large"):
            array[:, 32:64, 0:32, 0:32] = value
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        signal.signal(signal.SIGXFSZ, handler)
    after = tree(root)
    assert {name: after.get(name) for name in before} == before
    found = wkw.open(root, mode="r", shape=(1, 64, 32, 32))[...]
    assert (found[:, :4, :4, :4] == 1).all()
    assert found.sum() == 64
    array[:, 32:64, 0:32, 0:32] = value
    np.testing.assert_array_equal(wkw.open(root, mode="r")[:, 32:], value)


@pytest.mark.skipif(os.name != "posix" or os.geteuid() != 0, reason="mounts a small file system")
@pytest.mark.parametrize("block_type", layout.BLOCK_TYPES)
def test_a_full_file_system(tmp_path: Path, block_type: Any, way: str) -> None:
    small = tmp_path / "small"
    small.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=400k", "tmpfs", small]
    if subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("no right to mount")
    try:
        root = small / "a"
        array = wkw.create(root, dtype="u1", block_len=16, file_len=4, block_type=block_type)
        array[:, 0:16, 0:16, 0:16] = 1
        value = np.random.default_rng(3).integers(1, 256, (1, 256, 64, 64), "u1")
        with pytest.raises(OSError, match=r"No space left on device.*\.wkw|\.wkw.*No space left on device"):
            array[:, 0:256, 0:64, 0:64] = value
        left = wkw.open(root, mode="r", shape=(1, 256, 64, 64))[...]
        for place in np.ndindex(16, 4, 4):
            box = (slice(None), *(slice(16 * n, 16 * n + 16) for n in place))
            old = 1 if place == (0, 0, 0) else 0
            new = left[box] == value[box]
            if block_type == "raw":  # a block is cut off where the room ends
                assert (new | (left[box] == old)).all(), place
            else:
                assert new.all() or (left[box] == old).all(), place
        assert {path.suffix for path in root.rglob("x*")} <= {".wkw"}, "nothing unfinished is left"
    finally:
        subprocess.run(["umount", small], check=True)
