"""`Array`: one array of a hierarchy, read and written by selection."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from fastzarr import chunk_io, codec_chain, sharding
from fastzarr.chunks.axis import ChunkSizes, largest
from fastzarr.chunks.grid import cdata_shape, divides, is_regular, to_json
from fastzarr.codec_chain import PreparedChain
from fastzarr.codecs.base import ChunkSpec, Codec
from fastzarr.errors import ArrayNotFoundError, ChunkShapeError, MetadataError, ReadOnlyError
from fastzarr.hierarchy import nodes
from fastzarr.hierarchy.attributes import Attributes
from fastzarr.hierarchy.selections import Selectable
from fastzarr.indexing import Grid
from fastzarr.metadata.model import ArrayMetadata, MemoryOrder
from fastzarr.stores.base import Store


@dataclass(frozen=True, kw_only=True)
class ArrayConfig:
    """Runtime configuration of one array; nothing of it is stored."""

    order: MemoryOrder = "C"
    """Memory order of arrays that reading returns (in v2 the stored order is taken)."""
    write_empty_chunks: bool = False
    """Whether chunks equal to the fill value are stored; else they are left out, and erased."""


class Array(Selectable):
    """An array in a store. Made by `create_array`, `open_array` and `open`.

    Safe to share between threads; pickles with its store. Writers of parts of the same chunk in one process
    don't lose each other's data; across processes, writers must write distinct chunks.
    """

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
            key_template=template,
            chain=self._chain,
            dtype=metadata.dtype,
            fill_value=metadata.fill_element,
            # v2's null says nothing of what is missing, so nothing is left out for it.
            write_empty_chunks=config.write_empty_chunks or metadata.fill_value is None,
        )

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (self._store, self._path, self._metadata, self._config)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Array):
            return NotImplemented
        same_place = self._store.identity == other._store.identity and self._path == other._path
        return same_place and self._metadata == other._metadata

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"<Array {nodes.place(self._store, self._path)} shape={self.shape} dtype={self.dtype}>"

    @property
    def metadata(self) -> ArrayMetadata:
        """The metadata, one model for both formats."""
        return self._metadata

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
    def attrs(self) -> Attributes:
        """User attributes; changes are written at once."""
        return Attributes(lambda: self._metadata.attributes, self._change_attributes)

    @property
    def ndim(self) -> int:
        """Number of dimensions."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """Number of elements."""
        return math.prod(self.shape)

    @property
    def itemsize(self) -> int:
        """Bytes of an element."""
        return self.dtype.itemsize

    @property
    def nbytes(self) -> int:
        """Bytes of all elements, decoded."""
        return self.size * self.itemsize

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
    def nchunks(self) -> int:
        """Number of chunks, stored or not."""
        return math.prod(self.cdata_shape)

    @property
    def filters(self) -> tuple[Codec, ...]:
        """The array→array codecs; for v2 none, since `order` is no filter."""
        return () if self._metadata.zarr_format == 2 else tuple(self._inner.array_codecs)

    @property
    def serializer(self) -> Codec | None:
        """The array→bytes codec (of a sharded array: of the inner chunks); None for v2."""
        return None if self._metadata.zarr_format == 2 else self._inner.serializer

    @property
    def compressors(self) -> tuple[Codec, ...]:
        """The bytes→bytes codecs (of a sharded array: of the inner chunks)."""
        return tuple(self._inner.bytes_codecs)

    @property
    def store(self) -> Store:
        """The store."""
        return self._store

    @property
    def path(self) -> str:
        """Path in the store, without a leading slash; empty for the root."""
        return self._path

    @property
    def name(self) -> str:
        """Path with a leading slash."""
        return f"/{self._path}"

    @property
    def basename(self) -> str:
        """Last part of the path."""
        return self._path.rpartition("/")[2]

    @property
    def read_only(self) -> bool:
        """Whether writing raises."""
        return self._store.read_only

    @property
    def info(self) -> ArrayInfo:
        """What the array is, as a table to print."""
        return ArrayInfo(self)

    def update_attributes(self, attributes: Mapping[str, Any]) -> Array:
        """Set the given attributes, keep the others, and return the array."""
        self.attrs.update(attributes)
        return self

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
        spec = ChunkSpec(shape=chunk_shape, dtype=metadata.dtype, fill_value=metadata.fill_element)
        return codec_chain.prepare([(c.name, c.configuration) for c in metadata.codecs], spec)

    def _require_writable(self) -> None:
        if self.read_only:
            raise ReadOnlyError(f"{self!r} is read only; open it with mode 'r+' or 'a' to write")

    def _change_attributes(self, change: Callable[[dict[str, Any]], dict[str, Any]]) -> None:
        self._require_writable()
        with chunk_io.lock(self._store, nodes.key(self._path, "attributes")):
            stored = nodes.read_array(self._store, self._path, self._metadata.zarr_format)
            if stored is None:
                raise ArrayNotFoundError(f"{self!r} is no longer in the store")
            attributes = change(dict(stored.attributes))
            nodes.write_attributes(self._store, self._path, replace(stored, attributes=attributes))
            self._metadata = replace(self._metadata, attributes=attributes)


class ArrayInfo:
    """What an array is; `str` and `repr` give an aligned table."""

    def __init__(self, array: Array) -> None:
        metadata = array.metadata
        stored, read = map(_shown, (metadata.chunks, array._read_sizes))
        rows = {
            "Type": "Array",
            "Zarr format": metadata.zarr_format,
            "Data type": array.dtype,
            "Fill value": array.fill_value,
            "Shape": array.shape,
            **({} if array._layout is None else {"Shard shape": stored}),
            "Chunk shape": read,
            "Order": array.order,
            "Read-only": array.read_only,
            "Store": array.store,
            "Path": array.name,
            "Filters": array.filters,
            "Serializer": array.serializer,
            "Compressors": array.compressors,
            "No. chunks": array.nchunks,
            "No. bytes": f"{array.nbytes} ({_readable(array.nbytes)})",
        }
        self.rows = {name: str(value) for name, value in rows.items()}

    def __repr__(self) -> str:
        width = max(map(len, self.rows))
        return "\n".join(f"{name:<{width}} : {value}" for name, value in self.rows.items())


def _shown(sizes: tuple[ChunkSizes, ...]) -> object:
    """Chunk sizes for people: a shape, or the edge lengths as they are written."""
    return sizes if is_regular(sizes) else to_json(sizes)["configuration"]["chunk_shapes"]


def _readable(nbytes: float) -> str:
    for unit in ("B", "KiB", "MiB", "GiB", "TiB"):
        if nbytes < 1024 or unit == "TiB":
            break
        nbytes /= 1024
    return f"{nbytes:.4g} {unit}"
