"""Reports of a saved result: table, plots, page. They read the bundle and nothing else."""

from fastzarr.bench.report.compat_markdown import markdown
from fastzarr.bench.report.compat_page import render_matrix
from fastzarr.bench.report.compat_table import print_matrix
from fastzarr.bench.report.measured_page import render_measured
from fastzarr.bench.report.measured_table import print_measured
from fastzarr.bench.report.page import render
from fastzarr.bench.report.table import print_table

__all__ = [
    "markdown",
    "print_matrix",
    "print_measured",
    "print_table",
    "render",
    "render_matrix",
    "render_measured",
]
