"""Zarr v3 array documents (`zarr.json`).

Source: Zarr v3 core specification 3.1, "Array metadata".
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fastzarr import data_types
from fastzarr.chunks import grid, key_encoding, rectilinear
from fastzarr.chunks.axis import ChunkSizes
from fastzarr.chunks.key_encoding import ChunkKeyEncoding
from fastzarr.data_types import DataType
from fastzarr.metadata.model import ArrayMetadata, CodecConfig, Problems

DOCUMENT = "zarr.json"

_REQUIRED = (
    "zarr_format",
    "node_type",
    "shape",
    "data_type",
    "chunk_grid",
    "chunk_key_encoding",
    "fill_value",
    "codecs",
)
_OPTIONAL = ("attributes", "dimension_names", "storage_transformers")


def create_document(
    *,
    shape: tuple[int, ...],
    data_type: DataType,
    chunks: tuple[ChunkSizes, ...],
    chunk_key_encoding: ChunkKeyEncoding,
    fill_value: Any,
    codecs: Sequence[CodecConfig],
    attributes: dict[str, Any],
    dimension_names: Sequence[str | None] | None,
) -> dict[str, Any]:
    """The document of a new array, member by member as zarr-python writes it."""
    document: dict[str, Any] = {
        "shape": list(shape),
        "data_type": data_type.to_json(3),
        "chunk_grid": grid.to_json(chunks),
        "chunk_key_encoding": chunk_key_encoding.to_dict(),
        "fill_value": data_type.fill_value_to_json(fill_value, 3),
        "codecs": [codec.to_dict() for codec in codecs],
        "attributes": attributes,
    }
    if dimension_names is not None:
        document["dimension_names"] = list(dimension_names)
    return document | {"zarr_format": 3, "node_type": "array", "storage_transformers": []}


def parse(document: dict[str, Any], where: str) -> ArrayMetadata:
    """Model of a v3 array document; `where` names it in errors. Raises `MetadataError` with all problems."""
    problems = Problems(where)
    missing = [member for member in _REQUIRED if member not in document]
    if missing:
        problems.found.append(f"missing members: {', '.join(missing)}")
        problems.raise_if_any()
    if document["zarr_format"] != 3:
        problems.add("zarr_format", document["zarr_format"], "3")
    if document["node_type"] != "array":
        problems.add("node_type", document["node_type"], "'array'")
    shape = problems.sizes(document, "shape", 0)
    data_type = problems.attempt(data_types.from_json, document["data_type"])
    chunks = _parse_grid(document["chunk_grid"], shape, problems)
    problems.chunks_fit(chunks, data_type)
    encoding = problems.attempt(key_encoding.parse, document["chunk_key_encoding"])
    fill_value = None
    if data_type is not None:
        fill_value = problems.attempt(data_type.parse_fill_value, document["fill_value"], 3)
    codecs = _parse_codecs(document["codecs"], problems)
    attributes = document.get("attributes", {})
    if not isinstance(attributes, dict):
        problems.add("attributes", attributes, "an object")
    names = _parse_dimension_names(document.get("dimension_names"), shape, problems)
    if document.get("storage_transformers"):
        problems.add("storage_transformers", document["storage_transformers"], "an empty list")
    check_others({m: document[m] for m in document.keys() - {*_REQUIRED, *_OPTIONAL}}, problems)
    problems.raise_if_any()
    assert shape is not None
    assert chunks is not None
    return ArrayMetadata(
        zarr_format=3,
        shape=shape,
        data_type=data_type,
        chunks=chunks,
        chunk_key_encoding=encoding,
        fill_value=fill_value,
        codecs=codecs,
        order="C",
        dimension_names=names,
        attributes=attributes,
        document=document,
    )


def check_others(members: dict[str, Any], problems: Problems) -> None:
    """Note members of a document that fastzarr doesn't know but would have to understand."""
    for member, value in members.items():
        if not isinstance(value, dict) or value.get("must_understand") is not False:
            problems.add(
                member, value, "no such member, or an object with must_understand false (Zarr v3 core)"
            )


def _parse_grid(
    given: object, shape: tuple[int, ...] | None, problems: Problems
) -> tuple[ChunkSizes, ...] | None:
    if not isinstance(given, dict) or given.get("name") not in ("regular", rectilinear.NAME):
        problems.add("chunk_grid", given, "the name 'regular' with a chunk_shape, or 'rectilinear'")
        return None
    configuration = given.get("configuration")
    if not isinstance(configuration, dict):
        problems.add("configuration of chunk_grid", configuration, "an object with a chunk_shape")
        return None
    if given["name"] == rectilinear.NAME:
        return problems.attempt(rectilinear.parse, configuration, shape)  # type: ignore[no-any-return]
    chunks = problems.sizes(configuration, "chunk_shape", 1)
    if chunks is not None and shape is not None and len(chunks) != len(shape):
        problems.add("chunk_shape", list(chunks), f"{len(shape)} sizes, one for each dimension")
    return chunks


def _parse_codecs(codecs: object, problems: Problems) -> tuple[CodecConfig, ...]:
    if not isinstance(codecs, list) or not codecs:
        problems.add("codecs", codecs, "a list with at least one codec")
        return ()
    parsed = []
    for codec in codecs:
        entry = {"name": codec} if isinstance(codec, str) else codec
        if not isinstance(entry, dict) or not isinstance(entry.get("name"), str):
            problems.add("codecs", codec, "an object with a name")
            continue
        configuration = entry.get("configuration", {})
        if not isinstance(configuration, dict):
            problems.add(f"configuration of codec {entry['name']!r}", configuration, "an object")
            continue
        parsed.append(CodecConfig(name=entry["name"], configuration=configuration))
    return tuple(parsed)


def _parse_dimension_names(
    names: object, shape: tuple[int, ...] | None, problems: Problems
) -> tuple[str | None, ...] | None:
    if names is None:
        return None
    if (
        not isinstance(names, list)
        or any(name is not None and not isinstance(name, str) for name in names)
        or (shape is not None and len(names) != len(shape))
    ):
        count = "one for each dimension" if shape is None else f"{len(shape)} of them"
        problems.add("dimension_names", names, f"a list of names or nulls, {count}")
        return None
    return tuple(names)
