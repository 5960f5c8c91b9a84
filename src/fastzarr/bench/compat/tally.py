"""What the cells of a matrix come to; pure."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from fastzarr.bench.compat.causes import Cause, cause
from fastzarr.bench.compat.results import FAILURES, Cell, Matrix

Mark = Literal["pass", "known", "fail", "unsupported", "not_available", "none"]
"""What a tally shows: `known`: failures, each with a known cause; `fail`: one without; `none`: no cells."""


@dataclass(frozen=True, kw_only=True)
class Tally:
    """Numbers of cells, each an array that someone wrote and someone read."""

    passed: int
    failed: int
    unexplained: int
    """Of the failed: those without a known cause."""
    unsupported: int
    not_available: int

    @property
    def tried(self) -> int:
        """Cells in which both sides had the features."""
        return self.passed + self.failed

    @property
    def mark(self) -> Mark:
        """The worst that is in it, except that what is not supported does not count beside what is."""
        if self.failed:
            return "fail" if self.unexplained else "known"
        if self.passed:
            return "pass"
        return "unsupported" if self.unsupported else "not_available" if self.not_available else "none"

    @property
    def text(self) -> str:
        """A mark and a number, as reports show it."""
        if self.failed:
            return f"✗ {self.failed}"
        return f"✓ {self.passed}" if self.passed else "–"


def tally(cells: Iterable[Cell]) -> Tally:
    """The numbers of `cells`."""
    kept = list(cells)
    statuses = [cell.status for cell in kept]
    return Tally(
        passed=statuses.count("pass"),
        failed=sum(status in FAILURES for status in statuses),
        unexplained=sum(cell.status in FAILURES and cause(cell) is None for cell in kept),
        unsupported=statuses.count("unsupported"),
        not_available=statuses.count("not_available"),
    )


@dataclass(frozen=True, kw_only=True)
class Column:
    """One format and codec."""

    group: str
    """`v2`, `v3` or `v3 sharded`."""
    codec: str


@dataclass(frozen=True, kw_only=True)
class Pair:
    """One writer and one reader."""

    writer: str
    reader: str
    total: Tally
    columns: tuple[Tally, ...]
    """By format and codec, as `Overview.columns`."""


@dataclass(frozen=True, kw_only=True)
class Failure:
    """Failures with one cause, or without a known one those of one writer, reader and status."""

    cause: Cause | None
    writers: tuple[str, ...]
    readers: tuple[str, ...]
    """Empty where the writing failed: nobody could read."""
    statuses: tuple[str, ...]
    cases: tuple[str, ...]
    """Names of the cases."""
    message: str
    """Of the first cell."""
    cells: int
    """How many cells."""
    read_rightly_by: tuple[str, ...]
    """Readers that got every one of these arrays that they support, and so speak against the others."""

    @property
    def who(self) -> str:
        """Writers and readers, in a few words."""
        writers, readers = _some(self.writers, "writers"), _some(self.readers, "readers")
        return f"{writers} → {readers}" if self.readers else f"{writers} writing"


def _some(names: Sequence[str], kind: str) -> str:
    """Names, or how many where they are more than three."""
    return ", ".join(names) if len(names) <= 3 else f"{len(names)} {kind}"


@dataclass(frozen=True, kw_only=True)
class Overview:
    """All that reports show of a matrix; who is not available is left out but for its name."""

    written: Mapping[str, int]
    """Every writer, and how many cases it wrote."""
    readers: tuple[str, ...]
    columns: tuple[Column, ...]
    pairs: tuple[Pair, ...]
    failures: tuple[Failure, ...]
    total: Tally
    """Of all cells of those who are available."""
    absent: tuple[tuple[str, str], ...]
    """Names of those not available, and why."""

    def pair(self, writer: str, reader: str) -> Pair:
        """The pair of these names."""
        return next(p for p in self.pairs if (p.writer, p.reader) == (writer, reader))

    @property
    def unexplained(self) -> tuple[Failure, ...]:
        """Failures without a known cause."""
        return tuple(failure for failure in self.failures if failure.cause is None)


def overview(matrix: Matrix) -> Overview:
    """What `matrix` comes to."""
    absent = {i.name: i.unavailable for i in matrix.implementations if i.unavailable is not None}
    writers = [name for name in matrix.writers if name not in absent]
    readers = [name for name in matrix.readers if name not in absent]
    cells = [cell for cell in matrix.cells() if cell.writer not in absent and cell.reader not in absent]
    columns = tuple(dict.fromkeys(Column(group=c.group, codec=c.codec) for c in matrix.cases))
    by_pair: dict[tuple[str, str], list[Cell]] = {(w, r): [] for w in writers for r in readers}
    for cell in cells:
        by_pair[cell.writer, cell.reader].append(cell)
    return Overview(
        written={w: sum(row.writer == w and row.status == "pass" for row in matrix.rows) for w in writers},
        readers=tuple(readers),
        columns=columns,
        pairs=tuple(_pair(w, r, found, columns) for (w, r), found in by_pair.items()),
        failures=tuple(_failures(cells)),
        total=tally(cells),
        absent=tuple(absent.items()),
    )


def _pair(writer: str, reader: str, cells: Sequence[Cell], columns: Sequence[Column]) -> Pair:
    by_column: dict[tuple[str, str], list[Cell]] = {(c.group, c.codec): [] for c in columns}
    for cell in cells:
        by_column[cell.case.group, cell.case.codec].append(cell)
    return Pair(
        writer=writer,
        reader=reader,
        total=tally(cells),
        columns=tuple(tally(found) for found in by_column.values()),
    )


def _failures(cells: Iterable[Cell]) -> list[Failure]:
    """Failures by cause, unexplained ones first, then the most cells first."""
    found: dict[tuple[object, ...], list[Cell]] = {}
    kept = list(cells)
    for cell in kept:
        if cell.status not in FAILURES:
            continue
        known = cause(cell)
        own = (cell.writer, "" if cell.status == "write_fail" else cell.reader, cell.status)
        found.setdefault((known,) if known else own, []).append(cell)
    by_array: dict[tuple[str, str], list[Cell]] = {}
    for cell in kept:
        by_array.setdefault((cell.writer, cell.case.name), []).append(cell)
    failures = [_failure(group, by_array) for group in found.values()]
    return sorted(failures, key=lambda f: (f.cause is not None, -f.cells))


def _failure(cells: Sequence[Cell], by_array: Mapping[tuple[str, str], Sequence[Cell]]) -> Failure:
    read = [cell for cell in cells if cell.status != "write_fail"]
    return Failure(
        cause=cause(cells[0]),
        writers=tuple(dict.fromkeys(cell.writer for cell in cells)),
        readers=tuple(dict.fromkeys(cell.reader for cell in read)),
        statuses=tuple(dict.fromkeys(cell.status for cell in cells)),
        cases=tuple(dict.fromkeys(cell.case.name for cell in cells)),
        message=cells[0].message or "",
        cells=len(cells),
        read_rightly_by=_right(cells, by_array),
    )


def _right(failed: Sequence[Cell], by_array: Mapping[tuple[str, str], Sequence[Cell]]) -> tuple[str, ...]:
    """Readers that passed some, and failed none, of the arrays of `failed`."""
    arrays = dict.fromkeys((cell.writer, cell.case.name) for cell in failed)
    cells = [cell for array in arrays for cell in by_array[array]]
    wrong = {cell.reader for cell in cells if cell.status in FAILURES}
    passed = dict.fromkeys(cell.reader for cell in cells if cell.status == "pass")
    return tuple(reader for reader in passed if reader not in wrong)
