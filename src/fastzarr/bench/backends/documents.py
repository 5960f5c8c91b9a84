"""The metadata document of a case, for libraries that create an array from one."""

import math
from typing import Any

from fastzarr.bench.backends.base import Described


def array_document(case: Described) -> dict[str, Any]:
    """What `.zarray` (Zarr v2) or `zarr.json` (v3) holds."""
    return _v2(case) if case.zarr_format == 2 else _v3(case)


def _v2(case: Described) -> dict[str, Any]:
    return {
        "zarr_format": 2,
        "shape": list(case.shape),
        "chunks": list(case.chunks),
        "dtype": case.dtype.str,
        "compressor": _compressor(case),
        "fill_value": _fill_value(case),
        "order": "C",
        "filters": None,
        "dimension_separator": ".",
    }


def _v3(case: Described) -> dict[str, Any]:
    return {
        "zarr_format": 3,
        "node_type": "array",
        "shape": list(case.shape),
        "data_type": case.dtype.name,
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": list(case.objects)}},
        "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}},
        "fill_value": _fill_value(case),
        "codecs": _codecs(case),
        "attributes": {},
    }


def _codecs(case: Described) -> list[dict[str, Any]]:
    little_endian = {"name": "bytes", "configuration": {"endian": "little"}}
    codecs = [little_endian, *_bytes_to_bytes(case)]
    if case.shards is None:
        return codecs
    configuration = {
        "chunk_shape": list(case.chunks),
        "codecs": codecs,
        "index_codecs": [little_endian, {"name": "crc32c"}],
        "index_location": "end",
    }
    return [{"name": "sharding_indexed", "configuration": configuration}]


def _compressor(case: Described) -> dict[str, Any] | None:
    blosc = {"id": "blosc", "cname": "lz4", "clevel": case.level, "shuffle": 1, "blocksize": 0}
    return {
        "none": None,
        "zstd": {"id": "zstd", "level": case.level},
        "blosc": blosc,
        "zlib": {"id": "zlib", "level": case.level},
    }[case.codec]


def _bytes_to_bytes(case: Described) -> list[dict[str, Any]]:
    blosc = {
        "cname": "lz4",
        "clevel": case.level,
        "shuffle": "shuffle",
        "typesize": case.dtype.itemsize,
        "blocksize": 0,
    }
    return {
        "none": [],
        "zstd": [{"name": "zstd", "configuration": {"level": case.level, "checksum": False}}],
        "blosc": [{"name": "blosc", "configuration": blosc}],
        "zlib": [{"name": "gzip", "configuration": {"level": case.level}}],
    }[case.codec]


def _fill_value(case: Described) -> Any:
    value = case.fill_value
    if case.dtype.kind == "b":
        return bool(value)
    if case.dtype.kind in "iu":
        return int(value)
    if not math.isfinite(value):
        number: Any = "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    else:
        number = value
    return [number, 0.0] if case.dtype.kind == "c" else number
