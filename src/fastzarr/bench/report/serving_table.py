"""The report of servers in a terminal: a table per load and layer, with what was published beside it."""

import textwrap
from collections.abc import Iterator

from rich.console import Console
from rich.table import Table
from rich.text import Text

from fastzarr.bench.report import serving_summary as summary
from fastzarr.bench.report.serving_reference import CORES, SOURCES, Reference
from fastzarr.bench.report.serving_summary import SUBJECT, Line, Section
from fastzarr.bench.report.table import STYLE
from fastzarr.bench.serving.results import Bundle

WIDE = 118
"""Columns of the terminal from which all columns are shown."""
GIB = 2**30


def print_serving(bundle: Bundle, console: Console) -> None:
    """Print every row, what does not count and why, and how the subject stands; in 80 columns or more."""
    for section in summary.sections(bundle):
        console.print()
        title = f"{section.layer} · {load_text(section)} · requests of six buckets of 32³"
        console.print(Text(title, style="bold"))
        console.print(_table(section, console.width))
        for text in remarks(section):
            _print_dim(text, console)
        for pair in summary.leads(section):
            _print_dim(f"{SUBJECT} ÷ {pair.what}: {pair.ratio:.1f}×", console)
    console.print()
    for soak in bundle.soaks:
        if summary.growth(soak) is None:
            _print_dim(
                f"{soak.server}, {soak.layer}: {soak.reason or 'too short to tell of growth'}", console
            )
    if not bundle.complete:
        console.print(Text("INCOMPLETE: the run was interrupted; what it had is shown.", style="bold yellow"))
    if busy := summary.busy_text(bundle):
        console.print(Text(textwrap.fill(busy, console.width), style="yellow"))
    for note in notes(bundle):
        _print_dim(note, console)
    for layer in bundle.layers:
        _print_dim(summary.cache_text(bundle, layer), console)
    _print_dim(legend(bundle), console)
    console.print()
    for sentence in summary.headlines(bundle):
        console.print(Text(textwrap.fill(sentence, console.width)))


def load_text(section: Section) -> str:
    """The load in words."""
    return f"wrk {section.load.name}" + (", warm" if section.load.temperature == "warm" else "")


def remarks(section: Section) -> list[str]:
    """Why rows don't count, and what else is to be known of them; those of one kind in one line."""
    found: dict[tuple[str, str], list[str]] = {}
    for line in section.lines:
        row, stored = line.row, f"{line.layer.format} {line.layer.coding}"
        texts = [f"{row.status}: {row.reason}" if row.status != "ok" else row.reason]
        if row.answers_per_request > 1 and row.samples:
            texts.append(f"{row.answers_per_request} answers are one request; latency is of one answer")
        for text in filter(None, texts):
            found.setdefault((stored, text), []).append(row.server)
    listed = [f"{stored}, {', '.join(servers)}: {text}" for (stored, text), servers in found.items()]
    return [*listed, *(_cold(section) if section.load.temperature == "cold" else ())]


def notes(bundle: Bundle) -> list[str]:
    """What servers do otherwise than the rest."""
    found: dict[str, list[str]] = {}
    for row in bundle.rows:
        servers = found.setdefault(row.note, [])
        if row.samples and row.server not in servers:
            servers.append(row.server)
    return [f"{', '.join(servers)}: {note}" for note, servers in found.items() if note and servers]


def _cold(section: Section) -> Iterator[str]:
    """What part of the files was in the page cache, in all samples."""
    samples = [sample for line in section.lines for sample in line.row.samples]
    before = [s.resident_before for s in samples if s.resident_before is not None]
    after = [s.resident_after for s in samples if s.resident_after is not None]
    if before and after:
        yield (
            f"of the files, {100 * max(before):.1f} % at most were in the page cache at the start (mincore), "
            f"{100 * min(after):.0f} to {100 * max(after):.0f} % at the end"
        )


