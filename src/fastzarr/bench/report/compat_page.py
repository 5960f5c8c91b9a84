"""The compatibility matrix as a page that needs nothing beside itself."""

from pathlib import Path

from fastzarr.bench.compat import results
from fastzarr.bench.compat.tally import overview
from fastzarr.bench.report import templating
from fastzarr.bench.report.compat_table import SUBJECT
from fastzarr.bench.saved import write_whole


def render_matrix(results_json: Path, out_dir: Path) -> list[Path]:
    """Write the page of the saved matrix into `out_dir` and return its path.

    Raises BenchmarkError where `results_json` is not a matrix of this schema version.
    """
    matrix = results.load(results_json)
    page = out_dir / f"{results_json.stem}.html"
    html = (
        templating.environment()
        .get_template("compat.html")
        .render(matrix=matrix, view=overview(matrix), subject=SUBJECT, reasons=_reasons(matrix), on_dark={})
    )
    write_whole(page, html)
    return [page]


def _reasons(matrix: results.Matrix) -> dict[str, int]:
    """Why cells are `unsupported`, and how many are for that."""
    found: dict[str, int] = {}
    for cell in matrix.cells():
        if cell.status == "unsupported":
            reason = cell.message or "no reason given"
            found[reason] = found.get(reason, 0) + 1
    return dict(sorted(found.items(), key=lambda item: -item[1]))
