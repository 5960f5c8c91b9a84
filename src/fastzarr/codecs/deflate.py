"""Deflate streams for the `gzip` and `zlib` codecs: zlib-ng compresses, ISA-L inflates."""

from __future__ import annotations

from fastzarr.codecs.base import Buffer
from fastzarr.errors import CodecError

ZLIB = 15
"""Window bits of a zlib stream."""
GZIP = 31
"""Window bits of a gzip member."""
_STEP = 1 << 10
"""Bytes that a member after the first is given at once, then twice as many, and so on."""
LIBRARIES = ("zlib_ng.zlib_ng", "isal.isal_zlib")


def compress(data: Buffer, level: int, wbits: int) -> bytes:
    """One stream at `level` 0 to 9."""
    from zlib_ng import zlib_ng

    return zlib_ng.compress(data, level, wbits)


def decompress(data: Buffer, size: int | None, wbits: int) -> bytes:
    """Content of the stream (all members for gzip), of `size` bytes where given; raises `CodecError`."""
    from isal import isal_zlib

    view = memoryview(data)
    parts = []
    found = 0
    at = 0
    step = len(view)
    while True:
        inflate = isal_zlib.decompressobj(wbits)
        while not inflate.eof:
            piece = view[at : at + step]
            try:
                part = inflate.decompress(piece, 0 if size is None else size - found + 1)
            except isal_zlib.error as error:  # type: ignore[misc]
                raise CodecError(str(error)) from error
            except MemoryError as error:
                raise CodecError(f"{len(view)} bytes decode to more than memory holds") from error
            parts.append(part)
            found += len(part)
            at += len(piece)
            if size is not None and found > size:
                raise CodecError(f"decodes to more than the {size} bytes expected")
            if at == len(view) and not inflate.eof:
                raise CodecError("the stream is truncated")
            step *= 2
        at -= len(inflate.unused_data)
        if at == len(view):
            break
        if wbits != GZIP:
            raise CodecError(f"{len(view) - at} bytes follow the end of the stream")
        # What follows a member is copied when it ends: given whole, small members would take quadratic time.
        step = _STEP
    if size is not None and found < size:
        raise CodecError(f"decodes to {found} bytes, expected {size}")
    return parts[0] if len(parts) == 1 else b"".join(parts)
