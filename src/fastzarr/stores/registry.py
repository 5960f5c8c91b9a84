"""What callers may give as a store."""

from __future__ import annotations

import os
from collections.abc import MutableMapping

from fastzarr.errors import KeyNameError
from fastzarr.stores.base import Store, check_key
from fastzarr.stores.local import LocalStore, is_unfinished
from fastzarr.stores.memory import MemoryStore

_DOCUMENTS = ("zarr.json", ".zarray", ".zgroup", ".zattrs", ".zmetadata")

StoreLike = Store | str | os.PathLike[str] | MutableMapping[str, bytes] | None


def open_store(store: StoreLike) -> Store:
    """A store itself, a directory (path or `file://` URL), a dictionary, or None for a new memory store.

    Raises `TypeError` or `ValueError` for anything else.
    """
    if store is None:
        return MemoryStore()
    if isinstance(store, str):
        scheme, separator, rest = store.partition("://")
        if not separator:
            return LocalStore(store)
        if scheme == "file":
            return LocalStore(rest)
        if scheme == "memory" and not rest:
            return MemoryStore()
        raise ValueError(
            f"store {store!r}: got scheme {scheme!r}, expected a path, 'file://…' or 'memory://'"
        )
    if isinstance(store, os.PathLike):
        return LocalStore(store)
    if isinstance(store, dict):
        return MemoryStore(store)
    if hasattr(store, "get_into"):
        return store  # type: ignore[return-value]
    raise TypeError(
        f"store: got {type(store).__name__}, expected a store, a path, a 'file://' URL, a dictionary or None"
    )


def normalize_path(path: object) -> str:
    """Node path without leading, trailing or doubled slashes.

    Raises `KeyNameError` for parts that are `.` or `..`, the name of a metadata document or of an unfinished
    file, or no Unicode text; `TypeError` for what is no path.
    """
    text = "" if path is None else os.fspath(path)  # type: ignore[call-overload]
    if not isinstance(text, str):
        raise TypeError(f"path: got {path!r}, expected text")
    parts = [part for part in text.replace("\\", "/").split("/") if part]
    for part in parts:
        surrogates = any("\ud800" <= letter <= "\udfff" for letter in part)
        if part in _DOCUMENTS or is_unfinished(part) or surrogates:
            raise KeyNameError(f"path {path!r}: {part!r} can't be the name of a node; choose another")
    if parts:
        check_key("/".join(parts))
    return "/".join(parts)
