"""Contender `tensorstore-sync`: as `tensorstore`, with its sync of every file and directory, the default."""

from fastzarr.bench.backends.base import Backend
from fastzarr.bench.backends.tensorstore import TensorStore

BACKEND: Backend = TensorStore("tensorstore-sync", file_io_sync=True)
