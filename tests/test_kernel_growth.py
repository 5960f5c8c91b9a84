"""Memory and work that do not grow: scratch for each thread, and a chunk's work, are those of any array."""

import json
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from kernel_paths import SANITIZED, needs_kernel, noted, run_script
from test_bytes_path import Recording

import fastzarr
from fastzarr import indexing

MIB = 1 << 20

PEAK = """
import ctypes, json, sys, time
import numpy as np, fastzarr
MIB = 1 << 20
root, threads, layout = sys.argv[1], int(sys.argv[2]), json.loads(sys.argv[3])
array = fastzarr.create_array(root, shape=(64 * MIB,), dtype="u1", config={"threads": threads}, **layout)
small = fastzarr.create_array(f"{root}/small", shape=(64,), dtype="u1", **layout | {"chunks": (1,)})
small[...] = small[...]
value = np.random.default_rng(1).integers(0, 2, 64 * MIB, np.uint8)
trim = ctypes.CDLL(None).malloc_trim

def now(name="VmRSS"):
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) << 10 for line in status if line.startswith(name))

def measured(call):
    trim(0)
    with open("/proc/self/clear_refs", "w") as clear:
        clear.write("5")  # the peak begins anew
    before = now()
    call()
    peak = now("VmHWM") - before
    for _ in range(100):  # a thread of the pool that comes late still has the call in its queue
        trim(0)
        kept = now() - before
        if kept < MIB: break
        time.sleep(0.01)
    return peak / MIB, kept / MIB

gathered = value[::-1]
out = np.zeros_like(value)
print(json.dumps({
    "write": measured(lambda: array.__setitem__(..., value)),
    "write gathered": measured(lambda: array.__setitem__(..., gathered)),
    "read": measured(lambda: array.read_into(out)),
    "read scattered": measured(lambda: array.read_into(out[::-1])),
}))
assert (array[...] == gathered).all()
"""

ZSTD = {"name": "zstd", "configuration": {"level": 1}}
BLOSC = {"name": "blosc", "configuration": {"cname": "lz4", "clevel": 1}}


def can_begin_the_peak_anew() -> bool:
    try:
        Path("/proc/self/clear_refs").write_text("5")
    except OSError:
        return False
    return True


@needs_kernel
@pytest.mark.skipif(SANITIZED, reason="a sanitizer keeps memory that is given back")
@pytest.mark.skipif(not can_begin_the_peak_anew(), reason="needs /proc/self/clear_refs")
@pytest.mark.parametrize(("size", "threads"), [(4, 4), (16, 2)])
@pytest.mark.parametrize("codec", [None, ZSTD, BLOSC], ids=["none", "zstd", "blosc"])
def test_each_thread_has_a_chunk_and_an_encoded_one_at_the_most(
    tmp_path: Path, codec: Any, size: int, threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Else the C library may keep what is given back to it.
    monkeypatch.setenv("GLIBC_TUNABLES", "glibc.malloc.mmap_threshold=1048576")
    layout = {"chunks": (size * MIB,), "compressors": codec}
    measured = json.loads(run_script(PEAK, tmp_path / "a", threads, json.dumps(layout)))
    # 1/3 MiB for each thread without a codec; contexts of codecs are of a few MiB.
    most = threads * (0.5 if codec is None else 2 * size + 6) + 4
    for call, (peak, kept) in measured.items():
        assert peak < most, (call, peak, most)
        assert kept < threads * 2 + 2, (call, kept)


class Counted:
    """How many projections are made."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.made = 0
        for name in ("joined", "joined_orthogonal"):
            patch.setattr(indexing.plan, name, self._counting(getattr(indexing.plan, name)))

    def _counting(self, join: Any) -> Any:
        def counting(*arguments: Any) -> Any:
            self.made += 1
            return join(*arguments)

        return counting


SELECTIONS: list[Any] = [5, np.s_[-7:-3], np.s_[1000:1010:3], np.s_[10**8 - 5 : 10**8], np.s_[20:10:-1]]


@pytest.mark.parametrize("shards", [None, (100,)])
@pytest.mark.parametrize("selection", SELECTIONS, ids=str)
def test_one_chunk_is_the_same_work_in_a_grid_of_any_size(
    selection: Any, shards: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    work = []
    for chunks in (10**2, 10**8):
        store = Recording()
        fastzarr.create_array(store, shape=chunks * 10 + 10**8, chunks=10, shards=shards, dtype="u1")
        store.taken()
        counted = Counted(monkeypatch)
        tracemalloc.start()
        array = fastzarr.open_array(store, mode="r+")
        array[selection]
        array[selection] = 3
        found = array[selection]
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert (found == 3).all()
        assert peak < MIB
        # Two chunks may have a thread each.
        work.append((counted.made, sorted(verb for verb, _ in store.taken())))
    assert work[0] == work[1]


def test_opening_and_asking_about_a_large_grid_takes_no_look_at_chunks(tmp_path: Path) -> None:
    array = fastzarr.create_array(tmp_path, shape=(10**9, 10**9), chunks=(10, 10), dtype="f8")
    assert (array.nchunks, array.cdata_shape) == (10**16, (10**8, 10**8))
    with noted() as notes:
        opened = fastzarr.open_array(tmp_path)
        assert (opened[10**9 - 25 :, 7] == 0).all()
    assert notes.given["read"] == 3


@pytest.mark.parametrize("where", ["memory", pytest.param("local", marks=needs_kernel)])
def test_a_whole_array_of_many_missing_chunks_takes_no_memory_for_each(tmp_path: Path, where: str) -> None:
    count = 10**4 if where == "memory" else 10**5
    array = fastzarr.create_array(
        None if where == "memory" else tmp_path, shape=count, chunks=1, dtype="u1", fill_value=7
    )
    out = np.zeros(count, "u1")
    tracemalloc.start()
    array.read_into(out)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert (out == 7).all()
    assert peak < MIB // 4


@needs_kernel
def test_writing_fill_values_to_many_chunks_takes_no_memory_for_each(tmp_path: Path) -> None:
    array = fastzarr.create_array(tmp_path, shape=10**5, chunks=1, dtype="u1")
    value = np.zeros(10**5, "u1")
    array[:1000] = value[:1000]  # what is imported for the first call is not counted
    tracemalloc.start()
    array[...] = value
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < MIB // 4
    assert [path.name for path in tmp_path.iterdir()] == ["zarr.json"]
