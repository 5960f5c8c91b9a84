"""Plots of servers: requests per second and core beside what was published, and memory over time."""

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from fastzarr.bench.report import colours
from fastzarr.bench.report import serving_summary as summary
from fastzarr.bench.report.plots import Panel, Plot
from fastzarr.bench.report.serving_summary import SUBJECT, Section
from fastzarr.bench.report.serving_table import load_text, rate_text
from fastzarr.bench.serving.results import Bundle, Soak

if TYPE_CHECKING:
    from matplotlib.axes import Axes

WIDTH = 5.6


def plots(bundle: Bundle) -> list[Plot]:
    """One of the rates and one of memory; what would be no plot is left out."""
    shown = [s for s in summary.sections(bundle) if any(line.rate is not None for line in s.lines)]
    rates = Plot(
        name="serve-rates",
        title="Requests of six buckets per second and core",
        note="Medians; thin lines reach from the slowest to the fastest repeat. Grey: what webknossos "
        "published of its own server on 32 cores and another dataset.",
        panels=tuple(
            Panel(
                title=f"{section.layer} · {load_text(section)}",
                draw=partial(_rates, section=section),
                height=0.9 + 0.24 * len(_bars(section)),
            )
            for section in shown
        ),
        panel_inches=(WIDTH, 3.5),
    )
    soaks = [soak for soak in bundle.soaks if len(soak.points) > 1]
    memory = Plot(
        name="serve-memory",
        title="Memory of the server under a long load",
        note="Resident memory of all processes, shared pages counted in each.",
        panels=tuple(
            Panel(title=f"{soak.server}, {soak.layer}, MiB", draw=partial(_memory, soak=soak))
            for soak in soaks
        ),
        panel_inches=(WIDTH, 3.5),
    )
    return [plot for plot in (rates, memory) if plot.panels]


def _bars(section: Section) -> Sequence[tuple[str, float, float, float, str]]:
    """Label, median, least and most per core, and colour, from below."""
    marks = colours.marks((line.row.server for line in section.lines), colours.BACKENDS)
    found = [
        (
            f"{line.row.server}, {line.layer.format} {line.layer.coding}",
            line.per_core,
            min(line.row.rates()) / line.cores,
            max(line.row.rates()) / line.cores,
            marks[line.row.server].light,
        )
        for line in section.lines
        if line.per_core is not None
    ]
    if section.load.temperature == "warm":
        found += [
            (
                f"{r.name}, {r.format}{' raw' if r.raw else ''}",
                r.per_core,
                r.per_core,
                r.per_core,
                colours.MUTED,
            )
            for r in section.references
        ]
    return found[::-1]


def _rates(ax: "Axes", section: Section) -> None:
    bars = _bars(section)
    for y, (label, value, low, high, colour) in enumerate(bars):
        ours = label.startswith(f"{SUBJECT},")
        ax.plot([0, value], [y, y], color=colour, lw=3 if ours else 1.5)
        ax.plot([low, high], [y, y], color=colours.TEXT, lw=0.8)
        ax.plot(value, y, "o", color=colour, ms=6, zorder=4)
        weight = "bold" if ours else "normal"
        ax.annotate(
            rate_text(value),
            (max(value, high), y),
            (7, 0),
            textcoords="offset points",
            va="center",
            weight=weight,
        )
    ax.set_yticks(range(len(bars)), [label for label, *_ in bars], fontsize=8)
    ax.set_ylim(-0.6, len(bars) - 0.4)
    ax.set_xlim(0, 1.2 * max(high for _, _, _, high, _ in bars))
    ax.grid(visible=False, axis="y")


def _memory(ax: "Axes", soak: Soak) -> None:
    minutes = [point.seconds / 60 for point in soak.points]
    sizes = [point.memory_bytes / 2**20 for point in soak.points]
    ax.plot(minutes, sizes, color=colours.BACKENDS[SUBJECT].light, lw=1.5)
    ax.set_ylim(0, 1.15 * max(sizes))
    ax.set_xlabel("minutes")
