"""Statistics of samples."""

from dataclasses import replace
from typing import get_args

import pytest

from fastzarr.bench import stats
from fastzarr.bench.results import Row, Sample

MIB = 2**20


def row(
    backend: str,
    steps: list[float],
    read: list[float | None] | None = None,
    *,
    cores: float = 1,
    **changes: object,
) -> Row:
    reads = read or [1.0] * len(steps)
    samples = tuple(
        Sample(
            repeat=i,
            position=0,
            create=0,
            steps=s,
            steps_cpu=s * cores,
            sync=1,
            open=0,
            read=r,
            read_cpu=None if r is None else r * cores,
            load_average=0,
        )
        for i, (s, r) in enumerate(zip(steps, reads, strict=True), 1)
    )
    fields = {
        "case": "c",
        "backend": backend,
        "kind": "library",
        "status": "ok",
        "reason": None,
        "ranked": True,
        "stored_bytes": 1,
        "stored_chunks": 1,
        "verified_by": None,
        "peak_memory_bytes": None,
        "samples": samples,
    }
    return Row(**fields | changes)  # type: ignore[arg-type]


def test_throughput_is_of_the_median_time() -> None:
    a = row("a", [1, 4, 2])
    assert stats.throughput(a, "steps", 8 * MIB) == 4
    assert stats.throughput(a, "write", 9 * MIB) == 3
    assert stats.throughput(row("a", []), "steps", MIB) is None
    assert stats.throughput(row("a", [1, 1], [None, None]), "read", MIB) is None


def test_spread_is_the_range_over_the_median() -> None:
    assert stats.spread(row("a", [1, 4, 2]), "steps") == 1.5
    assert stats.spread(row("a", [1]), "steps") is None


def test_ratio_pairs_the_repeats() -> None:
    drifting, steady = row("a", [1, 2, 10]), row("b", [2, 4, 20])
    assert stats.ratio(drifting, steady, "steps") == 2
    assert stats.ratio(steady, drifting, "steps") == 0.5
    paired = stats.ratio(row("a", [1, 2, 4]), row("b", [2, 1, 12]), "steps")
    assert paired == 2, "the median of 2, 0.5 and 3, not the ratio of the medians, 1"
    assert stats.ratio(row("a", [1, 5]), row("b", [3]), "steps") == 3, "repeats that both have"
    assert stats.ratio(row("a", [1]), row("b", []), "steps") is None


def test_percent_of_ceiling() -> None:
    ceiling = row("raw-chunks", [1, 1, 1], kind="baseline", ranked=False)
    a = row("a", [2, 1, 4])
    assert stats.percent_of_ceiling(a, [a, ceiling], "steps") == 50
    assert stats.percent_of_ceiling(a, [a], "steps") is None
    assert stats.percent_of_ceiling(a, [a, row("raw-chunks", [1], case="other")], "steps") is None


def test_best_peer_is_ranked_another_and_of_the_same_case() -> None:
    ours = row("fastzarr", [1, 1, 1])
    slow, quick = row("slow", [6, 6, 6]), row("quick", [3, 3, 3])
    rows = [
        ours,
        slow,
        quick,
        row("cheats", [0.1] * 3, ranked=False),
        row("elsewhere", [0.1] * 3, case="d"),
        row("skipped", []),
    ]
    assert stats.best_peer(ours, rows, "steps") is quick
    assert stats.best_peer(ours, [ours], "steps") is None


def test_the_best_peer_may_differ_by_measure() -> None:
    ours, writer, reader = row("o", [2], [2]), row("w", [1], [4]), row("r", [4], [1])
    assert stats.best_peer(ours, [ours, writer, reader], "write") is writer
    assert stats.best_peer(ours, [ours, writer, reader], "read") is reader


def test_a_best_peer_may_be_asked_to_use_few_cores() -> None:
    ours, single, double = row("o", [2, 2]), row("s", [3, 3], cores=1.1), row("d", [1, 1], cores=1.9)
    rows = [ours, single, double]
    assert stats.best_peer(ours, rows, "steps") is double
    for measure in get_args(stats.Measure):
        assert stats.best_peer(ours, rows, measure, most_cores=stats.ONE_CORE) is single
    assert stats.best_peer(ours, [ours, double], "steps", most_cores=stats.ONE_CORE) is None


def test_cores_are_the_median_of_cpu_over_wall_time() -> None:
    a = row("a", [1, 1, 1], [2, 2, 2])
    samples = (
        replace(sample, steps_cpu=cpu, read_cpu=2 * cpu)
        for sample, cpu in zip(a.samples, (1.9, 0.5, 1.5), strict=True)
    )
    a = replace(a, samples=tuple(samples))
    assert [stats.cores(a, measure) for measure in ("write", "steps", "read")] == [1.5, 1.5, 1.5]
    assert stats.cores(row("w", [1], [None]), "read") is None
    assert stats.cores(row("w", []), "steps") is None


@pytest.mark.parametrize(
    ("paired", "tie"),
    [
        ([1.1, 1.3, 1.2], False),
        ([0.9, 0.7], False),
        ([1.1, 0.9, 1.3], True),
        ([1.0, 1.2], True),
        ([2], False),
    ],
)
def test_a_tie_is_ahead_and_behind(paired: list[float], tie: bool) -> None:
    assert stats.is_tie(paired) is tie


def test_ratios_are_by_repeat() -> None:
    assert stats.ratios(row("a", [1, 2, 5]), row("b", [2, 3]), "steps") == {1: 2, 2: 1.5}


def test_geometric_mean_of_what_is_there() -> None:
    assert stats.geometric_mean([2, None, 8]) == pytest.approx(4)
    assert stats.geometric_mean([None]) is None
