"""The chunks of one array, read and written by plan.

A single chunk is handled on the caller's thread; more than one by the caller and the pool together. Runs of
chunks go through the compiled kernel where there is one and it can do them; all others, and those it leaves,
one by one.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from fastzarr import sharding
from fastzarr.chunk_io import crew, locks
from fastzarr.chunk_io.kernel import Kernel, place_of
from fastzarr.chunk_io.locks import ChunkLocks, NoLocks
from fastzarr.chunk_io.shards import Shards
from fastzarr.chunks.axis import Axis
from fastzarr.codec_chain import PreparedChain
from fastzarr.errors import ChunkError, ChunkNotFoundError, CodecError
from fastzarr.fill import FillPattern
from fastzarr.indexing import Grid, Plan, Projection
from fastzarr.stores.base import Buffer, Store
from fastzarr.stores.memory import MemoryStore

_FEW_BYTES = 64
"""That a store may change in place."""


class ChunkIO:
    """Reads and writes the chunks of one array."""

    def __init__(
        self,
        *,
        store: Store,
        key_template: str,
        chain: PreparedChain,
        axes: tuple[Axis, ...],
        chunks: tuple[int, ...],
        dtype: np.dtype[Any],
        fill_value: Any,
        write_empty_chunks: bool,
        chunk_locks: ChunkLocks | NoLocks,
        read_missing_chunks: bool = True,
        threads: int | None = None,
    ) -> None:
        self._store = store
        self._concurrency = store.concurrency
        self._threads = threads
        self._axes = axes
        self._key_template = key_template
        self._chain = chain
        self._chunks = chunks
        self._dtype = dtype
        self._locks = chunk_locks
        self._field: str | None = None
        self._fill = fill_value
        self._read_missing = read_missing_chunks
        self._elided = None if write_empty_chunks else FillPattern(fill_value, dtype)
        self._place, self._writable = place_of(store, key_template)
        self._kernel = Kernel.of(chain, chunks, dtype, fill_value, elide=not write_empty_chunks)
        layout = sharding.layout_of(chain)
        self._shards = None
        if layout is not None:
            inner = ChunkIO(
                store=MemoryStore(),
                key_template=layout.template,
                chain=layout.inner,
                axes=Grid(layout.spec.shape, layout.chunk_shape).axes,
                chunks=layout.chunk_shape,
                dtype=dtype,
                fill_value=layout.spec.fill_value,
                write_empty_chunks=write_empty_chunks,
                chunk_locks=NoLocks(),
                threads=threads,
            )
            self._shards = Shards(layout, inner, inner._kernel)

    @property
    def inner(self) -> PreparedChain:
        """Chain of the chunks; of a sharded array, of the inner chunks."""
        return self._chain if self._shards is None else self._shards.inner

    def of_field(self, name: str) -> Self:
        """The same for writing one field of a structured data type; the other fields are kept."""
        other = copy.copy(self)
        other._field = name
        return other

    def inside(self, shard: Any, grid: Grid, outer: ChunkIO) -> ChunkIO:
        """The same for the inner chunks of one shard of `outer`, which is a store of them."""
        other = copy.copy(self)
        other._store = shard
        other._axes = grid.axes
        other._field = outer._field
        other._concurrency = outer._concurrency
        return other

    def read(self, plan: Plan, out: NDArray[Any]) -> None:
        """Fill `out`, of the shape of the plan's layout and the array's dtype; raises `ChunkError`."""
        if plan.count == 1 and self._read_kept_shard(plan, out):
            return
        if self._read_by_kernel(plan, out):
            return
        only = plan.only
        if only is not None:
            self._read_chunk(only, out)
        else:
            act = self._read_part if plan.views else self._read_scattered
            crew.run(lambda projection: act(projection, out), plan, self.threads(plan.count))

    def read_chunks(self, coords: NDArray[np.intp], out: NDArray[np.uint8]) -> NDArray[np.bool_]:
        """Fill the rows of `out` with chunks (of a sharded array: inner chunks), and tell which are there.

        `coords`: shape `(n, ndim)`. Each is put as `PreparedChain.in_memory` has it; what is missing becomes
        the fill value. Raises `ChunkError`.
        """
        found = np.zeros(len(out), np.bool_)
        if self._shards is None:
            for row, place in enumerate(coords.tolist()):
                target = self._chain.in_memory(out[row])
                found[row] = self._fetch_into(self._key_template % tuple(place), target)
        else:
            outer, inner = np.divmod(coords, self._shards.counts)
            for shard, rows in in_groups(outer):
                key = self._key_template % shard
                if rows is None:
                    found = self._shards.read_chunks(self, self._store, self._place, key, inner, out)
                else:
                    part = np.empty((len(rows), out.shape[1]), np.uint8)
                    found[rows] = self._shards.read_chunks(
                        self, self._store, self._place, key, inner[rows], part
                    )
                    out[rows] = part
        if not found.all():
            out.view(self._dtype)[~found] = self._fill
        return found

    def write(self, plan: Plan, value: NDArray[Any]) -> None:
        """Write `value`, of the shape of the plan's layout and any numeric dtype; raises `ChunkError`."""
        if plan.only is not None:
            self._write_chunk(plan.only, value)
        elif not self._write_by_kernel(plan, value):
            crew.run(lambda projection: self._write_part(projection, value), plan, self.threads(plan.count))

    def rewrite(self, plan: Plan) -> None:
        """Read and write again the plan's chunks, each under its lock, so that padding has the fill value."""
        for projection in plan:
            with locks.section, self._locks.of(projection.coords):
                part = np.empty(plan.layout.shape, self._dtype)[projection.out]
                self._read_chunk(projection, part)
                self._write_chunk(projection, part)

    def threads(self, count: int) -> int:
        """Threads that work on `count` chunks."""
        return 1 if count == 1 else min(crew.threads_for(self._threads, self._concurrency), count)

    def read_left(self, plan: Plan, numbers: Sequence[int], out: NDArray[Any]) -> None:
        """Read chunks of a plan that the kernel has left."""
        for number in numbers:
            self._read_part(plan[number], out)

    def _read_kept_shard(self, plan: Plan, out: NDArray[Any]) -> bool:
        """Read from one shard whose index is known, and tell whether that was so."""
        shards, bounds, place = self._shards, plan.bounds, self._place
        if shards is None or bounds is None or place is None:
            return False
        return shards.read_kept(self, place, self._key_template.__mod__, self._axes, bounds, out)

    def _read_by_kernel(self, plan: Plan, out: NDArray[Any]) -> bool:
        """Read through the kernel, if there is one for such chunks, and tell whether that was so."""
        kernel, bounds, place = self._kernel, plan.bounds, self._place
        if kernel is None or bounds is None or place is None:
            return False
        sizes = [axis.size for axis in self._axes]
        transfer = kernel.files(out, bounds, sizes, place, reading=True, fill_missing=self._read_missing)
        kernel.run(
            lambda batch: self.read_left(plan, transfer.read(*batch), out),
            plan.count,
            self.threads(plan.count),
        )
        return True

    def _write_by_kernel(self, plan: Plan, value: NDArray[Any]) -> bool:
        """Write through the kernel, if there is one for such chunks, and tell whether that was so."""
        kernel, bounds, place = self._kernel, plan.bounds, self._place
        if kernel is None or bounds is None or place is None or not self._writable:
            return False
        if self._field is not None or value.dtype != self._dtype:
            return False
        sizes = [axis.size for axis in self._axes]
        transfer = kernel.files(value, bounds, sizes, place, reading=False, fill_missing=False)
        first, last = plan[0].coords, plan[plan.count - 1].coords

        def write(batch: tuple[int, int]) -> None:
            for number in transfer.write(*batch, self._locks.of_run(first, last, *batch)):
                self._write_part(plan[number], value)

        kernel.run(write, plan.count, self.threads(plan.count))
        return True

    def _read_part(self, projection: Projection, out: NDArray[Any]) -> None:
        self._read_chunk(projection, out[projection.out])

    def _read_scattered(self, projection: Projection, out: NDArray[Any]) -> None:
        part = out[projection.out]
        self._read_chunk(projection, part)
        out[projection.out] = part

    def _write_part(self, projection: Projection, value: NDArray[Any]) -> None:
        self._write_chunk(projection, value[projection.out])

    def _read_chunk(self, projection: Projection, target: NDArray[Any]) -> None:
        coords, selected, _, complete, padded = projection
        key = self._key_template % coords
        if self._shards is not None:
            found = self._shards.read(self, self._store, key, self._extent(coords), projection, target)
        elif complete and not padded:
            found = self._fetch_into(key, target)
        else:
            chunk = self._fetch(key)
            found = chunk is not None
            if chunk is not None:
                target[...] = chunk[selected]
        if not found:
            self._read_missing_chunk(key, target)

    def _read_missing_chunk(self, key: str, target: NDArray[Any]) -> None:
        if not self._read_missing:
            raise ChunkNotFoundError(
                key, "is not stored; config read_missing_chunks=True reads it as the fill value"
            )
        target[...] = self._fill

    def _fetch(self, key: str) -> NDArray[Any] | None:
        """The whole chunk in memory of its own, or None where it is missing."""
        if self._chain.fixed_size:
            chunk = np.empty(self._chunks, self._dtype)
            return chunk if self._fetch_into(key, chunk) else None
        data = self._store.get(key)
        if data is None:
            return None
        chunk = np.empty(self._chunks, self._dtype)
        self._decode_into(key, data, chunk)
        return chunk

    def _fetch_into(self, key: str, chunk: NDArray[Any]) -> bool:
        """Fill a whole `chunk` and tell whether it was there."""
        chain = self._chain
        if chain.fixed_size:
            memory = chain.memory(chunk)
            if memory is not None:
                size = self._store.get_into(key, memory)
                if size is None:
                    return False
                if size != chain.nbytes:
                    raise ChunkError(key, f"got {size} bytes, expected {chain.nbytes}")
                if chain.swapped:
                    chain.swap(chunk)
                return True
        data = self._store.get(key)
        if data is None:
            return False
        self._decode_into(key, data, chunk)
        return True

    def _decode_into(self, key: str, data: Buffer, chunk: NDArray[Any]) -> None:
        try:
            self._chain.decode_into(data, chunk)
        except CodecError as error:
            raise ChunkError(key, str(error)) from error

    def _write_chunk(self, projection: Projection, value: NDArray[Any]) -> None:
        if self._field is not None:
            projection = projection._replace(complete=False)
        coords, selected, _, complete, padded = projection
        key = self._key_template % coords
        with locks.section, self._locks.of(coords):
            if self._shards is not None:
                self._shards.write(self, self._store, key, self._extent(coords), projection, value)
                return
            if not complete and self._write_in_place(key, projection, value):
                return
            if complete and not padded:
                chunk = value if value.dtype == self._dtype else value.astype(self._dtype)
            else:
                old = None if complete else self._fetch(key)
                chunk = np.full(self._chunks, self._fill, self._dtype) if old is None else old
                (chunk if self._field is None else chunk[self._field])[selected] = value
            self._put(key, chunk)

    def _write_in_place(self, key: str, projection: Projection, value: NDArray[Any]) -> bool:
        """Write a few bytes into a stored chunk that is not coded, where its store can; was that done?"""
        chain = self._chain
        set_range = getattr(self._store, "set_range", None)
        if set_range is None or not chain.fixed_size or self._field is not None:
            return False
        if value.size * self._dtype.itemsize > _FEW_BYTES:
            return False
        start = 0
        runs: list[int] = []
        for chosen, length, stride in zip(
            projection.chunk, value.shape, chain.strides(self._chunks), strict=True
        ):
            if not isinstance(chosen, slice):
                return False
            start += chosen.start * stride
            runs += [stride * chosen.step] if length > 1 else []
        if runs not in ([], [self._dtype.itemsize]):
            return False
        elements = value.astype(self._dtype, copy=False)
        if self._elided is not None and self._elided.covers(elements):
            return False  # all of the chunk may be the fill value then, and be left out
        stored = np.ascontiguousarray(elements, chain.stored_dtype).reshape(-1).view(np.uint8)
        return bool(set_range(key, start, stored.data, chain.nbytes))

    def _extent(self, coords: tuple[int, ...]) -> tuple[int, ...]:
        """How much of a chunk lies in the array."""
        places = zip(coords, self._chunks, self._axes, strict=True)
        return tuple([min(size, axis.size - axis.place(coord)[0]) for coord, size, axis in places])

    def _put(self, key: str, chunk: NDArray[Any]) -> None:
        if self._elided is not None and self._elided.covers(chunk):
            self._store.erase(key)
        else:
            data: Buffer = self._chain.encode(chunk)
            self._store.set(key, data)


