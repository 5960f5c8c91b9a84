"""`fastzarr bench report`."""

import json
from pathlib import Path
from typing import Any

import click

from fastzarr.bench import measurements, report, results
from fastzarr.bench.compat import results as compat_results
from fastzarr.bench.errors import BenchmarkError
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
    try:
        if document is not None:
            results.write_whole(document, report.markdown(compat_results.load(saved)))
        elif compat_results.is_matrix(saved):
            show_matrix(compat_results.load(saved), saved, out or saved.parent, as_json=False)
        elif _workload(saved) in measurements.WORKLOADS:
            show_measured(measurements.load(saved), saved, out or saved.parent, as_json=False)
        elif _workload(saved) == serving_results.WORKLOAD:
            show_serving(serving_results.load(saved), saved, out or saved.parent, as_json=False)
        else:
            show(results.load(saved), saved, out or saved.parent, as_json=False)
    except BenchmarkError as error:
        raise click.UsageError(str(error)) from error


def _workload(saved: Path) -> Any:
    """The workload that the file at `saved` says it is of, or None; what is wrong with it is told later."""
    try:
        data = json.loads(saved.read_text(encoding="utf-8"))
    except ValueError:
        return None
    return data.get("workload") if isinstance(data, dict) else None
