"""The `vlen-utf8` and `vlen-bytes` codecs: a count, then for each element its length and its bytes.

Sources: zarr-extensions registry, "vlen-utf8" and "vlen-bytes". All numbers are uint32, little-endian;
elements are in C order. numcodecs' C code does the work on objects.
"""

from __future__ import annotations

import math
import struct
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from fastzarr.codecs.base import Buffer, ComputedCodec
from fastzarr.errors import CodecError

_NUMBER = struct.Struct("<I")


class _VLen(ComputedCodec, ABC):
    """array→bytes for elements that are texts or byte strings; None and 0 count as the empty one."""

    _libraries = ("numcodecs.vlen",)
    _of_numcodecs: ClassVar[str]
    """Class in `numcodecs.vlen`."""

    @abstractmethod
    def _size(self, items: NDArray[Any], content: int) -> int:
        """Bytes of the elements, which have `content` bytes at the least."""

    def encode_array(self, chunk: NDArray[Any]) -> Buffer:
        """Count, lengths and content."""
        return encode_items(self._codec(), chunk)

    def decode_array(self, data: Buffer) -> NDArray[Any]:
        """Objects of type `str` or `bytes`; raises `CodecError`."""
        return decode_items(self._codec(), data, self.chunk.shape, self._size)

    def _codec(self) -> Any:
        from numcodecs import vlen

        return getattr(vlen, self._of_numcodecs)()


@dataclass(frozen=True, kw_only=True)
class VLenUTF8Codec(_VLen):
    """array→bytes for texts."""

    name: ClassVar[str] = "vlen-utf8"
    _of_numcodecs = "VLenUTF8"

    def _size(self, items: NDArray[Any], content: int) -> int:
        count = sum(map(len, items))
        # As many characters as bytes: all of them are ASCII.
        return content if count == content else sum(len(item.encode()) for item in items)


@dataclass(frozen=True, kw_only=True)
class VLenBytesCodec(_VLen):
    """array→bytes for byte strings."""

    name: ClassVar[str] = "vlen-bytes"
    _of_numcodecs = "VLenBytes"

    def _size(self, items: NDArray[Any], content: int) -> int:
        return sum(map(len, items))


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
