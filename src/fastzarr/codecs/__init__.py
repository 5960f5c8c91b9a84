"""Codecs, under the names they have in zarr-python; each is imported when it is first asked for."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from fastzarr.codecs.registry import register

if TYPE_CHECKING:
    from fastzarr.codecs import numcodecs
    from fastzarr.codecs.blosc import BloscCname, BloscCodec, BloscShuffle
    from fastzarr.codecs.bytes import BytesCodec
    from fastzarr.codecs.crc32c import Crc32cCodec
    from fastzarr.codecs.gzip import GzipCodec
    from fastzarr.codecs.lz4 import LZ4Codec
    from fastzarr.codecs.transpose import TransposeCodec
    from fastzarr.codecs.vlen import VLenBytesCodec, VLenUTF8Codec
    from fastzarr.codecs.zlib import ZlibCodec
    from fastzarr.codecs.zstd import ZstdCodec

__all__ = [
    "BloscCname",
    "BloscCodec",
    "BloscShuffle",
    "BytesCodec",
    "Crc32cCodec",
    "GzipCodec",
    "LZ4Codec",
    "TransposeCodec",
    "VLenBytesCodec",
    "VLenUTF8Codec",
    "ZlibCodec",
    "ZstdCodec",
    "numcodecs",
    "register",
]

_MODULES = {
    "BloscCname": "blosc",
    "BloscCodec": "blosc",
    "BloscShuffle": "blosc",
    "BytesCodec": "bytes",
    "Crc32cCodec": "crc32c",
    "GzipCodec": "gzip",
    "LZ4Codec": "lz4",
    "TransposeCodec": "transpose",
    "VLenBytesCodec": "vlen",
    "VLenUTF8Codec": "vlen",
    "ZlibCodec": "zlib",
    "ZstdCodec": "zstd",
}
"""Module of each name."""


def __getattr__(name: str) -> Any:
    if name == "numcodecs":
        return import_module("fastzarr.codecs.numcodecs")
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)


def __dir__() -> list[str]:
    return __all__
