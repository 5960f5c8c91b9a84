"""What a command leaves and prints of a saved result."""

import json
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path

import click
import matplotlib  # noqa: F401 - the plots at the end need it; without it nothing is measured
from rich.console import Console

from fastzarr.bench import measurements, report, results
from fastzarr.bench.compat import results as compat_results


def show(bundle: results.Bundle, saved: Path, out: Path, *, as_json: bool) -> None:
    """Write CSV and reports; print the table and where the files are, or the bundle."""
    table = out / f"{saved.stem}.csv"
    results.save_csv(bundle, table)
    written = report.render(saved, out)
    if as_json:
        click.echo(json.dumps(asdict(bundle), indent=1))
        return
    console = Console()
    report.print_table(bundle, console)
    _print_paths((saved, table, *written), console)


def show_measured(bundle: measurements.Bundle, saved: Path, out: Path, *, as_json: bool) -> None:
    """As `show`, of a workload over layouts."""
    table = out / f"{saved.stem}.csv"
    measurements.save_csv(bundle, table)
    written = report.render_measured(saved, out)
    if as_json:
        click.echo(json.dumps(asdict(bundle), indent=1))
        return
    console = Console()
    report.print_measured(bundle, console)
    _print_paths((saved, table, *written), console)


def show_matrix(matrix: compat_results.Matrix, saved: Path, out: Path, *, as_json: bool) -> None:
    """Write CSV and page; print the matrix and where the files are, or the bundle."""
    table = out / f"{saved.stem}.csv"
    compat_results.save_csv(matrix, table)
    written = report.render_matrix(saved, out)
    if as_json:
        click.echo(saved.read_text(encoding="utf-8"), nl=False)
        return
    console = Console()
    report.print_matrix(matrix, console)
    _print_paths((saved, table, *written), console)


def _print_paths(paths: Iterable[Path], console: Console) -> None:
    for path in dict.fromkeys(paths):
        console.print(str(path), soft_wrap=True, highlight=False)
