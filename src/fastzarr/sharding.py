"""The `sharding_indexed` codec, and a shard as a small store of its inner chunks.

Source: Zarr v3 codecs specification, "sharding_indexed".

A shard is inner chunks one behind the other, and an index of offset and size (two uint64) for each, at its
end or start. Inner chunks have keys of their own, their coordinates within the shard: `1/0`.
"""

from __future__ import annotations

import bisect
import math
import threading
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Literal, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from fastzarr import ranges
from fastzarr.codec_chain import PreparedChain
from fastzarr.codecs import registry
from fastzarr.codecs.base import (
    Buffer,
    ChunkSpec,
    Codec,
    CodecBase,
    Kind,
    is_integer,
    named_configuration,
)
from fastzarr.codecs.bytes import BytesCodec
from fastzarr.codecs.crc32c import Crc32cCodec
from fastzarr.errors import ChunkError, CodecError, MetadataError
from fastzarr.fill import FillPattern
from fastzarr.stores.base import RangeReader, copy_into

ABSENT = np.uint64(2**64 - 1)
"""Offset and size of an inner chunk that is not there."""
_ENTRY_BYTES = 16
_MOST_BYTES = 2**63 - 1
_MOST_DIMENSIONS = 63
"""Of a shard: its index has one more, and NumPy's arrays have 64."""
_MEASURED = 1 << 14
"""Entries of the largest index that is encoded to learn the size; that of larger ones follows."""
_MOST_NESTED = 16
"""Shards within shards, far more than anyone writes and far less than Python's stack takes."""


@dataclass(frozen=True, kw_only=True)
class ShardingCodec(CodecBase):
    """array→bytes as a shard of inner chunks."""

    name: ClassVar[str] = "sharding_indexed"
    kind: ClassVar[Kind] = "array_bytes"
    memory: ClassVar[bool] = False

    chunk_shape: tuple[int, ...]
    """Shape of the inner chunks in elements; divides the shape of the shard."""
    codecs: tuple[Codec, ...] = (BytesCodec(),)
    """Codec chain of the inner chunks; also in JSON form."""
    index_codecs: tuple[Codec, ...] = (BytesCodec(), Crc32cCodec())
    """Codec chain of the index, whose encoded size is fixed; also in JSON form."""
    index_location: Literal["start", "end"] = "end"
    """Where in the shard the index is."""
    layout: ShardLayout | None = field(default=None, init=False, repr=False, compare=False)
    """What is prepared for shards of one shape and data type; of a resolved codec only."""

    def __post_init__(self) -> None:
        sizes = self.chunk_shape
        fits = isinstance(sizes, list | tuple) and all(is_integer(size, 1, 2**63 - 1) for size in sizes)
        self.check("chunk_shape", fits, "a list of integers of 1 or more")
        self.check("index_location", self.index_location in ("start", "end"), "'start' or 'end'")
        object.__setattr__(self, "chunk_shape", tuple(sizes))
        for member in ("codecs", "index_codecs"):
            object.__setattr__(self, member, self._parsed(member))
        if self._depth > _MOST_NESTED:
            raise _too_deep()

    @classmethod
    def from_config(cls, configuration: dict[str, Any]) -> Self:
        """Codec from its configuration; raises `MetadataError`."""
        missing = [member for member in ("codecs", "index_codecs") if member not in configuration]
        if missing:
            raise MetadataError(f"codec {cls.name!r}", [f"missing members: {', '.join(missing)}"])
        unknown = configuration.keys() - {"chunk_shape", "codecs", "index_codecs", "index_location"}
        if unknown or "chunk_shape" not in configuration:
            return super().from_config({**configuration, "layout": None} if not unknown else configuration)
        return cls(**configuration)

    def config(self) -> dict[str, Any]:
        """Configuration as it is written."""
        return {
            "chunk_shape": list(self.chunk_shape),
            "codecs": [named_configuration(codec) for codec in self.codecs],
            "index_codecs": [named_configuration(codec) for codec in self.index_codecs],
            "index_location": self.index_location,
        }

    def resolve(self, spec: ChunkSpec) -> Self:
        """The codec with its chains resolved, and `layout`; raises `MetadataError`."""
        if len(spec.shape) != len(self.chunk_shape) or any(
            size % inner for size, inner in zip(spec.shape, self.chunk_shape, strict=True)
        ):
            self.check("chunk_shape", False, f"sizes that divide the shard's, {spec.shape}")
        layout = ShardLayout(self, spec)
        resolved = replace(self, codecs=layout.inner.codecs, index_codecs=layout.index.codecs)
        object.__setattr__(resolved, "layout", layout)
        return resolved

    @property
    def _depth(self) -> int:
        """Number of shards within each other that the codec makes."""
        return 1 + max((codec._depth for codec in self.codecs if isinstance(codec, ShardingCodec)), default=0)

    def require_encoder(self) -> None:
        """Raise `MetadataError` where a codec of the inner chunks can't be written with."""
        assert self.layout is not None
        self.layout.inner.require_encoders()

    def stored_dtype(self, dtype: np.dtype[Any]) -> np.dtype[Any]:
        """`dtype`."""
        return dtype

    def encode_array(self, chunk: NDArray[Any]) -> Buffer:
        """A whole shard, for a resolved codec."""
        assert self.layout is not None
        layout = self.layout
        shard = ShardWriter(layout, {})
        for key, place in layout.places():
            inner = chunk[place]
            if not layout.fill.covers(inner):
                shard.set(key, layout.inner.encode(inner))
        return shard.encode()

    def decode_array(self, data: Buffer) -> NDArray[Any]:
        """All of a shard, for a resolved codec."""
        assert self.layout is not None
        layout = self.layout
        objects = layout.split(data)
        chunk = np.full(layout.spec.shape, layout.spec.fill_value, layout.spec.dtype)
        for key, place in layout.places():
            if key in objects:
                layout.inner.decode_into(objects[key], chunk[place])
        return chunk

    def _parsed(self, member: str) -> tuple[Codec, ...]:
        given = getattr(self, member)
        self.check(
            member, isinstance(given, list | tuple) and len(given) > 0, "a list with at least one codec"
        )
        try:
            return tuple(self._codec(member, entry) for entry in given)
        except RecursionError as error:
            raise _too_deep() from error

    def _codec(self, member: str, entry: Any) -> Codec:
        if isinstance(entry, str):
            entry = {"name": entry}
        if hasattr(entry, "encode") or hasattr(entry, "encode_array"):
            return entry  # type: ignore[no-any-return]
        if hasattr(entry, "to_dict"):
            entry = entry.to_dict()
        configuration = None
        if isinstance(entry, dict) and isinstance(entry.get("name"), str):
            configuration = entry.get("configuration", {})
        if not isinstance(configuration, dict):
            self.check(member, False, "codecs in JSON form, each with a name")
        return registry.get(entry["name"], configuration or {})


