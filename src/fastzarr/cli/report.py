"""`fastzarr bench report`."""

from pathlib import Path

import click

from fastzarr.bench import report, results
from fastzarr.bench.compat import results as compat_results
from fastzarr.bench.errors import BenchmarkError
from fastzarr.cli.showing import show, show_matrix


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
        else:
            show(results.load(saved), saved, out or saved.parent, as_json=False)
    except BenchmarkError as error:
        raise click.UsageError(str(error)) from error
