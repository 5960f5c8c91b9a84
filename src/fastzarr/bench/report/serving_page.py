"""The report of servers as files: PNG plots, and one HTML page that needs nothing beside itself."""

from pathlib import Path

from markupsafe import Markup

from fastzarr.bench.report import colours, serving_plots, serving_table, templating
from fastzarr.bench.report import serving_summary as summary
from fastzarr.bench.report.page import versions
from fastzarr.bench.report.plots import save_png, svg
from fastzarr.bench.report.serving_reference import CORES, REFERENCES, SOURCES
from fastzarr.bench.report.summary import size_text
from fastzarr.bench.saved import write_whole
from fastzarr.bench.serving.results import load

LIBRARIES = (
    "fastzarr",
    "granian",
    "httptools",
    "lz4",
    "numpy",
    "uvicorn",
    "uvloop",
    "wkw",
    "zarr",
    "zstandard",
)
"""Distributions whose versions matter."""


def render_serving(results_json: Path, out_dir: Path) -> list[Path]:
    """Write plots and page of the saved result into `out_dir` and return their paths.

    Raises BenchmarkError where `results_json` is not a result file of this layout.
    """
    bundle = load(results_json)
    out_dir.mkdir(parents=True, exist_ok=True)
    drawn = serving_plots.plots(bundle)
    pictures = [out_dir / f"{plot.name}.png" for plot in drawn]
    for plot, path in zip(drawn, pictures, strict=True):
        save_png(plot, path)
    environment = templating.environment()
    environment.filters.update(
        size=size_text,
        rate=serving_table.rate_text,
        ratio=serving_table.ratio_text,
        milliseconds=serving_table.milliseconds,
    )
    html = environment.get_template("serving.html").render(
        bundle=bundle,
        sections=summary.sections(bundle),
        busy=summary.busy_text(bundle),
        headlines=summary.headlines(bundle),
        load_text=serving_table.load_text,
        remarks=serving_table.remarks,
        notes=serving_table.notes(bundle),
        leads=summary.leads,
        legend=serving_table.legend(bundle),
        caches=[summary.cache_text(bundle, layer) for layer in bundle.layers],
        references=REFERENCES,
        reference_cores=CORES,
        sources=SOURCES,
        figures=[(plot, [Markup(svg(plot, i)) for i in range(len(plot.panels))]) for plot in drawn],
        versions={"wrk": bundle.wrk} | versions(bundle.packages, LIBRARIES),
        subject=summary.SUBJECT,
        on_dark=colours.ON_DARK,
    )
    page = out_dir / f"{results_json.stem}.html"
    write_whole(page, html)
    return [*pictures, page]
