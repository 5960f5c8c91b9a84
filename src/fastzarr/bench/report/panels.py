"""What a panel of a plot shows: functions that draw on one pair of axes."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from fastzarr.bench import stats
from fastzarr.bench.report import colours, summary
from fastzarr.bench.results import mib_per_second

if TYPE_CHECKING:
    from matplotlib.axes import Axes

LABEL_GAP = 0.062
"""Least distance of two labels, as a share of the height of the axes."""


def throughput(ax: "Axes", blocks: Sequence[summary.Block], measure: stats.Measure) -> None:
    """MiB/s of each backend against the size of the array; `blocks` have one codec.

    Baselines are drawn with codec `none` only, because they do not compress.
    """
    ordered = sorted(blocks, key=lambda block: block.case.total_bytes)
    plain = ordered[0].case.codec == "none"
    lines = [line for block in ordered for line in block.lines if plain or line.row.kind == "library"]
    names = dict.fromkeys(line.row.backend for line in lines)
    marks = colours.marks(names, colours.BACKENDS)
    ends = []
    for name in names:
        points = [(b.case.total_bytes, n) for b in ordered if (n := b.line(name)) and measure in n.cells]
        if not points:
            continue
        mark, subject = marks[name], name == summary.SUBJECT
        sizes = [size for size, _ in points]
        speeds = [line.cells[measure].throughput for _, line in points]
        fastest = [mib_per_second(size, min(stats.times(n.row, measure).values())) for size, n in points]
        slowest = [mib_per_second(size, max(stats.times(n.row, measure).values())) for size, n in points]
        ax.vlines(sizes, slowest, fastest, mark.light, linewidth=0.8, alpha=0.5)
        ax.plot(
            sizes,
            speeds,
            "-" if plain else "--",
            color=mark.light,
            lw=2.6 if subject else 1.3,
            zorder=4 if subject else 3,
        )
        for size, speed, (_, line) in zip(sizes, speeds, points, strict=True):
            face = mark.light if line.row.status == "ok" else colours.GROUND
            ax.plot(size, speed, mark.marker, color=mark.light, mfc=face, ms=6 if subject else 4.5, zorder=5)
        ends.append((sizes[-1], speeds[-1], name, mark.light))
    ax.set_xscale("log")
    ax.set_yscale("log")
    ax.margins(y=0.1)
    size_ticks(ax, [block.case.total_bytes for block in ordered])
    speed_ticks(ax)
    label_ends(ax, ends)


def ceiling(ax: "Axes", blocks: Sequence[summary.Block], measure: stats.Measure) -> None:
    """% of the ceiling of each backend: every case, and the geometric mean.

    The axis ends with the libraries or at 200 %; what is beyond is drawn at its end.
    """
    shares: dict[str, list[float]] = {}
    libraries = [100.0]
    for line in (line for block in blocks for line in block.lines if measure in line.cells):
        percent = line.cells[measure].percent
        if percent is not None and line.row.backend != stats.CEILING:
            shares.setdefault(line.row.backend, []).append(percent)
            libraries += [percent] if line.row.kind == "library" else []
    end = min(200, 1.1 * max(libraries))
    means = {
        name: statistic for name, values in shares.items() if (statistic := stats.geometric_mean(values))
    }
    ordered = sorted(means, key=lambda name: means[name])
    marks = colours.marks(ordered, colours.BACKENDS)
    for y, name in enumerate(ordered):
        colour, subject = marks[name].light, name == summary.SUBJECT
        mean, *dots = (min(value, end) for value in (means[name], *shares[name]))
        ax.plot([0, mean], [y, y], color=colour, lw=3 if subject else 1.5)
        ax.plot(dots, [y] * len(dots), "o", color=colour, ms=3, alpha=0.55)
        ax.plot(mean, y, "o", color=colour, ms=8, zorder=4)
        weight = "bold" if subject else "normal"
        place = (max(mean, *dots), y)
        ax.annotate(
            f"{means[name]:.0f}",
            place,
            (8, 0),
            textcoords="offset points",
            va="center",
            weight=weight,
            bbox={"facecolor": colours.GROUND, "edgecolor": "none", "pad": 1},
        )
    ax.axvline(100, color=colours.TEXT, lw=1, zorder=2)
    ax.set_yticks(range(len(ordered)), ordered)
    for label, name in zip(ax.get_yticklabels(), ordered, strict=True):
        label.set_color(marks[name].light)
        label.set_fontweight("bold" if name == summary.SUBJECT else "normal")
    ax.set_xlim(0, 1.14 * end)
    ax.grid(visible=False, axis="y")


def lead(ax: "Axes", blocks: Sequence[summary.Block], measure: stats.Measure) -> None:
    """Throughput of the subject over that of the best peer against the size, by codec and format."""
    marks = colours.marks((block.case.codec for block in blocks), colours.CODECS)
    series: dict[tuple[str, int], list[tuple[int, float]]] = {}
    for block in sorted(blocks, key=lambda block: block.case.total_bytes):
        if measure in block.leads:
            point = (block.case.total_bytes, block.leads[measure].ratio)
            series.setdefault((block.case.codec, block.case.zarr_format), []).append(point)
    ends = []
    for (codec, version), points in series.items():
        mark = marks[codec]
        dash, width = ("-", 2) if codec == "none" else ("--", 1.3)
        face = mark.light if version == 3 else colours.GROUND
        ax.plot(
            *zip(*points, strict=True), dash, color=mark.light, lw=width, marker=mark.marker, ms=5, mfc=face
        )
        ends.append((*points[-1], f"{codec} v{version}", mark.light))
    ax.axhline(1, color=colours.TEXT, lw=1)
    ax.set_xscale("log")
    low, high = ax.get_ylim()
    ax.set_ylim(min(low, 0.9), max(high, 1.1))
    ax.yaxis.set_major_formatter(lambda value, _: f"{value:g}×")
    size_ticks(ax, [block.case.total_bytes for block in blocks])
    label_ends(ax, ends)


def size_ticks(ax: "Axes", sizes: Iterable[int]) -> None:
    """Ticks at the sizes measured, but not closer than their labels are wide."""
    kept: list[int] = []
    for size in sorted(set(sizes)):
        if not kept or size > 1.6 * kept[-1]:
            kept.append(size)
    ax.set_xticks(kept, [summary.size_text(size).replace(" ", "\n") for size in kept])
    ax.set_xticks([], minor=True)


def speed_ticks(ax: "Axes") -> None:
    """Ticks of a logarithmic y axis at 1, 2 and 5, or at powers of ten where it is long."""
    from matplotlib.ticker import LogLocator, NullFormatter

    low, high = ax.get_ylim()
    ax.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5) if high / low < 200 else (1,)))
    ax.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
    ax.yaxis.set_minor_formatter(NullFormatter())


def label_ends(ax: "Axes", ends: Iterable[tuple[float, float, str, str]]) -> None:
    """Name each line, given as last x, last y, text and colour, beside its end; labels do not overlap."""
    to_axes = ax.transData + ax.transAxes.inverted()
    places = sorted((*to_axes.transform((x, y))[::-1], text, colour) for x, y, text, colour in ends)
    heights = [place[0] for place in places]
    for _ in range(100):
        for i in range(len(heights) - 1):
            overlap = max(0.0, LABEL_GAP - (heights[i + 1] - heights[i]))
            heights[i] -= overlap / 2
            heights[i + 1] += overlap / 2
        heights[-1:] = [min(height, 0.98) for height in heights[-1:]]
    for height, (y, x, text, colour) in zip(heights, places, strict=True):
        leader = (x + 0.015, 1.03), (y, height)
        ax.plot(*leader, color=colour, lw=0.5, transform=ax.transAxes, clip_on=False)
        weight = "bold" if text == summary.SUBJECT else "normal"
        ax.text(
            1.04, height, text, transform=ax.transAxes, va="center", fontsize=8, color=colour, weight=weight
        )