def legend(bundle: Bundle) -> str:
    """What the columns mean."""
    published = ", ".join(f"{year}: {url}" for year, url in SOURCES.items())
    return (
        f"per core: of the {bundle.cores} that servers and wrk share, of {CORES} in what was published "
        f"({published}; another dataset and machine) · ÷ 2023, ÷ 2024: per core over that · decode: codec "
        f"alone, in memory, for one request on one core · busy: cores of the server · latency: wrk's, which "
        f"waits for an answer before it asks again, so long ones are rarer than they would be"
    )


def _table(section: Section, width: int) -> Table:
    wide = width >= WIDE
    table = Table(**STYLE, padding=(0, 0, 0, 1))
    table.add_column("\nserver", min_width=15)
    table.add_column("\nstored", no_wrap=True)
    for name in ("requests\n/s", "/s per\ncore", "÷\n2023", "÷\n2024"):
        table.add_column(name, justify="right", no_wrap=True)
    if wide:
        table.add_column("\nspread", justify="right", no_wrap=True)
    if wide:
        table.add_column("latency\nmean ms", justify="right", no_wrap=True)
        table.add_column("\np50", justify="right", no_wrap=True)
    for name in ("\np99" if wide else "p99\nms", *(("\nmax",) if wide else ()), "\nGiB/s"):
        table.add_column(name, justify="right", no_wrap=True)
    if wide:
        table.add_column("decode\nµs", justify="right", no_wrap=True)
        table.add_column("\nbusy", justify="right", no_wrap=True)
    for line in section.lines:
        if line.row.samples:
            style = "dim" if line.row.status != "ok" else "cyan" if line.row.server == SUBJECT else ""
            table.add_row(*_cells(line, wide=wide), style=style)
    if section.load.temperature == "warm":
        for found in section.references:
            table.add_row(*_published(found, wide=wide), style="italic dim")
    return table


def _cells(line: Line, *, wide: bool) -> Iterator[str]:
    row = line.row
    yield row.server
    yield f"{line.layer.format} {line.layer.coding}"
    yield "void" if row.status == "void" else rate_text(line.rate)
    yield rate_text(line.per_core)
    yield ratio_text(line.to_reference(2023))
    yield ratio_text(line.to_reference(2024))
    if wide:
        yield "–" if line.spread is None else f"{100 * line.spread:.0f} %"
        yield milliseconds(row.median("latency_mean"))
        yield milliseconds(row.median("latency_p50"))
    yield milliseconds(row.median("latency_p99"))
    if wide:
        yield milliseconds(row.median("latency_max"))
    yield "–" if row.transfer is None else f"{row.transfer / GIB:.2f}"
    if wide:
        yield f"{1e6 * line.decode:.0f}"
        yield "–" if line.server_cores is None else f"{line.server_cores:.1f}"


def _published(found: Reference, *, wide: bool) -> Iterator[str]:
    yield found.name
    yield f"{found.format}{' raw' if found.raw else ''}"
    yield rate_text(found.rate)
    yield rate_text(found.per_core)
    yield from ("", "")
    if wide:
        yield ""
        yield milliseconds(found.latency_mean)
        yield "–"
    yield "–"
    if wide:
        yield milliseconds(found.latency_max)
    yield f"{found.transfer / GIB:.2f}"
    if wide:
        yield from ("–", "–")


def rate_text(rate: float | None) -> str:
    """Requests per second."""
    return "–" if rate is None else f"{rate:,.0f}" if rate >= 10 else f"{rate:.1f}"


def ratio_text(ratio: float | None) -> str:
    """A ratio to one or two digits."""
    return "–" if ratio is None else f"{ratio:.1f}×"


def milliseconds(seconds: float | None) -> str:
    """Three digits."""
    if seconds is None:
        return "–"
    value = 1000 * seconds
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}"


def _print_dim(text: str, console: Console) -> None:
    wrapped = textwrap.fill(text, max(40, console.width), subsequent_indent="  ", break_on_hyphens=False)
    console.print(Text(wrapped, style="dim"), soft_wrap=True)
