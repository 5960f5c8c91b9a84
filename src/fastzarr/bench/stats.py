"""Statistics of samples: pure functions of saved results.

Two backends are compared within each repeat, where they ran minutes apart at most, and the median of
those ratios is taken; a ratio of medians would mix repeats that met different machines.
"""

import statistics
from collections.abc import Iterable, Sequence
from typing import Literal

from fastzarr.bench.results import Row, Sample, mib_per_second

Measure = Literal["write", "steps", "read"]
"""`steps`: writing until all bytes are handed to the operating system; `write`: steps + sync."""

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


def ratio(row: Row, other: Row, measure: Measure) -> float | None:
    """Throughput of `row` over that of `other`: median of the ratios within each repeat both have."""
    ours, theirs = times(row, measure), times(other, measure)
    common = ours.keys() & theirs.keys()
    return statistics.median(theirs[r] / ours[r] for r in common) if common else None


def percent_of_ceiling(row: Row, rows: Sequence[Row], measure: Measure) -> float | None:
    """Throughput of `row` in % of the ceiling among `rows` of the same case, or None without one."""
    found = next((other for other in rows if other.backend == CEILING and other.case == row.case), None)
    share = None if found is None or found.status != "ok" else ratio(row, found, measure)
    return None if share is None else 100 * share


def best_peer(row: Row, rows: Sequence[Row], measure: Measure) -> Row | None:
    """The ranked row of the same case, other than `row`, with the least median time, or None."""
    peers = [
        (statistics.median(measured.values()), other.backend, other)
        for other in rows
        if other.ranked and other.case == row.case and other.backend != row.backend
        if (measured := times(other, measure))
    ]
    return min(peers)[2] if peers else None


def ratio_to_best_peer(row: Row, rows: Sequence[Row], measure: Measure) -> float | None:
    """Throughput of `row` over that of its best peer; above 1 is ahead; None without either."""
    peer = best_peer(row, rows, measure)
    return None if peer is None else ratio(row, peer, measure)


def geometric_mean(values: Iterable[float | None]) -> float | None:
    """Geometric mean of the values that are there, or None if there are none."""
    present = [value for value in values if value is not None]
    return statistics.geometric_mean(present) if present else None
