"""The equal-work gate: what a backend stores for a small array, against what the case asks for.

Looked at before timing: chunk shape and keys, codecs and their settings in the metadata document, and
whether a chunk that equals the fill value is left out.
"""

import json
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from fastzarr.bench.backends.base import Backend, Case, Described, Layout
from fastzarr.bench.backends.regions.base import RegionBackend

METADATA = {"zarr.json", ".zarray", ".zattrs", ".zgroup", ".zmetadata"}
"""Names of files that are no chunks."""

Codec = tuple[str, dict[str, Any]]
"""Name and configuration."""

FILL_STEP = 1


def differences(backend: Backend, case: Case, path: Path) -> list[str]:
    """What `backend` does otherwise than `case` asks for; raises whatever the backend raises.

    Writes three steps, the middle one all fill value, of at most 8 elements along each axis.
    """
    small = replace(case, shape=(3, *(min(n, 8) for n in case.shape[1:])))
    fill = np.full(small.shape[1:], small.fill_value, small.dtype)
    data = (fill != 1).astype(small.dtype)
    with closing(backend.create(path, small)) as writer:
        for step in range(3):
            writer.write(step, fill if step == FILL_STEP else data)
    if backend.kind == "baseline":
        return []
    return _stored_otherwise(path, small)


def region_differences(backend: RegionBackend, layout: Layout, path: Path) -> list[str]:
    """As `differences`, of three chunks or shards in a row, of at most 8 elements along each axis."""
    chunks = tuple(min(n, 8) for n in layout.chunks)
    shards = tuple(2 * n for n in chunks) if layout.shards else None
    objects = shards or chunks
    small = replace(layout, shape=(3 * objects[0], *objects[1:]), chunks=chunks, shards=shards)
    if backend.kind == "baseline":
        return []
    fill = layout.dtype.type(layout.fill_value)
    data = np.full(small.shape, fill != 1, small.dtype)
    data[objects[0] : 2 * objects[0]] = fill
    array = backend.create(path, small)
    array.write(small.whole, data)
    array.flush()
    return _stored_otherwise(path, small)


def _stored_otherwise(path: Path, asked: Described) -> list[str]:
    documents = list(_array_documents(path))
    if len(documents) != 1:
        return [f"{len(documents)} array metadata documents instead of one"]
    root, document = documents[0]
    if asked.shards is not None:
        return [
            *_other_shards(document, asked),
            *_other_codecs(_inner(document), asked),
            *_other_keys(root, asked),
        ]
    return [*_other_layout(document, asked), *_other_codecs(document, asked), *_other_keys(root, asked)]


def _array_documents(path: Path) -> Iterator[tuple[Path, dict[str, Any]]]:
    for file in (*path.rglob("zarr.json"), *path.rglob(".zarray")):
        document = json.loads(file.read_text(encoding="utf-8"))
        if file.name == ".zarray" or document["node_type"] == "array":
            yield file.parent, document


def _other_layout(document: dict[str, Any], case: Described) -> Iterator[str]:
    if document["zarr_format"] == 3:
        chunks = document["chunk_grid"]["configuration"]["chunk_shape"]
        dtype = np.dtype(document["data_type"])
    else:
        chunks, dtype = document["chunks"], np.dtype(document["dtype"])
    found = {"Zarr format": document["zarr_format"], "chunk shape": tuple(chunks), "data type": dtype}
    asked = {"Zarr format": case.zarr_format, "chunk shape": case.objects, "data type": case.dtype}
    return (f"{key} {found[key]} instead of {asked[key]}" for key in asked if found[key] != asked[key])


