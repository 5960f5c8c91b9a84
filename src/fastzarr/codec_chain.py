"""A codec chain, prepared once for chunks of one shape and data type.

Life of a chunk, writing:
1. each array→array codec encodes the chunk; `transpose` gives a view;
2. the array→bytes codec encodes it; `bytes` names the stored dtype only: where the array's memory already is
   what is stored, that memory is passed on, else one contiguous copy is made;
3. each bytes→bytes codec encodes.
Reading goes the other way. A chain is `direct` where 1 gives views and 2 is memory: such a chain decodes
into the caller's chunk where its memory has the stored layout.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from fastzarr.chunks.grid import SIZE_LIMIT
from fastzarr.codecs import registry
from fastzarr.codecs.base import (
    ArrayArrayCodec,
    ArrayBytesCodec,
    Buffer,
    BytesBytesCodec,
    ChunkSpec,
    Codec,
)
from fastzarr.errors import CodecError, MetadataError, UnknownCodecError

_PLACES = ("array_array", "array_bytes", "bytes_bytes")


class PreparedChain:
    """`encode` and `decode_into` for chunks of one shape and dtype; stateless, for any number of threads."""

    def __init__(self, codecs: Sequence[Codec], spec: ChunkSpec) -> None:
        places = [_PLACES.index(codec.kind) for codec in codecs]
        if places != sorted(places) or places.count(1) != 1:
            names = [codec.name for codec in codecs]
            raise MetadataError(
                "codecs",
                [f"got {names}, expected array→array codecs, one array→bytes codec, bytes→bytes codecs"],
            )
        self.spec = spec
        """What the chain encodes."""
        self.array_codecs: list[ArrayArrayCodec] = []
        self.bytes_codecs: list[BytesBytesCodec] = []
        for codec in codecs:
            resolved = codec.resolve(spec)
            if codec.kind == "array_array":
                array_codec = cast(ArrayArrayCodec, resolved)
                self.array_codecs.append(array_codec)
                spec = array_codec.encoded_spec(spec)
            elif codec.kind == "array_bytes":
                self.serializer = cast(ArrayBytesCodec, resolved)
            else:
                self.bytes_codecs.append(cast(BytesBytesCodec, resolved))
        self.encoded_spec = spec
        """What the array→bytes codec gets."""
        self.direct = self.serializer.memory and all(codec.views for codec in self.array_codecs)
        self.stored_dtype = self.serializer.stored_dtype(spec.dtype)
        self.nbytes = math.prod(spec.shape) * spec.dtype.itemsize
        if self.nbytes >= SIZE_LIMIT:
            raise MetadataError(
                "codecs",
                [f"got chunks of {self.nbytes} bytes before the array→bytes codec, expected less than 2**63"],
            )
        self.swapped = self.stored_dtype != spec.dtype
        self.fixed_size = self.direct and not self.bytes_codecs
        """Whether every chunk has `nbytes` bytes stored, which are its elements."""

    def strides(self, chunk_shape: tuple[int, ...]) -> tuple[int, ...]:
        """Strides in bytes of a chunk in stored order, of a direct chain."""
        ndim = len(chunk_shape)
        # The strides of dimensions of one element tell where each of them goes.
        view = np.lib.stride_tricks.as_strided(np.empty(1, np.uint8), (1,) * ndim, range(ndim))
        for codec in self.array_codecs:
            view = codec.encode_array(view)
        return _strides(view.strides, chunk_shape, self.stored_dtype.itemsize)

    @property
    def decoded_nbytes(self) -> int:
        """Bytes of a decoded chunk."""
        return math.prod(self.spec.shape) * self.spec.dtype.itemsize

    @property
    def decoded_strides(self) -> tuple[int, ...]:
        """Strides in bytes of a decoded chunk: in stored order, or C order where that is none of memory."""
        shape = self.spec.shape
        return (
            self.strides(shape)
            if self.direct
            else _strides(range(len(shape)), shape, self.spec.dtype.itemsize)
        )

    def in_memory(self, memory: NDArray[np.uint8]) -> NDArray[Any]:
        """Flat `memory` as a chunk of `decoded_strides`."""
        return np.ndarray(self.spec.shape, self.spec.dtype, memory, strides=self.decoded_strides)

    @property
    def codecs(self) -> tuple[Codec, ...]:
        """All codecs of the chain, resolved."""
        return (*self.array_codecs, self.serializer, *self.bytes_codecs)

    def require_encoders(self) -> None:
        """Raise `MetadataError` where a codec can be read with but not written with."""
        for codec in self.codecs:
            if hasattr(codec, "require_encoder"):
                codec.require_encoder()

    def encode(self, chunk: NDArray[Any]) -> Buffer:
        """Stored bytes of `chunk`; a view of its memory where nothing has to be changed."""
        for array_codec in self.array_codecs:
            chunk = array_codec.encode_array(chunk)
        data: Buffer
        if self.serializer.memory:
            data = _memory(np.ascontiguousarray(chunk, self.stored_dtype))
        else:
            data = self.serializer.encode_array(chunk)
        return self.encode_bytes(data)

    def encode_bytes(self, data: Buffer) -> Buffer:
        """What the bytes→bytes codecs make of `data`."""
        for codec in self.bytes_codecs:
            data = codec.encode(data)
        return data

    def decode_bytes(self, data: Buffer) -> Buffer:
        """What the bytes→bytes codecs were given; raises `CodecError`."""
        for codec in reversed(self.bytes_codecs):
            data = codec.decode(data, None)
        return data

    def memory(self, chunk: NDArray[Any]) -> memoryview | None:
        """Memory of `chunk` (of the prepared dtype) where it has the stored order of elements, else None.

        For a direct chain.
        """
        for codec in self.array_codecs:
            chunk = codec.encode_array(chunk)
        return _memory(chunk) if chunk.flags.c_contiguous else None

    def swap(self, chunk: NDArray[Any]) -> None:
        """Bring elements that were put into `memory(chunk)` as stored into the chunk's byte order."""
        chunk.byteswap(inplace=True)

    def decode_into(self, data: Buffer, chunk: NDArray[Any]) -> None:
        """Fill `chunk`, of the prepared shape and dtype and any strides; raises `CodecError`."""
        if not self.direct:
            chunk[...] = self._decode_array(data)
            return
        memory = self.memory(chunk)
        decoded = self._decode(data, memory)
        if decoded is memory:
            if self.swapped:
                self.swap(chunk)
            return
        if len(decoded) != self.nbytes:
            raise CodecError(f"got {len(decoded)} bytes, expected {self.nbytes}")
        for codec in self.array_codecs:
            chunk = codec.encode_array(chunk)
        chunk[...] = np.frombuffer(decoded, self.stored_dtype).reshape(chunk.shape)

    def _decode_array(self, data: Buffer) -> NDArray[Any]:
        data = self.decode_bytes(data)
        if self.serializer.memory:
            if len(data) != self.nbytes:
                raise CodecError(f"got {len(data)} bytes, expected {self.nbytes}")
            chunk: NDArray[Any] = np.frombuffer(data, self.stored_dtype).reshape(self.encoded_spec.shape)
            chunk = chunk.astype(self.encoded_spec.dtype, copy=False)
        else:
            chunk = self.serializer.decode_array(data)
        for codec in reversed(self.array_codecs):
            chunk = codec.decode_array(chunk)
        return chunk

    def _decode(self, data: Buffer, memory: memoryview | None) -> Buffer:
        if not self.bytes_codecs:
            return data
        first, *outer = self.bytes_codecs
        for codec in reversed(outer):
            data = codec.decode(data, None)
        return first.decode(data, _memory(np.empty(self.nbytes, np.uint8)) if memory is None else memory)


def prepare(codecs: Sequence[tuple[str, dict[str, Any]]], spec: ChunkSpec) -> PreparedChain:
    """Chain of the named codecs for chunks of `spec`; raises `UnknownCodecError` or `MetadataError`.

    The error tells of all codecs that can't be had.
    """
    known = []
    errors = []
    for name, configuration in codecs:
        try:
            known.append(registry.get(name, configuration))
        except MetadataError as error:
            errors.append(error)
    if errors:
        problems = [f"{error.where}: {problem}" for error in errors for problem in error.problems]
        unknown = any(isinstance(error, UnknownCodecError) for error in errors)
        raise (UnknownCodecError if unknown else MetadataError)("codecs", problems)
    return PreparedChain(known, spec)


def _strides(order: Sequence[int], shape: tuple[int, ...], itemsize: int) -> tuple[int, ...]:
    """Strides in bytes of an array without gaps whose dimensions are in `order`, the slowest first."""
    strides = [0] * len(shape)
    step = itemsize
    for dimension in reversed(order):
        strides[dimension] = step
        step *= shape[dimension]
    return tuple(strides)


def _memory(array: NDArray[Any]) -> memoryview:
    return np.ndarray(array.nbytes, np.uint8, array).data
