"""`fastzarr bench report`."""

from pathlib import Path

import click

from fastzarr.bench import measurements, report, results
from fastzarr.bench.compat import results as compat_results
from fastzarr.bench.errors import BenchmarkError
from fastzarr.bench.saved import workload_of, write_whole
from fastzarr.bench.serving import results as serving_results
from fastzarr.cli.serve_bench import show_serving
from fastzarr.cli.showing import show, show_matrix, show_measured


@click.command("report")
@click.argument("saved", metavar="RESULTS", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--out", type=click.Path(file_okay=False, path_type=Path), help="Default: beside RESULTS.")
@click.option(
    "--markdown",
    "document",
    metavar="FILE",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Of a compatibility matrix: write this document, and nothing else.",
)
def report_command(saved: Path, out: Path | None, document: Path | None) -> None:
    """Make table, plots and HTML again from a saved results file."""
    workload, beside = workload_of(saved), out or saved.parent
    try:
        if document is not None:
            write_whole(document, report.markdown(compat_results.load(saved)))
        elif workload == compat_results.WORKLOAD:
            show_matrix(compat_results.load(saved), saved, beside, as_json=False)
        elif workload in measurements.WORKLOADS:
            show_measured(measurements.load(saved), saved, beside, as_json=False)
        elif workload == serving_results.WORKLOAD:
            show_serving(serving_results.load(saved), saved, beside, as_json=False)
        else:
            show(results.load(saved), saved, beside, as_json=False)
    except BenchmarkError as error:
        raise click.UsageError(str(error)) from error
