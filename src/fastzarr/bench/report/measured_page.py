"""The report of the workloads over layouts as files: PNG plots, and one HTML page that needs nothing else."""

from collections.abc import Sequence
from pathlib import Path

from markupsafe import Markup

from fastzarr.bench.measurements import Bundle, load
from fastzarr.bench.report import colours, templating
from fastzarr.bench.report import measured_plots as plots
from fastzarr.bench.report import measured_summary as summary
from fastzarr.bench.report import measured_words as words
from fastzarr.bench.report.measured_remarks import remarks_of
from fastzarr.bench.report.page import versions
from fastzarr.bench.report.plots import Plot, save_png, svg
from fastzarr.bench.report.speedup import scalings
from fastzarr.bench.report.summary import SUBJECT, size_text, throughput_text
from fastzarr.bench.saved import write_whole


def render_measured(results_json: Path, out_dir: Path) -> list[Path]:
    """Write plots and page of the saved result into `out_dir` and return their paths.

    Raises BenchmarkError where `results_json` is not a result file of this layout.
    """
    bundle = load(results_json)
    out_dir.mkdir(parents=True, exist_ok=True)
    drawn = plots.plots(bundle)
    pictures = [out_dir / f"{plot.name}.png" for plot in drawn]
    for plot, path in zip(drawn, pictures, strict=True):
        save_png(plot, path)
    page = out_dir / f"{results_json.stem}.html"
    write_whole(page, _html(bundle, drawn))
    return [*pictures, page]


def _html(bundle: Bundle, drawn: Sequence[Plot]) -> str:
    environment = templating.environment()
    environment.filters.update(
        size=size_text,
        throughput=throughput_text,
        time=words.time_text,
        ratio=words.ratio_text,
        layout=words.layout_text,
    )
    shown = summary.sections(bundle)
    remarks = remarks_of(bundle)
    return environment.get_template("measured.html").render(
        bundle=bundle,
        cases=summary.by_case(shown),
        operations=list(dict.fromkeys(section.operation.name for section in shown if section.lead)),
        headlines=summary.headlines(shown),
        scalings=scalings(shown),
        everywhere=[remark for remark in remarks if remark.everywhere],
        elsewhere=[remark for remark in remarks if not remark.everywhere],
        ceilings={section.ceiling: section.case.codec for section in shown if section.ceiling},
        figures=[(plot, [Markup(svg(plot, i)) for i in range(len(plot.panels))]) for plot in drawn],
        versions=versions(bundle.packages, (row.backend for row in bundle.rows)),
        subject=SUBJECT,
        on_dark=colours.ON_DARK,
    )
