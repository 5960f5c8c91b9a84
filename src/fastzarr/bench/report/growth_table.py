"""The cost of a chunk against the number of chunks in a terminal: a table per operation, in place of many."""

from collections.abc import Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from fastzarr.bench.report import measured_summary as summary
from fastzarr.bench.report import measured_words as words
from fastzarr.bench.report.summary import SUBJECT
from fastzarr.bench.report.table import STYLE

FEWEST = 3
"""Numbers of chunks from which cases are shown in one table."""

Growth = tuple[summary.Section, ...]
"""One operation on arrays that differ in the number of chunks only, fewest first."""


def growths(shown: Sequence[summary.Section]) -> list[Growth]:
    """Every operation on such arrays; those of which all were timed at that, in the order of the run."""
    found: dict[tuple[object, ...], list[summary.Section]] = {}
    for section in shown:
        case = section.case
        key = (case.topic, case.chunks, case.codec, case.level, case.dtype, section.operation.name)
        found.setdefault(key, []).append(section)
    return [
        tuple(sorted(sections, key=lambda section: section.case.chunk_count))
        for sections in found.values()
        if len({section.case.chunk_count for section in sections}) == len(sections) >= FEWEST
    ]


def print_growth(growth: Growth, console: Console) -> None:
    """Print the time per chunk, or per call, of every backend by number of chunks."""
    first = growth[0]
    console.print()
    what = f"{first.operation.name}, µs per {first.per} by number of chunks"
    layout = f"{words.codec_text(first.case)}, chunks of {words.shape_text(first.case.chunks)}"
    console.print(Text(f"{first.case.topic}: {what} · {layout}", style="bold"))
    table = Table(**STYLE, padding=(0, 0, 0, 1))
    table.add_column("chunks", min_width=22, no_wrap=True)
    for section in growth:
        table.add_column(words.count_text(section.case), justify="right", min_width=9, no_wrap=True)
    for backend in dict.fromkeys(cell.row.backend for section in growth for cell in section.cells):
        cells = [section.cell(backend) for section in growth]
        table.add_row(
            backend,
            *(_cell(section, cell) for section, cell in zip(growth, cells, strict=True)),
            style=_style(backend, next(filter(None, cells))),
        )
    leads = [section.lead.text if section.lead else "–" for section in growth]
    table.add_row(Text(f"{SUBJECT} ÷ best peer"), *map(Text, leads))
    console.print(table)


def _cell(section: summary.Section, cell: summary.Cell | None) -> Text:
    if cell is None:
        return Text("–")
    best = cell.row.ranked and cell.seconds == section.best
    return Text(words.time_text(section.microseconds(cell)), style="bold" if best else "")


def _style(backend: str, cell: summary.Cell) -> str:
    if cell.row.kind == "baseline":
        return "italic"
    return "cyan" if backend == SUBJECT else ""
