"""The filters and the compressor of a Zarr v2 array, as one array→bytes codec.

Its entry in a chain is the name `numcodecs.filters` with the configuration

    {"filters": [{"id": …}, …], "compressor": {"id": …} or None, "order": "C" or "F"}

where `filters` and `compressor` are those of `.zarray`, untouched, and `order` is the array's: no `transpose`
and no compressor go with it, since filters see the chunk in its memory order, and Blosc the element size that
the last filter leaves. Without filters a compressor of bytes stands in the chain by itself, as in v3.

Source: Zarr v2 specification, "Filters"; what a filter does to an array is what numcodecs does.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Literal, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from fastzarr.codecs.base import (
    ArrayBytesCodec,
    Buffer,
    BytesBytesCodec,
    ChunkSpec,
    Codec,
    ComputedCodec,
)
from fastzarr.codecs.lz4 import LZ4Codec
from fastzarr.codecs.numcodecs.checksums import CRC32, CRC32C, Adler32, Fletcher32, JenkinsLookup3
from fastzarr.codecs.numcodecs.compressors import BZ2, LZMA, Blosc, GZip, Zstd
from fastzarr.codecs.numcodecs.objects import JSON2, MsgPack2, VLenArray
from fastzarr.codecs.numcodecs.pcodec import PCodec
from fastzarr.codecs.numcodecs.registered import numcodec
from fastzarr.codecs.numcodecs.shuffle import Shuffle
from fastzarr.codecs.numcodecs.zfpy import ZFPY
from fastzarr.codecs.vlen import VLenBytesCodec, VLenUTF8Codec
from fastzarr.codecs.zlib import ZlibCodec
from fastzarr.errors import CodecError, MetadataError, UnknownCodecError

REFUSED = {
    "pickle": "it would execute what is stored; write the array anew with vlen-utf8, json2 or msgpack2"
}
"""Ids of numcodecs' codecs that are not taken, and why."""


_BYTES: dict[str, Any] = {
    codec.name.removeprefix("numcodecs."): codec
    for codec in (
        *(Blosc, Zstd, GZip, ZlibCodec, LZ4Codec, BZ2, LZMA),
        *(Shuffle, CRC32, CRC32C, Adler32, Fletcher32, JenkinsLookup3),
    )
}
"""Codecs of bytes that fastzarr has itself, by their v2 ids."""

_ARRAYS: dict[str, Any] = {
    codec.name.removeprefix("numcodecs."): codec
    for codec in (VLenUTF8Codec, VLenBytesCodec, VLenArray, JSON2, MsgPack2, PCodec, ZFPY)
}
"""Codecs of objects and of arrays, likewise."""

_DEFAULTS = {"shuffle": {"elementsize": 4}}
"""What v2 takes for members that are left out, where v3 takes something else."""

_BYTE = ChunkSpec(shape=(), dtype=np.dtype(np.uint8), fill_value=np.uint8(0))


class Stage(Protocol):
    """One filter, or the compressor."""

    def encode(self, value: Any) -> Any:
        """Array or bytes, from the array or the bytes of the stage before."""

    def decode(self, value: Any) -> Any:
        """What was encoded; raises any `Exception` for damaged input."""