def in_groups(coords: NDArray[np.intp]) -> Iterator[tuple[tuple[int, ...], NDArray[np.intp] | None]]:
    """The different rows of coordinates, each with the numbers of its rows: None where all are alike."""
    if (coords == coords[:1]).all():
        yield from ((tuple(row), None) for row in coords[:1].tolist())
        return
    different, numbers = np.unique(coords, axis=0, return_inverse=True)
    for number, row in enumerate(different.tolist()):
        yield tuple(row), np.flatnonzero(numbers.reshape(-1) == number)


class RectilinearIO(ChunkIO):
    """Reads and writes chunks of different shapes: those of each shape by a `ChunkIO` of its own."""

    def __init__(self, *, prepare: Callable[[tuple[int, ...]], PreparedChain], **arguments: Any) -> None:
        super().__init__(**arguments)
        self._prepare = prepare
        self._arguments = arguments
        self._by_shape: dict[tuple[int, ...], ChunkIO] = {}

    def _read_chunk(self, projection: Projection, target: NDArray[Any]) -> None:
        self._of(projection)._read_chunk(projection, target)

    def _write_chunk(self, projection: Projection, value: NDArray[Any]) -> None:
        self._of(projection)._write_chunk(projection, value)

    def _of(self, projection: Projection) -> ChunkIO:
        places = zip(self._axes, projection.coords, strict=True)
        shape = tuple([axis.place(coord)[1] for axis, coord in places])
        io = self._by_shape.get(shape)
        if io is None:
            arguments = self._arguments | {"chunks": shape, "chain": self._prepare(shape)}
            io = self._by_shape[shape] = ChunkIO(**arguments)
        return io if self._field is None else io.of_field(self._field)


def of_grid(
    grid: Grid,
    prepare: Callable[[tuple[int, ...]], PreparedChain],
    *,
    store: Store,
    path: str,
    **arguments: Any,
) -> ChunkIO:
    """What reads and writes the chunks of `grid`, of the array at `path`.

    `prepare` gives the chain for chunks of a shape; `arguments` are those of `ChunkIO`, with the chain for
    the largest chunks.
    """
    chunks = tuple(axis.largest for axis in grid.axes)
    arguments |= {"store": store, "axes": grid.axes, "chunks": chunks, "chunk_locks": ChunkLocks(store, path)}
    if all(axis.chunk for axis in grid.axes):
        return ChunkIO(**arguments)
    return RectilinearIO(prepare=prepare, **arguments)
