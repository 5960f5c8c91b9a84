"""The report as files: PNG plots, and one HTML page that needs nothing beside itself."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from markupsafe import Markup

from fastzarr.bench import stats
from fastzarr.bench.report import colours, plots, summary, templating
from fastzarr.bench.results import Bundle, Row, load
from fastzarr.bench.saved import write_whole

LIBRARIES_USED = ("numpy", "numcodecs", "zstandard", "zlib-ng", "isal")
"""Distributions whose versions matter beside those named like a backend."""
PHASES = ("create", "steps", "steps_cpu", "sync", "open", "read", "read_cpu")


@dataclass(frozen=True, kw_only=True)
class Group:
    """Cases that differ in size only: the columns of one matrix."""

    title: str
    """Source, format and codec."""
    blocks: tuple[summary.Block, ...]
    """By size."""

    @property
    def rows(self) -> list[tuple[str, list[summary.Line | None]]]:
        """Every backend with something measured, and its line in each block."""
        lines = (line for block in self.blocks for line in block.lines if line.cells)
        names = dict.fromkeys(line.row.backend for line in lines)
        return [(name, [block.line(name) for block in self.blocks]) for name in names]

    def cores(self, backend: str, measure: stats.Measure) -> str:
        """Cores used by a backend, the least and the most of all sizes."""
        lines = (line for block in self.blocks if (line := block.line(backend)) and measure in line.cells)
        used = [cores for line in lines if (cores := line.cells[measure].cores) is not None]
        return "–".join(dict.fromkeys(f"{end:.1f}" for end in (min(used), max(used)))) if used else ""

    def most(self, block: summary.Block, measure: stats.Measure) -> float:
        """Highest throughput in a column: where its bars end."""
        return max(line.cells[measure].throughput for line in block.lines if measure in line.cells)


def render(results_json: Path, out_dir: Path) -> list[Path]:
    """Write plots and page of the saved result into `out_dir` and return their paths.

    Raises BenchmarkError where `results_json` is not a result file of this schema version.
    """
    bundle = load(results_json)
    out_dir.mkdir(parents=True, exist_ok=True)
    drawn = plots.plots(bundle)
    pictures = [out_dir / f"{plot.name}.png" for plot in drawn]
    for plot, path in zip(drawn, pictures, strict=True):
        plots.save_png(plot, path)
    page = out_dir / f"{results_json.stem}.html"
    write_whole(page, _html(bundle, drawn))
    return [*pictures, page]


def _html(bundle: Bundle, drawn: Sequence[plots.Plot]) -> str:
    environment = templating.environment()
    environment.filters.update(
        size=summary.size_text,
        throughput=summary.throughput_text,
        case_text=summary.case_text,
        milliseconds=lambda seconds: "–" if seconds is None else f"{1000 * seconds:.3g}",
    )
    shown = summary.blocks(bundle)
    everywhere, elsewhere = summary.parted_remarks(shown)
    return environment.get_template("report.html").render(
        bundle=bundle,
        blocks=shown,
        groups=_groups(shown),
        headlines=[summary.headline(name, part) for name, part in summary.by_compression(shown).items()],
        tiles={name: summary.means(part) for name, part in summary.by_compression(shown).items()},
        behind=summary.behind(shown),
        everywhere=everywhere,
        elsewhere=elsewhere,
        figures=[(plot, [Markup(plots.svg(plot, i)) for i in range(len(plot.panels))]) for plot in drawn],
        measures=summary.MEANING,
        phases=PHASES,
        medians=_medians,
        versions=versions(bundle.packages, (row.backend for row in bundle.rows)),
        subject=summary.SUBJECT,
        ceiling=stats.CEILING,
        most_on_one_core=stats.ONE_CORE,
        on_dark=colours.ON_DARK,
    )


def _groups(shown: Sequence[summary.Block]) -> list[Group]:
    found: dict[str, list[summary.Block]] = {}
    for block in shown:
        title = f"{block.case.source} · Zarr v{block.case.zarr_format} · {summary.codec_text(block.case)}"
        found.setdefault(title, []).append(block)
    return [Group(title=title, blocks=tuple(blocks)) for title, blocks in found.items()]


def _medians(row: Row) -> dict[str, float | None]:
    """Median seconds of each phase; None where the backend does not have it."""
    by_phase = {phase: [getattr(sample, phase) for sample in row.samples] for phase in PHASES}
    return {phase: None if None in times else median(times) for phase, times in by_phase.items()}


def versions(packages: Mapping[str, str], backends: Iterable[str]) -> dict[str, str]:
    """The versions that bear on the numbers, in alphabetical order."""
    wanted = {*LIBRARIES_USED, *backends}
    return {name: version for name, version in sorted(packages.items()) if name in wanted}
