"""Speed-up with the number of threads, computed from the sections of a bundle."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from fastzarr.bench.measurements import CaseRecord, OperationRecord
from fastzarr.bench.report import measured_summary as summary


@dataclass(frozen=True, kw_only=True)
class Curve:
    """One backend with every number of threads it was timed with."""

    backend: str
    """Its name."""
    cells: Mapping[int, summary.Cell]
    """By number of threads, fewest first."""
    speedups: Mapping[int, float]
    """Median of the speed over that with the fewest threads, within each repeat; by number of threads."""


@dataclass(frozen=True, kw_only=True)
class Scaling:
    """One operation of one case, and how every backend scales in it."""

    case: CaseRecord
    """The array."""
    label: str
    """As that of its sections."""
    operation: OperationRecord
    """What was timed."""
    threads: tuple[int, ...]
    """Every number of threads, in ascending order."""
    curves: tuple[Curve, ...]
    """One per backend."""
    leads: Mapping[int, summary.Lead]
    """The subject against the best peer with that number of threads."""


def scalings(shown: Sequence[summary.Section]) -> tuple[Scaling, ...]:
    """One per case and operation; sections without a number of threads are passed over."""
    parts: dict[tuple[str, str], list[summary.Section]] = {}
    for section in shown:
        if section.threads is not None:
            parts.setdefault((section.case.name, section.operation.name), []).append(section)
    return tuple(_scaling(sections) for sections in parts.values())


def _scaling(sections: Sequence[summary.Section]) -> Scaling:
    ordered = sorted((s.threads, s) for s in sections if s.threads is not None)
    cells: dict[str, dict[int, summary.Cell]] = {}
    for threads, section in ordered:
        for cell in section.cells:
            cells.setdefault(cell.row.backend, {})[threads] = cell
    return Scaling(
        case=sections[0].case,
        label=sections[0].label,
        operation=sections[0].operation,
        threads=tuple(threads for threads, _ in ordered),
        curves=tuple(_curve(backend, found) for backend, found in cells.items()),
        leads={threads: section.lead for threads, section in ordered if section.lead},
    )


def _curve(backend: str, cells: Mapping[int, summary.Cell]) -> Curve:
    base = cells[min(cells)]
    paired = {threads: summary.ratios(cell.row, base.row) for threads, cell in cells.items()}
    return Curve(
        backend=backend,
        cells=cells,
        speedups={threads: median(ratios.values()) for threads, ratios in paired.items() if ratios},
    )