def _other_shards(document: dict[str, Any], asked: Described) -> Iterator[str]:
    grid = document["chunk_grid"]["configuration"]["chunk_shape"]
    names = [codec["name"] for codec in document["codecs"]]
    if names != ["sharding_indexed"]:
        yield f"codecs {' + '.join(names)} instead of sharding_indexed"
        return
    sharding = document["codecs"][0]["configuration"]
    index = [codec["name"] for codec in sharding["index_codecs"]]
    found = {
        "shard shape": tuple(grid),
        "chunk shape": tuple(sharding["chunk_shape"]),
        "data type": np.dtype(document["data_type"]),
        "index location": sharding.get("index_location", "end"),
        "index codecs": index,
    }
    expected = {
        "shard shape": asked.shards,
        "chunk shape": asked.chunks,
        "data type": asked.dtype,
        "index location": "end",
        "index codecs": ["bytes", "crc32c"],
    }
    for key, value in expected.items():
        if found[key] != value:
            yield f"{key} {found[key]} instead of {value}"


def _inner(document: dict[str, Any]) -> dict[str, Any]:
    """The document with the codecs of inner chunks for those of shards."""
    first = document["codecs"][0]
    return document | {"codecs": first.get("configuration", {}).get("codecs", [])}


def _other_codecs(document: dict[str, Any], case: Described) -> Iterator[str]:
    found, asked = _codecs(document), _asked_codecs(case)
    if [name for name, _ in found] != [name for name, _ in asked]:
        yield f"codecs {_names(found)} instead of {_names(asked)}"
        return
    for (name, has), (_, wants) in zip(found, asked, strict=True):
        for key, value in wants.items():
            if has.get(key) != value:
                yield f"{name} {key} {has.get(key)} instead of {value}"


def _other_keys(root: Path, case: Described) -> Iterator[str]:
    found = {str(f.relative_to(root)) for f in root.rglob("*") if f.is_file() and f.name not in METADATA}
    asked = {_chunk_key(step, case) for step in range(3)}
    fill_key = _chunk_key(FILL_STEP, case)
    if found == asked:
        yield "stores chunks that equal the fill value"
    elif found != asked - {fill_key}:
        yield f"chunk keys {', '.join(sorted(found))} instead of {', '.join(sorted(asked - {fill_key}))}"


def _chunk_key(step: int, case: Described) -> str:
    indices = [str(step), *["0"] * (len(case.shape) - 1)]
    return "/".join(["c", *indices]) if case.zarr_format == 3 else ".".join(indices)


def _codecs(document: dict[str, Any]) -> list[Codec]:
    """The codecs of a document without what every array has, in the words of Zarr v3."""
    if document["zarr_format"] == 3:
        codecs = [(codec["name"], codec.get("configuration", {})) for codec in document["codecs"]]
        found = [codec for codec in codecs if codec[0] != "bytes" or codec[1].get("endian") == "big"]
    else:
        configs = [*(document.get("filters") or []), document["compressor"]]
        found = [(config["id"], config) for config in configs if config is not None]
    return [(name, _with_defaults(name, configuration)) for name, configuration in found]


def _with_defaults(name: str, configuration: dict[str, Any]) -> dict[str, Any]:
    if name == "zstd":
        return {"checksum": False} | configuration
    if name == "blosc":
        shuffles: dict[Any, str] = {0: "noshuffle", 1: "shuffle", 2: "bitshuffle"}
        shuffle = configuration.get("shuffle")
        return {"blocksize": 0} | configuration | {"shuffle": shuffles.get(shuffle, shuffle)}
    return configuration


def _asked_codecs(case: Described) -> list[Codec]:
    level = case.level
    if case.codec == "none":
        return []
    if case.codec == "zstd":
        return [("zstd", {"level": level, "checksum": False})]
    if case.codec == "zlib":
        return [("zlib" if case.zarr_format == 2 else "gzip", {"level": level})]
    blosc = {"cname": "lz4", "clevel": level, "shuffle": "shuffle", "blocksize": 0}
    return [("blosc", blosc if case.zarr_format == 2 else blosc | {"typesize": case.dtype.itemsize})]


def _names(codecs: list[Codec]) -> str:
    return " + ".join(name for name, _ in codecs) or "none"
