"""What the report shows, computed from a bundle: one block per case, and means over the blocks."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import geometric_mean, median

from fastzarr.bench import stats
from fastzarr.bench.results import Bundle, CaseRecord, Row, Status

SUBJECT = "fastzarr"
"""The backend whose lead over the others is reported."""
MEASURES: tuple[stats.Measure, ...] = ("write", "steps", "read")
MEANING: Mapping[stats.Measure, str] = {
    "write": "write, with sync",
    "steps": "steps, before sync",
    "read": "read",
}


@dataclass(frozen=True, kw_only=True)
class Cell:
    """One measure of one backend on one case."""

    throughput: float
    """MiB/s of the median time."""
    percent: float | None
    """Throughput in % of the ceiling, or None without a ceiling in the case."""
    spread: float | None
    """(slowest - fastest) / median time, or None with fewer than two samples."""
    cores: float | None
    """Cores used: median of CPU time / wall time."""


@dataclass(frozen=True, kw_only=True)
class Line:
    """One backend on one case."""

    row: Row
    """The saved row."""
    cells: Mapping[stats.Measure, Cell]
    """What was measured; a measure without samples is absent."""
    stored_ratio: float | None
    """Uncompressed size over stored size, or None where nothing was stored."""


@dataclass(frozen=True, kw_only=True)
class Lead:
    """The subject against one ranked peer on one case."""

    peer: str
    """Name of the peer."""
    cores: float
    """Cores the peer used."""
    ratios: Mapping[int, float]
    """Throughput of the subject over that of the peer, by repeat; above 1 is ahead."""

    @property
    def ratio(self) -> float:
        """The median of the ratios."""
        return median(self.ratios.values())

    @property
    def tie(self) -> bool:
        """Whether neither is ahead in all repeats."""
        return stats.is_tie(self.ratios.values())


@dataclass(frozen=True, kw_only=True)
class Block:
    """One case and every backend on it."""

    case: CaseRecord
    """What was written and read."""
    lines: tuple[Line, ...]
    """Baselines, then what competes, then the rest; each in the order of the run."""
    leads: Mapping[stats.Measure, Lead]
    """Against the best peer, by measure; absent where the subject or a peer is not ranked."""
    one_core: Mapping[stats.Measure, Lead]
    """Against the best peer on one core; absent where there is none, or the subject uses more itself."""

    @property
    def apart(self) -> Mapping[stats.Measure, Lead]:
        """The leads on one core where the best peer of all uses more."""
        return {m: lead for m, lead in self.one_core.items() if lead.peer != self.leads[m].peer}

    def line(self, backend: str) -> Line | None:
        """The line of that backend, or None before the run reached it."""
        return next((line for line in self.lines if line.row.backend == backend), None)

    def best(self, measure: stats.Measure) -> float | None:
        """Highest throughput of a ranked backend, or None."""
        ranked = [line for line in self.lines if line.row.ranked]
        return max((line.cells[measure].throughput for line in ranked if measure in line.cells), default=None)


@dataclass(frozen=True, kw_only=True)
class Remark:
    """Why backends were not ranked."""

    backends: tuple[str, ...]
    """All with that status and reason in the same cases."""
    status: Status
    """Not `ok`."""
    reason: str
    """As the run kept it."""
    cases: tuple[CaseRecord, ...]
    """Where."""

    @property
    def text(self) -> str:
        """Who, what and why."""
        status = "not ranked" if self.status == "unequal" else self.status
        return f"{', '.join(self.backends)}: {status}: {self.reason}"


@dataclass(frozen=True, kw_only=True)
class Mean:
    """One measure over several cases."""

    lead: float | None
    """Geometric mean of the ratio to the best peer."""
    tie: bool
    """Whether that mean, taken within each repeat, is on both sides of 1."""
    one_core: float | None
    """Geometric mean of the ratio to the best peer on one core; None where no best peer uses more."""
    one_core_tie: bool
    """As `tie`."""
    least: float | None
    """Smallest of those ratios."""
    most: float | None
    """Largest of those ratios."""
    cases: int
    """Number of those ratios."""
    ahead: int
    """How many of them are 1 or more."""
    percent: float | None
    """Geometric mean of the subject's % of the ceiling; None with a codec, whose work the ceiling lacks."""


