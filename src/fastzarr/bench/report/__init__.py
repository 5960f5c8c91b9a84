"""Reports of a saved result: table, plots, page. They read the bundle and nothing else."""

from fastzarr.bench.report.page import render
from fastzarr.bench.report.table import print_table

__all__ = ["print_table", "render"]
