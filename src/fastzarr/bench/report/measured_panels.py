"""Panels of the workloads over layouts: functions that draw on one pair of axes."""

import textwrap
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

from fastzarr.bench.report import colours, panels
from fastzarr.bench.report import measured_summary as summary
from fastzarr.bench.report import measured_words as words
from fastzarr.bench.report.speedup import Scaling
from fastzarr.bench.report.summary import SUBJECT, throughput_text
from fastzarr.bench.results import mib_per_second

if TYPE_CHECKING:
    from matplotlib.axes import Axes

LARGE = 2**20
"""Bytes of a chunk from which throughput is drawn, below it the time per chunk."""

LABEL_WIDTH = 24
"""Characters of the name of a case in a line."""


def is_time(sections: Iterable[summary.Section]) -> bool:
    """Whether the time per chunk or call is drawn, and less is better; otherwise MiB/s."""
    return any(
        s.operation.calls > 1 or not s.operation.nbytes or s.case.chunk_bytes < LARGE for s in sections
    )


def unit(sections: Sequence[summary.Section]) -> str:
    """What the axis shows."""
    return f"µs per {sections[0].per}" if is_time(sections) else "MiB/s"


def _values(sections: Sequence[summary.Section]) -> Callable[[summary.Section, float], float]:
    """What makes of seconds in a section that which the axis shows."""
    if is_time(sections):
        return lambda section, seconds: 1e6 * seconds / section.units
    return lambda section, seconds: mib_per_second(section.operation.nbytes, seconds)


def against(ax: "Axes", sections: Sequence[summary.Section], *, by_count: bool) -> None:
    """Each backend against the size of a chunk, or the number of chunks; both axes are logarithmic."""
    value = _values(sections)
    places = {id(s): s.case.chunk_count if by_count else s.case.chunk_bytes for s in sections}
    ordered = sorted(sections, key=lambda section: places[id(section)])
    names = dict.fromkeys(cell.row.backend for section in ordered for cell in section.cells)
    marks = colours.marks(names, colours.BACKENDS)
    ends = []
    for name in names:
        points = [(places[id(s)], s, cell) for s in ordered if (cell := s.cell(name))]
        mark, subject = marks[name], name == SUBJECT
        xs = [x for x, _, _ in points]
        ys = [value(section, cell.seconds) for _, section, cell in points]
        low, high = (
            [value(section, extreme(s.seconds for s in cell.row.samples)) for _, section, cell in points]
            for extreme in (min, max)
        )
        ax.vlines(xs, low, high, mark.light, linewidth=0.8, alpha=0.5)
        ax.plot(xs, ys, color=mark.light, lw=2.6 if subject else 1.3, zorder=4 if subject else 3)
        for x, y, (_, _, cell) in zip(xs, ys, points, strict=True):
            face = mark.light if cell.row.status == "ok" else colours.GROUND
            ax.plot(x, y, mark.marker, color=mark.light, mfc=face, ms=6 if subject else 4.5, zorder=5)
        ends.append((xs[-1], ys[-1], name, mark.light))
    ax.set_xscale("log")
    ax.set_yscale("log")
    ax.margins(y=0.1)
    if by_count:
        ax.set_xlabel("chunks")
    else:
        panels.size_ticks(ax, places.values())
    panels.speed_ticks(ax)
    panels.label_ends(ax, ends)


def ranking(ax: "Axes", section: summary.Section) -> None:
    """Every backend on a line of its own, the fastest above, with its number."""
    cells = sorted(section.cells, key=lambda cell: cell.seconds, reverse=True)
    marks = colours.marks((cell.row.backend for cell in cells), colours.BACKENDS)
    values = [_values([section])(section, cell.seconds) for cell in cells]
    for y, (cell, value) in enumerate(zip(cells, values, strict=True)):
        name, colour = cell.row.backend, marks[cell.row.backend].light
        weight = "bold" if name == SUBJECT else "normal"
        ax.plot([0, value], [y, y], color=colour, lw=3 if name == SUBJECT else 1.5)
        face = colour if cell.row.status == "ok" else colours.GROUND
        ax.plot(value, y, "o", color=colour, mfc=face, ms=8, zorder=4)
        text = words.time_text(value) if is_time([section]) else throughput_text(value)
        ax.annotate(text, (value, y), (8, 0), textcoords="offset points", va="center", weight=weight)
    _names(ax, [cell.row.backend for cell in cells], marks)
    ax.set_xlim(0, 1.22 * max(values))


