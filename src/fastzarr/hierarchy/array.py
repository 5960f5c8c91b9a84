"""`Array`: one array of a hierarchy, read and written by selection."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from fastzarr import chunk_io, codec_chain, sharding
from fastzarr.chunk_io import ChunkIO
from fastzarr.chunks.grid import cdata_shape
from fastzarr.codecs.base import ChunkSpec, Codec
from fastzarr.errors import ArrayNotFoundError, BufferMismatchError, ReadOnlyError
from fastzarr.hierarchy import nodes
from fastzarr.hierarchy.attributes import Attributes
from fastzarr.indexing import BasicSelection, Grid
from fastzarr.metadata.model import ArrayMetadata, MemoryOrder
from fastzarr.stores.base import Store


@dataclass(frozen=True, kw_only=True)
class ArrayConfig:
    """Runtime configuration of one array; nothing of it is stored."""

    order: MemoryOrder = "C"
    """Memory order of arrays that reading returns (in v2 the stored order is taken)."""
    write_empty_chunks: bool = False
    """Whether chunks equal to the fill value are stored; else they are left out, and erased."""


class Array:
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
        spec = ChunkSpec(shape=metadata.chunks, dtype=metadata.dtype, fill_value=metadata.fill_element)
        self._chain = codec_chain.prepare([(c.name, c.configuration) for c in metadata.codecs], spec)
        self._layout = sharding.layout_of(self._chain)
        self._inner = self._chain if self._layout is None else self._layout.inner
        template = nodes.key(
            path.replace("%", "%%"), metadata.chunk_key_encoding.template(len(metadata.chunks))
        )
        self._io = ChunkIO(
            store=store,
            key_template=template,
            chain=self._chain,
            shape=metadata.shape,
            chunks=metadata.chunks,
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
        """Chunk shape, in elements; of a sharded array that of the inner chunks."""
        return self._metadata.chunks if self._layout is None else self._layout.chunk_shape

    @property
    def shards(self) -> tuple[int, ...] | None:
        """Shape of the shards, in elements; None where chunks are stored one by one."""
        return None if self._layout is None else self._metadata.chunks

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
    def cdata_shape(self) -> tuple[int, ...]:
        """Number of chunks (of a sharded array: inner chunks) along each dimension."""
        return cdata_shape(self.shape, self.chunks)

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

    def __getitem__(self, selection: BasicSelection) -> Any:
        """Selected elements as a new NumPy array; a NumPy scalar where no dimension is left.

        `selection`: integers, slices with steps of 1 or more, one `...`. Raises `SelectionError` and
        `ChunkError`.
        """
        plan = self._grid.plan(selection)
        out = np.empty(plan.layout.shape, self.dtype, self.order)
        self._io.read(plan, out)
        return out[plan.layout.drop]

    def read_into(self, out: NDArray[Any], *, selection: BasicSelection = ...) -> None:
        """Fill `out` with the selected elements, without a copy where its layout allows.

        `out` is writable, has the shape of `array[selection]`, the array's dtype, any strides, and no element
        twice; else `BufferMismatchError`. Raises `SelectionError` and `ChunkError` too; after an error `out`
        may be filled in part.
        """
        plan = self._grid.plan(selection)
        if (
            type(out) is not np.ndarray
            or out.shape != plan.layout.result_shape
            or out.dtype != self._metadata.dtype
            or not out.flags.carray
        ):
            _require_readable_into(out, plan.layout.result_shape, self.dtype)
        self._io.read(plan, out[plan.layout.expand])

    def __setitem__(self, selection: BasicSelection, value: object) -> None:
        """Write `value`, an array or scalar that broadcasts to the selection, cast as NumPy assigns.

        Raises `SelectionError`, `BufferMismatchError`, `ReadOnlyError` and, for a partly written chunk that
        can't be decoded, `ChunkError`.
        """
        self._require_writable()
        plan = self._grid.plan(selection)
        if isinstance(value, np.ndarray):
            given = value
        else:
            given = np.asarray(value) if hasattr(value, "__array__") else np.asarray(value, self.dtype)
            if not given.ndim:
                given = np.empty((), self.dtype)
                given[...] = value
        if given.shape != plan.layout.result_shape:
            try:
                given = np.broadcast_to(given, plan.layout.result_shape)
            except ValueError as error:
                expected = f"one that broadcasts to {plan.layout.result_shape}"
                raise BufferMismatchError(
                    f"got a value of shape {given.shape}, expected {expected}"
                ) from error
        self._io.write(plan, np.asarray(given)[plan.layout.expand])

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
        rows = {
            "Type": "Array",
            "Zarr format": metadata.zarr_format,
            "Data type": array.dtype,
            "Fill value": array.fill_value,
            "Shape": array.shape,
            **({} if array.shards is None else {"Shard shape": array.shards}),
            "Chunk shape": array.chunks,
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


def _readable(nbytes: float) -> str:
    for unit in ("B", "KiB", "MiB", "GiB", "TiB"):
        if nbytes < 1024 or unit == "TiB":
            break
        nbytes /= 1024
    return f"{nbytes:.4g} {unit}"


def _require_readable_into(out: object, shape: tuple[int, ...], dtype: np.dtype[Any]) -> None:
    if not isinstance(out, np.ndarray):
        raise BufferMismatchError(f"out: got {type(out).__name__}, expected a NumPy array")
    if out.shape != shape:
        raise BufferMismatchError(f"out: got shape {out.shape}, expected {shape}, the shape of the selection")
    if out.dtype != dtype:
        raise BufferMismatchError(f"out: got dtype {out.dtype.str}, expected {dtype.str}, the array's")
    if not out.flags.writeable:
        raise BufferMismatchError("out: got a read-only array, expected a writable one")
    if out.size and not out.flags.c_contiguous and _may_overlap(out):
        raise BufferMismatchError(
            f"out: got strides {out.strides} in which elements share memory, expected each to have its own"
        )


def _may_overlap(array: NDArray[Any]) -> bool:
    reach = array.itemsize
    for stride, size in sorted(
        (abs(stride), size) for stride, size in zip(array.strides, array.shape, strict=True)
    ):
        if size > 1:
            if stride < reach:
                return True
            reach += (size - 1) * stride
    return False
