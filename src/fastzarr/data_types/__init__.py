"""Zarr data types: their names, their NumPy dtypes, and fill values as JSON."""

from fastzarr.data_types.base import DataType, byte_order_matters
from fastzarr.data_types.objects import held
from fastzarr.data_types.registry import from_json, from_numpy, from_v2, names

__all__ = ["DataType", "byte_order_matters", "from_json", "from_numpy", "from_v2", "held", "names"]
