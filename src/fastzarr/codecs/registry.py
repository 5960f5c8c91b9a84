"""Codecs by name."""

from __future__ import annotations

from typing import Any

from fastzarr.codecs.base import Codec
from fastzarr.codecs.blosc import BloscCodec
from fastzarr.codecs.bytes import BytesCodec
from fastzarr.codecs.crc32c import Crc32cCodec
from fastzarr.codecs.gzip import GzipCodec
from fastzarr.codecs.lz4 import LZ4Codec
from fastzarr.codecs.transpose import TransposeCodec
from fastzarr.codecs.zlib import ZlibCodec
from fastzarr.codecs.zstd import ZstdCodec
from fastzarr.errors import UnknownCodecError

_CODECS: dict[str, type[Codec]] = {
    codec.name: codec
    for codec in (
        TransposeCodec,
        BytesCodec,
        BloscCodec,
        ZstdCodec,
        GzipCodec,
        Crc32cCodec,
        ZlibCodec,
        LZ4Codec,
    )
}


def names() -> tuple[str, ...]:
    """Names of the known codecs."""
    return tuple(_CODECS)


def get(name: str, configuration: dict[str, Any]) -> Codec:
    """Codec of `name` with `configuration`; raises `UnknownCodecError` or `MetadataError`."""
    if name not in _CODECS:
        shown = name.removeprefix("numcodecs.")
        raise UnknownCodecError(
            "codecs", [f"got unknown codec {shown!r}, expected one of {', '.join(_CODECS)}"]
        )
    return _CODECS[name].from_config(configuration)
