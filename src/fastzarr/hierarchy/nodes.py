"""Metadata documents in a store: which node is at a path, read and written."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, Literal

from fastzarr import chunk_io
from fastzarr.chunks import grid, rectilinear
from fastzarr.errors import ContainsArrayError, ContainsGroupError, MetadataError
from fastzarr.metadata import group, v2, v3
from fastzarr.metadata.group import Consolidated, GroupMetadata, NodeMetadata
from fastzarr.metadata.model import ArrayMetadata, ZarrFormat
from fastzarr.stores.base import ReadableStore, Store

NodeType = Literal["array", "group"]


def key(path: str, name: str) -> str:
    """Key of the document or chunk `name` of the node at `path`."""
    return f"{path}/{name}" if path else name


def place(store: ReadableStore, path: str) -> str:
    """The node at `path`, as texts name it."""
    return f"{store}/{path}" if path else str(store)


def read_document(store: ReadableStore, document_key: str) -> dict[str, Any] | None:
    """The JSON object under a key, or None where there is none; raises `MetadataError`."""
    data = store.get(document_key)
    if data is None:
        return None
    where = f"{store}/{document_key}"
    try:
        document = json.loads(bytes(data), parse_int=_integer)
    except (ValueError, RecursionError) as error:
        raise MetadataError(where, [f"got invalid JSON: {error}"]) from error
    if not isinstance(document, dict):
        raise MetadataError(where, [f"got {type(document).__name__}, expected an object"])
    return document


def _integer(text: str) -> int | float:
    """An integer of a document; `-0`, which NCZarr writes for a fill value of −0.0, keeps its sign."""
    return -0.0 if text == "-0" else int(text)


def write_document(store: Store, document_key: str, document: dict[str, Any]) -> None:
    """Write a JSON object as zarr-python does: two spaces of indent, UTF-8."""
    store.set(document_key, json.dumps(document, indent=2).encode())


def node_at(store: ReadableStore, path: str) -> NodeType | None:
    """What the documents at `path` say is there."""
    document = read_document(store, key(path, v3.DOCUMENT))
    if document is not None:
        return "array" if document.get("node_type") == "array" else "group"
    if store.get(key(path, v2.DOCUMENT)) is not None:
        return "array"
    return None if store.get(key(path, v2.GROUP)) is None else "group"


def read_node(
    store: ReadableStore, path: str, zarr_format: ZarrFormat | None, consolidated: bool | str | None = False
) -> NodeMetadata | None:
    """Metadata of the node at `path`, v3 before v2, or None; raises `MetadataError`.

    `consolidated` is for groups: False leaves aside what was consolidated; None takes it where it is there;
    True, or v2's key for it, requires it and raises `MetadataError`.
    """
    if zarr_format in (3, None):
        document_key = key(path, v3.DOCUMENT)
        document = read_document(store, document_key)
        if document is not None:
            where = f"{store}/{document_key}"
            if document.get("node_type") != "group":
                return v3.parse(document, where)
            if consolidated is False:
                document = {m: value for m, value in document.items() if m != group.CONSOLIDATED_V3}
            found = group.parse_v3(document, where)
            return _with_consolidated(found, where, consolidated, found.consolidated_metadata)
    if zarr_format in (2, None):
        array = read_array(store, path, 2)
        if array is not None:
            return array
        document_key = key(path, v2.GROUP)
        document = read_document(store, document_key)
        if document is not None:
            attributes = read_document(store, key(path, v2.ATTRIBUTES)) or {}
            where = f"{store}/{document_key}"
            below = _read_consolidated_v2(store, path, consolidated)
            found = group.parse_v2(document, attributes, where)
            return _with_consolidated(found, where, consolidated, below)
    return None


def _read_consolidated_v2(
    store: ReadableStore, path: str, consolidated: bool | str | None
) -> Consolidated | None:
    if consolidated is False:
        return None
    name = consolidated if isinstance(consolidated, str) else group.CONSOLIDATED_V2
    document = read_document(store, key(path, name))
    return None if document is None else group.parse_consolidated_v2(document, f"{store}/{key(path, name)}")


def _with_consolidated(
    found: GroupMetadata, where: str, consolidated: bool | str | None, below: Consolidated | None
) -> GroupMetadata:
    if below is None and consolidated:
        raise MetadataError(
            where, ["consolidated metadata: none found; use consolidate_metadata, or open without"]
        )
    return replace(found, consolidated_metadata=None if consolidated is False else below)


def read_array(store: ReadableStore, path: str, zarr_format: ZarrFormat | None) -> ArrayMetadata | None:
    """Metadata of the array at `path`, v3 before v2, or None; raises `MetadataError`."""
    if zarr_format in (3, None):
        document_key = key(path, v3.DOCUMENT)
        document = read_document(store, document_key)
        if document is not None and document.get("node_type") != "group":
            return v3.parse(document, f"{store}/{document_key}")
    if zarr_format in (2, None):
        document_key = key(path, v2.DOCUMENT)
        document = read_document(store, document_key)
        if document is not None:
            attributes = read_document(store, key(path, v2.ATTRIBUTES)) or {}
            return v2.parse(document, attributes, f"{store}/{document_key}")
    return None


def with_shape(
    store: ReadableStore,
    path: str,
    metadata: ArrayMetadata,
    shape: tuple[int, ...],
    inner: tuple[int, ...] | None,
) -> ArrayMetadata:
    """The metadata of an array with another shape; raises `MetadataError` where its chunks don't fit.

    A rectilinear grid that doesn't reach the new end gets one more chunk, of whole inner chunks of shape
    `inner` where there are any.
    """
    document = {**metadata.document, "shape": list(shape)}
    chunks = rectilinear.resized(metadata.chunks, shape, inner or (1,) * len(shape))
    if chunks != metadata.chunks:
        document["chunk_grid"] = grid.to_json(chunks)
    if metadata.zarr_format == 3:
        return v3.parse({**document, "attributes": metadata.attributes}, place(store, path))
    return v2.parse(document, metadata.attributes, place(store, path))


def erase_documents(store: Store, path: str, zarr_format: ZarrFormat) -> None:
    """Erase the documents of a node."""
    names = (v3.DOCUMENT,) if zarr_format == 3 else (v2.DOCUMENT, v2.GROUP, v2.ATTRIBUTES)
    for name in names:
        store.erase(key(path, name))


def write_array(store: Store, path: str, metadata: ArrayMetadata) -> None:
    """Write the documents of an array."""
    if metadata.zarr_format == 3:
        write_document(store, key(path, v3.DOCUMENT), metadata.to_dict())
    else:
        write_document(store, key(path, v2.ATTRIBUTES), metadata.attributes)
        write_document(store, key(path, v2.DOCUMENT), metadata.document)


def write_group(store: Store, path: str, metadata: GroupMetadata) -> None:
    """Write the documents of a group, with what is consolidated."""
    if metadata.zarr_format == 3:
        write_document(store, key(path, v3.DOCUMENT), metadata.document)
        return
    write_document(store, key(path, v2.ATTRIBUTES), metadata.attributes)
    write_document(store, key(path, v2.GROUP), metadata.document)
    if metadata.consolidated_metadata is not None:
        document = metadata.consolidated_metadata.to_v2(metadata)
        write_document(store, key(path, group.CONSOLIDATED_V2), document)


def write_node(store: Store, path: str, metadata: NodeMetadata) -> None:
    """Write the documents of a node."""
    if isinstance(metadata, ArrayMetadata):
        write_array(store, path, metadata)
    else:
        write_group(store, path, metadata)


def write_attributes(store: Store, path: str, metadata: NodeMetadata) -> None:
    """Write the document that holds the attributes."""
    if metadata.zarr_format == 3:
        write_node(store, path, metadata)
    else:
        write_document(store, key(path, v2.ATTRIBUTES), metadata.attributes)


def require_free(store: ReadableStore, path: str) -> None:
    """Raise `ContainsArrayError` or `ContainsGroupError` where a node is at `path`."""
    found = node_at(store, path)
    if found is not None:
        error = ContainsArrayError if found == "array" else ContainsGroupError
        raise error(
            f"{store}: path {path!r} is taken by an existing {found}; "
            "use overwrite=True or mode='w' to replace it"
        )


def require_no_array_above(store: ReadableStore, path: str) -> None:
    """Raise `ContainsArrayError` where a parent of `path` is an array."""
    for parent in _parents(path):
        if node_at(store, parent) == "array":
            raise ContainsArrayError(
                f"{store}: {path!r} can't be created, since {parent!r} is an array; "
                "only groups have child nodes"
            )


def write_parents(store: Store, path: str, zarr_format: ZarrFormat) -> None:
    """Create the groups above `path` that are missing."""
    for parent in _parents(path):
        if node_at(store, parent) is None:
            write_group(store, parent, GroupMetadata(zarr_format=zarr_format))


def place_node(store: Store, path: str, metadata: NodeMetadata, *, overwrite: bool) -> None:
    """Write the documents of a new node, and of the groups above it.

    Raises `ContainsArrayError` or `ContainsGroupError` for what is in the way, unless it is to be
    overwritten.
    """
    # No thread comes between the look and the writing, or else it loses the attributes of a group above.
    with chunk_io.document_lock(store, ""):
        require_no_array_above(store, path)
        if overwrite:
            store.erase_prefix(key(path, "") if path else "")
        else:
            require_free(store, path)
        write_parents(store, path, metadata.zarr_format)
        write_node(store, path, metadata)


def walk(
    store: Store, root: str, zarr_format: ZarrFormat, max_depth: int | None, relative: str = ""
) -> Iterator[tuple[str, NodeMetadata]]:
    """Path below `root` and metadata of all nodes there, by name, parents first.

    `max_depth` 0 is the members only. What is no node is left aside.
    """
    start = key(root, relative) if relative else root
    for name in sorted(store.list_dir(f"{start}/" if start else "")):
        path = key(relative, name)
        metadata = read_node(store, key(root, path), zarr_format)
        if metadata is None:
            continue
        yield path, metadata
        if isinstance(metadata, GroupMetadata) and max_depth != 0:
            yield from walk(store, root, zarr_format, None if max_depth is None else max_depth - 1, path)


def _parents(path: str) -> list[str]:
    parts = path.split("/") if path else []
    return ["/".join(parts[:count]) for count in range(len(parts))]
