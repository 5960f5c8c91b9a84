"""Opening of arrays, with the modes of zarr-python."""

from __future__ import annotations

import os
from typing import Any, Literal, get_args

from fastzarr.errors import ArrayNotFoundError, MetadataError, NodeExistsError, ReadOnlyError
from fastzarr.hierarchy import nodes
from fastzarr.hierarchy.array import Array, ArrayConfig
from fastzarr.hierarchy.create import ConfigLike, create, parse_config
from fastzarr.metadata import v2, v3
from fastzarr.metadata.model import ArrayMetadata, ZarrFormat
from fastzarr.stores.base import Store
from fastzarr.stores.registry import StoreLike, normalize_path, open_store

Mode = Literal["r", "r+", "a", "w", "w-"]


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
    if mode != "w":
        metadata = nodes.read_array(opened, node_path, zarr_format)
        if metadata is not None:
            return _array(opened, node_path, metadata, parse_config(config))
        if mode in (None, "r", "r+") or "shape" not in kwargs:
            raise ArrayNotFoundError(_not_found(opened, node_path, zarr_format, mode))
    elif "shape" not in kwargs:
        raise TypeError("shape: missing; mode 'w' creates an array and needs its shape")
    kwargs["overwrite"] = mode == "w" or kwargs.get("overwrite", False)
    return create(store=opened, path=node_path, zarr_format=zarr_format, config=config, **kwargs)


def open(  # noqa: A001
    store: StoreLike = None,
    *,
    mode: Mode | None = None,
    zarr_format: ZarrFormat | None = None,
    path: str | None = None,
    storage_options: dict[str, Any] | None = None,
    config: ConfigLike = None,
    **kwargs: Any,
) -> Array:
    """Open the node at a path; as `open_array`, but `mode` is `"a"` by default (`"r"` on a read-only store).

    Only arrays can be opened yet: a group raises `ArrayNotFoundError`.
    """
    opened = open_store(store, storage_options)
    if mode is None:
        mode = "r" if opened.read_only else "a"
    return open_array(
        opened,
        mode=mode,
        zarr_format=zarr_format,
        path=path,
        config=config,
        **kwargs,
    )


def _array(store: Store, path: str, metadata: ArrayMetadata, config: ArrayConfig) -> Array:
    """The array, where its codecs are known and fit; errors of codecs get the name of the document."""
    try:
        return Array(store, path, metadata, config)
    except MetadataError as error:
        document_key = nodes.key(path, v3.DOCUMENT if metadata.zarr_format == 3 else v2.DOCUMENT)
        problems = [f"{error.where}: {problem}" for problem in error.problems]
        raise type(error)(f"{store}/{document_key}", problems) from error


def _is_used(store: Store, path: str) -> bool:
    return next(iter(store.list_dir(nodes.key(path, ""))), None) is not None


def _not_found(store: Store, path: str, zarr_format: ZarrFormat | None, mode: Mode | None) -> str:
    node = nodes.node_at(store, path)
    text = f"no array found in store {store} at path {path!r}"
    if node == "group":
        return f"{text}; there is a group, open one of its arrays with path=…"
    if node == "array":
        return f"{text} in Zarr format {zarr_format}; there is one in the other format"
    if mode in ("a", "w-"):
        return f"{text}; give shape=… to create one"
    return text