def _too_deep() -> MetadataError:
    return MetadataError(
        "codec 'sharding_indexed'", [f"codecs: got shards nested deeper than {_MOST_NESTED}, the most taken"]
    )


class ShardLayout:
    """All shards of one shape and data type: their chains, and how the index is read and written."""

    def __init__(self, codec: ShardingCodec, spec: ChunkSpec) -> None:
        self.spec = spec
        """Shape and data type of a shard."""
        self.chunk_shape = codec.chunk_shape
        """Shape of the inner chunks in elements."""
        self.inner = PreparedChain(codec.codecs, replace(spec, shape=codec.chunk_shape))
        """Chain of the inner chunks."""
        self.counts = tuple(size // inner for size, inner in zip(spec.shape, codec.chunk_shape, strict=True))
        """Number of inner chunks along each dimension."""
        if len(self.counts) > _MOST_DIMENSIONS:
            codec.check("chunk_shape", False, f"at most {_MOST_DIMENSIONS} dimensions")
        if (count := math.prod(self.counts)) * _ENTRY_BYTES > _MOST_BYTES:
            raise MetadataError(
                "codec 'sharding_indexed'",
                [
                    f"chunk_shape: got {count} inner chunks in a shard, "
                    "expected an index of less than 2**63 bytes"
                ],
            )
        index_spec = replace(spec, shape=(*self.counts, 2), dtype=np.dtype(np.uint64), fill_value=ABSENT)
        self.index = PreparedChain(codec.index_codecs, index_spec)
        """Chain of the index."""
        self.index_at_end = codec.index_location == "end"
        self.fill = FillPattern(spec.fill_value, spec.dtype)
        self.index_size = _index_size(codec.index_codecs, index_spec)
        """Bytes of the encoded index."""

    @property
    def template(self) -> str:
        """Key of an inner chunk as a `%` template for its coordinates."""
        return "/".join(["%d"] * len(self.counts))

    def places(self) -> Iterable[tuple[str, tuple[slice, ...]]]:
        """Key of each inner chunk and its place in the shard, in C order."""
        for coords in np.ndindex(*self.counts):
            place = tuple(
                slice(coord * size, (coord + 1) * size)
                for coord, size in zip(coords, self.chunk_shape, strict=True)
            )
            yield self.template % coords, place

    def read_index(self, store: RangeReader, key: str) -> NDArray[np.uint64] | None:
        """The index of the shard under `key`, or None where there is none; raises `ChunkError`."""
        size = self.index_size
        data = store.get_range(key, -size if self.index_at_end else 0, size)
        if data is None:
            return None
        try:
            return self.decode_index(data)
        except CodecError as error:
            raise ChunkError(key, str(error)) from error

    def decode_index(self, data: Buffer) -> NDArray[np.uint64]:
        """Offset and size of each inner chunk, shape `(*counts, 2)`; raises `CodecError`."""
        if len(data) != self.index_size:
            raise CodecError(f"got {len(data)} bytes of a shard index, expected {self.index_size}")
        index = np.empty((*self.counts, 2), np.uint64)
        self.index.decode_into(data, index)
        offsets, sizes = index.reshape(-1, 2).T
        stored = offsets != ABSENT
        if (stored != (sizes != ABSENT)).any():
            raise CodecError("the shard index has an offset without a size, or a size without an offset")
        if (sizes[stored] >= 2**63).any() or (offsets[stored] >= 2**63).any():
            raise CodecError("the shard index tells of offsets or sizes that no shard has")
        order = np.argsort(offsets[stored])
        ends = (offsets + sizes)[stored][order]
        starts = offsets[stored][order]
        first = 0 if self.index_at_end else self.index_size
        if len(starts) and (starts[0] < first or (starts[1:] < ends[:-1]).any()):
            raise CodecError("the shard index tells of inner chunks that overlap")
        return index

    def split(self, data: Buffer) -> dict[str, Buffer]:
        """Encoded inner chunks of a whole shard, by key; raises `CodecError`."""
        view = memoryview(data)
        if len(view) < self.index_size:
            raise CodecError(f"got {len(view)} bytes, expected a shard with an index of {self.index_size}")
        content = view[: -self.index_size] if self.index_at_end else view
        head = view[-self.index_size :] if self.index_at_end else view[: self.index_size]
        index = self.decode_index(head)
        objects: dict[str, Buffer] = {}
        for coords in zip(*np.nonzero(index[..., 0] != ABSENT), strict=True):
            offset, size = index[coords].tolist()
            if offset + size > len(content):
                raise CodecError(
                    f"inner chunk {self.template % coords}: ends at byte {offset + size}, "
                    f"expected at most {len(content)}"
                )
            objects[self.template % coords] = content[offset : offset + size]
        return objects


def _index_size(codecs: tuple[Codec, ...], spec: ChunkSpec) -> int:
    """Bytes of an encoded index, which is not made where it is large; raises `MetadataError`."""
    count = math.prod(spec.shape[:-1])
    if count <= _MEASURED:
        return _measured_size(codecs, spec)
    half, whole = (
        _measured_size(codecs, replace(spec, shape=(*(1,) * (len(spec.shape) - 2), entries, 2)))
        for entries in (_MEASURED // 2, _MEASURED)
    )
    # Codecs of fixed size add the same, a checksum, whatever the number of entries.
    if whole - half != _MEASURED // 2 * _ENTRY_BYTES:
        raise _not_fixed(codecs)
    return whole + (count - _MEASURED) * _ENTRY_BYTES


def _measured_size(codecs: tuple[Codec, ...], spec: ChunkSpec) -> int:
    chain = PreparedChain(codecs, spec)
    size = len(chain.encode(np.full(spec.shape, ABSENT)))
    varied = np.arange(math.prod(spec.shape), dtype=np.uint64).reshape(spec.shape)
    if len(chain.encode(varied)) != size:
        raise _not_fixed(codecs)
    return size


def _not_fixed(codecs: tuple[Codec, ...]) -> MetadataError:
    names = [codec.name for codec in codecs]
    return MetadataError(
        "codec 'sharding_indexed'", [f"index_codecs: got {names}, expected codecs of fixed size"]
    )


def layout_of(chain: PreparedChain) -> ShardLayout | None:
    """Layout of the shards that a chain makes of chunks, if it makes shards and nothing else of them."""
    only = not chain.array_codecs and not chain.bytes_codecs
    return chain.serializer.layout if only and isinstance(chain.serializer, ShardingCodec) else None


class Layout(Protocol):
    """What is known of all such objects of an array: of its shards, say."""

    spec: ChunkSpec
    """Shape and data type of the whole."""
    chunk_shape: tuple[int, ...]
    """Shape of the inner chunks in elements."""
    inner: PreparedChain
    """Chain of the inner chunks."""
    counts: tuple[int, ...]
    """Number of inner chunks along each dimension."""
    index_at_end: bool
    index_size: int
    """Bytes of the stored index."""

    @property
    def template(self) -> str:
        """Key of an inner chunk as a `%` template for its coordinates."""

    def read_index(self, store: RangeReader, key: str) -> NDArray[np.uint64] | None:
        """Offset and size of each inner chunk in the object under `key`; None where there is none."""


class ShardReader:
    """The inner chunks of one stored shard, fetched as they are asked for, near ones together."""

    def __init__(self, layout: Layout, store: RangeReader, key: str, index: NDArray[np.uint64]) -> None:
        self._layout = layout
        self._store = store
        self._key = key
        self.range_gap = store.range_gap
        self._index = index
        self._end = _end(index) if layout.index_at_end else None
        self._groups: dict[str, _Group] = {}

    def expect(self, keys: Iterable[str]) -> None:
        """Tell which inner chunks will be asked for, each once, so that near ones are fetched together."""
        found = {key: entry for key in keys if (entry := self._entry(key)) is not None}
        merged = ranges.merge(found.values(), gap=self.range_gap)
        groups = [_Group(*group) for group in merged]
        for key, (start, _) in found.items():
            group = groups[bisect.bisect_right(merged, start, key=lambda group: group[0]) - 1]
            group.members += 1
            self._groups[key] = group

    def get(self, key: str) -> Buffer | None:
        """Encoded bytes of the inner chunk, or None where there is none; raises `ChunkError`."""
        entry = self._entry(key)
        return None if entry is None else self._bytes(key, *entry)

    def get_into(self, key: str, out: memoryview) -> int | None:
        """Size of the inner chunk in bytes, or None where there is none; fills `out` from its start."""
        data = self.get(key)
        return None if data is None else copy_into(data, out)

    def get_range(self, key: str, start: int, length: int) -> Buffer | None:
        """Part of an inner chunk, `start` < 0 counting from its end, or None where it is absent."""
        entry = self._entry(key)
        if entry is None:
            return None
        offset, size = entry
        first = max(0, size + start) if start < 0 else min(start, size)
        return self._fetch(key, offset + first, min(length, size - first))

    def _entry(self, key: str) -> tuple[int, int] | None:
        offset, size = self._index[tuple(map(int, key.split("/"))) if key else ()].tolist()
        return None if offset == ABSENT else (offset, size)

    def _bytes(self, key: str, offset: int, size: int) -> Buffer:
        group = self._groups.get(key)
        if group is None:
            return self._fetch(key, offset, size)
        with group.lock:
            if group.data is None:
                group.data = memoryview(self._fetch(key, group.start, group.length))
            data = group.data[offset - group.start :][:size]
            group.members -= 1
            if group.members == 0:
                group.data = None
        return data

    def _fetch(self, key: str, start: int, length: int) -> Buffer:
        # The index must follow the last inner chunk, or else some of its bytes would be taken for content.
        whole = length + self._layout.index_size if start + length == self._end else length
        data = self._store.get_range(self._key, start, whole)
        found = 0 if data is None else len(data)
        if data is None or found != whole:
            raise ChunkError(
                key, f"the shard has {found} bytes from {start} on, expected {whole} as its index tells"
            )
        return data if whole == length else memoryview(data)[:length]


def _end(index: NDArray[np.uint64]) -> int | None:
    """Where the last inner chunk ends, if there is one."""
    ends = index.sum(axis=-1)[index[..., 0] != ABSENT]
    return int(ends.max()) if ends.size else None


class _Group:
    """Near inner chunks that are fetched as one range, by the first who needs one, kept until the last."""

    def __init__(self, start: int, length: int) -> None:
        self.start = start
        self.length = length
        self.lock = threading.Lock()
        self.data: memoryview | None = None
        self.members = 0


class ShardWriter:
    """The inner chunks of a shard that is being made."""

    def __init__(self, layout: ShardLayout, objects: dict[str, Buffer]) -> None:
        self._layout = layout
        self._objects = objects

    @property
    def empty(self) -> bool:
        """Whether there is no inner chunk."""
        return not self._objects

    def get(self, key: str) -> Buffer | None:
        """Encoded bytes of the inner chunk, or None where there is none."""
        return self._objects.get(key)

    def get_into(self, key: str, out: memoryview) -> int | None:
        """Size of the inner chunk in bytes, or None where there is none; fills `out` from its start."""
        data = self._objects.get(key)
        return None if data is None else copy_into(data, out)

    def set(self, key: str, data: Buffer) -> None:
        """Put an inner chunk; `data` must not change before the shard is encoded."""
        self._objects[key] = data

    def erase(self, key: str) -> None:
        """Remove an inner chunk; nothing happens where it is absent."""
        self._objects.pop(key, None)

    def encode(self) -> Buffer:
        """The shard: inner chunks in C order and the index."""
        layout = self._layout
        index = np.full((*layout.counts, 2), ABSENT)
        at = 0 if layout.index_at_end else layout.index_size
        parts: list[Buffer] = []
        for coords in np.ndindex(*layout.counts):
            data = self._objects.get(layout.template % coords)
            if data is not None:
                index[coords] = at, len(data)
                at += len(data)
                parts.append(data)
        encoded = layout.index.encode(index)
        return b"".join((*parts, encoded) if layout.index_at_end else (encoded, *parts))
