"""Stores: where keys and their bytes are kept."""

from fastzarr.stores.local import LocalStore
from fastzarr.stores.memory import MemoryStore

__all__ = ["LocalStore", "MemoryStore"]
