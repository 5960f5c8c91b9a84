"""The report in a terminal: one aligned table per case."""

from rich.console import Console
from rich.table import Table
from rich.text import Text

from fastzarr.bench.report import summary
from fastzarr.bench.results import Bundle

NARROWEST_WITH_SPREAD = 92
"""Columns of the terminal below which the spread is left out."""


def print_table(bundle: Bundle, console: Console) -> None:
    """Print every case, what did not run and why, and the geometric means; at most 92 columns wide."""
    shown = summary.blocks(bundle)
    everywhere, elsewhere = summary.parted_remarks(shown)
    for block in shown:
        console.print()
        console.print(Text(_title(block), style="bold"))
        console.print(_table(block, with_spread=console.width >= NARROWEST_WITH_SPREAD))
        if block.leads:
            console.print(Text(f"{summary.SUBJECT} ÷ best peer: {_leads(block)}"))
        for remark in elsewhere:
            if block.case in remark.cases:
                console.print(Text(remark.text, style="dim"))
    console.print()
    for remark in everywhere:
        console.print(Text(f"in every case: {remark.text}", style="dim"))
    if not bundle.complete:
        console.print(Text("INCOMPLETE: the run was interrupted; what it had is shown.", style="bold yellow"))
    for name, part in summary.by_compression(shown).items():
        console.print(Text(_mean_text(name, part), style="bold"))


def _title(block: summary.Block) -> str:
    case = block.case
    steps = f"{case.shape[0]} steps of {summary.size_text(case.chunk_bytes)} {case.dtype}"
    return f"{summary.case_text(case)} · {steps if block.lines else 'not reached'}"


def _table(block: summary.Block, *, with_spread: bool) -> Table:
    table = Table(box=None, padding=(0, 1, 0, 0), header_style="underline")
    table.add_column("\nbackend", min_width=16, no_wrap=True)
    for measure in summary.MEASURES:
        table.add_column(f"{measure}\nMiB/s", justify="right", min_width=9, no_wrap=True)
        table.add_column("% of\nceiling", justify="right", no_wrap=True)
        if with_spread:
            table.add_column("\nspread", justify="right", no_wrap=True)
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


def _cells(block: summary.Block, line: summary.Line, *, with_spread: bool) -> list[str | Text]:
    cells: list[str | Text] = [line.row.backend]
    for measure in summary.MEASURES:
        cell = line.cells.get(measure)
        best = cell is not None and line.row.ranked and cell.throughput == block.best(measure)
        text = "–" if cell is None else summary.throughput_text(cell.throughput)
        cells.append(Text(text, style="bold" if best else ""))
        cells.append("–" if cell is None or cell.percent is None else f"{cell.percent:.0f} %")
        if with_spread:
            cells.append("–" if cell is None or cell.spread is None else f"{100 * cell.spread:.0f} %")
    cells.append("–" if line.stored_ratio is None else f"{line.stored_ratio:.2f}")
    return cells


def _leads(block: summary.Block) -> str:
    return " · ".join(f"{measure} {lead.ratio:.2f}× ({lead.peer})" for measure, lead in block.leads.items())


def _mean_text(name: str, part: tuple[summary.Block, ...]) -> str:
    means = summary.means(part)
    leads = [f"{measure} {mean.lead:.2f}×" for measure, mean in means.items() if mean.lead is not None]
    if not leads:
        return f"{summary.SUBJECT}, {name}: not compared"
    shares = [f"{mean.percent:.0f} %" for mean in means.values() if mean.percent is not None]
    ceiling = f"; {', '.join(shares)} of the ceiling" if shares else ""
    count = f"geometric means of {len(part)} case{'s' if len(part) > 1 else ''}"
    return f"{summary.SUBJECT}, {name}: {', '.join(leads)} the best peer{ceiling} ({count})"
