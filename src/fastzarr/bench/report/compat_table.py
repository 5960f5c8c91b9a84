"""The compatibility matrix in a terminal: who reads whom, then by format and codec, then why not.

The page shows every pair by codec; here are those of the subject, and those that nothing explains.
"""

import textwrap
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from fastzarr.bench.compat.results import Matrix
from fastzarr.bench.compat.tally import Failure, Overview, Tally, overview

SUBJECT = "fastzarr"
STYLE: dict[str, Any] = {"box": SIMPLE_HEAD, "show_edge": False, "pad_edge": False, "header_style": ""}
COLOURS = {
    "pass": "green",
    "known": "yellow",
    "fail": "bold red",
    "unsupported": "dim",
    "not_available": "dim",
    "none": "dim",
}
BROKEN = {
    "fastzarr": "fast-\nzarr",
    "zarr-python": "zarr-\npython",
    "acquire-zarr": "acquire-\nzarr",
    "tensorstore": "tensor-\nstore",
    "zarrista": "zarr-\nista",
    "zarrita.js": "zarrita\n.js",
}
"""Names that fit a narrow column in two lines."""
LEGEND = (
    "✓ n: all n arrays read back equal to the bit",
    "✗ m: m did not; yellow: each has a known cause, below; red: one has not",
    "–: not supported by writer or reader",
)


def print_matrix(matrix: Matrix, console: Console) -> None:
    """Print who reads whom, pairs by codec, and every failure with its cause; in 80 columns or more."""
    view = overview(matrix)
    console.print()
    arrays = f"{len(matrix.cases)} arrays, by writer (left) and reader (above)"
    console.print(Text(f"Compatibility: {arrays}", style="bold"))
    console.print(_who_reads_whom(view))
    for line in LEGEND:
        console.print(Text(line, style="dim"))
    console.print()
    console.print(Text("By format and codec, under each writer", style="bold"))
    console.print(_by_codec(view))
    for failure in view.failures:
        _print_failure(failure, console)
    for name, reason in view.absent:
        console.print(Text(f"not available: {name}: {reason}", style="dim"))
    console.print()
    console.print(verdict(view))


def verdict(view: Overview) -> Text:
    """One line: how many cells passed, and whether each failure is explained."""
    total, unexplained = view.total, view.unexplained
    style = "bold red" if unexplained else "bold green"
    explained = "every failure has its cause" if not unexplained else f"{len(unexplained)} without a cause"
    failed = f"; {total.failed} failed, {explained}" if total.failed else ""
    return Text(f"{total.passed} of {total.tried} read back equal to the bit{failed}", style=style)


def _cell(tally: Tally, text: str | None = None) -> Text:
    return Text(tally.text if text is None else text, style=COLOURS[tally.mark])


def _name(name: str) -> Text:
    return Text(name, style="cyan" if name == SUBJECT else "")


def _who_reads_whom(view: Overview) -> Table:
    table = Table(**STYLE, padding=0)
    table.add_column("\nwriter", no_wrap=True)
    table.add_column("\nwrote", justify="right", no_wrap=True, min_width=5)
    for reader in view.readers:
        table.add_column(BROKEN.get(reader, f"\n{reader}"), justify="right", no_wrap=True)
    for writer, count in view.written.items():
        row = [_cell(view.pair(writer, reader).total) for reader in view.readers]
        table.add_row(_name(writer), str(count), *row)
    return table


def _by_codec(view: Overview) -> Table:
    """Format and codec across, as the reference has it; pairs with the subject, or with an unknown cause."""
    table = Table(**STYLE, padding=0)
    table.add_column("\nreader", no_wrap=True)
    before = ""
    for column in view.columns:
        head = "" if column.group == before else column.group.replace("v3 sharded", "shards")
        before = column.group
        table.add_column(f"{head}\n{column.codec}", justify="right", no_wrap=True)
    writer = ""
    for pair in view.pairs:
        if not pair.total.tried or (SUBJECT not in (pair.writer, pair.reader) and not pair.total.unexplained):
            continue
        if pair.writer != writer:
            table.add_row(_name(pair.writer))
            writer = pair.writer
        marks = [_cell(t, f"✗{t.failed}" if t.failed else t.text[0]) for t in pair.columns]
        table.add_row(Text("→ ") + _name(pair.reader), *marks)
    return table


def _print_failure(failure: Failure, console: Console) -> None:
    console.print()
    title = failure.cause.title if failure.cause else "unexplained"
    head = f"✗ {failure.who}: {title}"
    console.print(Text(head, style="red" if failure.cause else "bold red"), soft_wrap=True)
    cases = ", ".join(failure.cases[:2]) + (" …" if len(failure.cases) > 2 else "")
    lines = [f"{failure.cells} cells, {', '.join(failure.statuses)}: {cases}", failure.message]
    if failure.readers:
        lines.append(f"read rightly by: {', '.join(failure.read_rightly_by) or 'nobody'}")
    if failure.cause:
        lines += [f"{failure.cause.at_fault}: {failure.cause.text}", *failure.cause.references]
    for line in lines:
        wrapped = line if line.startswith("https://") else textwrap.fill(line, max(40, console.width - 2))
        console.print(Text(textwrap.indent(wrapped, "  "), style="dim"), soft_wrap=True)