@dataclass(frozen=True, kw_only=True)
class FiltersCodec(ComputedCodec):
    """array→bytes with numcodecs' codecs one after the other."""

    name: ClassVar[str] = "numcodecs.filters"

    filters: Sequence[Mapping[str, Any]] = ()
    """Configuration of each filter, in the order of encoding."""
    compressor: Mapping[str, Any] | None = None
    """Configuration of the compressor, or None."""
    order: Literal["C", "F"] = "C"
    """Memory order in which filters get the chunk."""
    stages: tuple[Stage, ...] = field(default=(), init=False, repr=False, compare=False)
    """Filters and compressor; of a resolved codec only."""

    def __post_init__(self) -> None:
        valid = isinstance(self.filters, list | tuple) and all(_has_id(entry) for entry in self.filters)
        self.check("filters", valid, "a list of objects with an id")
        self.check("compressor", self.compressor is None or _has_id(self.compressor), "an object with an id")
        self.check("order", self.order in ("C", "F"), "'C' or 'F'")
        object.__setattr__(self, "filters", tuple(copy.deepcopy(dict(entry)) for entry in self.filters))
        if self.compressor is not None:
            object.__setattr__(self, "compressor", copy.deepcopy(dict(self.compressor)))

    def __hash__(self) -> int:
        return hash(json.dumps(self.config(), sort_keys=True, default=repr))

    def config(self) -> dict[str, Any]:
        """Configuration as a chain has it."""
        return copy.deepcopy(
            {"filters": list(self.filters), "compressor": self.compressor, "order": self.order}
        )

    def resolve(self, spec: ChunkSpec) -> Self:
        """The codec with its stages made; raises `MetadataError` for wrong ones, named all at once."""
        resolved = super().resolve(spec)
        configurations = [*self.filters, *([] if self.compressor is None else [self.compressor])]
        stages: list[Stage] = []
        errors: list[MetadataError] = []
        for at, configuration in enumerate(configurations):
            try:
                stages.append(_stage(dict(configuration), spec, first=at == 0, order=self.order))
            except MetadataError as error:
                errors.append(error)
        if errors:
            problems = [f"{error.where}: {problem}" for error in errors for problem in error.problems]
            unknown = any(isinstance(error, UnknownCodecError) for error in errors)
            raise (UnknownCodecError if unknown else MetadataError)("filters and compressor", problems)
        object.__setattr__(resolved, "stages", tuple(stages))
        return resolved

    @property
    def as_filters(self) -> tuple[Codec, ...]:
        """What the codec does before the compressor, as one codec, if that is anything."""
        return (replace(self, compressor=None),) if self.filters else ()

    @property
    def as_compressors(self) -> tuple[Codec, ...]:
        """The compressor by itself, if there is one, of a resolved codec; one of numcodecs' as it is here."""
        if self.compressor is None:
            return ()
        last = self.stages[-1]
        return (last.codec if isinstance(last, _Bytes) else replace(self, filters=()),)

    def require_encoder(self) -> None:
        """Raise `MetadataError` where one of the codecs can't be written with."""
        for stage in self.stages:
            if isinstance(stage, _Bytes) and hasattr(stage.codec, "require_encoder"):
                stage.codec.require_encoder()

    def encode_array(self, chunk: NDArray[Any]) -> Buffer:
        """What the compressor makes of what the filters make of the chunk."""
        dtype = np.dtype(object) if chunk.dtype.kind == "T" else self.chunk.dtype
        value: Any = np.asarray(chunk.astype(dtype, copy=False), order=self.order)
        for stage in self.stages:
            value = stage.encode(value)
        if isinstance(value, np.ndarray) and value.dtype.hasobject:
            raise MetadataError("filters", ["got none that encodes objects, expected vlen-utf8 or another"])
        return flat_bytes(value)

    def decode_array(self, data: Buffer) -> NDArray[Any]:
        """The chunk; raises `CodecError`."""
        value: Any = data
        for stage in reversed(self.stages):
            try:
                value = stage.decode(value)
            except CodecError:
                raise
            except Exception as error:
                raise CodecError(f"{stage}: {error or type(error).__name__}") from error
        return self._shaped(value)

    def _shaped(self, value: Any) -> NDArray[Any]:
        shape, dtype = self.chunk.shape, self.chunk.dtype
        array: NDArray[Any] = value if isinstance(value, np.ndarray) else np.frombuffer(value, np.uint8)
        if array.dtype.hasobject and not dtype.hasobject:
            try:
                array = array.astype(dtype)
            except (ValueError, TypeError, OverflowError) as error:
                raise CodecError(f"filters gave no elements of {dtype}: {error}") from error
        if not (array.dtype.hasobject or dtype.hasobject or dtype.kind == "T"):
            array = array if array.shape == shape and array.dtype == dtype else _memory(array)
            if array.nbytes != int(np.prod(shape)) * dtype.itemsize:
                expected = int(np.prod(shape)) * dtype.itemsize
                raise CodecError(f"filters gave {array.nbytes} bytes, expected {expected}")
            array = array.view(dtype)
        elif array.dtype != object:
            raise CodecError(f"filters gave elements of {array.dtype}, expected objects")
        if array.size != np.prod(shape):
            raise CodecError(f"filters gave {array.size} elements, expected {np.prod(shape)}")
        # What knows its shape (json2, zfpy) is in place; memory is in the array's order.
        return array if array.shape == shape else array.reshape(-1).reshape(shape, order=self.order)