def lead(ax: "Axes", sections: Sequence[summary.Section]) -> None:
    """The subject over the best peer of each case: median, and the reach of the ratios of the repeats.

    Ratio and peer stand in a column on the right.
    """
    mark = colours.BACKENDS[SUBJECT]
    found = [(section, section.lead) for section in reversed(sections) if section.lead]
    for y, (_, lead) in enumerate(found):
        ratios = lead.ratios.values()
        face = colours.GROUND if lead.tie else mark.light
        ax.plot([min(ratios), max(ratios)], [y, y], color=mark.light, lw=1)
        ax.plot(lead.ratio, y, "o", color=mark.light, mfc=face, ms=6, zorder=4)
        text = f"{words.ratio_text(lead.ratio)} {lead.peer}"
        ax.annotate(text, (1.03, y), xycoords=("axes fraction", "data"), va="center", fontsize=7.5)
    ax.axvline(1, color=colours.TEXT, lw=1, zorder=2)
    ax.set_yticks(range(len(found)), [lead_label(section) for section, _ in found], fontsize=7.5)
    ax.set_ylim(-0.6, len(found) - 0.4)
    ax.set_xscale("log")
    low = min(0.9, *(min(lead.ratios.values()) for _, lead in found))
    high = max(2, *(max(lead.ratios.values()) for _, lead in found))
    ax.set_xlim(low / 1.1, high * 1.1)
    ax.grid(visible=False, axis="y")
    _plain_ticks(ax, "×")


def lead_label(section: summary.Section) -> str:
    """The label of a case in two lines where it is long."""
    return textwrap.fill(section.label, LABEL_WIDTH)


def speedup(ax: "Axes", scaling: Scaling, cores: int) -> None:
    """Speed over that with the fewest threads; the dotted line is ideal, up to the cores there are."""
    marks = colours.marks((curve.backend for curve in scaling.curves), colours.BACKENDS)
    first = scaling.threads[0]
    ideal = [max(1, min(threads, cores) / first) for threads in scaling.threads]
    ax.plot(scaling.threads, ideal, color=colours.MUTED, lw=1, ls=":", zorder=2)
    ends = []
    for curve in scaling.curves:
        mark, subject = marks[curve.backend], curve.backend == SUBJECT
        xs, ys = list(curve.speedups), list(curve.speedups.values())
        ax.plot(xs, ys, color=mark.light, lw=2.6 if subject else 1.3, zorder=4 if subject else 3)
        ax.plot(xs, ys, mark.marker, color=mark.light, ms=6 if subject else 4.5, zorder=5)
        ends.append((xs[-1], ys[-1], curve.backend, mark.light))
    ax.set_xscale("log", base=2)
    ax.set_xticks(scaling.threads, list(map(str, scaling.threads)))
    ax.set_xticks([], minor=True)
    ax.set_xlabel("threads")
    low, high = ax.get_ylim()
    ax.set_ylim(min(low, 0.8), max(high, 1.2))
    ax.yaxis.set_major_formatter(lambda value, _: f"{value:g}×")
    panels.label_ends(ax, ends)


def _names(ax: "Axes", names: Sequence[str], marks: dict[str, colours.Mark]) -> None:
    """Backends at the y axis, each in its colour."""
    ax.set_yticks(range(len(names)), names)
    ax.set_ylim(-0.6, len(names) - 0.4)
    for label, name in zip(ax.get_yticklabels(), names, strict=True):
        label.set_color(marks[name].light)
        label.set_fontweight("bold" if name == SUBJECT else "normal")
    ax.grid(visible=False, axis="y")


def _plain_ticks(ax: "Axes", after: str = "") -> None:
    """Ticks of a logarithmic x axis as plain numbers, at 1, 2 and 5 where it is short."""
    from matplotlib.ticker import LogLocator, NullFormatter

    low, high = ax.get_xlim()
    ax.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5) if high / low < 60 else (1,)))
    ax.xaxis.set_major_formatter(lambda value, _: f"{value:g}{after}")
    ax.xaxis.set_minor_formatter(NullFormatter())
