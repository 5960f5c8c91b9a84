"""The report of the workloads over layouts in a terminal: a table per case, and the leads of all."""

import textwrap
from collections.abc import Iterator, Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from fastzarr.bench.measurements import Bundle
from fastzarr.bench.report import measured_summary as summary
from fastzarr.bench.report import measured_words as words
from fastzarr.bench.report.growth_table import growths, print_growth
from fastzarr.bench.report.measured_remarks import Remark, remarks_of
from fastzarr.bench.report.speedup_table import print_speedups
from fastzarr.bench.report.summary import SUBJECT, size_text, throughput_text
from fastzarr.bench.report.table import STYLE

NARROWEST_WITH_SPREAD = 92
"""Columns of the terminal below which the spread is left out."""


def print_measured(bundle: Bundle, console: Console) -> None:
    """Print every case, what did not run and why, and how the subject stands; in 80 columns or more."""
    shown = summary.sections(bundle)
    remarks = remarks_of(bundle)
    if bundle.workload == "threads":
        print_speedups(bundle, shown, console)
    else:
        grown = growths(shown)
        for name, sections in summary.by_case(shown).items():
            for growth in grown:
                if growth[0].case.name == name:
                    print_growth(growth, console)
            rest = [s for s in sections if not any(s is other for growth in grown for other in growth)]
            if rest:
                _print_case(rest, console)
            _print_remarks([r for r in remarks if not r.everywhere], sections, console)
    console.print()
    for remark in remarks:
        if bundle.workload == "threads" or remark.everywhere:
            _print_dim(remark.text if not remark.everywhere else f"everywhere: {remark.text}", console)
    if not bundle.complete:
        console.print(Text("INCOMPLETE: the run was interrupted; what it had is shown.", style="bold yellow"))
    if bundle.workload != "threads":
        console.print(_leads(shown, console.width))
        _print_dim(_legend(shown, console.width), console)
    console.print()
    for sentence in summary.headlines(shown):
        console.print(Text(textwrap.fill(sentence, console.width)))


def _print_case(sections: Sequence[summary.Section], console: Console) -> None:
    case = sections[0].case
    console.print()
    console.print(Text(f"{sections[0].label} · {words.layout_text(case)}", style="bold"))
    if any(section.cells for section in sections):
        console.print(_table(sections, console.width))
    else:
        console.print(Text("not reached, or nothing was timed", style="dim"))


def _table(sections: Sequence[summary.Section], width: int) -> Table:
    """Operations one below the other, with every backend below each."""
    with_spread = width >= NARROWEST_WITH_SPREAD
    table = Table(**STYLE, padding=(0, 0, 0, 1) if width < 100 else (0, 1))
    table.add_column("\nbackend", min_width=18, no_wrap=True)
    table.add_column("\nMiB/s", justify="right", min_width=8, no_wrap=True)
    table.add_column("\nµs per", justify="right", min_width=9, no_wrap=True)
    table.add_column("\ncores", justify="right", no_wrap=True)
    table.add_column("% of\nceiling", justify="right", no_wrap=True)
    if with_spread:
        table.add_column("\nspread", justify="right", no_wrap=True)
    table.add_column("peak\nmemory", justify="right", min_width=8, no_wrap=True)
    table.add_column(f"{SUBJECT}\n÷ this", justify="right", min_width=9, no_wrap=True)
    for number, section in enumerate(s for s in sections if s.cells):
        if number:
            table.add_row()
        lead = Text(section.lead.text, style="bold") if section.lead else ""
        blank = [""] * (4 if with_spread else 3)
        name, calls = section.operation.name, section.operation.calls
        units = f"{calls} calls" if calls > 1 else "", section.per
        table.add_row(Text(name, style="bold"), *(Text(u, style="dim") for u in units), *blank, lead)
        for cell in section.cells:
            table.add_row(*_cells(section, cell, with_spread=with_spread), style=_style(cell))
    return table


def _style(cell: summary.Cell) -> str:
    if cell.row.status != "ok":
        return "dim"
    if cell.row.kind == "baseline":
        return "italic"
    return "cyan" if cell.row.backend == SUBJECT else ""


def _cells(section: summary.Section, cell: summary.Cell, *, with_spread: bool) -> Iterator[str | Text]:
    best = "bold" if cell.row.ranked and cell.seconds == section.best else ""
    row = cell.row
    yield f"  {row.backend}"
    yield Text("–" if cell.throughput is None else throughput_text(cell.throughput), style=best)
    yield Text(words.time_text(section.microseconds(cell)), style=best)
    yield f"{cell.cores:.1f}"
    yield "–" if cell.percent is None else f"{cell.percent:.0f} %"
    if with_spread:
        yield "–" if cell.spread is None else f"{100 * cell.spread:.0f} %"
    yield "–" if row.peak_memory_bytes is None else size_text(max(0, row.peak_memory_bytes))
    yield cell.lead.text if cell.lead else ""


def _print_remarks(remarks: Sequence[Remark], sections: Sequence[summary.Section], console: Console) -> None:
    """Those of this case; the operations are named where they are not all."""
    case = sections[0].case
    every = [operation.name for operation in case.operations]
    for remark in remarks:
        operations = [operation for name, operation in remark.where if name == case.name]
        if operations:
            where = "" if len(operations) == len(every) else f"{', '.join(operations)}: "
            _print_dim(f"{where}{remark.text}", console)


def _print_dim(text: str, console: Console) -> None:
    wrapped = textwrap.fill(text, max(40, console.width), subsequent_indent="  ")
    console.print(Text(wrapped, style="dim"), soft_wrap=True)


def _leads(shown: Sequence[summary.Section], width: int) -> Table:
    """The subject over the best peer, by case and operation."""
    operations = list(dict.fromkeys(section.operation.name for section in shown if section.lead))
    table = Table(**STYLE, padding=(0, 0, 0, 1), title=f"{SUBJECT} ÷ best peer", title_justify="left")
    table.title_style = "bold"
    table.add_column("case", no_wrap=width >= 100)
    for name in operations:
        table.add_column(name, justify="right", min_width=max(9, *map(len, name.split())))
    for sections in summary.by_case(shown).values():
        leads = {section.operation.name: section.lead for section in sections}
        cells = [_lead(leads.get(name)) for name in operations]
        if any(leads.values()):
            table.add_row(sections[0].label, *cells)
    if not operations:
        table.add_row(f"{SUBJECT} has no rank beside another library in this run")
    return table


def _lead(lead: summary.Lead | None) -> Text:
    if lead is None:
        return Text("–", style="dim")
    style = "dim" if lead.tie else "green" if lead.ratio > 1 else "yellow"
    return Text(lead.text, style=style)


def _legend(shown: Sequence[summary.Section], width: int) -> str:
    ceilings = {s.ceiling: s.case.codec for s in shown if s.ceiling}
    of = "; ".join(f"{name} of {codec}" for name, codec in ceilings.items())
    parts = (
        f"ceiling: {of}" if of else "",
        "spread: (slowest − fastest) ÷ median" if width >= NARROWEST_WITH_SPREAD else "",
        "cores: CPU time ÷ wall time",
        f"{SUBJECT} ÷ this: median of the ratios within each repeat, above 1 {SUBJECT} is faster",
        "tie: ahead in some repeats, behind in others",
    )
    return " · ".join(filter(None, parts))
