"""How many threads a call has: the array's configuration, the environment, the processors."""

import math
import os
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fastzarr
from fastzarr import processors
from fastzarr.errors import MetadataError


@pytest.mark.parametrize("threads", [0, -1, True, False, "2", 1.0, 2.5, [2]])
def test_wrong_numbers_are_refused(threads: Any) -> None:
    array = fastzarr.create_array(None, shape=4, dtype="u1")
    expected = "config: threads: got .*, expected a number of threads of 1 or more, or None"
    with pytest.raises(MetadataError, match=expected) as caught:
        array.with_config({"threads": threads})
    assert repr(threads) in str(caught.value)
    with pytest.raises(MetadataError, match=expected):
        fastzarr.create_array(None, shape=4, dtype="u1", config={"threads": threads})
    with pytest.raises(MetadataError, match=expected):
        fastzarr.open_array(array.store, config=fastzarr.ArrayConfig(threads=threads))


def test_the_number_is_kept_beside_the_other_settings() -> None:
    array = fastzarr.create_array(None, shape=4, dtype="u1", config={"threads": np.int16(3), "order": "F"})
    assert array.config == fastzarr.ArrayConfig(threads=3, order="F")
    assert type(array.config.threads) is int
    assert array.with_config({"write_empty_chunks": True}).config.threads == 3
    assert array.with_config({"threads": None}).config.threads is None


class Waiting(fastzarr.MemoryStore):
    """Notes the threads that read, and has each wait for as many as are expected at the same time."""

    def __init__(self, parties: int) -> None:
        super().__init__()
        self.barrier = threading.Barrier(parties)
        self.seen: set[int] = set()

    def get_into(self, key: str, out: memoryview) -> int | None:
        self.seen.add(threading.get_ident())
        self.barrier.wait(timeout=10)
        return super().get_into(key, out)


@pytest.mark.parametrize("threads", [1, 3])
def test_a_call_has_as_many_threads_as_the_array_says(threads: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FASTZARR_THREADS", "2")
    store = Waiting(threads)
    array = fastzarr.create_array(store, data=np.arange(6), chunks=1, compressors=None)
    np.testing.assert_array_equal(array.with_config({"threads": threads})[...], np.arange(6))
    assert len(store.seen) == threads
    assert threading.get_ident() in store.seen


def group(root: Path, path: str, **files: str) -> None:
    directory = root / path
    directory.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        (directory / name.replace("__", ".")).write_text(content)


V2_ROOT = "0::/\n"


@pytest.mark.parametrize(
    ("limit", "count"),
    [("max 100000\n", math.inf), ("200000 100000", 2), ("150000 100000", 2), ("1000 100000", 1)],
)
def test_quota_of_a_container(limit: str, count: float, tmp_path: Path) -> None:
    group(tmp_path, "", cpu__max=limit)
    assert processors.quota(V2_ROOT, tmp_path) == count


def test_the_smallest_quota_of_nested_groups_counts(tmp_path: Path) -> None:
    group(tmp_path, "a", cpu__max="300000 100000")
    group(tmp_path, "a/b", cpu__max="max 100000")
    group(tmp_path, "a/b/c", cpu__max="800000 100000")
    assert processors.quota("0::/a/b/c\n", tmp_path) == 3
    assert processors.quota("0::/a/b/elsewhere\n", tmp_path) == 3
    assert processors.quota("0::/b\n", tmp_path) == math.inf


def test_quota_of_the_first_version(tmp_path: Path) -> None:
    group(tmp_path, "cpu", cpu__cfs_quota_us="-1", cpu__cfs_period_us="100000")
    group(tmp_path, "cpu/x", cpu__cfs_quota_us="250000\n", cpu__cfs_period_us="50000\n")
    lines = "9:name=systemd:/x\n3:cpuset:/y\n1:cpu,cpuacct:/x\n0::/\n"
    assert processors.quota(lines, tmp_path) == 5
    assert processors.quota(lines.replace("cpu,cpuacct:/x", "cpu:/host/id"), tmp_path) == math.inf


def test_files_that_say_nothing_limit_nothing(tmp_path: Path) -> None:
    group(tmp_path, "", cpu__max="")
    assert processors.quota(V2_ROOT, tmp_path) == math.inf
    assert processors.quota(V2_ROOT, tmp_path / "absent") == math.inf
    assert processors.quota("", tmp_path) == math.inf


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="the system has no affinity")
def test_the_affinity_limits_the_processors() -> None:
    before = os.sched_getaffinity(0)
    assert 1 <= processors.usable() <= len(before)
    os.sched_setaffinity(0, {min(before)})
    try:
        assert processors.usable() == 1
    finally:
        os.sched_setaffinity(0, before)


def test_a_quota_limits_the_processors(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processors, "_quota", lambda: 1)
    assert processors.usable() == 1
