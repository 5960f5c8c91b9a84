"""Codecs, under the names they have in zarr-python; each is imported when it is first asked for."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from fastzarr.codecs.registry import register

if TYPE_CHECKING:
    from fastzarr.codecs import numcodecs
    from fastzarr.codecs.bitround import BitRoundCodec
    from fastzarr.codecs.blosc import BloscCname, BloscCodec, BloscShuffle
    from fastzarr.codecs.bytes import BytesCodec, Endian
    from fastzarr.codecs.cast_value import CastValue
    from fastzarr.codecs.crc32c import Crc32cCodec
    from fastzarr.codecs.gzip import GzipCodec
    from fastzarr.codecs.lz4 import LZ4Codec
    from fastzarr.codecs.packbits import PackBitsCodec
    from fastzarr.codecs.reshape import ReshapeCodec
    from fastzarr.codecs.scale_offset import ScaleOffset
    from fastzarr.codecs.transpose import TransposeCodec
    from fastzarr.codecs.vlen import VLenBytesCodec, VLenUTF8Codec
    from fastzarr.codecs.zlib import ZlibCodec
    from fastzarr.codecs.zstd import ZstdCodec

__all__ = [
    "BitRoundCodec",
    "BloscCname",
    "BloscCodec",
    "BloscShuffle",
    "BytesCodec",
    "CastValue",
    "Crc32cCodec",
    "Endian",
    "GzipCodec",
    "LZ4Codec",
    "PackBitsCodec",
    "ReshapeCodec",
    "ScaleOffset",
    "ShardingCodec",
    "TransposeCodec",
    "VLenBytesCodec",
    "VLenUTF8Codec",
    "ZlibCodec",
    "ZstdCodec",
    "numcodecs",
    "register",
]

_MODULES = {
    "BitRoundCodec": "fastzarr.codecs.bitround",
    "BloscCname": "fastzarr.codecs.blosc",
    "BloscCodec": "fastzarr.codecs.blosc",
    "BloscShuffle": "fastzarr.codecs.blosc",
    "BytesCodec": "fastzarr.codecs.bytes",
    "CastValue": "fastzarr.codecs.cast_value",
    "Crc32cCodec": "fastzarr.codecs.crc32c",
    "Endian": "fastzarr.codecs.bytes",
    "GzipCodec": "fastzarr.codecs.gzip",
    "LZ4Codec": "fastzarr.codecs.lz4",
    "PackBitsCodec": "fastzarr.codecs.packbits",
    "ReshapeCodec": "fastzarr.codecs.reshape",
    "ScaleOffset": "fastzarr.codecs.scale_offset",
    "ShardingCodec": "fastzarr.sharding",
    "TransposeCodec": "fastzarr.codecs.transpose",
    "VLenBytesCodec": "fastzarr.codecs.vlen",
    "VLenUTF8Codec": "fastzarr.codecs.vlen",
    "ZlibCodec": "fastzarr.codecs.zlib",
    "ZstdCodec": "fastzarr.codecs.zstd",
}
"""Module of each name."""


def __getattr__(name: str) -> Any:
    if name == "numcodecs":
        return import_module("fastzarr.codecs.numcodecs")
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_MODULES[name]), name)


def __dir__() -> list[str]:
    return __all__
