"""`BucketCache`: what it keeps, what it gives up, and that it never outlives the files by long."""

from __future__ import annotations

import os
import threading
import tracemalloc
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fastzarr
from fastzarr.serve import cache as cache_module
from fastzarr.serve.cache import OVERHEAD, BucketCache
from fastzarr.serve.volume import Volume

EDGE = 8
NBYTES = EDGE**3
OLD = 1_000_000_000
"""A time long ago: files of now are looked at again and again, since they may change within one tick."""


class Clock:
    """Seconds that pass when told."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


class Counting(Volume):
    """A volume that counts the buckets read of it."""

    read_count = 0

    def buckets(self, coords: Any, *args: Any) -> list[bytes | None]:
        self.read_count += len(coords)
        return super().buckets(coords, *args)


class Made(Volume):
    """A volume whose buckets cost nothing to read."""

    def buckets(self, coords: Any, *args: Any) -> list[bytes | None]:
        return [bytes([x, y, z, 0, 0, 0, 0, 0]) for x, y, z in coords]


def volume(path: Path, *, chunks: int = EDGE, size: int = 32, value: int = 1) -> Counting:
    array = fastzarr.create_array(
        path, shape=(size,) * 3, chunks=(chunks,) * 3, dtype="uint8", overwrite=True
    )
    array[...] = value
    age(path)
    return Counting(fastzarr.open_array(path, mode="r"), "zyx")


def age(path: Path) -> None:
    """Make files look as if they were written long ago, in what a look at them tells."""
    for file in path.rglob("*"):
        os.utime(file, (OLD, OLD))


@pytest.fixture(autouse=True)
def _old_files(monkeypatch: pytest.MonkeyPatch) -> None:
    """The times at which files were last changed can't be set, so those of a moment ago count as old."""
    monkeypatch.setattr(cache_module, "_GRAIN", -(10**12))


def of(value: int) -> bytes:
    return bytes([value]) * NBYTES


POINTS: Sequence[tuple[int, int, int]] = ((0, 0, 0), (1, 2, 3), (3, 3, 3))


def test_what_was_read_is_kept(tmp_path: Path) -> None:
    source, cache = volume(tmp_path / "a"), BucketCache(10**6)
    keys = [(source.number, EDGE, *point) for point in POINTS]
    assert cache.fresh(keys) is None
    assert cache.read(source, POINTS, EDGE) == [of(1)] * 3
    assert cache.read(source, [*POINTS[1:], (2, 0, 0)], EDGE) == [of(1)] * 3
    assert source.read_count == 4
    assert cache.fresh(keys) == [of(1)] * 3
    counts = cache.counts()
    assert (counts.hits, counts.misses, counts.entries, counts.evicted) == (5, 4, 4, 0)
    assert counts.nbytes == 4 * (NBYTES + OVERHEAD)


def test_volumes_and_edges_are_told_apart(tmp_path: Path) -> None:
    one, two, cache = volume(tmp_path / "a"), volume(tmp_path / "b", value=2), BucketCache(10**6)
    assert cache.read(one, [(0, 0, 0)], EDGE) == [of(1)]
    assert cache.read(two, [(0, 0, 0)], EDGE) == [of(2)]
    assert cache.read(one, [(0, 0, 0)], 2) == [b"\1" * 8]


def test_missing_buckets_are_kept_too(tmp_path: Path) -> None:
    source, cache = volume(tmp_path / "a"), BucketCache(10**6)
    for _ in range(2):
        assert cache.read(source, [(9, 9, 9)], EDGE) == [None]
    assert source.read_count == 1
    assert cache.fresh([(source.number, EDGE, 9, 9, 9)]) == [None]


def test_those_used_longest_ago_are_given_up(tmp_path: Path) -> None:
    source, cache = volume(tmp_path / "a"), BucketCache(3 * (NBYTES + OVERHEAD))
    cache.read(source, [(0, 0, 0), (1, 0, 0), (2, 0, 0)], EDGE)
    assert cache.fresh([(source.number, EDGE, 0, 0, 0)]) == [of(1)]
    cache.read(source, [(3, 0, 0)], EDGE)
    assert cache.fresh([(source.number, EDGE, 1, 0, 0)]) is None
    assert cache.fresh([(source.number, EDGE, x, 0, 0) for x in (0, 2, 3)]) is not None
    assert cache.counts().evicted == 1


@pytest.mark.parametrize("limit", [0, NBYTES])
def test_buckets_larger_than_the_budget_are_not_kept(tmp_path: Path, limit: int) -> None:
    source, cache = volume(tmp_path / "a"), BucketCache(limit)
    for _ in range(2):
        assert cache.read(source, POINTS, EDGE) == [of(1)] * 3
    assert cache.counts().entries == cache.counts().nbytes == 0
    assert source.read_count == 6


def test_memory_is_within_the_budget(tmp_path: Path) -> None:
    """With buckets so small that what an entry needs besides them is most of it."""
    array = fastzarr.create_array(tmp_path / "a", shape=(64, 64, 64), chunks=(64, 8, 8), dtype="uint8")
    source = Made(array, "zyx")
    limit = 1 << 20
    cache = BucketCache(limit)
    cache.read(source, [(0, 0, 0)], 2)
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        for z in range(2):
            cache.read(source, [(x, y, z) for x in range(16) for y in range(16)], 2)
        held = tracemalloc.get_traced_memory()[0] - before
    finally:
        tracemalloc.stop()
    counts = cache.counts()
    assert limit * 0.9 < counts.nbytes <= limit
    assert counts.evicted > 1000
    assert held < limit


