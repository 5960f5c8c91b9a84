"""Codecs by name; a codec's module is imported when the codec is first asked for."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from fastzarr.codecs.base import Codec
from fastzarr.errors import UnknownCodecError

_CODECS = {
    "transpose": "fastzarr.codecs.transpose:TransposeCodec",
    "bytes": "fastzarr.codecs.bytes:BytesCodec",
    "blosc": "fastzarr.codecs.blosc:BloscCodec",
    "zstd": "fastzarr.codecs.zstd:ZstdCodec",
    "gzip": "fastzarr.codecs.gzip:GzipCodec",
    "crc32c": "fastzarr.codecs.crc32c:Crc32cCodec",
    "sharding_indexed": "fastzarr.sharding:ShardingCodec",
    "numcodecs.filters": "fastzarr.codecs.numcodecs.v2:FiltersCodec",
    "numcodecs.zlib": "fastzarr.codecs.zlib:ZlibCodec",
    "numcodecs.lz4": "fastzarr.codecs.lz4:LZ4Codec",
}
"""Module and class of each codec."""


def names() -> tuple[str, ...]:
    """Names of the known codecs."""
    return tuple(_CODECS)


def find(name: str) -> type[Codec]:
    """Class of the codec `name`; raises `UnknownCodecError`."""
    if name not in _CODECS:
        shown = name.removeprefix("numcodecs.")
        raise UnknownCodecError(
            "codecs", [f"got unknown codec {shown!r}, expected one of {', '.join(_CODECS)}"]
        )
    module, _, cls = _CODECS[name].partition(":")
    return getattr(import_module(module), cls)  # type: ignore[no-any-return]


def get(name: str, configuration: dict[str, Any]) -> Codec:
    """Codec of `name` with `configuration`; raises `UnknownCodecError` or `MetadataError`."""
    return find(name).from_config(configuration)
