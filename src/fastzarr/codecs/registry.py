"""Codecs by name; a codec's module is imported when the codec is first asked for.

Codecs of other packages are registered by `register`, or by an entry point of the group `fastzarr.codecs`
with the codec's name, which is loaded when a document first names it.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from fastzarr.codecs.base import Codec
from fastzarr.errors import UnknownCodecError

GROUP = "fastzarr.codecs"
"""Group of entry points."""

_CODECS = {
    "transpose": "fastzarr.codecs.transpose:TransposeCodec",
    "reshape": "fastzarr.codecs.reshape:ReshapeCodec",
    "bitround": "fastzarr.codecs.bitround:BitRoundCodec",
    "cast_value": "fastzarr.codecs.cast_value:CastValue",
    "scale_offset": "fastzarr.codecs.scale_offset:ScaleOffset",
    "bytes": "fastzarr.codecs.bytes:BytesCodec",
    "vlen-utf8": "fastzarr.codecs.vlen:VLenUTF8Codec",
    "vlen-bytes": "fastzarr.codecs.vlen:VLenBytesCodec",
    "packbits": "fastzarr.codecs.packbits:PackBitsCodec",
    "blosc": "fastzarr.codecs.blosc:BloscCodec",
    "zstd": "fastzarr.codecs.zstd:ZstdCodec",
    "gzip": "fastzarr.codecs.gzip:GzipCodec",
    "crc32c": "fastzarr.codecs.crc32c:Crc32cCodec",
    "sharding_indexed": "fastzarr.sharding:ShardingCodec",
    "numcodecs.blosc": "fastzarr.codecs.numcodecs.compressors:Blosc",
    "numcodecs.zstd": "fastzarr.codecs.numcodecs.compressors:Zstd",
    "numcodecs.gzip": "fastzarr.codecs.numcodecs.compressors:GZip",
    "numcodecs.zlib": "fastzarr.codecs.zlib:ZlibCodec",
    "numcodecs.lz4": "fastzarr.codecs.lz4:LZ4Codec",
    "numcodecs.bz2": "fastzarr.codecs.numcodecs.compressors:BZ2",
    "numcodecs.lzma": "fastzarr.codecs.numcodecs.compressors:LZMA",
    "numcodecs.shuffle": "fastzarr.codecs.numcodecs.shuffle:Shuffle",
    "numcodecs.crc32": "fastzarr.codecs.numcodecs.checksums:CRC32",
    "numcodecs.crc32c": "fastzarr.codecs.numcodecs.checksums:CRC32C",
    "numcodecs.adler32": "fastzarr.codecs.numcodecs.checksums:Adler32",
    "numcodecs.fletcher32": "fastzarr.codecs.numcodecs.checksums:Fletcher32",
    "numcodecs.jenkins_lookup3": "fastzarr.codecs.numcodecs.checksums:JenkinsLookup3",
    "numcodecs.pcodec": "fastzarr.codecs.numcodecs.pcodec:PCodec",
    "numcodecs.zfpy": "fastzarr.codecs.numcodecs.zfpy:ZFPY",
    "numcodecs.delta": "fastzarr.codecs.numcodecs.filters:Delta",
    "numcodecs.fixedscaleoffset": "fastzarr.codecs.numcodecs.filters:FixedScaleOffset",
    "numcodecs.quantize": "fastzarr.codecs.numcodecs.filters:Quantize",
    "numcodecs.astype": "fastzarr.codecs.numcodecs.filters:AsType",
    "numcodecs.bitround": "fastzarr.codecs.numcodecs.filters:BitRound",
    "numcodecs.packbits": "fastzarr.codecs.numcodecs.filters:PackBits",
    "numcodecs.filters": "fastzarr.codecs.numcodecs.v2:FiltersCodec",
    "numcodecs.vlen-array": "fastzarr.codecs.numcodecs.objects:VLenArray",
    "numcodecs.json2": "fastzarr.codecs.numcodecs.objects:JSON2",
    "numcodecs.msgpack2": "fastzarr.codecs.numcodecs.objects:MsgPack2",
}
"""Module and class of each codec."""

_ALIASES = {"endian": "bytes"}
"""Names that older writers used."""

_registered: dict[str, type[Codec]] = {}


def names() -> tuple[str, ...]:
    """Names of fastzarr's own codecs, and of registered ones."""
    return (*_CODECS, *(name for name in _registered if name not in _CODECS))


def register(name: str, cls: type[Codec]) -> None:
    """Have `name` in metadata documents mean the codec `cls`, which has the methods of its Protocol.

    Replaces what the name meant, for arrays opened from now on.
    """
    _registered[name] = cls


def find(name: str) -> type[Codec]:
    """Class of the codec `name`; raises `UnknownCodecError`."""
    name = _ALIASES.get(name, name)
    if name in _registered:
        return _registered[name]
    if name in _CODECS:
        module, _, cls = _CODECS[name].partition(":")
        return getattr(import_module(module), cls)  # type: ignore[no-any-return]
    found = _from_entry_point(name)
    if found is None:
        shown = name.removeprefix("numcodecs.")
        raise UnknownCodecError(
            "codecs", [f"got unknown codec {shown!r}, expected one of {', '.join(names())}"]
        )
    register(name, found)
    return found


def get(name: str, configuration: dict[str, Any]) -> Codec:
    """Codec of `name` with `configuration`; raises `UnknownCodecError` or `MetadataError`."""
    return find(name).from_config(configuration)


def _from_entry_point(name: str) -> type[Codec] | None:
    from importlib.metadata import entry_points  # a quarter of what importing NumPy takes

    for entry in entry_points(group=GROUP, name=name):
        try:
            return entry.load()  # type: ignore[no-any-return]
        except Exception as error:
            where = f"entry point {name!r} = {entry.value!r} of the group {GROUP}"
            raise UnknownCodecError("codecs", [f"{where} can't be loaded: {error!r}"]) from error
    return None
