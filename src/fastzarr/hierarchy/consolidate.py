"""Consolidation: the documents of all nodes below a group, kept with the group."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from fastzarr import chunk_io
from fastzarr.hierarchy import nodes
from fastzarr.hierarchy.group import Group
from fastzarr.hierarchy.open import open_group
from fastzarr.metadata.group import consolidate
from fastzarr.metadata.model import ZarrFormat
from fastzarr.stores.registry import StoreLike


def consolidate_metadata(
    store: StoreLike, path: str | None = None, zarr_format: ZarrFormat | None = None
) -> Group:
    """Write the documents of all nodes below a group into the group's own, and return the group.

    It is then opened, with all below, by reading one document (v2: `.zmetadata` too). What is created,
    changed or removed later has to be consolidated again. Raises `GroupNotFoundError`, `ReadOnlyError`.
    """
    group = open_group(store, path=path, mode="r+", zarr_format=zarr_format, use_consolidated=False)
    opened, at = group.store, group.path
    with chunk_io.document_lock(opened, at):
        metadata = open_group(opened, path=at, zarr_format=zarr_format, use_consolidated=False).metadata
        found = dict(nodes.walk(opened, at, metadata.zarr_format, None))
        below = consolidate(nodes.place(opened, at), metadata.zarr_format, found)
        metadata = replace(metadata, consolidated_metadata=below)
        nodes.write_group(opened, at, metadata)
    return Group(opened, at, metadata)


def open_consolidated(store: StoreLike, *, use_consolidated: Any = True, **options: Any) -> Group:
    """Open a group by its consolidated metadata, which must be there; `options` as for `open_group`."""
    return open_group(store, use_consolidated=use_consolidated, **options)
