"""Speed-up with the number of threads in a terminal: a table per operation."""

from collections.abc import Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from fastzarr.bench.measurements import Bundle
from fastzarr.bench.report import measured_summary as summary
from fastzarr.bench.report import measured_words as words
from fastzarr.bench.report.speedup import Curve, Scaling, scalings
from fastzarr.bench.report.summary import SUBJECT, throughput_text
from fastzarr.bench.report.table import STYLE


def print_speedups(bundle: Bundle, shown: Sequence[summary.Section], console: Console) -> None:
    """Print every operation of every case: speed-up, and MiB/s with the fewest threads and at its best."""
    cores = len(bundle.host.affinity)
    for scaling in scalings(shown):
        console.print()
        title = f"{scaling.operation.name}: {scaling.label} · {words.layout_text(scaling.case)}"
        console.print(Text(title, style="bold"), soft_wrap=len(title) <= console.width)
        console.print(_table(scaling))
    console.print()
    text = f"Speed-up over the fewest threads; the processes might run on {cores} cores."
    console.print(Text(text, style="dim"))


def _table(scaling: Scaling) -> Table:
    fewest = scaling.threads[0]
    table = Table(**STYLE, padding=(0, 0, 0, 1))
    table.add_column("\nthreads", min_width=22, no_wrap=True)
    table.add_column(f"MiB/s\nwith {fewest}", justify="right", no_wrap=True)
    for threads in scaling.threads:
        table.add_column(f"\n{threads}", justify="right", min_width=6, no_wrap=True)
    table.add_column("MiB/s\nat best", justify="right", no_wrap=True)
    for curve in scaling.curves:
        table.add_row(*_cells(curve, scaling), style=_style(curve))
    if scaling.leads:
        leads = (scaling.leads.get(threads) for threads in scaling.threads)
        texts = (Text("–" if lead is None else words.ratio_text(lead.ratio)) for lead in leads)
        table.add_row(Text(f"{SUBJECT} ÷ best peer"), "", *texts, "")
    return table


def _cells(curve: Curve, scaling: Scaling) -> Sequence[str | Text]:
    speeds = {threads: cell.throughput for threads, cell in curve.cells.items() if cell.throughput}
    most = max(curve.speedups.values(), default=0)
    ups = [
        Text("–")
        if (up := curve.speedups.get(threads)) is None
        else Text(f"{up:.2f}", style="bold" if up == most else "")
        for threads in scaling.threads
    ]
    first = speeds.get(scaling.threads[0])
    last = max(speeds.values(), default=None)
    return (curve.backend, _speed(first), *ups, _speed(last))


def _speed(value: float | None) -> str:
    return "–" if value is None else throughput_text(value)


def _style(curve: Curve) -> str:
    row = next(iter(curve.cells.values())).row
    if row.status != "ok":
        return "dim"
    if row.kind == "baseline":
        return "italic"
    return "cyan" if row.backend == SUBJECT else ""
