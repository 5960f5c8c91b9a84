"""Deflate streams for the `gzip` and `zlib` codecs: zlib-ng compresses, ISA-L inflates."""

from __future__ import annotations

from fastzarr.codecs.base import Buffer
from fastzarr.errors import CodecError

ZLIB = 15
"""Window bits of a zlib stream."""
GZIP = 31
"""Window bits of a gzip member."""
LIBRARIES = ("zlib_ng.zlib_ng", "isal.isal_zlib")


def compress(data: Buffer, level: int, wbits: int) -> bytes:
    """One stream at `level` 0 to 9."""
    from zlib_ng import zlib_ng

    return zlib_ng.compress(data, level, wbits)


def decompress(data: Buffer, size: int | None, wbits: int) -> bytes:
    """Content of the stream (all members for gzip), of `size` bytes where given; raises `CodecError`."""
    from isal import isal_zlib

    rest: Buffer = data
    parts = []
    found = 0
    while True:
        inflate = isal_zlib.decompressobj(wbits)
        try:
            part = inflate.decompress(rest, 0 if size is None else size - found + 1)
        except isal_zlib.error as error:  # type: ignore[misc]
            raise CodecError(str(error)) from error
        parts.append(part)
        found += len(part)
        if size is not None and found > size:
            raise CodecError(f"decodes to more than the {size} bytes expected")
        if not inflate.eof:
            raise CodecError("the stream is truncated")
        rest = inflate.unused_data
        if not rest:
            break
        if wbits != GZIP:
            raise CodecError(f"{len(rest)} bytes follow the end of the stream")
    if size is not None and found < size:
        raise CodecError(f"decodes to {found} bytes, expected {size}")
    return parts[0] if len(parts) == 1 else b"".join(parts)
