"""Contender `tensorstore-sync`: TensorStore as it comes, which syncs every file it writes."""

from fastzarr.bench.backends.base import Backend
from fastzarr.bench.backends.tensorstore import TensorStore

BACKEND: Backend = TensorStore("tensorstore-sync", file_io_sync=True)
