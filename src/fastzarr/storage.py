"""Stores under the names of zarr-python's `zarr.storage`."""

from fastzarr.stores.fsspec import FsspecStore
from fastzarr.stores.local import LocalStore
from fastzarr.stores.memory import MemoryStore
from fastzarr.stores.object import ObjectStore
from fastzarr.stores.registry import StoreLike
from fastzarr.stores.wrappers import LoggingStore, WrapperStore
from fastzarr.stores.zip import ZipStore

__all__ = [
    "FsspecStore",
    "LocalStore",
    "LoggingStore",
    "MemoryStore",
    "ObjectStore",
    "StoreLike",
    "WrapperStore",
    "ZipStore",
]
