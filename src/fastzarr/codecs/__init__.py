"""Codecs, under the names they have in zarr-python."""

from fastzarr.codecs.blosc import BloscCodec
from fastzarr.codecs.bytes import BytesCodec
from fastzarr.codecs.crc32c import Crc32cCodec
from fastzarr.codecs.gzip import GzipCodec
from fastzarr.codecs.lz4 import LZ4Codec
from fastzarr.codecs.transpose import TransposeCodec
from fastzarr.codecs.zlib import ZlibCodec
from fastzarr.codecs.zstd import ZstdCodec

__all__ = [
    "BloscCodec",
    "BytesCodec",
    "Crc32cCodec",
    "GzipCodec",
    "LZ4Codec",
    "TransposeCodec",
    "ZlibCodec",
    "ZstdCodec",
]
