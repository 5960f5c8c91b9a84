"""The report in a terminal: one aligned table per case, and one of the means."""

import textwrap
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from fastzarr.bench import stats
from fastzarr.bench.report import summary
from fastzarr.bench.results import Bundle

NARROWEST_WITH_SPREAD = 98
"""Columns of the terminal below which the spread is left out."""
NARROWEST_WITH_GAPS = 110
"""Columns of the terminal from which the three measures are set apart."""
STYLE: dict[str, Any] = {"box": SIMPLE_HEAD, "show_edge": False, "pad_edge": False, "header_style": ""}
"""A rule below the header, and no other line."""


def print_table(bundle: Bundle, console: Console) -> None:
    """Print every case, what did not run and why, and the means; in 80 columns or more."""
    shown = summary.blocks(bundle)
    everywhere, elsewhere = summary.parted_remarks(shown)
    for block in shown:
        console.print()
        console.print(Text(_title(block), style="bold"))
        console.print(_table(block, console.width))
        _print_leads(block, console)
        for remark in elsewhere:
            if block.case in remark.cases:
                console.print(Text(remark.text, style="dim"))
    console.print()
    for remark in everywhere:
        console.print(Text(f"in every case: {remark.text}", style="dim"))
    if not bundle.complete:
        console.print(Text("INCOMPLETE: the run was interrupted; what it had is shown.", style="bold yellow"))
    console.print(_means(summary.by_compression(shown)))
    legend = (
        f"ceiling: {stats.CEILING}",
        "spread: (slowest − fastest) ÷ median" if console.width >= NARROWEST_WITH_SPREAD else "",
        "cores: CPU time ÷ wall time",
        "tie: ahead in some repeats, behind in others",
    )
    console.print(_listed("", filter(None, legend), console.width, style="dim"))


def _title(block: summary.Block) -> str:
    case = block.case
    steps = f"{case.shape[0]} steps of {summary.size_text(case.chunk_bytes)} {case.dtype}"
    return f"{summary.case_text(case)} · {steps if block.lines else 'not reached'}"


def _table(block: summary.Block, width: int) -> Table:
    with_spread = width >= NARROWEST_WITH_SPREAD
    table = Table(**STYLE, padding=0)
    table.add_column("\nbackend", min_width=16, no_wrap=True)
    for measure in summary.MEASURES:
        least = 9 if width >= NARROWEST_WITH_GAPS else 5
        table.add_column(f"{measure}\nMiB/s", justify="right", min_width=least, no_wrap=True)
        table.add_column("% of\nceiling", justify="right", no_wrap=True)
        if with_spread:
            table.add_column("\nspread", justify="right", no_wrap=True)
        if measure != "write":
            table.add_column("\ncores", justify="right", no_wrap=True)
    table.add_column("stored\nratio", justify="right", no_wrap=True)
    for line in block.lines:
        if line.cells:
            table.add_row(*_cells(block, line, with_spread=with_spread), style=_style(line))
    return table


def _style(line: summary.Line) -> str:
    if line.row.status != "ok":
        return "dim"
    if line.row.kind == "baseline":
        return "italic"
    return "cyan" if line.row.backend == summary.SUBJECT else ""


def _cells(block: summary.Block, line: summary.Line, *, with_spread: bool) -> Iterator[str | Text]:
    yield line.row.backend
    for measure in summary.MEASURES:
        cell = line.cells.get(measure)
        best = cell is not None and line.row.ranked and cell.throughput == block.best(measure)
        text = "–" if cell is None else summary.throughput_text(cell.throughput)
        yield Text(text, style="bold" if best else "")
        yield "–" if cell is None or cell.percent is None else f"{cell.percent:.0f} %"
        if with_spread:
            yield "–" if cell is None or cell.spread is None else f"{100 * cell.spread:.0f} %"
        if measure != "write":
            yield "–" if cell is None or cell.cores is None else f"{cell.cores:.1f}"
    yield "–" if line.stored_ratio is None else f"{line.stored_ratio:.2f}"


def _print_leads(block: summary.Block, console: Console) -> None:
    for name, leads in (("best peer", block.leads), ("best peer on one core", block.apart)):
        if leads:
            texts = (f"{measure} {summary.lead_text(lead)}" for measure, lead in leads.items())
            console.print(_listed(f"{summary.SUBJECT} ÷ {name}: ", texts, console.width))


def _listed(start: str, items: Iterable[str], width: int, style: str = "") -> Text:
    """`start` and the items with dots between; no item is broken at the end of a line."""
    joined = "\u00a0· ".join(item.replace(" ", "\u00a0") for item in items)
    wrapped = textwrap.fill(start + joined, width, subsequent_indent="  " if start else "")
    return Text(wrapped.replace("\u00a0", " "), style=style)


def _means(parts: Mapping[str, tuple[summary.Block, ...]]) -> Table:
    table = Table(**STYLE, padding=(0, 0, 0, 1))
    table.add_column(f"{summary.SUBJECT}, geometric means", justify="right", no_wrap=True)
    for measure in summary.MEASURES:
        table.add_column(measure, min_width=9, no_wrap=True)
    for name, part in parts.items():
        means = summary.means(part).values()
        cases = f"{name}, {len(part)} case{'s' if len(part) > 1 else ''}"
        if not any(mean.cases for mean in means):
            table.add_row(f"{cases}: not compared")
            continue
        table.add_row(f"{cases}: ÷ best peer", *(summary.ratio_text(m.lead, m.tie) for m in means))
        if any(mean.one_core is not None for mean in means):
            ratios = (summary.ratio_text(m.one_core, m.one_core_tie) for m in means)
            table.add_row("÷ best peer on one core", *ratios)
        if any(mean.percent is not None for mean in means):
            shares = ("–" if m.percent is None else f"{m.percent:.0f} %" for m in means)
            table.add_row("% of ceiling", *shares)
    return table
