"""The `vlen-utf8` and `vlen-bytes` codecs: a count, then for each element its length and its bytes.

Sources: zarr-extensions registry, "vlen-utf8" and "vlen-bytes". All numbers are uint32, little-endian;
elements are in C order. numcodecs' C code does the work on objects.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from fastzarr.codecs.base import Buffer, Kind, ShapedCodec
from fastzarr.errors import CodecError

_NUMBER = struct.Struct("<I")


@dataclass(frozen=True, kw_only=True)
class VLenUTF8Codec(ShapedCodec):
    """array→bytes for texts."""

    name: ClassVar[str] = "vlen-utf8"
    kind: ClassVar[Kind] = "array_bytes"
    memory: ClassVar[bool] = False
    _libraries = ("numcodecs.vlen",)

    def stored_dtype(self, dtype: np.dtype[Any]) -> np.dtype[Any]:
        """`dtype` itself."""
        return dtype

    def encode_array(self, chunk: NDArray[Any]) -> Buffer:
        """Count, lengths and UTF-8; None and 0 count as the empty text."""
        from numcodecs.vlen import VLenUTF8

        return encode_items(VLenUTF8(), chunk)

    def decode_array(self, data: Buffer) -> NDArray[Any]:
        """Objects of type `str`; raises `CodecError`."""
        from numcodecs.vlen import VLenUTF8

        return decode_items(VLenUTF8(), data, self.chunk.shape, _utf8_size)


@dataclass(frozen=True, kw_only=True)
class VLenBytesCodec(ShapedCodec):
    """array→bytes for byte strings."""

    name: ClassVar[str] = "vlen-bytes"
    kind: ClassVar[Kind] = "array_bytes"
    memory: ClassVar[bool] = False
    _libraries = ("numcodecs.vlen",)

    def stored_dtype(self, dtype: np.dtype[Any]) -> np.dtype[Any]:
        """`dtype` itself."""
        return dtype

    def encode_array(self, chunk: NDArray[Any]) -> Buffer:
        """Count, lengths and bytes; None and 0 count as the empty byte string."""
        from numcodecs.vlen import VLenBytes

        return encode_items(VLenBytes(), chunk)

    def decode_array(self, data: Buffer) -> NDArray[Any]:
        """Objects of type `bytes`; raises `CodecError`."""
        from numcodecs.vlen import VLenBytes

        return decode_items(VLenBytes(), data, self.chunk.shape, _size)


def encode_items(codec: Any, chunk: NDArray[Any]) -> Buffer:
    """What a codec of `numcodecs.vlen` makes of the elements in C order."""
    # numcodecs takes memory order, which of a Fortran array is another (zarr-python#3558).
    flat = np.ascontiguousarray(chunk, object).reshape(-1)
    try:
        return codec.encode(flat)  # type: ignore[no-any-return]
    except (TypeError, UnicodeEncodeError) as error:
        raise CodecError(str(error)) from error


def decode_items(
    codec: Any, data: Buffer, shape: tuple[int, ...], size_of: Callable[[NDArray[Any], int], int]
) -> NDArray[Any]:
    """Elements from a codec of `numcodecs.vlen`, as objects; raises `CodecError`.

    Their count is known before memory is taken for them; `size_of` elements says where the data ends.
    """
    count = math.prod(shape)
    if len(data) < _NUMBER.size * (1 + count):
        raise CodecError(f"got {len(data)} bytes, expected a count and {count} lengths of 4 bytes each")
    (found,) = _NUMBER.unpack_from(data)
    if found != count:
        raise CodecError(f"the header tells of {found} elements, expected {count}")
    try:
        items: NDArray[Any] = codec.decode(data)
    except (ValueError, TypeError, SystemError) as error:
        raise CodecError(str(error)) from error
    content = len(data) - _NUMBER.size * (1 + count)
    if size_of(items, content) != content:
        raise CodecError(f"{content - size_of(items, content)} bytes follow the last element")
    return items.reshape(shape)


def _size(items: NDArray[Any], content: int) -> int:
    return sum(map(len, items))


def _utf8_size(items: NDArray[Any], content: int) -> int:
    # As many characters as bytes: all of them are ASCII.
    return content if _size(items, content) == content else sum(len(item.encode()) for item in items)
