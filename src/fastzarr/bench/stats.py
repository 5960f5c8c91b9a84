"""Statistics of samples: pure functions of saved results.

Two backends are compared within each repeat, where they ran minutes apart at most, and the median of
those ratios is taken; a ratio of medians would mix repeats that met different machines.
"""

import math
import statistics
from collections.abc import Collection, Iterable, Sequence
from typing import Literal

from fastzarr.bench.results import Row, Sample, mib_per_second

Measure = Literal["write", "steps", "read"]
"""`steps`: writing until all bytes are handed to the operating system; `write`: steps + sync."""

ONE_CORE = 1.2
"""Cores used, at most, by what counts as running on one: a little is the interpreter's own threads."""

CEILING = "raw-chunks"
"""The backend that does what is unavoidable: one file per chunk, no format."""


def seconds(sample: Sample, measure: Measure) -> float | None:
    """Time of one sample, or None where the backend only writes."""
    return {"write": sample.write, "steps": sample.steps, "read": sample.read}[measure]


def times(row: Row, measure: Measure) -> dict[int, float]:
    """Seconds by repeat; empty where nothing was measured."""
    found = {sample.repeat: seconds(sample, measure) for sample in row.samples}
    return {repeat: value for repeat, value in found.items() if value is not None}


def throughput(row: Row, measure: Measure, total_bytes: int) -> float | None:
    """MiB/s of the median time, or None where nothing was measured."""
    measured = times(row, measure)
    return mib_per_second(total_bytes, statistics.median(measured.values())) if measured else None


def spread(row: Row, measure: Measure) -> float | None:
    """(slowest - fastest) / median time, so 0.1 is 10 %; None with fewer than two samples.

    The full range hides no sample: with three to ten repeats a quartile would drop the slow ones.
    """
    measured = list(times(row, measure).values())
    if len(measured) < 2:
        return None
    return (max(measured) - min(measured)) / statistics.median(measured)


def cores(row: Row, measure: Measure) -> float | None:
    """Median of CPU time / wall time, so 1.9 is nearly two cores; None where nothing was measured.

    That of `write` is that of `steps`: while files are synced, the process waits.
    """
    if measure == "read":
        used = [s.read_cpu / s.read for s in row.samples if s.read and s.read_cpu is not None]
    else:
        used = [s.steps_cpu / s.steps for s in row.samples if s.steps]
    return statistics.median(used) if used else None


def ratios(row: Row, other: Row, measure: Measure) -> dict[int, float]:
    """Throughput of `row` over that of `other` within each repeat both have, by repeat."""
    ours, theirs = times(row, measure), times(other, measure)
    return {repeat: theirs[repeat] / ours[repeat] for repeat in sorted(ours.keys() & theirs.keys())}


def ratio(row: Row, other: Row, measure: Measure) -> float | None:
    """Throughput of `row` over that of `other`: median of the ratios within each repeat both have."""
    paired = ratios(row, other, measure)
    return statistics.median(paired.values()) if paired else None


def is_tie(paired: Collection[float]) -> bool:
    """Whether paired ratios are on both sides of 1, so that neither backend is ahead in all repeats."""
    return min(paired) <= 1 <= max(paired)


def percent_of_ceiling(row: Row, rows: Sequence[Row], measure: Measure) -> float | None:
    """Throughput of `row` in % of the ceiling among `rows` of the same case, or None without one."""
    found = next((other for other in rows if other.backend == CEILING and other.case == row.case), None)
    share = None if found is None or found.status != "ok" else ratio(row, found, measure)
    return None if share is None else 100 * share


def best_peer(row: Row, rows: Sequence[Row], measure: Measure, *, most_cores: float = math.inf) -> Row | None:
    """The ranked row of the same case, other than `row`, with the least median time, or None.

    Rows that use more than `most_cores` are passed over.
    """
    peers = [
        (statistics.median(measured.values()), other.backend, other)
        for other in rows
        if other.ranked and other.case == row.case and other.backend != row.backend
        if (measured := times(other, measure)) and (cores(other, measure) or 0) <= most_cores
    ]
    return min(peers)[2] if peers else None


def geometric_mean(values: Iterable[float | None]) -> float | None:
    """Geometric mean of the values that are there, or None if there are none."""
    present = [value for value in values if value is not None]
    return statistics.geometric_mean(present) if present else None
