"""Selections to plans: which part of which chunk goes where in the result. Integers only, no I/O."""

from fastzarr.indexing.grid import Grid
from fastzarr.indexing.items import BasicSelection, Selection
from fastzarr.indexing.plan import Layout, Plan, Projection

__all__ = ["BasicSelection", "Grid", "Layout", "Plan", "Projection", "Selection"]
