"""What callers may give as a store."""

from __future__ import annotations

import os
import re
from collections.abc import MutableMapping
from typing import Any

from fastzarr.errors import KeyNameError
from fastzarr.stores.base import Store, check_key
from fastzarr.stores.fsspec import FsspecStore
from fastzarr.stores.local import LocalStore, is_unfinished
from fastzarr.stores.memory import MemoryStore
from fastzarr.stores.object import SCHEMES, ObjectStore

_DOCUMENTS = ("zarr.json", ".zarray", ".zgroup", ".zattrs", ".zmetadata")

_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*(?:://|::.*://)")

StoreLike = Store | str | os.PathLike[str] | MutableMapping[str, bytes] | None
"""Also a store of obstore, which has no type that could be named here."""

_named: dict[str, dict[str, bytes]] = {}
"""Objects of the stores in memory that URLs name."""


def open_store(store: StoreLike, storage_options: dict[str, Any] | None = None) -> Store:
    """The store that a caller means.

    - a store is taken as it is; so are those of obstore and mappings of fsspec, in an adapter
    - text and paths are directories; archives are opened with `ZipStore`
    - `file://` is a directory; `memory://NAME` is shared in this process, `memory://` is a new store
    - other URLs are opened by obstore if it is installed and knows the scheme, else by fsspec
    - mappings keep what they are given; None is a new store in memory

    `storage_options` are for URLs only, and those of the package that opens them. Raises `TypeError` or
    `ValueError` for anything else, `NotADirectoryError` for a file, `ImportError` where a package is missing.
    """
    if isinstance(store, str) and _URL.match(store):
        return _open_url(store, storage_options)
    if storage_options is not None:
        raise TypeError(f"storage_options: got {storage_options!r} without a URL, expected None")
    if store is None:
        return MemoryStore()
    if isinstance(store, str | os.PathLike):
        return _open_directory(os.fspath(store))
    if hasattr(store, "get_into"):
        return store  # type: ignore[return-value]
    module = type(store).__module__
    if module.split(".")[0] in ("obstore", "_obstore"):
        return ObjectStore(store)
    if module.split(".")[0] == "fsspec" and hasattr(store, "root"):
        return _open_mapping(store)
    if isinstance(store, MutableMapping):
        return MemoryStore(store)
    raise TypeError(f"store: got {type(store).__name__}, expected a store, a path, a URL, a mapping or None")


def _open_url(url: str, storage_options: dict[str, Any] | None) -> Store:
    scheme, _, rest = url.partition("://")
    if scheme == "file" and not storage_options:
        return _open_directory(rest)
    if scheme == "memory" and not storage_options:
        if "/" in rest.strip("/"):
            raise ValueError(f"{url!r}: expected memory://NAME; give what is in the store as path or name")
        return MemoryStore(_named.setdefault(rest.rstrip("/"), {}) if rest else None)
    if "::" not in url and scheme in SCHEMES and _is_installed("obstore"):
        return ObjectStore.from_url(url, storage_options=storage_options)
    if _is_installed("fsspec"):
        try:
            return FsspecStore.from_url(url, storage_options=storage_options)
        except ImportError as error:
            raise ImportError(f"{url!r}: {error}; pip install 'fastzarr[remote]'") from error
    raise ImportError(f"{url!r} needs obstore or fsspec: pip install 'fastzarr[remote]'")


def _open_directory(path: str) -> Store:
    if os.path.isfile(path):
        raise NotADirectoryError(
            f"store {path!r}: got a file, expected a directory; ZipStore({path!r}) opens a ZIP archive"
        )
    return LocalStore(path)


def _open_mapping(fs_map: Any) -> Store:
    """The local file system of fsspec writes in place; ours doesn't."""
    if type(fs_map.fs).__name__ == "LocalFileSystem":
        return LocalStore(fs_map.root)
    return FsspecStore.from_mapper(fs_map)


def _is_installed(package: str) -> bool:
    from importlib.util import find_spec

    return find_spec(package) is not None


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