def blocks(bundle: Bundle) -> tuple[Block, ...]:
    """One block per case, in the order of the run."""
    return tuple(_block(bundle, case) for case in bundle.cases)


def _block(bundle: Bundle, case: CaseRecord) -> Block:
    rows = [row for row in bundle.rows if row.case == case.name]
    subject = next((row for row in rows if row.backend == SUBJECT and row.ranked), None)
    leads = {} if subject is None else _leads(subject, rows, math.inf)
    one_core = {} if subject is None else _leads(subject, rows, stats.ONE_CORE)
    ordered = sorted(rows, key=lambda row: (row.status != "ok", row.kind != "baseline"))
    lines = tuple(_line(row, rows, case) for row in ordered)
    return Block(case=case, lines=lines, leads=leads, one_core=one_core)


def _leads(subject: Row, rows: Sequence[Row], most_cores: float) -> dict[stats.Measure, Lead]:
    """Against the best peer of those that use `most_cores` or less; only where the subject does, too."""
    found = {}
    for measure in (m for m in MEASURES if (stats.cores(subject, m) or 0) <= most_cores):
        peer = stats.best_peer(subject, rows, measure, most_cores=most_cores)
        if peer and (ratios := stats.ratios(subject, peer, measure)):
            cores = stats.cores(peer, measure) or 0
            found[measure] = Lead(peer=peer.backend, cores=cores, ratios=ratios)
    return found


def _line(row: Row, rows: Sequence[Row], case: CaseRecord) -> Line:
    cells = {
        measure: Cell(
            throughput=throughput,
            percent=stats.percent_of_ceiling(row, rows, measure),
            spread=stats.spread(row, measure),
            cores=stats.cores(row, measure),
        )
        for measure in MEASURES
        if (throughput := stats.throughput(row, measure, case.total_bytes)) is not None
    }
    stored_ratio = case.total_bytes / row.stored_bytes if row.stored_bytes else None
    return Line(row=row, cells=cells, stored_ratio=stored_ratio)


def means(shown: Iterable[Block]) -> dict[stats.Measure, Mean]:
    """The subject over `shown`, by measure."""
    kept = tuple(shown)
    return {measure: _mean(kept, measure) for measure in MEASURES}


def _mean(kept: Sequence[Block], measure: stats.Measure) -> Mean:
    leads = [block.leads[measure] for block in kept if measure in block.leads]
    one_core = [block.one_core[measure] for block in kept if measure in block.one_core]
    apart = any(measure in block.apart for block in kept)
    ratios = [lead.ratio for lead in leads]
    lines = [line for block in kept if (line := block.line(SUBJECT)) and line.row.ranked]
    shares = [line.cells[measure].percent for line in lines if measure in line.cells]
    plain = all(block.case.codec == "none" for block in kept)
    return Mean(
        lead=stats.geometric_mean(ratios),
        tie=_is_tie(leads),
        one_core=stats.geometric_mean(lead.ratio for lead in one_core) if apart else None,
        one_core_tie=_is_tie(one_core),
        least=min(ratios, default=None),
        most=max(ratios, default=None),
        cases=len(ratios),
        ahead=sum(ratio >= 1 for ratio in ratios),
        percent=stats.geometric_mean(shares) if plain else None,
    )


def _is_tie(leads: Sequence[Lead]) -> bool:
    """Whether the geometric mean of the leads, within each repeat that all have, is on both sides of 1."""
    repeats = set.intersection(*(set(lead.ratios) for lead in leads)) if leads else ()
    means = [geometric_mean(lead.ratios[repeat] for lead in leads) for repeat in repeats]
    return bool(means) and stats.is_tie(means)


def by_compression(shown: Iterable[Block]) -> dict[str, tuple[Block, ...]]:
    """The blocks parted into `uncompressed` and `compressed`; a part without blocks is absent."""
    kept = tuple(shown)
    parts = {
        "uncompressed": tuple(block for block in kept if block.case.codec == "none"),
        "compressed": tuple(block for block in kept if block.case.codec != "none"),
    }
    return {name: part for name, part in parts.items() if part}