def flat_bytes(value: Any) -> memoryview:
    """The bytes of an array in its memory order, or those of a buffer."""
    return _memory(value).data if isinstance(value, np.ndarray) else memoryview(value).cast("B")


def _memory(array: NDArray[Any]) -> NDArray[np.uint8]:
    flat = array.reshape(-1, order="A")
    return np.ndarray(flat.nbytes, np.uint8, np.ascontiguousarray(flat))


@dataclass(frozen=True)
class _Numcodec:
    """A codec of the numcodecs registry."""

    codec: Any

    def __str__(self) -> str:
        return str(self.codec.codec_id)

    def encode(self, value: Any) -> Any:
        if self.codec.codec_id == "bitround":
            # It would make C order of Fortran order.
            value = value.reshape(-1, order="A")
        with np.errstate(all="ignore"):
            return self.codec.encode(value)

    def decode(self, value: Any) -> Any:
        with np.errstate(all="ignore"):
            return self.codec.decode(value)


@dataclass(frozen=True)
class _Bytes:
    """A bytes→bytes codec of fastzarr."""

    codec: BytesBytesCodec

    def __str__(self) -> str:
        return self.codec.name

    def encode(self, value: Any) -> Any:
        codec = self.codec
        if isinstance(codec, Blosc) and codec.typesize is None:
            codec = replace(codec, typesize=getattr(value, "itemsize", 1))
        return codec.encode(flat_bytes(value))

    def decode(self, value: Any) -> Any:
        return self.codec.decode(flat_bytes(value), None)


@dataclass(frozen=True)
class _Array:
    """An array→bytes codec of fastzarr, for the chunk itself."""

    codec: ArrayBytesCodec
    order: Literal["C", "F"]

    def __str__(self) -> str:
        return self.codec.name

    def encode(self, value: Any) -> Any:
        return self.codec.encode_array(self._in_order(value))

    def decode(self, value: Any) -> Any:
        decoded = self.codec.decode_array(flat_bytes(value))
        return decoded if self._knows_shape else decoded.reshape(-1)

    def _in_order(self, value: NDArray[Any]) -> NDArray[Any]:
        return value if self._knows_shape else value.reshape(-1, order=self.order)

    @property
    def _knows_shape(self) -> bool:
        return isinstance(self.codec, JSON2 | MsgPack2 | ZFPY)


def _stage(configuration: dict[str, Any], spec: ChunkSpec, *, first: bool, order: Literal["C", "F"]) -> Stage:
    identifier = configuration["id"]
    where = f"codec {identifier!r}"
    if identifier in REFUSED:
        raise UnknownCodecError(where, [f"not supported: {REFUSED[identifier]}"])
    configuration = {**_DEFAULTS.get(identifier, {}), **configuration}
    members = {member: value for member, value in configuration.items() if member != "id"}
    if identifier in _BYTES:
        codec: Any = _BYTES[identifier].from_config(members)
        loaded = codec.resolve(replace(_BYTE, validate_checksums=spec.validate_checksums))
        return _Bytes(codec if identifier == "blosc" else loaded)
    if first and identifier in _ARRAYS:
        return _Array(_ARRAYS[identifier].from_config(members).resolve(spec), order)
    return _Numcodec(numcodec(configuration))


def _has_id(entry: object) -> bool:
    return isinstance(entry, Mapping) and isinstance(entry.get("id"), str)
