"""The cases of the workloads over layouts."""

import itertools
import math

import pytest

from fastzarr.bench import layouts
from fastzarr.bench.layouts import Job, Settings

MIB = 2**20


def jobs(workload: str, *, quick: bool = False) -> tuple[Job, ...]:
    return layouts.JOBS[workload](Settings(codecs=layouts.CODECS, repeats=5, quick=quick))


@pytest.mark.parametrize("quick", [False, True])
@pytest.mark.parametrize("workload", layouts.JOBS)
def test_cases_have_names_of_their_own_and_whole_chunks(workload: str, quick: bool) -> None:
    found = jobs(workload, quick=quick)
    names = [job.record.name for job in found]
    assert len(set(names)) == len(names)
    for job in found:
        layout = job.layout
        assert all(n % c == 0 for n, c in zip(layout.shape, layout.objects, strict=True))
        assert all(n % c == 0 for n, c in zip(layout.objects, layout.chunks, strict=True))
        assert job.record.total_bytes <= 256 * MIB
        assert [o.name for o in job.record.operations] == [o.name for o in job.operations]


def test_jobs_of_one_source_follow_each_other() -> None:
    for workload in layouts.JOBS:
        ids = [id(job.source) for job in jobs(workload)]
        changes = sum(a != b for a, b in itertools.pairwise(ids))
        assert changes == len(set(ids)) - 1


def test_whole_arrays() -> None:
    found = jobs("whole-array")
    for topic in ("slabs", "cubes"):
        cases = [job for job in found if job.record.topic == topic]
        assert {job.record.chunk_bytes // MIB for job in cases} == {1, 4, 16, 64}
        assert {(job.layout.codec, job.layout.level) for job in cases} == set(layouts.CODECS)
        contiguous = [job.layout.chunks[1:] == job.layout.shape[1:] for job in cases]
        assert all(contiguous) if topic == "slabs" else not any(contiguous)
    elements = [job for job in found if any(o.name == "element" for o in job.operations)]
    assert [(job.layout.codec, job.record.chunk_bytes) for job in elements] == [("none", 64 * MIB)]
    shards = [job for job in found if job.layout.shards]
    assert {math.prod(job.layout.objects) * 4 // MIB for job in shards} == {64, 256}
    slabs = {job.record.operation("write by slabs").calls for job in shards if len(job.operations) == 3}
    assert slabs == {4}


def test_small_chunks() -> None:
    found = jobs("small-chunks")
    growth = [job.record for job in found if job.record.topic == "growth"]
    assert [record.chunk_count for record in growth] == [10**n for n in range(2, 7)]
    assert [record.repeats for record in growth] == [5, 5, 3, 1, 1]
    sharded = [job.record for job in found if job.record.topic == "growth in shards"]
    assert [record.chunk_count for record in sharded] == [10**4, 10**5, 10**6]
    assert {o.name for record in growth + sharded for o in record.operations} == {"write", "read", "open"}
    images = [job.record for job in found if job.record.topic == "small chunks"]
    assert {(record.shape, record.chunk_bytes) for record in images} == {
        ((512,) * 3, 32**3),
        ((512,) * 3, 64**3),
    }


def test_cutouts() -> None:
    shard, *_ = jobs("cutouts")
    assert (shard.layout.shape, shard.layout.shards) == ((512,) * 3, (512,) * 3)
    aligned, small, large = shard.record.operations
    assert (aligned.name, aligned.chunks) == ("aligned 32³", aligned.calls)
    assert (small.name, small.chunks) == ("unaligned 64³", 27 * small.calls)
    assert (large.name, large.chunks) == ("unaligned 128³", 125 * large.calls)
