"""Stores: where keys and their bytes are kept."""

from fastzarr.stores.fsspec import FsspecStore
from fastzarr.stores.local import LocalStore
from fastzarr.stores.memory import MemoryStore
from fastzarr.stores.object import ObjectStore
from fastzarr.stores.wrappers import LoggingStore, WrapperStore
from fastzarr.stores.zip import ZipStore

__all__ = [
    "FsspecStore",
    "LocalStore",
    "LoggingStore",
    "MemoryStore",
    "ObjectStore",
    "WrapperStore",
    "ZipStore",
]
