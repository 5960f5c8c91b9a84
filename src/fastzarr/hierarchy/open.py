"""Opening of nodes, with the modes of zarr-python."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from inspect import signature
from typing import Any, Literal, get_args

from fastzarr.errors import (
    ArrayNotFoundError,
    ContainsArrayError,
    ContainsGroupError,
    GroupNotFoundError,
    NodeExistsError,
    ReadOnlyError,
)
from fastzarr.hierarchy import filled, nodes
from fastzarr.hierarchy.array import Array, make_array
from fastzarr.hierarchy.attributes import as_stored
from fastzarr.hierarchy.config import ConfigLike
from fastzarr.hierarchy.create import create
from fastzarr.hierarchy.group import Group, place_hierarchy
from fastzarr.metadata.group import GroupMetadata, NodeMetadata
from fastzarr.metadata.model import ArrayMetadata, ZarrFormat
from fastzarr.stores.base import Store
from fastzarr.stores.registry import StoreLike, normalize_path, open_store

Mode = Literal["r", "r+", "a", "w", "w-"]
PathLike = str | os.PathLike[str] | None

_KEYWORDS = frozenset(signature(create).parameters)
"""Of the creation of an array."""


def open_array(
    store: StoreLike = None,
    *,
    mode: Mode | None = None,
    zarr_format: ZarrFormat | None = None,
    path: str | os.PathLike[str] | None = "",
    storage_options: dict[str, Any] | None = None,
    config: ConfigLike = None,
    **kwargs: Any,
) -> Array:
    """Open an array, or create it with the keywords of `create`.

    `mode`: `"r"` read only, must exist; `"r+"` read and write, must exist; `"a"` read and write, created if
    absent; `"w"` created, what is there is erased; `"w-"` created, must be empty; None opens an existing
    array with what the store allows. `zarr_format`: 2 or 3; by default v3 is looked for first. `path`: of the
    array in the store.

    Raises `ArrayNotFoundError`, `NodeExistsError`, `ReadOnlyError`, `MetadataError`.
    """
    opened, node_path = _located(store, path, mode, storage_options)
    if mode != "w":
        metadata = nodes.read_array(opened, node_path, zarr_format)
        if metadata is not None:
            return _existing(opened, node_path, metadata, config, kwargs)
        if mode in (None, "r", "r+") or "shape" not in kwargs:
            raise ArrayNotFoundError(_not_found("array", opened, node_path, zarr_format, mode))
    elif "shape" not in kwargs:
        raise TypeError("shape: missing; mode 'w' creates an array and needs its shape")
    kwargs["overwrite"] = mode == "w" or kwargs.get("overwrite", False)
    try:
        return create(store=opened, path=node_path, zarr_format=zarr_format, config=config, **kwargs)
    except ContainsArrayError:
        metadata = nodes.read_array(opened, node_path, zarr_format) if mode == "a" else None
        if metadata is None:
            raise
        return make_array(opened, node_path, metadata, config)  # another thread was first


def open_group(
    store: StoreLike = None,
    *,
    mode: Mode | None = None,
    path: PathLike = None,
    storage_options: dict[str, Any] | None = None,
    zarr_format: ZarrFormat | None = None,
    attributes: Mapping[str, Any] | None = None,
    use_consolidated: bool | str | None = None,
) -> Group:
    """Open a group, or create it with `attributes`.

    `mode`: as for `open_array`; by default `"a"`, on a read-only store `"r"`. `use_consolidated`: None takes
    consolidated metadata where it is there, True (or v2's key of it) requires it, False leaves it aside.

    Raises `GroupNotFoundError`, `ContainsArrayError`, `NodeExistsError`, `ReadOnlyError`, `MetadataError`.
    """
    if mode is None:
        store = open_store(store, storage_options)
        mode, storage_options = "r" if store.read_only else "a", None
    opened, node_path = _located(store, path, mode, storage_options)
    if mode in ("r", "r+", "a"):
        metadata = nodes.read_node(opened, node_path, zarr_format, use_consolidated)
        if isinstance(metadata, GroupMetadata):
            return Group(opened, node_path, metadata)
        if isinstance(metadata, ArrayMetadata) and mode == "a":
            raise ContainsArrayError(f"{opened}: there is an array at path {node_path!r}, expected a group")
        if mode != "a":
            raise GroupNotFoundError(_not_found("group", opened, node_path, zarr_format, mode))
    try:
        return create_group(
            opened,
            path=node_path,
            zarr_format=zarr_format,
            overwrite=mode == "w",
            attributes=attributes,
        )
    except ContainsGroupError:
        metadata = nodes.read_node(opened, node_path, zarr_format, use_consolidated) if mode == "a" else None
        if not isinstance(metadata, GroupMetadata):
            raise
        return Group(opened, node_path, metadata)  # another thread was first


def create_group(
    store: StoreLike,
    *,
    path: PathLike = None,
    zarr_format: ZarrFormat | None = None,
    overwrite: bool = False,
    attributes: Mapping[str, Any] | None = None,
    storage_options: dict[str, Any] | None = None,
) -> Group:
    """Create a group, and the groups above it that are missing.

    Raises `ContainsArrayError` or `ContainsGroupError` for what is in the way, unless it is to be
    overwritten; `MetadataError` for attributes that JSON can't say.
    """
    opened = open_store(store, storage_options)
    node_path = normalize_path(path)
    chosen: ZarrFormat = 3 if zarr_format is None else zarr_format
    metadata = GroupMetadata(zarr_format=chosen, attributes=as_stored(attributes or {}))
    nodes.place_node(opened, node_path, metadata, overwrite=overwrite)
    return Group(opened, node_path, metadata)


def group(store: StoreLike = None, *, overwrite: bool = False, **options: Any) -> Group:
    """Open a group, created where it is missing; `overwrite` replaces it. `options` as for `open_group`."""
    return open_group(store, mode="w" if overwrite else "a", **options)


def create_hierarchy(
    *, store: StoreLike, nodes: Mapping[str, NodeMetadata], overwrite: bool = False
) -> Iterator[tuple[str, Array | Group]]:
    """Create many nodes from their metadata, by path; gives path and node of each, parents first.

    Groups above that are missing are created. Raises `ContainsArrayError` or `ContainsGroupError` for what is
    in the way, unless it is to be overwritten.
    """
    opened = open_store(store)
    given = {normalize_path(path): metadata for path, metadata in nodes.items()}
    yield from place_hierarchy(opened, given, overwrite=overwrite)


def open(  # noqa: A001
    store: StoreLike = None,
    *,
    mode: Mode | None = None,
    zarr_format: ZarrFormat | None = None,
    path: PathLike = None,
    storage_options: dict[str, Any] | None = None,
    **options: Any,
) -> Array | Group:
    """Open the array or group at a path; `options` as for `open_array` or `open_group`.

    `mode` is `"a"` by default (`"r"` on a read-only store). Where nothing is there, `shape` among `options`
    creates an array, else a group is created.
    """
    opened = open_store(store, storage_options)
    if mode is None:
        mode = "r" if opened.read_only else "a"
    chosen: dict[str, Any] = {"mode": mode, "zarr_format": zarr_format, "path": path, **options}
    if "shape" in options:
        return open_array(opened, **chosen)
    if mode in ("r", "r+", "a"):
        located, node_path = _located(opened, path, mode, None)
        found = nodes.read_node(located, node_path, zarr_format, options.get("use_consolidated"))
        if isinstance(found, ArrayMetadata):
            config = options.pop("config", None)
            return _existing(located, node_path, found, config, options)
        if isinstance(found, GroupMetadata) and options.keys() <= {"attributes", "use_consolidated"}:
            return Group(located, node_path, found)
    return open_group(opened, **chosen)


def open_like(a: Any, path: PathLike, **options: Any) -> Array:
    """Open the array at `path`, or create it like `a` there; `options` as for `open_array`."""
    given = {"fill_value": a.fill_value} if isinstance(a, Array) else {}
    return open_array(path=path, **filled.like(a, given | options))


def _existing(
    store: Store, path: str, metadata: ArrayMetadata, config: ConfigLike, options: Mapping[str, Any]
) -> Array:
    """The array that is there; `options` would have been for its creation. Raises `TypeError` for others."""
    unknown = sorted(options.keys() - _KEYWORDS)
    if unknown:
        raise TypeError(f"got unexpected keywords: {', '.join(unknown)}")
    return make_array(store, path, metadata, config)


def _located(
    store: StoreLike, path: PathLike, mode: Mode | None, storage_options: dict[str, Any] | None
) -> tuple[Store, str]:
    """Store and path of a node to open, where the mode allows it."""
    if mode is not None and mode not in get_args(Mode):
        raise ValueError(f"mode: got {mode!r}, expected one of {', '.join(get_args(Mode))}, or None")
    opened = open_store(store, storage_options)
    node_path = normalize_path(path)
    if mode == "r":
        opened = opened.with_read_only()
    elif mode is not None and opened.read_only:
        raise ReadOnlyError(
            f"{opened} is read only, but mode is {mode!r}; expected mode 'r', or a writable store"
        )
    if mode == "w-" and _is_used(opened, node_path):
        raise NodeExistsError(
            f"{opened}: path {node_path!r} holds data already; use mode 'w' to replace it, or 'a'"
        )
    return opened, node_path


def _is_used(store: Store, path: str) -> bool:
    return next(iter(store.list_dir(nodes.key(path, ""))), None) is not None


def _not_found(
    wanted: nodes.NodeType, store: Store, path: str, zarr_format: ZarrFormat | None, mode: Mode | None
) -> str:
    node = nodes.node_at(store, path)
    text = f"no {wanted} found in store {store} at path {path!r}"
    if node == "group" and wanted == "array":
        return f"{text}; there is a group, open one of its arrays with path=…"
    if node == "array" and wanted == "group":
        return f"{text}; there is an array, open it with open_array"
    if node is not None:
        return f"{text} in Zarr format {zarr_format}; there is one in the other format"
    if mode in ("a", "w-"):
        return f"{text}; give shape=… to create one"
    return text
