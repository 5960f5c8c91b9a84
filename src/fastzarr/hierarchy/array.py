"""`Array`: one array of a hierarchy, read and written by selection."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from fastzarr import chunk_io, codec_chain, sharding
from fastzarr.chunks import rectilinear
from fastzarr.chunks.axis import ChunkSizes, largest
from fastzarr.chunks.grid import cdata_shape, divides, is_regular, normalize_shape
from fastzarr.codec_chain import PreparedChain
from fastzarr.codecs.base import ChunkSpec, Codec
from fastzarr.errors import (
    ArrayNotFoundError,
    BoundsCheckError,
    BufferMismatchError,
    ChunkShapeError,
    MetadataError,
)
from fastzarr.hierarchy import nodes, resize
from fastzarr.hierarchy.config import ArrayConfig, ConfigLike, config_members, parse_config
from fastzarr.hierarchy.info import Info, readable
from fastzarr.hierarchy.node import Node
from fastzarr.hierarchy.selections import Selectable
from fastzarr.indexing import Grid
from fastzarr.metadata import v2, v3
from fastzarr.metadata.model import ArrayMetadata, MemoryOrder
from fastzarr.stores.base import Store


class Array(Node[ArrayMetadata], Selectable):
    """An array in a store. Made by `create_array`, `open_array` and `open`.

    Safe to share between threads; pickles with its store. Writers of parts of the same chunk in one process
    don't lose each other's data, except beside `resize` and `append`: a write that began before one of them
    knows the old shape, and may replace what was appended to the chunk at the old edge. Across processes,
    writers must write distinct chunks.
    """

    _io: chunk_io.ChunkIO

    def __init__(self, store: Store, path: str, metadata: ArrayMetadata, config: ArrayConfig) -> None:
        self._store = store
        self._path = path
        self._config = config
        self._metadata = metadata
        self._grid = Grid(metadata.shape, metadata.chunks)
        self._chain = self._prepare(largest(metadata.chunks))
        self._layout = sharding.layout_of(self._chain)
        self._inner = self._chain if self._layout is None else self._layout.inner
        if self._layout is not None and not divides(self._layout.chunk_shape, metadata.chunks):
            expected = f"sizes that divide those of all shards, {metadata.chunks}"
            raise MetadataError(
                "codec 'sharding_indexed'",
                [f"chunk_shape: got {self._layout.chunk_shape}, expected {expected}"],
            )
        template = nodes.key(
            path.replace("%", "%%"), metadata.chunk_key_encoding.template(len(metadata.chunks))
        )
        self._io = chunk_io.of_grid(
            self._grid,
            self._prepare,
            store=store,
            path=path,
            key_template=template,
            chain=self._chain,
            dtype=metadata.dtype,
            fill_value=metadata.fill_element,
            # v2's null says nothing of what is missing, so nothing is left out for it.
            write_empty_chunks=config.write_empty_chunks or metadata.fill_value is None,
            read_missing_chunks=config.read_missing_chunks,
            threads=config.threads,
        )

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (self._store, self._path, self._metadata, self._config)

    def __repr__(self) -> str:
        return f"<Array {nodes.place(self._store, self._path)} shape={self.shape} dtype={self.dtype}>"

    @property
    def shape(self) -> tuple[int, ...]:
        """Size of each dimension, in elements."""
        return self._metadata.shape

    @property
    def dtype(self) -> np.dtype[Any]:
        """NumPy dtype of the elements; in v2 with the stored byte order, in v3 native."""
        return self._metadata.dtype

    @property
    def chunks(self) -> tuple[int, ...]:
        """Chunk shape, in elements; of a sharded array that of the inner chunks.

        Raises `ChunkShapeError` where chunks differ in shape.
        """
        return self._one_shape(self._metadata.chunks) if self._layout is None else self._layout.chunk_shape

    @property
    def shards(self) -> tuple[int, ...] | None:
        """Shape of the shards, in elements; None where chunks are stored one by one.

        Raises `ChunkShapeError` where shards differ in shape.
        """
        return None if self._layout is None else self._one_shape(self._metadata.chunks)

    @property
    def order(self) -> MemoryOrder:
        """Memory order of arrays that reading returns."""
        return self._metadata.order if self._metadata.zarr_format == 2 else self._config.order

    @property
    def fill_value(self) -> Any:
        """Value of elements never written; None for the v2 `null`, which reads as zero."""
        return self._metadata.fill_value

    @property
    def read_chunk_sizes(self) -> tuple[tuple[int, ...], ...]:
        """Elements of the array in each chunk (of a sharded array: inner chunk), along each dimension."""
        return Grid(self.shape, self._read_sizes).extents()

    @property
    def write_chunk_sizes(self) -> tuple[tuple[int, ...], ...]:
        """Elements of the array in each stored chunk (of a sharded array: shard), along each dimension."""
        return self._grid.extents()

    @property
    def cdata_shape(self) -> tuple[int, ...]:
        """Number of chunks (of a sharded array: inner chunks) along each dimension."""
        return cdata_shape(self.shape, self._read_sizes)

    @property
    def filters(self) -> tuple[Codec, ...]:
        """The array→array codecs; for v2 one codec that does what the filters do, if there are any."""
        if self._metadata.zarr_format == 3:
            return tuple(self._inner.array_codecs)
        serializer = self._chain.serializer
        return () if serializer.memory else getattr(serializer, "as_filters", (serializer,))

    @property
    def serializer(self) -> Codec | None:
        """The array→bytes codec (of a sharded array: of the inner chunks); None for v2."""
        return None if self._metadata.zarr_format == 2 else self._inner.serializer

    @property
    def compressors(self) -> tuple[Codec, ...]:
        """The bytes→bytes codecs (of a sharded array: of the inner chunks); for v2 the compressor, if any."""
        if self._metadata.zarr_format == 2 and hasattr(self._chain.serializer, "as_compressors"):
            return self._chain.serializer.as_compressors  # type: ignore[no-any-return]
        return tuple(self._inner.bytes_codecs)

    def info_complete(self) -> Info:
        """What the array is, with what of it is stored; lists the store."""
        stored = self.nbytes_stored()
        return Info(
            self._info_rows()
            | {
                "No. bytes stored": f"{stored} ({readable(stored)})",
                "Storage ratio": f"{self.nbytes / stored:.1f}" if stored else "-",
                "Chunks initialized": f"{self.nchunks_initialized}/{self.nchunks}",
            }
        )

    @property
    def nchunks_initialized(self) -> int:
        """Number of stored chunks (of a sharded array: all those of stored shards); lists the store."""
        counts = self._metadata.cdata_shape
        stored = resize.stored_chunks(self._store, self._path, self._metadata.chunk_key_encoding, counts)
        per_object = 1 if self._layout is None else math.prod(self._layout.counts)
        return sum(1 for _ in stored) * per_object

    def nbytes_stored(self) -> int:
        """Bytes of all objects of the array, documents and chunks; lists the store."""
        nothing = memoryview(bytearray())
        keys = self._store.list_prefix(nodes.key(self._path, "") if self._path else "")
        return sum(self._store.get_into(key, nothing) or 0 for key in keys)

    def iter_chunk_selections(self) -> Iterator[tuple[slice, ...]]:
        """The part of the array in each stored chunk (of a sharded array: shard), in C order; lazily."""
        return resize.parts(self._grid.axes)

    @property
    def config(self) -> ArrayConfig:
        """Runtime configuration."""
        return self._config

    def with_config(self, config: ConfigLike) -> Array:
        """The same array with another runtime configuration; what `config` leaves out stays as it is."""
        given = config_members(self._config) | config_members(config)
        return type(self)(self._store, self._path, self._metadata, parse_config(given))

    def refresh(self) -> Array:
        """Take over shape and attributes that others have stored since, and return the array."""
        self._become(make_array(self._store, self._path, self._stored(), self._config))
        return self

    def resize(self, new_shape: int | Sequence[int], *, erase_beyond: bool = False) -> None:
        """Change the shape; elements that stay keep their values, new ones have the fill value.

        Whole chunks outside of the new shape are erased; elements outside of it in chunks that stay may be
        seen again when the array grows, as in zarr-python, unless `erase_beyond` has those chunks written
        anew, with the fill value there. Growing does nothing for each chunk. The metadata is stored before
        anything is erased. Other open arrays of the same place keep their shape until
        `refresh`: what they write to the old edge replaces what was written beyond it in the same chunk.
        Raises `MetadataError` and `ReadOnlyError`.
        """
        shape = normalize_shape(new_shape)
        if len(shape) != self.ndim:
            raise MetadataError("shape", [f"got {shape}, expected {self.ndim} sizes, one for each dimension"])
        self._require_writable()
        with self._document_lock():
            before = self._stored()
            self._reshape(before, shape)
            if before.shape == shape:  # what an earlier call has left, which failed while it erased
                encoding = before.chunk_key_encoding
                resize.erase_leftovers(self._store, self._path, encoding, before.cdata_shape)
            if erase_beyond:
                self._erase_beyond(before.shape)

    def append(self, data: ArrayLike, axis: int = 0) -> tuple[int, ...]:
        """Grow the array along `axis` by `data`, which has the array's shape in all others; the new shape.

        Where that fails or is interrupted the array gets its old shape back, and what was written is erased.
        Raises `BufferMismatchError`.
        """
        values = np.asarray(data, None if hasattr(data, "dtype") else self.dtype)
        if not -self.ndim <= axis < self.ndim:
            raise BoundsCheckError(f"axis: got {axis}, expected one of {self.ndim} dimensions")
        axis %= self.ndim
        others = tuple(size for n, size in enumerate(self.shape) if n != axis)
        if values.ndim != self.ndim or tuple(np.delete(values.shape, axis)) != others:
            expected = ", ".join("any" if n == axis else str(size) for n, size in enumerate(self.shape))
            raise BufferMismatchError(f"got data of shape {values.shape}, expected ({expected})")
        count = values.shape[axis]
        self._require_writable()
        with self._document_lock():  # or else another's append would be taken for what lies beyond the shape
            before = self._stored()
            start = before.shape[axis]
            grown = (*before.shape[:axis], start + count, *before.shape[axis + 1 :])
            try:
                self._reshape(before, grown)
                self[(*[slice(None)] * axis, slice(start, start + count))] = values
            except BaseException:
                self._reshape(self._stored(), before.shape)
                self._erase_beyond(grown)
                raise
            return self.shape

    def __iter__(self) -> Iterator[Any]:
        for index in range(len(self)):
            yield self[index]

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("len() of an array without dimensions")
        return self.shape[0]

    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> NDArray[Any]:
        if copy is False:
            raise ValueError("an array in a store can't become a NumPy array without a copy")
        whole = np.asarray(self[...])
        return whole if dtype is None else whole.astype(dtype, copy=False)

    @property
    def _read_sizes(self) -> tuple[ChunkSizes, ...]:
        return self._metadata.chunks if self._layout is None else self._layout.chunk_shape

    def _one_shape(self, sizes: tuple[ChunkSizes, ...]) -> tuple[int, ...]:
        if not is_regular(sizes):
            raise ChunkShapeError(
                f"{self!r}: got a rectilinear chunk grid, expected chunks of one shape; see read_chunk_sizes"
            )
        return sizes

    def _prepare(self, chunk_shape: tuple[int, ...]) -> PreparedChain:
        """The codec chain for chunks of a shape."""
        metadata = self._metadata
        spec = ChunkSpec(
            shape=chunk_shape,
            dtype=metadata.dtype,
            fill_value=metadata.fill_element,
            validate_checksums=self._config.validate_checksums,
        )
        return codec_chain.prepare([(c.name, c.configuration) for c in metadata.codecs], spec)

    def _info_rows(self) -> dict[str, Any]:
        return {
            "Type": "Array",
            "Zarr format": self._metadata.zarr_format,
            "Data type": self.dtype,
            "Fill value": self.fill_value,
            "Shape": self.shape,
            **({} if self._layout is None else {"Shard shape": _shown(self._metadata.chunks)}),
            "Chunk shape": _shown(self._read_sizes),
            "Order": self.order,
            "Read-only": self.read_only,
            "Store": self.store,
            "Path": self.name,
            "Filters": self.filters,
            "Serializer": self.serializer,
            "Compressors": self.compressors,
            "No. chunks": self.nchunks,
            "No. bytes": f"{self.nbytes} ({readable(self.nbytes)})",
        }

    def _reshape(self, before: ArrayMetadata, shape: tuple[int, ...]) -> None:
        """Store another shape in place of that of `before`, the stored metadata, and erase chunks outside."""
        inner = None if self._layout is None else self._layout.chunk_shape
        after = nodes.with_shape(self._store, self._path, before, shape, inner)
        new = make_array(self._store, self._path, after, self._config)  # raises before anything is written
        nodes.write_array(self._store, self._path, after)
        self._become(new)
        encoding = after.chunk_key_encoding
        resize.erase_outside(self._store, self._path, encoding, before.cdata_shape, after.cdata_shape)

    def _become(self, other: Array) -> None:
        """Take over all that another handle of the same array has prepared."""
        vars(self).update(vars(other))

    def _erase_beyond(self, before: tuple[int, ...]) -> None:
        """Write the fill value beyond the array in chunks at an edge that was further out before."""
        io = self.with_config({"read_missing_chunks": True})._io
        for selection in resize.edges(self._grid.axes, before):
            io.rewrite(self._grid.plan(selection))

    def _document_lock(self) -> contextlib.AbstractContextManager[object]:
        return chunk_io.document_lock(self._store, self._path)

    def _stored(self) -> ArrayMetadata:
        stored = nodes.read_array(self._store, self._path, self._metadata.zarr_format)
        if stored is None:
            raise ArrayNotFoundError(f"{self!r} is no longer in the store")
        return stored


def _shown(sizes: tuple[ChunkSizes, ...]) -> object:
    """Chunk sizes for people: a shape, or for each dimension one size or its runs of sizes."""
    return sizes if is_regular(sizes) else [rectilinear.to_json(entry) for entry in sizes]


def make_array(store: Store, path: str, metadata: ArrayMetadata, config: ConfigLike = None) -> Array:
    """The array, where its codecs are known and fit; errors of codecs get the name of the document."""
    try:
        return Array(store, path, metadata, parse_config(config))
    except MetadataError as error:
        document_key = nodes.key(path, v3.DOCUMENT if metadata.zarr_format == 3 else v2.DOCUMENT)
        problems = [f"{error.where}: {problem}" for problem in error.problems]
        raise type(error)(f"{store}/{document_key}", problems) from error
