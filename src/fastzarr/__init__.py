"""fastzarr: Zarr at the speed of the disk."""

from fastzarr import codecs, errors, storage
from fastzarr.hierarchy.array import Array, ArrayConfig
from fastzarr.hierarchy.create import create, create_array
from fastzarr.hierarchy.open import open, open_array  # noqa: A004
from fastzarr.stores.local import LocalStore
from fastzarr.stores.memory import MemoryStore

__all__ = [
    "Array",
    "ArrayConfig",
    "LocalStore",
    "MemoryStore",
    "codecs",
    "create",
    "create_array",
    "errors",
    "open",
    "open_array",
    "storage",
]
__version__ = "0.1.0"
