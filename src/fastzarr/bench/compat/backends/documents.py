"""The metadata document of a case, for libraries that create an array from one."""

from typing import Any

from fastzarr.bench.compat.cases import Case
from fastzarr.bench.compat.values import numpy_dtype


def array_document(case: Case) -> dict[str, Any]:
    """What `.zarray` (Zarr v2) or `zarr.json` (v3) holds."""
    return _v2(case) if case.zarr_format == 2 else _v3(case)


def _v2(case: Case) -> dict[str, Any]:
    is_string = case.data_type == "string"
    return {
        "zarr_format": 2,
        "shape": list(case.shape),
        "chunks": list(case.chunk_shape),
        "dtype": "|O" if is_string else numpy_dtype(case).str,
        "compressor": v2_compressor(case),
        "fill_value": case.fill_value,
        "order": "C",
        "filters": [{"id": "vlen-utf8"}] if is_string else None,
        "dimension_separator": ".",
    }


def v2_compressor(case: Case) -> dict[str, Any] | None:
    """The v2 form of the codec."""
    blosc = {"id": "blosc", "cname": "lz4", "clevel": case.level, "shuffle": 1, "blocksize": 0}
    if case.codec == "none":
        return None
    return blosc if case.codec == "blosc" else {"id": case.codec, "level": case.level}


def _v3(case: Case) -> dict[str, Any]:
    chunk_shape = case.chunk_shape if case.shard_shape is None else case.shard_shape
    return {
        "zarr_format": 3,
        "node_type": "array",
        "shape": list(case.shape),
        "data_type": _data_type(case),
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": list(chunk_shape)}},
        "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}},
        "fill_value": case.fill_value,
        "codecs": _codecs(case) if case.shard_shape is None else [_sharding(case)],
        "attributes": {},
    }


def _data_type(case: Case) -> Any:
    if case.data_type == "datetime64[s]":
        return {"name": "numpy.datetime64", "configuration": {"unit": "s", "scale_factor": 1}}
    return case.data_type


def _codecs(case: Case) -> list[dict[str, Any]]:
    to_bytes = {"name": "bytes", "configuration": {"endian": case.endian}}
    if case.data_type == "string":
        to_bytes = {"name": "vlen-utf8"}
    return [to_bytes, *_bytes_to_bytes(case)]


def _bytes_to_bytes(case: Case) -> list[dict[str, Any]]:
    if case.codec == "none":
        return []
    configuration: dict[str, Any] = {"level": case.level}
    if case.codec == "zstd":
        configuration["checksum"] = False
    if case.codec == "blosc":
        typesize = 1 if case.data_type == "string" else numpy_dtype(case).itemsize
        configuration = {
            "cname": "lz4",
            "clevel": case.level,
            "shuffle": "shuffle",
            "typesize": typesize,
            "blocksize": 0,
        }
    return [{"name": case.codec, "configuration": configuration}]


def _sharding(case: Case) -> dict[str, Any]:
    index = [{"name": "bytes", "configuration": {"endian": "little"}}, {"name": "crc32c"}]
    configuration = {
        "chunk_shape": list(case.chunk_shape),
        "codecs": _codecs(case),
        "index_codecs": index,
        "index_location": "end",
    }
    return {"name": "sharding_indexed", "configuration": configuration}
