"""What each level of durability waits for, and what a killed or failed writer leaves behind."""

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
from oracle import files

import fastzarr
from fastzarr.stores.local import Durability


class Trace:
    """Calls that matter for durability, in their order, with paths relative to a directory."""

    def __init__(self, below: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.events: list[tuple[str, str]] = []
        self._below = below
        fsync, replace = os.fsync, os.replace

        def traced_fsync(file: int) -> None:
            path = self._name(Path(f"/proc/self/fd/{file}").readlink())
            self.events.append(("fsync", "unfinished" if path.endswith(".partial") else path))
            fsync(file)

        def traced_replace(source: Any, target: Any) -> None:
            self.events.append(("replace", self._name(target)))
            replace(source, target)

        monkeypatch.setattr(os, "fsync", traced_fsync)
        monkeypatch.setattr(os, "replace", traced_replace)

    def _name(self, path: str | Path) -> str:
        return Path(path).relative_to(self._below).as_posix()

    def taken(self) -> list[tuple[str, str]]:
        events, self.events = self.events, []
        return events


@pytest.fixture
def trace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Trace:
    return Trace(tmp_path, monkeypatch)


linux = pytest.mark.skipif(sys.platform != "linux", reason="asks /proc what a descriptor is")


@linux
def test_none_waits_for_nothing(tmp_path: Path, trace: Trace) -> None:
    store = fastzarr.LocalStore(tmp_path / "store")
    store.set("c/0", b"1")
    store.erase("c/0")
    assert trace.taken() == [("replace", "store/c/0")]


@linux
def test_files_waits_for_the_content_before_the_rename(tmp_path: Path, trace: Trace) -> None:
    store = fastzarr.LocalStore(tmp_path / "store", durability="files")
    for key in ("c/0", "c/1", "c/0"):
        store.set(key, b"1")
        assert trace.taken() == [("fsync", "unfinished"), ("replace", f"store/{key}")]
    store.erase("c/0")
    assert trace.taken() == []


@linux
def test_full_waits_for_the_directories_too(tmp_path: Path, trace: Trace) -> None:
    store = fastzarr.LocalStore(tmp_path / "store", durability="full")
    store.set("c/0", b"1")
    events = trace.taken()
    assert events[-3:] == [("fsync", "unfinished"), ("replace", "store/c/0"), ("fsync", "store/c")]
    assert {("fsync", "."), ("fsync", "store")} <= set(events), "what names the new directories"
    store.set("c/1", b"1")
    assert trace.taken() == [("fsync", "unfinished"), ("replace", "store/c/1"), ("fsync", "store/c")]
    store.erase("c/1")
    assert trace.taken() == [("fsync", "store/c")]
    store.set("d/e/0", b"1")
    assert {("fsync", "store"), ("fsync", "store/d"), ("fsync", "store/d/e")} <= set(trace.taken())
    store.erase_prefix("d/")
    assert ("fsync", "store") in trace.taken()


@linux
def test_full_waits_for_every_directory_above_a_new_root(tmp_path: Path, trace: Trace) -> None:
    store = fastzarr.LocalStore(tmp_path / "a" / "b" / "store", durability="full")
    store.set("zarr.json", b"1")
    assert {("fsync", path) for path in (".", "a", "a/b", "a/b/store")} <= set(trace.taken())


@linux
def test_an_array_passes_the_level_on(tmp_path: Path, trace: Trace) -> None:
    store = fastzarr.LocalStore(tmp_path, durability="files")
    array = fastzarr.create_array(store, shape=8, chunks=2, dtype="i4")
    trace.taken()
    array[...] = 1
    assert sorted(trace.taken()) == [
        *[("fsync", "unfinished")] * 4,
        *[("replace", f"c/{n}") for n in range(4)],
    ]


@pytest.mark.skipif(shutil.which("strace") is None, reason="strace is not installed")
@pytest.mark.parametrize(("durability", "calls"), [("none", 0), ("files", 6), ("full", 12)])
def test_the_system_calls(tmp_path: Path, durability: Durability, calls: int) -> None:
    """As seen from outside: five chunks rewritten and one document, in directories that are there."""
    fastzarr.create_array(tmp_path / "data", shape=10, chunks=2, dtype="i4", compressors=None)[...] = 1
    program = f"""
import fastzarr
array = fastzarr.open_array(fastzarr.LocalStore({str(tmp_path / "data")!r}, durability={durability!r}))
array[...] = 2
array.attrs["a"] = 1
"""
    log = tmp_path / "log"
    command = ["strace", "-f", "-qq", "-e", "trace=fsync,fdatasync,sync,syncfs", "-o", str(log)]
    run = subprocess.run([*command, sys.executable, "-c", program], capture_output=True, text=True)
    if "ptrace" in run.stderr:
        pytest.skip(f"strace may not trace here: {run.stderr.strip()}")
    assert run.returncode == 0, run.stderr
    assert len([line for line in log.read_text().splitlines() if "sync(" in line]) == calls


WRITER = """
import sys, itertools, numpy as np, fastzarr
array = fastzarr.open_array(sys.argv[1], mode="r+")
print("ready", flush=True)
for number in itertools.count(1):
    array[...] = np.full(array.shape, number, "i8")
"""


# zarr-python#3411, zarrs/zarrs#420, czbiohub-sf/iohub#415: half a chunk after an interrupted write
@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs signals")
@pytest.mark.parametrize(
    "compressors", [None, {"name": "zstd", "configuration": {"level": 1}}], ids=["none", "zstd"]
)
def test_a_killed_writer_leaves_whole_chunks_only(tmp_path: Path, compressors: Any) -> None:
    array = fastzarr.create_array(
        tmp_path, shape=(4, 1 << 17), chunks=(1, 1 << 17), dtype="i8", compressors=compressors
    )
    generator = np.random.default_rng(1)
    leftovers = 0
    for _ in range(6):
        writer = subprocess.Popen([sys.executable, "-c", WRITER, str(tmp_path)], stdout=subprocess.PIPE)
        assert writer.stdout is not None
        assert writer.stdout.readline() == b"ready\n"
        time.sleep(generator.uniform(0.01, 0.06))
        writer.kill()
        writer.wait()
        writer.stdout.close()
        for row in range(4):
            found = np.unique(array[row])
            assert found.size == 1, "a chunk of two writes"
        assert set(array.store.list_prefix("")) <= {"zarr.json", *(f"c/{n}/0" for n in range(4))}
        leftovers += sum(path.endswith(".partial") for path in files(tmp_path))
    array[...] = -1
    assert (fastzarr.open_array(tmp_path)[...] == -1).all()
    array.store.erase_prefix("c/")
    assert set(files(tmp_path)) == {"zarr.json"}, f"{leftovers} unfinished files were left"


@pytest.mark.skipif(not hasattr(resource, "RLIMIT_FSIZE"), reason="needs a limit of file sizes")
# acquire-project/acquire-zarr#231: failed writes that went unnoticed
def test_a_file_that_may_not_grow_raises_and_leaves_nothing(tmp_path: Path) -> None:
    data = np.arange(1 << 15, dtype="i8")
    array = fastzarr.create_array(tmp_path, shape=data.shape, chunks=data.shape, dtype="i8", compressors=None)
    array[:10] = 1
    before = files(tmp_path)
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, limits[1]))
    try:
        with pytest.raises(OSError, match=r"File too large while writing key 'c/0'"):
            array[...] = data
        with pytest.raises(OSError, match="c/0"):
            array[20:40] = 1
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        signal.signal(signal.SIGXFSZ, handler)
    assert files(tmp_path) == before
    array[...] = data
    np.testing.assert_array_equal(array[...], data)


@pytest.mark.skipif(os.name != "posix" or os.geteuid() != 0, reason="mounts a small file system")
def test_a_full_file_system_raises_and_leaves_nothing(tmp_path: Path) -> None:
    small = tmp_path / "small"
    small.mkdir()
    if subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", small], capture_output=True
    ).returncode:
        pytest.skip("no right to mount")
    try:
        array = fastzarr.create_array(
            small, shape=(4, 1 << 16), chunks=(1, 1 << 16), dtype="i8", compressors=None
        )
        array[0] = 1
        before = files(small)
        with pytest.raises(OSError, match="No space left on device while writing key 'c/") as caught:
            array[...] = 2
        assert caught.value.filename.startswith(str(small))
        after = files(small)
        assert not [path for path in after if path.endswith(".partial")]
        assert after["zarr.json"] == before["zarr.json"]
        for row in range(4):
            assert np.unique(array[row]).size == 1
    finally:
        subprocess.run(["umount", small], check=True)