def test_files_that_change_are_read_anew_when_they_are_looked_at_again(tmp_path: Path) -> None:
    clock = Clock()
    source, cache = volume(tmp_path / "a"), BucketCache(10**6, recheck=2, clock=clock)
    key = (source.number, EDGE, 0, 0, 0)
    cache.read(source, [(0, 0, 0), (9, 9, 9)], EDGE)
    fastzarr.open_array(tmp_path / "a")[...] = 5
    clock.now += 1.9
    assert cache.fresh([key]) == [of(1)]
    clock.now += 0.2
    assert cache.fresh([key]) is None  # not told before the files were looked at
    assert cache.read(source, [(0, 0, 0)], EDGE) == [of(5)]
    assert cache.fresh([key]) == [of(5)]
    assert cache.counts().entries == 2


def test_files_that_stay_are_not_read_again(tmp_path: Path) -> None:
    clock = Clock()
    source, cache = volume(tmp_path / "a"), BucketCache(10**6, recheck=2, clock=clock)
    for _ in range(5):
        assert cache.read(source, [(0, 0, 0)], EDGE) == [of(1)]
        clock.now += 3
    assert source.read_count == 1


def test_files_that_appear_and_go(tmp_path: Path) -> None:
    clock = Clock()
    source, cache = volume(tmp_path / "a"), BucketCache(10**6, recheck=2, clock=clock)
    file = tmp_path / "a/c/0/0/0"
    content = file.read_bytes()
    file.unlink()
    assert cache.read(source, [(0, 0, 0)], EDGE) == [None]
    file.write_bytes(content)
    clock.now += 3
    assert cache.read(source, [(0, 0, 0)], EDGE) == [of(1)]
    file.unlink()
    clock.now += 3
    assert cache.read(source, [(0, 0, 0)], EDGE) == [None]


def test_a_file_written_a_moment_before_it_was_read_is_read_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It may have changed since within one tick of the clock of files."""
    monkeypatch.setattr(cache_module, "_GRAIN", 10**18)
    clock = Clock()
    source, cache = volume(tmp_path / "a"), BucketCache(10**6, recheck=2, clock=clock)
    for n in range(3):
        assert cache.read(source, [(0, 0, 0)], EDGE) == [of(1)]
        assert source.read_count == n + 1
        clock.now += 3


def test_buckets_of_many_files_are_read_again_after_a_while(tmp_path: Path) -> None:
    clock = Clock()
    source, cache = volume(tmp_path / "a", chunks=2, size=8), BucketCache(10**6, recheck=2, clock=clock)
    for _ in range(2):
        cache.read(source, [(0, 0, 0)], EDGE)
    assert source.read_count == 1
    fastzarr.open_array(tmp_path / "a")[...] = 5
    clock.now += 3
    assert cache.read(source, [(0, 0, 0)], EDGE) == [of(5)]


def test_failures_are_not_kept(tmp_path: Path) -> None:
    source, cache = volume(tmp_path / "a"), BucketCache(10**6)
    file = tmp_path / "a/c/0/0/0"
    content = file.read_bytes()
    file.write_bytes(b"nonsense")
    with pytest.raises(fastzarr.errors.ChunkError):
        cache.read(source, [(0, 0, 0)], EDGE)
    file.write_bytes(content)
    assert cache.read(source, [(0, 0, 0)], EDGE) == [of(1)]


def test_threads_share_it(tmp_path: Path) -> None:
    source, cache = volume(tmp_path / "a"), BucketCache(20 * (NBYTES + OVERHEAD), recheck=0.001)
    wrong: list[object] = []

    def work(seed: int) -> None:
        rng = np.random.default_rng(seed)
        for _ in range(200):
            points = [tuple(point) for point in rng.integers(0, 4, (5, 3)).tolist()]
            if cache.read(source, points, EDGE) != [of(1)] * 5:
                wrong.append(points)
            cache.fresh([(source.number, EDGE, *point) for point in points])

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    counts = cache.counts()
    assert counts.nbytes == counts.entries * (NBYTES + OVERHEAD) <= cache.limit


def test_what_is_read_beside_buckets_is_held_by_the_cache_alone(tmp_path: Path) -> None:
    """Not until all buckets of a request are read: they may be in as many chunks."""
    source = volume(tmp_path / "a", chunks=64, size=256)
    cache = BucketCache(1 << 20)
    points = [(x, y, z) for x in range(0, 32, 8) for y in range(0, 32, 8) for z in range(0, 32, 8)]
    cache.read(source, points[:1], EDGE)
    tracemalloc.start()
    try:
        assert cache.read(source, points, EDGE) == [of(1)] * 64
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 4 * cache.limit  # the 64 chunks have 16 times that


@pytest.mark.parametrize("chunks", [64, 128])
def test_buckets_are_not_there_twice(tmp_path: Path, chunks: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither those that are chunks, and are decoded together, nor those that are parts of one."""
    monkeypatch.setattr(cache_module, "TOGETHER", 1 << 17)
    source = volume(tmp_path / "a", chunks=chunks, size=256)
    cache = BucketCache(1 << 18)
    points = [(x, y, z) for x in range(4) for y in range(4) for z in range(4)]
    cache.read(source, points[:1], 64)
    tracemalloc.start()
    try:
        pieces = cache.read(source, points, 64)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 1.3 * 256**3
    assert all(piece == b"\1" * 64**3 for piece in pieces)


def test_of_tiny_buckets_not_all_in_a_chunk_are_read_together(tmp_path: Path) -> None:
    array = fastzarr.create_array(tmp_path / "a", data=np.full((64, 64, 64), 3, "uint8"), chunks=(64, 64, 64))
    cache = BucketCache(1 << 24)
    assert cache.read(Volume(array, "xyz"), [(0, 0, 0)], 1) == [b"\3"]
    assert 1 < cache.counts().entries <= cache_module.MANY
