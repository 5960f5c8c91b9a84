"""What the reports of the workloads over layouts show, computed from a bundle: one table per case.

As in `summary`, two backends are compared within each repeat, and the median of those ratios is taken.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import geometric_mean, median

from fastzarr.bench import stats
from fastzarr.bench.measurements import Bundle, CaseRecord, OperationRecord, Row
from fastzarr.bench.report import measured_words as words
from fastzarr.bench.report.summary import SUBJECT
from fastzarr.bench.results import mib_per_second

CEILINGS = {"none": "raw-chunks", "zstd": "libzstd"}
"""The baseline whose speed is 100 %, by codec: plain files, and the codec alone on all cores."""


@dataclass(frozen=True, kw_only=True)
class Lead:
    """The subject against one ranked peer in one operation."""

    peer: str
    """Name of the peer."""
    cores: float
    """Cores the peer used."""
    ratios: Mapping[int, float]
    """Time of the peer over that of the subject, by repeat; above 1 the subject is ahead."""

    @property
    def ratio(self) -> float:
        """The median of the ratios."""
        return median(self.ratios.values())

    @property
    def tie(self) -> bool:
        """Whether neither is ahead in all repeats."""
        return stats.is_tie(self.ratios.values())

    @property
    def text(self) -> str:
        """The ratio, and whether it is one."""
        return f"{words.ratio_text(self.ratio)}{' tie' if self.tie else ''}"


@dataclass(frozen=True, kw_only=True)
class Cell:
    """One backend doing one operation of one case with one number of threads."""

    row: Row
    """The saved row; it has samples."""
    seconds: float
    """Median wall time of a sample."""
    throughput: float | None
    """MiB/s of the median time, or None where bytes are no measure."""
    cores: float
    """Median of CPU time / wall time."""
    spread: float | None
    """(slowest - fastest) / median time, or None with fewer than two samples."""
    percent: float | None
    """Speed in % of the ceiling, or None without one."""
    lead: Lead | None
    """The subject against this backend, where both are ranked."""


@dataclass(frozen=True, kw_only=True)
class Section:
    """One operation of one case with one number of threads, and every backend that was timed at it."""

    case: CaseRecord
    """The array."""
    label: str
    """What tells the case from the others of the run, in few words."""
    operation: OperationRecord
    """What was timed."""
    threads: int | None
    """Threads the backends were told to use, or None."""
    cells: tuple[Cell, ...]
    """Baselines, then what competes, then the rest; each in the order of the run."""
    ceiling: str | None
    """The baseline that is 100 %, or None."""
    lead: Lead | None
    """Against the ranked peer with the least median time; None where the subject or a peer is missing."""

    @property
    def units(self) -> int:
        """Calls in a sample, or chunks where it is one call."""
        return self.operation.calls if self.operation.calls > 1 else self.operation.chunks or 1

    @property
    def per(self) -> str:
        """What a unit is."""
        return "call" if self.operation.calls > 1 or not self.operation.chunks else "chunk"

    @property
    def title(self) -> str:
        """The operation, with its number of calls where that is not one."""
        calls = self.operation.calls
        return self.operation.name if calls == 1 else f"{self.operation.name} ({calls} calls)"

    @property
    def best(self) -> float | None:
        """Least median time of a ranked backend, or None."""
        return min((cell.seconds for cell in self.cells if cell.row.ranked), default=None)

    @property
    def fastest(self) -> float:
        """Least median time of all; there are cells."""
        return min(cell.seconds for cell in self.cells)

    def microseconds(self, cell: Cell) -> float:
        """Median time of one unit."""
        return 1e6 * cell.seconds / self.units

    def cell(self, backend: str) -> Cell | None:
        """The cell of that backend, or None."""
        return next((cell for cell in self.cells if cell.row.backend == backend), None)


def sections(bundle: Bundle) -> tuple[Section, ...]:
    """One per case, operation and number of threads, in the order of the run; without samples: no cells."""
    rows: dict[tuple[str, str], dict[int | None, list[Row]]] = {}
    for row in bundle.rows:
        rows.setdefault((row.case, row.operation), {}).setdefault(row.threads, []).append(row)
    names = words.labels(bundle.cases)
    return tuple(
        _section(case, names[case.name], operation, threads, here)
        for case in bundle.cases
        for operation in case.operations
        for threads, here in rows.get((case.name, operation.name), {None: []}).items()
    )


def by_case(shown: Iterable[Section]) -> dict[str, tuple[Section, ...]]:
    """The sections of each case, by its name."""
    found: dict[str, list[Section]] = {}
    for section in shown:
        found.setdefault(section.case.name, []).append(section)
    return {name: tuple(parts) for name, parts in found.items()}


def _section(
    case: CaseRecord, label: str, operation: OperationRecord, threads: int | None, rows: list[Row]
) -> Section:
    timed = [row for row in rows if row.samples]
    subject = next((row for row in timed if row.backend == SUBJECT and row.ranked), None)
    wanted = CEILINGS.get(case.codec)
    ceiling = next((row for row in timed if row.backend == wanted and row.status == "ok"), None)
    leads = {} if subject is None else {row.backend: _lead(subject, row) for row in timed if row.ranked}
    peers = [row for row in timed if row.ranked and row.backend != SUBJECT and leads.get(row.backend)]
    best = min(peers, key=lambda row: (row.seconds, row.backend), default=None)
    ordered = sorted(timed, key=lambda row: (row.status != "ok", row.kind != "baseline"))
    return Section(
        case=case,
        label=label,
        operation=operation,
        threads=threads,
        cells=tuple(_cell(row, operation, ceiling, leads.get(row.backend)) for row in ordered),
        ceiling=ceiling.backend if ceiling else None,
        lead=leads[best.backend] if best else None,
    )


def _cell(row: Row, operation: OperationRecord, ceiling: Row | None, lead: Lead | None) -> Cell:
    times = list(_times(row).values())
    seconds = median(times)
    shares = ratios(row, ceiling) if ceiling else {}
    return Cell(
        row=row,
        seconds=seconds,
        throughput=mib_per_second(operation.nbytes, seconds) if operation.nbytes else None,
        cores=cores(row),
        spread=(max(times) - min(times)) / seconds if len(times) > 1 else None,
        percent=100 * median(shares.values()) if shares else None,
        lead=None if row.backend == SUBJECT else lead,
    )


def _lead(subject: Row, peer: Row) -> Lead | None:
    paired = ratios(subject, peer)
    return Lead(peer=peer.backend, cores=cores(peer), ratios=paired) if paired else None


def _times(row: Row) -> dict[int, float]:
    return {sample.repeat: sample.seconds for sample in row.samples}


def ratios(row: Row, other: Row) -> dict[int, float]:
    """Speed of `row` over that of `other` within each repeat both have, by repeat."""
    ours, theirs = _times(row), _times(other)
    return {repeat: theirs[repeat] / ours[repeat] for repeat in sorted(ours.keys() & theirs.keys())}


def cores(row: Row) -> float:
    """Median of CPU time / wall time; `row` has samples."""
    return median(sample.cpu_seconds / sample.seconds for sample in row.samples)


def headlines(shown: Sequence[Section]) -> list[str]:
    """A sentence on the uncompressed cases, and one on the compressed ones."""
    parts = {
        "Uncompressed": [s for s in shown if s.case.codec == "none"],
        "Compressed": [s for s in shown if s.case.codec != "none"],
    }
    return [_headline(name, part) for name, part in parts.items() if part]


def _headline(name: str, part: Iterable[Section]) -> str:
    by_operation: dict[str, list[Lead]] = {}
    for section in part:
        if section.lead:
            by_operation.setdefault(section.operation.name, []).append(section.lead)
    leads = [lead for found in by_operation.values() for lead in found]
    if not leads:
        return f"{name}: {SUBJECT} has no rank beside another library in this run."
    means = {
        operation: geometric_mean(lead.ratio for lead in found) for operation, found in by_operation.items()
    }
    listed = ", ".join(f"{operation} {words.ratio_text(mean)}" for operation, mean in means.items())
    ties = sum(lead.tie for lead in leads)
    ahead = sum(lead.ratio > 1 and not lead.tie for lead in leads)
    return (
        f"{name}, {SUBJECT}'s speed over that of the best other library of each case: {listed} (geometric "
        f"means). Ahead in {ahead} of {len(leads)} comparison{'' if len(leads) == 1 else 's'}, "
        f"{ties or 'no'} tie{'' if ties == 1 else 's'}, behind in {len(leads) - ahead - ties or 'none'}."
    )
