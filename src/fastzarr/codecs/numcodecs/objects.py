"""Codecs for Python objects: `vlen-array`, `json2` and `msgpack2`, the object codecs of Zarr v2.

In v3 they have the prefix `numcodecs.`; of the registered v3 data types only texts are such objects (`json2`
and `msgpack2`). Source: numcodecs' documentation, "Object codecs".
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from fastzarr.codecs.base import Buffer, ChunkSpec, ComputedCodec
from fastzarr.codecs.numcodecs import extra
from fastzarr.codecs.vlen import decode_items, encode_items
from fastzarr.errors import CodecError


@dataclass(frozen=True, kw_only=True)
class VLenArray(ComputedCodec):
    """array→bytes for arrays of one dimension."""

    name: ClassVar[str] = "numcodecs.vlen-array"
    _libraries = ("numcodecs.vlen",)

    dtype: str
    """dtype of the arrays, as v2 writes it, such as `<i4`."""

    def __post_init__(self) -> None:
        try:
            valid = isinstance(self.dtype, str) and not np.dtype(self.dtype).hasobject
        except (TypeError, ValueError):
            valid = False
        self.check("dtype", valid and np.dtype(self.dtype).itemsize > 0, "a dtype of a fixed size")

    def encode_array(self, chunk: NDArray[Any]) -> Buffer:
        """Count, lengths in bytes and elements; None counts as the empty array."""
        from numcodecs.vlen import VLenArray

        try:
            return encode_items(VLenArray(self.dtype), chunk)
        except ValueError as error:
            raise CodecError(str(error)) from error

    def decode_array(self, data: Buffer) -> NDArray[Any]:
        """Objects that are arrays; raises `CodecError`."""
        from numcodecs.vlen import VLenArray

        return decode_items(
            VLenArray(self.dtype), data, self.chunk.shape, lambda items, _: sum(item.nbytes for item in items)
        )


@dataclass(frozen=True, kw_only=True)
class JSON2(ComputedCodec):
    """array→bytes as one JSON list: the elements, dtype and shape."""

    name: ClassVar[str] = "numcodecs.json2"

    encoding: str = "utf-8"
    """Encoding of the text."""
    skipkeys: bool = False
    """Whether members whose names are no texts or numbers are left out."""
    ensure_ascii: bool = True
    """Whether other characters than ASCII are escaped."""
    check_circular: bool = True
    """Whether values that hold themselves are looked for."""
    allow_nan: bool = True
    """Whether NaN and infinities are written, which JSON has not."""
    sort_keys: bool = True
    """Whether members of objects are sorted."""
    indent: int | str | None = None
    """Indentation; None writes one line."""
    separators: tuple[str, str] | None = None
    """Between elements, and between name and value; None takes the shortest without indentation."""
    strict: bool = True
    """Whether control characters in texts are refused when reading."""

    def __post_init__(self) -> None:
        try:
            "".encode(self.encoding)
        except (LookupError, TypeError):
            self.check("encoding", False, "a text encoding")
        members = ("skipkeys", "ensure_ascii", "check_circular", "allow_nan", "sort_keys", "strict")
        for member in members:
            self.check(member, isinstance(getattr(self, member), bool), "true or false")
        if self.separators is None:
            object.__setattr__(self, "separators", (",", ":") if self.indent is None else (", ", ": "))
        two = isinstance(self.separators, list | tuple) and len(self.separators) == 2
        texts = two and all(isinstance(text, str) for text in self.separators or ())
        self.check("separators", texts, "two texts")
        object.__setattr__(self, "separators", tuple(self.separators or ()))

    def config(self) -> dict[str, Any]:
        """Configuration as it is written."""
        return {**super().config(), "separators": list(self.separators or ())}

    def encode_array(self, chunk: NDArray[Any]) -> Buffer:
        """The list as text; raises `CodecError` for what JSON can't say."""
        items = _to_items(chunk)
        members = {name: value for name, value in self.config().items() if name not in ("encoding", "strict")}
        try:
            return json.dumps(items, **{**members, "separators": self.separators}).encode(self.encoding)
        except (TypeError, ValueError) as error:
            raise CodecError(f"JSON can't say it: {error}") from error

    def decode_array(self, data: Buffer) -> NDArray[Any]:
        """The elements as objects; raises `CodecError`."""
        try:
            items = json.loads(bytes(data).decode(self.encoding), strict=self.strict)
        except (ValueError, RecursionError) as error:
            raise CodecError(f"no JSON: {error}") from error
        return _from_items(items, self.chunk)


@dataclass(frozen=True, kw_only=True)
class MsgPack2(ComputedCodec):
    """array→bytes as one MessagePack list: the elements, dtype and shape. Needs the package msgpack."""

    name: ClassVar[str] = "numcodecs.msgpack2"

    use_single_float: bool = False
    """Whether floats have 32 bits."""
    use_bin_type: bool = True
    """Whether bytes and texts are told apart."""
    raw: bool = False
    """Whether texts are read as bytes."""
    library: Any = field(default=None, init=False, repr=False, compare=False)
    """The package; of a resolved codec only."""

    def __post_init__(self) -> None:
        for member in ("use_single_float", "use_bin_type", "raw"):
            self.check(member, isinstance(getattr(self, member), bool), "true or false")

    def resolve(self, spec: ChunkSpec) -> Self:
        """The codec with its library; raises `MetadataError` where it is not installed."""
        resolved = super().resolve(spec)
        object.__setattr__(resolved, "library", extra.library(self.name, "msgpack"))
        return resolved

    def encode_array(self, chunk: NDArray[Any]) -> Buffer:
        """The list packed; raises `CodecError` for what MessagePack can't say."""
        try:
            return self.library.packb(  # type: ignore[no-any-return]
                _to_items(chunk), use_bin_type=self.use_bin_type, use_single_float=self.use_single_float
            )
        except (TypeError, ValueError, OverflowError) as error:
            raise CodecError(f"MessagePack can't say it: {error}") from error

    def decode_array(self, data: Buffer) -> NDArray[Any]:
        """The elements as objects; raises `CodecError`."""
        try:
            items = self.library.unpackb(data, raw=self.raw, strict_map_key=False)
        except Exception as error:
            raise CodecError(f"no MessagePack: {error}") from error
        return _from_items(items, self.chunk)


def _to_items(chunk: NDArray[Any]) -> list[Any]:
    whole = chunk.astype(object) if chunk.dtype.kind == "T" else chunk
    return [*np.atleast_1d(whole).tolist(), whole.dtype.str, list(whole.shape)]


def _from_items(items: object, spec: ChunkSpec) -> NDArray[Any]:
    """Elements as objects; raises `CodecError` unless they are as many as the chunk has."""
    if not isinstance(items, list) or len(items) < 2 or not isinstance(items[-1], list):
        raise CodecError("got no list of elements, dtype and shape")
    shape = items[-1]
    if math.prod(n if isinstance(n, int) else -1 for n in shape) != math.prod(spec.shape):
        raise CodecError(f"got elements of shape {shape}, expected {list(spec.shape)}")
    elements = list(_flattened(items[:-2], shape or [1]))
    array = np.empty(len(elements), object)
    # One by one, since elements may be lists.
    for at, element in enumerate(elements):
        array[at] = element
    return array.reshape(spec.shape)


def _flattened(items: object, shape: list[int]) -> Iterator[Any]:
    if not shape:
        yield items
        return
    if not isinstance(items, list) or len(items) != shape[0]:
        raise CodecError(f"got no {shape[0]} elements where the shape tells of them")
    for item in items:
        yield from _flattened(item, shape[1:])