def behind(shown: Iterable[Block]) -> list[tuple[Block, stats.Measure, Lead]]:
    """Where the subject is slower than the best peer, worst first."""
    found = [(block, m, lead) for block in shown for m, lead in block.leads.items() if lead.ratio < 1]
    return sorted(found, key=lambda item: item[2].ratio)


def remarks(shown: Iterable[Block]) -> list[Remark]:
    """Every status other than `ok` in `shown`, with its reason; what is the same is told once."""
    cases: dict[tuple[str, Status, str], list[CaseRecord]] = {}
    for block in shown:
        for row in (line.row for line in block.lines if line.row.status != "ok"):
            cases.setdefault((row.backend, row.status, row.reason or "no reason kept"), []).append(block.case)
    backends: dict[tuple[Status, str, tuple[CaseRecord, ...]], list[str]] = {}
    for (backend, status, reason), where in cases.items():
        backends.setdefault((status, reason, tuple(where)), []).append(backend)
    return [
        Remark(backends=tuple(names), status=status, reason=reason, cases=where)
        for (status, reason, where), names in backends.items()
    ]


def parted_remarks(shown: Sequence[Block]) -> tuple[list[Remark], list[Remark]]:
    """Remarks that hold in every case their backends have in the run, and the others."""
    rows: dict[str, int] = {}
    for line in (line for block in shown for line in block.lines):
        rows[line.row.backend] = rows.get(line.row.backend, 0) + 1
    found = remarks(shown)
    everywhere = [r for r in found if all(rows[name] == len(r.cases) for name in r.backends)]
    return everywhere, [remark for remark in found if remark not in everywhere]


def size_text(size: int) -> str:
    """Bytes in the largest binary unit that keeps the number at 1 or more, to three digits."""
    value, unit = float(size), "B"
    for unit in ("B", "KiB", "MiB", "GiB", "TiB"):
        if value < 1000 or unit == "TiB":
            break
        value /= 1024
    return f"{value:.3g} {unit}"


def case_text(case: CaseRecord) -> str:
    """One line that tells a case from the others of the run."""
    return f"{case.source} · {size_text(case.total_bytes)} · v{case.zarr_format} · {codec_text(case)}"


def codec_text(case: CaseRecord) -> str:
    """Codec and level."""
    return "uncompressed" if case.codec == "none" else f"{case.codec} {case.level}"


def throughput_text(value: float) -> str:
    """MiB/s with at least two digits."""
    return f"{value:.0f}" if value >= 100 else f"{value:.1f}"


def ratio_text(ratio: float | None, tie: bool) -> str:
    """A ratio to a peer, and whether it is one; a dash where there is none."""
    return "–" if ratio is None else f"{ratio:.2f}×{' (tie)' if tie else ''}"


def lead_text(lead: Lead) -> str:
    """The ratio, the peer, and its cores where they are more than one."""
    cores = f", {lead.cores:.1f} cores" if lead.cores > stats.ONE_CORE else ""
    tie = ", tie" if lead.tie else ""
    return f"{ratio_text(lead.ratio, False)} ({lead.peer}{cores}{tie})"


def headline(name: str, part: Sequence[Block]) -> str:
    """Sentences on the subject over `part`, which is named `name`."""
    of = means(part)
    steps, read = of["steps"], of["read"]
    if steps.lead is None or read.lead is None:
        return f"{name.capitalize()}: {SUBJECT} has no rank beside another library in this run."
    cases = str(steps.cases) if steps.cases == read.cases else f"{steps.cases} and {read.cases}"
    ceiling = ""
    if steps.percent is not None and read.percent is not None:
        ceiling = f", at {steps.percent:.0f} % and {read.percent:.0f} % of plain files, one per chunk"
    verbs = (("writes", steps), ("reads", read))
    on_one = [f"{v} at {ratio_text(m.one_core, m.one_core_tie)}" for v, m in verbs if m.one_core is not None]
    return (
        f"{name.capitalize()}, {SUBJECT} writes at {ratio_text(steps.lead, steps.tie)} and reads at "
        f"{ratio_text(read.lead, read.tie)} the speed of the best other library of each case{ceiling} "
        f"(geometric means of {cases} case{'' if cases == '1' else 's'}; writing before sync)."
        + (f" Beside the best that uses one core, it {' and '.join(on_one)}." if on_one else "")
    )
