"""Metadata documents in a store: which node is at a path, read and written."""

from __future__ import annotations

import json
from typing import Any, Literal

from fastzarr.errors import ContainsArrayError, ContainsGroupError, MetadataError
from fastzarr.metadata import v2, v3
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


def write_array(store: Store, path: str, metadata: ArrayMetadata) -> None:
    """Write the documents of an array."""
    if metadata.zarr_format == 3:
        write_document(store, key(path, v3.DOCUMENT), metadata.to_dict())
    else:
        write_document(store, key(path, v2.ATTRIBUTES), metadata.attributes)
        write_document(store, key(path, v2.DOCUMENT), metadata.document)


def write_attributes(store: Store, path: str, metadata: ArrayMetadata) -> None:
    """Write the document that holds the attributes."""
    if metadata.zarr_format == 3:
        write_array(store, path, metadata)
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
        if node_at(store, parent) is not None:
            continue
        if zarr_format == 3:
            write_document(store, key(parent, v3.DOCUMENT), v3.group_document())
        else:
            write_document(store, key(parent, v2.ATTRIBUTES), {})
            write_document(store, key(parent, v2.GROUP), v2.group_document())


def _parents(path: str) -> list[str]:
    parts = path.split("/") if path else []
    return ["/".join(parts[:count]) for count in range(len(parts))]
