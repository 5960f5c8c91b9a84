"""What a codec is. A new codec is one file with one frozen dataclass, listed in `registry`."""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass, field, fields
from importlib import import_module
from typing import Any, ClassVar, Literal, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from fastzarr.codecs.native import NativeCodec
from fastzarr.errors import CodecError, MetadataError

Buffer = bytes | bytearray | memoryview
"""A flat, contiguous run of bytes."""

Kind = Literal["array_array", "array_bytes", "bytes_bytes"]
"""The three kinds of codec of the Zarr v3 core specification, in the order they stand in a chain."""


@dataclass(frozen=True, kw_only=True)
class ChunkSpec:
    """What a codec in a chain gets: a chunk's shape and data type at that place."""

    shape: tuple[int, ...]
    """Chunk shape in elements."""
    dtype: np.dtype[Any]
    """NumPy dtype of the elements."""
    fill_value: Any
    """The element that a missing chunk reads as."""
    validate_checksums: bool = True
    """Whether codecs that only add a checksum compare it when reading."""


class Codec(Protocol):
    """Common to all codecs; immutable, comparable, hashable, safe to use from many threads."""

    name: ClassVar[str]
    """Name in the metadata document."""
    kind: ClassVar[Kind]
    """Place in the chain."""

    @classmethod
    def from_config(cls, configuration: dict[str, Any]) -> Self:
        """Codec from its configuration; raises `MetadataError`."""

    def config(self) -> dict[str, Any]:
        """Configuration as it is written; empty for none."""

    def resolve(self, spec: ChunkSpec) -> Self:
        """The codec with what it takes from the chunk (blosc's typesize); raises `MetadataError`."""


class ArrayArrayCodec(Codec, Protocol):
    """array→array."""

    views: ClassVar[bool]
    """Whether the encoded array is a view of the decoded one, so that filling it fills the decoded one."""

    def encoded_spec(self, spec: ChunkSpec) -> ChunkSpec:
        """Spec after encoding; raises `MetadataError` where the codec can't take `spec`."""

    def encode_array(self, chunk: NDArray[Any]) -> NDArray[Any]:
        """The encoded array."""

    def decode_array(self, encoded: NDArray[Any]) -> NDArray[Any]:
        """The decoded array; raises `CodecError`."""


class ArrayBytesCodec(Codec, Protocol):
    """array→bytes."""

    memory: ClassVar[bool]
    """Whether the bytes are the C-contiguous memory of an array of `stored_dtype`."""

    def stored_dtype(self, dtype: np.dtype[Any]) -> np.dtype[Any]:
        """The dtype of the stored memory, for chunks of `dtype`; `dtype` itself where `memory` is false."""

    def encode_array(self, chunk: NDArray[Any]) -> Buffer:
        """Encoded bytes of a chunk of any strides."""

    def decode_array(self, data: Buffer) -> NDArray[Any]:
        """The decoded chunk, for a resolved codec; raises `CodecError`."""


class BytesBytesCodec(Codec, Protocol):
    """bytes→bytes."""

    def encode(self, data: Buffer) -> Buffer:
        """Encoded bytes."""

    def decode(self, data: Buffer, out: memoryview | None) -> Buffer:
        """Decoded bytes: in `out` and `out` returned, or in a buffer of their own.

        `out` has exactly the size expected. Raises `CodecError` for damaged input and for any other size.
        """


class CodecBase:
    """`from_config` and `config` of a codec whose fields are the members of its configuration.

    Fields that `__init__` does not take (`init=False`) hold what a resolved codec took from the chunk.
    """

    name: ClassVar[str]
    _libraries: ClassVar[tuple[str, ...]] = ()
    """Modules that encoding and decoding import."""

    @classmethod
    def from_config(cls, configuration: dict[str, Any]) -> Self:
        """Codec from its configuration; raises `MetadataError` for unknown, missing or wrong members."""
        known = {field.name for field in fields(cls) if field.init}  # type: ignore[arg-type]
        unknown = sorted(configuration.keys() - known)
        if unknown:
            allowed = ", ".join(sorted(known)) or "none"
            raise MetadataError(f"codec {cls.name!r}", [f"got members {unknown}, expected only: {allowed}"])
        try:
            return cls(**configuration)
        except TypeError as error:
            raise MetadataError(f"codec {cls.name!r}", [f"got {configuration!r}: {error}"]) from error

    def config(self) -> dict[str, Any]:
        """Configuration as it is written."""
        return {field.name: getattr(self, field.name) for field in fields(self) if field.init}  # type: ignore[arg-type]

    def to_dict(self) -> dict[str, Any]:
        """The JSON form, as zarr-python's codecs have it."""
        return named_configuration(self)  # type: ignore[arg-type]

    def native(self, nbytes: int) -> NativeCodec | None:
        """What codes chunks of `nbytes` without Python's lock, or None."""
        return None

    def resolve(self, spec: ChunkSpec) -> Self:
        """The codec itself, since it takes nothing from the chunk, with its libraries loaded.

        Loaded later, in a thread of a pool, they would hang a child that is forked meanwhile.
        """
        for library in self._libraries:
            import_module(library)
        return self

    def check(self, member: str, valid: bool, expected: str) -> None:
        """Raise `MetadataError` unless `valid`."""
        if not valid:
            found = getattr(self, member)
            raise MetadataError(f"codec {self.name!r}", [f"{member}: got {found!r}, expected {expected}"])


@dataclass(frozen=True, kw_only=True)
class ShapedCodec(CodecBase):
    """A codec whose decoding needs the shape and data type of the chunk."""

    spec: ChunkSpec | None = field(default=None, init=False, repr=False, compare=False)
    """What the chunk is, at the codec's place in the chain; of a resolved codec only."""

    def resolve(self, spec: ChunkSpec) -> Self:
        """The codec that knows its chunks."""
        resolved = copy(super().resolve(spec))
        object.__setattr__(resolved, "spec", spec)
        return resolved

    @property
    def chunk(self) -> ChunkSpec:
        """The spec of a resolved codec."""
        assert self.spec is not None, f"codec {self.name!r} is not resolved"
        return self.spec


@dataclass(frozen=True, kw_only=True)
class ComputedCodec(ShapedCodec):
    """An array→bytes codec whose bytes are not the memory of an array."""

    kind: ClassVar[Kind] = "array_bytes"
    memory: ClassVar[bool] = False

    def stored_dtype(self, dtype: np.dtype[Any]) -> np.dtype[Any]:
        """`dtype` itself."""
        return dtype


def encoded_fill(codec: ArrayArrayCodec, spec: ChunkSpec) -> Any:
    """What an array→array codec makes of the fill value; raises `MetadataError` where it can't."""
    try:
        return codec.encode_array(np.asarray([spec.fill_value], spec.dtype))[0]
    except CodecError as error:
        raise MetadataError(f"codec {codec.name!r}", [f"fill value: {error}"]) from error


def is_integer(value: object, low: int, high: int) -> bool:
    """Whether `value` is an integer, and no bool, from `low` to `high`."""
    return isinstance(value, int) and not isinstance(value, bool) and low <= value <= high


def named_configuration(codec: Codec) -> dict[str, Any]:
    """JSON form of a codec, without an empty `configuration`, except where zarr-python writes that."""
    configuration = codec.config()
    if not configuration and not codec.name.startswith("vlen-"):
        return {"name": codec.name}
    return {"name": codec.name, "configuration": configuration}
