"""Codecs of the numcodecs package, under the names they have in `zarr.codecs.numcodecs`.

No specification has them; a document names them with the prefix `numcodecs.`.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fastzarr.codecs.lz4 import LZ4Codec as LZ4  # noqa: N814
    from fastzarr.codecs.numcodecs.checksums import CRC32, CRC32C, Adler32, Fletcher32, JenkinsLookup3
    from fastzarr.codecs.numcodecs.compressors import BZ2, LZMA, Blosc, GZip, Zstd
    from fastzarr.codecs.numcodecs.filters import (
        AsType,
        BitRound,
        Delta,
        FixedScaleOffset,
        PackBits,
        Quantize,
    )
    from fastzarr.codecs.numcodecs.objects import JSON2, MsgPack2, VLenArray
    from fastzarr.codecs.numcodecs.pcodec import PCodec
    from fastzarr.codecs.numcodecs.shuffle import Shuffle
    from fastzarr.codecs.numcodecs.zfpy import ZFPY
    from fastzarr.codecs.zlib import ZlibCodec as Zlib

__all__ = [
    "BZ2",
    "CRC32",
    "CRC32C",
    "JSON2",
    "LZ4",
    "LZMA",
    "ZFPY",
    "Adler32",
    "AsType",
    "BitRound",
    "Blosc",
    "Delta",
    "FixedScaleOffset",
    "Fletcher32",
    "GZip",
    "JenkinsLookup3",
    "MsgPack2",
    "PCodec",
    "PackBits",
    "Quantize",
    "Shuffle",
    "VLenArray",
    "Zlib",
    "Zstd",
]

_MODULES = {
    "checksums": ("CRC32", "CRC32C", "Adler32", "Fletcher32", "JenkinsLookup3"),
    "compressors": ("BZ2", "LZMA", "Blosc", "GZip", "Zstd"),
    "filters": ("AsType", "BitRound", "Delta", "FixedScaleOffset", "PackBits", "Quantize"),
    "objects": ("JSON2", "MsgPack2", "VLenArray"),
    "pcodec": ("PCodec",),
    "shuffle": ("Shuffle",),
    "zfpy": ("ZFPY",),
}
"""Names by module."""

_ELSEWHERE = {"LZ4": "lz4:LZ4Codec", "Zlib": "zlib:ZlibCodec"}
"""Module and name of what v3 has no other codec for."""


def __getattr__(name: str) -> Any:
    if name in _ELSEWHERE:
        module, _, found = _ELSEWHERE[name].partition(":")
        return getattr(import_module(f"fastzarr.codecs.{module}"), found)
    for module, names in _MODULES.items():
        if name in names:
            return getattr(import_module(f"{__name__}.{module}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
