"""Plots of a bundle: panels that stand in a row in a PNG file and one below the other on a small screen."""

import io
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fastzarr.bench import stats
from fastzarr.bench.report import colours, panels, summary
from fastzarr.bench.results import Bundle

if TYPE_CHECKING:
    from matplotlib.axes import Axes

PANEL_INCHES = (4.1, 3.5)
DPI = 160
COLUMNS = len(summary.MEASURES)

STYLE: dict[Any, Any] = {
    "font.size": 9,
    "axes.titlesize": 9.5,
    "axes.titlelocation": "left",
    "axes.titlecolor": colours.TEXT,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "axes.facecolor": colours.GROUND,
    "axes.edgecolor": colours.MUTED,
    "axes.labelcolor": colours.MUTED,
    "figure.facecolor": colours.GROUND,
    "grid.color": colours.GRID,
    "text.color": colours.TEXT,
    "xtick.color": colours.MUTED,
    "ytick.color": colours.MUTED,
    "svg.fonttype": "none",
}


@dataclass(frozen=True, kw_only=True)
class Panel:
    """One pair of axes."""

    title: str
    """What it shows, with the unit."""
    draw: Callable[["Axes"], None]
    """Draws it."""
    height: float | None = None
    """Height in inches; None is that of the plot's panels."""


@dataclass(frozen=True, kw_only=True)
class Plot:
    """Panels that belong together."""

    name: str
    """Stem of the file."""
    title: str
    """Heading."""
    note: str
    """How to read it."""
    panels: tuple[Panel, ...]
    """In reading order."""
    panel_inches: tuple[float, float] = PANEL_INCHES
    """Width and height of a panel."""


def plots(bundle: Bundle) -> list[Plot]:
    """Share of the ceiling, lead over the best peer, throughput against size per source and format.

    What would be no plot is left out: lines through a single size, shares without a ceiling.
    """
    shown = [block for block in summary.blocks(bundle) if any(line.cells for line in block.lines)]
    parts: dict[tuple[str, int], list[summary.Block]] = {}
    for block in shown:
        parts.setdefault((block.case.source, block.case.zarr_format), []).append(block)
    by_size = [_throughput(source, version, part) for (source, version), part in parts.items()]
    return [plot for plot in (_ceiling(shown), _lead(shown), *by_size) if plot.panels]


def save_png(plot: Plot, path: Path) -> None:
    """Write all panels of `plot` into one PNG."""
    width, height = plot.panel_inches
    columns = 2 if len(plot.panels) == 4 else min(COLUMNS, len(plot.panels))
    heights = [panel.height or height for panel in plot.panels]
    rows = [max(heights[at : at + columns]) for at in range(0, len(heights), columns)]
    _render(plot.panels, (columns * width, sum(rows) + 0.4), rows, columns, plot.title, "", path)


def svg(plot: Plot, number: int) -> str:
    """Panel `number` of `plot` as an SVG element for a page.

    A colour is `var(--rrggbb, #rrggbb)`, so that the page can give it another value on a dark ground.
    """
    text = io.StringIO()
    panel = plot.panels[number]
    width, height = plot.panel_inches
    inches = width, panel.height or height
    _render([panel], inches, [1.0], 1, None, f"{plot.name} {number}", text)
    element = text.getvalue()[text.getvalue().index("<svg") :]
    element = re.sub(r'<g id="[^"]*"', "<g", element)
    element = re.sub(r"<metadata>.*?</metadata>", "", element, flags=re.DOTALL)
    return re.sub(r"#([0-9a-f]{6})\b", r"var(--c-\1, #\1)", element)


def _render(
    shown: Sequence[Panel],
    inches: tuple[float, float],
    rows: Sequence[float],
    columns: int,
    title: str | None,
    salt: str,
    target: Path | io.StringIO,
) -> None:
    import matplotlib
    from matplotlib.figure import Figure

    with matplotlib.rc_context({**STYLE, "svg.hashsalt": salt}):
        figure = Figure(figsize=inches, layout="constrained", dpi=DPI)
        axes = figure.subplots(len(rows), columns, squeeze=False, height_ratios=rows)
        for ax in axes.flat[len(shown) :]:
            ax.set_axis_off()
        for ax, panel in zip(axes.flat, shown, strict=False):
            panel.draw(ax)
            ax.set_title(panel.title)
        if title:
            figure.suptitle(title, x=0.01, ha="left", fontsize=12, fontweight="bold")
        figure.savefig(target, format="png" if isinstance(target, Path) else "svg")


def _throughput(source: str, version: int, part: Iterable[summary.Block]) -> Plot:
    by_codec: dict[str, list[summary.Block]] = {}
    for block in part:
        by_codec.setdefault(summary.codec_text(block.case), []).append(block)
    return Plot(
        name=f"throughput-{re.sub(r'[^A-Za-z0-9]+', '-', source).strip('-').lower()}-v{version}",
        title=f"Throughput against size: {source}, Zarr v{version}",
        note="Points are medians, thin bars reach from the slowest to the fastest repeat. Solid lines are "
        "uncompressed, dashed ones compressed; hollow points are not ranked. Both axes are logarithmic.",
        panels=tuple(
            Panel(
                title=f"{codec}: {summary.MEANING[measure]}, MiB/s",
                draw=partial(panels.throughput, blocks=blocks, measure=measure),
            )
            for codec, blocks in by_codec.items()
            for measure in summary.MEASURES
            if _sizes(block for block in blocks if any(measure in line.cells for line in block.lines)) > 1
        ),
    )


def _sizes(blocks: Iterable[summary.Block]) -> int:
    return len({block.case.total_bytes for block in blocks})


def _ceiling(shown: Iterable[summary.Block]) -> Plot:
    blocks = [block for block in shown if block.case.codec == "none"]
    return Plot(
        name="ceiling",
        title="Share of the ceiling, uncompressed",
        note=f"100 % is {stats.CEILING}: the same bytes, one plain file per chunk, in the same run. "
        "Small dots are the cases, the large one with the number is their geometric mean; what is beyond the "
        "axis is drawn at its end.",
        panels=tuple(
            Panel(
                title=f"{summary.MEANING[m]}, % of {stats.CEILING}",
                draw=partial(panels.ceiling, blocks=blocks, measure=m),
            )
            for m in summary.MEASURES
            if any(_has_share(line, m) for block in blocks for line in block.lines)
        ),
    )


def _has_share(line: summary.Line, measure: stats.Measure) -> bool:
    cell = line.cells.get(measure)
    return line.row.backend != stats.CEILING and cell is not None and cell.percent is not None


def _lead(shown: Iterable[summary.Block]) -> Plot:
    by_source: dict[str, list[summary.Block]] = {}
    for block in shown:
        by_source.setdefault(block.case.source, []).append(block)
    return Plot(
        name="lead",
        title=f"{summary.SUBJECT} against the best peer of each case",
        note="Above 1× is ahead. The peer is the fastest ranked library of that very case and measure. Solid "
        "lines are uncompressed, dashed ones compressed; filled points are Zarr v3, hollow ones v2.",
        panels=tuple(
            Panel(
                title=f"{source}\n{summary.MEANING[m]}, × best peer",
                draw=partial(panels.lead, blocks=blocks, measure=m),
            )
            for source, blocks in by_source.items()
            for m in summary.MEASURES
            if _sizes(block for block in blocks if m in block.leads) > 1
        ),
    )
