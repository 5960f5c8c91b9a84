"""Plans to bytes and back: fetch, decode, scatter; gather, encode, store.

Owns the thread pool and the locks. A single chunk is handled on the caller's thread; more than one by the
caller and the pool together, each thread taking the next projection of the plan.
"""

from __future__ import annotations

import _thread
import contextlib
import copy
import os
import threading
from collections.abc import Callable, Iterator
from queue import SimpleQueue
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fastzarr import sharding
from fastzarr.chunks.axis import Axis
from fastzarr.codec_chain import PreparedChain
from fastzarr.errors import ChunkError, ChunkNotFoundError, CodecError
from fastzarr.fill import FillPattern
from fastzarr.indexing import Grid, Plan, Projection
from fastzarr.sharding import ShardLayout, ShardReader, ShardWriter
from fastzarr.stores.base import Buffer, Store
from fastzarr.stores.memory import MemoryStore

THREADS_VARIABLE = "FASTZARR_THREADS"
"""Environment variable with the number of threads for one call."""

_LOCK_COUNT = 64

_locks = [threading.RLock() for _ in range(_LOCK_COUNT)]
_document_locks = [threading.RLock() for _ in range(_LOCK_COUNT)]
_calls: SimpleQueue[Callable[[], None]] = SimpleQueue()
"""What the threads of the pool are to call."""
_started = 0
"""Number of threads in the pool."""


def lock(store: Store, key: str) -> threading.RLock:
    """The lock of this process for a key; others may share it, so hold one at a time."""
    return _locks[_place(store, key) % _LOCK_COUNT]


def document_lock(store: Store, path: str) -> threading.RLock:
    """The lock of this process for the document of a node; whoever holds it may write chunks."""
    return _document_locks[_place(store, path) % _LOCK_COUNT]


def _place(store: Store, key: str) -> int:
    """Equal for the same place, also in a store that begins further down in the same directory."""
    return hash(f"{store.identity}{key}".rstrip("/"))


def _no_lock(store: Store, key: str) -> contextlib.AbstractContextManager[object]:
    return contextlib.nullcontext()


_Lock = Callable[[Store, str], contextlib.AbstractContextManager[object]]


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
        read_missing_chunks: bool = True,
        lock: _Lock = lock,
    ) -> None:
        self._store = store
        self._concurrency = store.concurrency
        self._axes = axes
        self._key_template = key_template
        self._chain = chain
        self._chunks = chunks
        self._dtype = dtype
        self._lock = lock
        self._field: str | None = None
        self._fill = fill_value
        self._read_missing = read_missing_chunks
        self._elided = None if write_empty_chunks else FillPattern(fill_value, dtype)
        layout = sharding.layout_of(chain)
        self._shards = None if layout is None else _Shards(layout, write_empty_chunks)

    def of_field(self, name: str) -> ChunkIO:
        """The same for writing one field of a structured data type; the other fields are kept."""
        other = copy.copy(self)
        other._field = name
        return other

    def on(self, store: Any, grid: Grid) -> ChunkIO:
        """The same for an array with another grid of chunks of this shape, in another store."""
        other = copy.copy(self)
        other._store = store
        other._axes = grid.axes
        return other

    def read(self, plan: Plan, out: NDArray[Any]) -> None:
        """Fill `out`, of the shape of the plan's layout and the array's dtype; raises `ChunkError`."""
        if plan.only is not None:
            self._read_chunk(plan.only, out)
        else:
            _run(self._read_part if plan.views else self._read_scattered, plan, out, self._concurrency)

    def write(self, plan: Plan, value: NDArray[Any]) -> None:
        """Write `value`, of the shape of the plan's layout and any numeric dtype; raises `ChunkError`."""
        if plan.only is not None:
            self._write_chunk(plan.only, value)
        else:
            _run(self._write_part, plan, value, self._concurrency)

    def rewrite(self, plan: Plan) -> None:
        """Read and write again the plan's chunks, each under its lock, so that padding has the fill value."""
        for projection in plan:
            key = self._key_template % projection.coords
            with self._lock(self._store, key):
                part = np.empty(plan.layout.shape, self._dtype)[projection.out]
                self._read_chunk(projection, part)
                self._write_chunk(projection, part)

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
            self._read_shard(self._shards, key, projection, target)
            return
        if complete and not padded:
            if not self._fetch_into(key, target):
                self._read_missing_chunk(key, target)
            return
        chunk = self._fetch(key)
        if chunk is None:
            self._read_missing_chunk(key, target)
        else:
            target[...] = chunk[selected]

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
        with self._lock(self._store, key):
            if self._shards is not None:
                self._write_shard(self._shards, key, projection, value)
                return
            if complete and not padded:
                chunk = value if value.dtype == self._dtype else value.astype(self._dtype)
            else:
                old = None if complete else self._fetch(key)
                chunk = np.full(self._chunks, self._fill, self._dtype) if old is None else old
                (chunk if self._field is None else chunk[self._field])[selected] = value
            self._put(key, chunk)

    def _read_shard(self, shards: _Shards, key: str, projection: Projection, target: NDArray[Any]) -> None:
        # One version of the shard is read: its index tells nothing of another that takes its place meanwhile.
        snapshot = getattr(self._store, "snapshot", None)
        with contextlib.nullcontext(self._store) if snapshot is None else snapshot(key) as store:
            shard = ShardReader.open(shards.layout, store, key)
            if shard is None:
                self._read_missing_chunk(key, target)
                return
            io, plan = self._inside(shards, projection, shard)
            shard.expect([shards.layout.template % inner.coords for inner in plan])
            try:
                io.read(plan, target)
            except ChunkError as error:
                raise ChunkError(key, f"inner chunk {error.key}: {error.reason}") from error

    def _write_shard(self, shards: _Shards, key: str, projection: Projection, value: NDArray[Any]) -> None:
        old = None if projection.complete else self._store.get(key)
        try:
            shard = ShardWriter(shards.layout, {} if old is None else shards.layout.split(old))
            io, plan = self._inside(shards, projection, shard)
            io.write(plan, value)
        except CodecError as error:
            raise ChunkError(key, str(error)) from error
        except ChunkError as error:
            raise ChunkError(key, f"inner chunk {error.key}: {error.reason}") from error
        if shard.empty:
            self._store.erase(key)
        else:
            self._store.set(key, shard.encode())

    def _inside(self, shards: _Shards, projection: Projection, shard: object) -> tuple[ChunkIO, Plan]:
        """What reads and writes the inner chunks of a shard, and the plan of its share of the selection."""
        extent = tuple(
            min(size, axis.size - axis.place(coord)[0])
            for coord, size, axis in zip(projection.coords, self._chunks, self._axes, strict=True)
        )
        grid = shards.grid(extent)
        io = shards.io.on(shard, grid)
        io._field = self._field
        io._concurrency = self._concurrency
        return io, grid.replan(projection)

    def _put(self, key: str, chunk: NDArray[Any]) -> None:
        if self._elided is not None and self._elided.covers(chunk):
            self._store.erase(key)
        else:
            data: Buffer = self._chain.encode(chunk)
            self._store.set(key, data)


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


def of_grid(grid: Grid, prepare: Callable[[tuple[int, ...]], PreparedChain], **arguments: Any) -> ChunkIO:
    """What reads and writes the chunks of `grid`; `prepare` gives the chain for chunks of a shape.

    `arguments` are those of `ChunkIO`, with the chain for the largest chunks.
    """
    chunks = tuple(axis.largest for axis in grid.axes)
    arguments |= {"axes": grid.axes, "chunks": chunks}
    if all(axis.chunk for axis in grid.axes):
        return ChunkIO(**arguments)
    return RectilinearIO(prepare=prepare, **arguments)


class _Shards:
    """The inner chunks of all shards of an array."""

    def __init__(self, layout: ShardLayout, write_empty_chunks: bool) -> None:
        self.layout = layout
        self._grids: dict[tuple[int, ...], Grid] = {}
        self.io = ChunkIO(
            store=MemoryStore(),
            key_template=layout.template,
            chain=layout.inner,
            axes=Grid(layout.spec.shape, layout.chunk_shape).axes,
            chunks=layout.chunk_shape,
            dtype=layout.spec.dtype,
            fill_value=layout.spec.fill_value,
            write_empty_chunks=write_empty_chunks,
            lock=_no_lock,
        )
        """For any shard, with `on`; whoever writes a shard has its lock."""

    def grid(self, extent: tuple[int, ...]) -> Grid:
        """The grid of inner chunks in a shard of which `extent` lies in the array."""
        grid = self._grids.get(extent)
        if grid is None:
            grid = self._grids[extent] = Grid(extent, self.layout.chunk_shape)
        return grid


_Act = Callable[[Projection, NDArray[Any]], None]
"""What is done with one chunk and the caller's array."""


def _run(act: _Act, plan: Plan, array: NDArray[Any], concurrency: int) -> None:
    threads = min(_threads(concurrency), plan.count)
    if threads > 1:
        _run_parallel(_Crew(act, iter(plan), array), threads)
        return
    for projection in plan:
        act(projection, array)


def _run_parallel(crew: _Crew, threads: int) -> None:
    """Have `threads` threads, the caller's among them, work until nothing is left or one fails."""
    try:
        _call(crew.help, threads - 1)
        crew.work()
    finally:
        interrupt = crew.dismiss()
    if crew.errors:
        raise crew.errors[0]
    if interrupt is not None:
        raise interrupt


class _Crew:
    """The threads of one call. Only locks and queues that an interrupt can't leave half done are used."""

    def __init__(self, act: _Act, projections: Iterator[Projection], array: NDArray[Any]) -> None:
        self._act = act
        self._projections = projections
        self._array = array
        self._taking = threading.Lock()
        self._stopped = False
        self._helpers = 0
        self._ended: list[None] = []
        self._end: SimpleQueue[None] = SimpleQueue()
        """Wakes who waits for `_ended`; by itself an interrupted wait would lose count."""
        self.errors: list[BaseException] = []
        """What failed in threads of the pool."""

    def work(self) -> None:
        """Take projections until none is left, or another thread has failed."""
        while True:
            with self._taking:
                projection = None if self._stopped else next(self._projections, None)
            if projection is None:
                return
            self._act(projection, self._array)

    def help(self) -> None:
        """Work in a thread of the pool; nothing is done once the crew is dismissed."""
        with self._taking:
            if self._stopped:
                return
            self._helpers += 1
        try:
            self.work()
        except BaseException as error:
            self.errors.append(error)
            self._stopped = True
        finally:
            self._ended.append(None)
            self._end.put(None)

    def dismiss(self) -> KeyboardInterrupt | None:
        """Stop, and wait for all who work, since they use the caller's memory.

        An interrupt meanwhile is returned.
        """
        interrupt = None
        while True:
            try:
                self._stopped = True
                with self._taking:
                    helpers = self._helpers
                while len(self._ended) < helpers:
                    self._end.get()
            except KeyboardInterrupt as error:
                interrupt = error
            else:
                return interrupt


def _call(help_: Callable[[], None], count: int) -> None:
    """Have `count` threads of the pool call `help_`, which does not raise.

    An interrupt in the middle of `threading.Thread.start` or of an executor's `submit` leaves locks behind;
    starting a thread and queueing a call are one step each here.
    """
    global _started
    # At exit, and where no thread can be started, the caller works alone.
    with contextlib.suppress(RuntimeError):
        while _started < count:
            _thread.start_new_thread(_serve, (_calls,))
            _started += 1
    for _ in range(count):
        _calls.put(help_)


def _serve(calls: SimpleQueue[Callable[[], None]]) -> None:
    while True:
        calls.get()()


def _threads(concurrency: int) -> int:
    """Threads for one call: as the environment says, or one per processor and as many as the store wants."""
    text = os.environ.get(THREADS_VARIABLE)
    if text is None:
        processors = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
        return max(processors, concurrency)
    if not text.isdecimal() or int(text) < 1:
        raise ValueError(f"{THREADS_VARIABLE}: got {text!r}, expected a number of threads of 1 or more")
    return int(text)


def _forget_threads() -> None:
    """In a forked child: the pool's threads are gone, and locks may be held by threads that are gone."""
    global _calls, _started, _locks, _document_locks
    _calls = SimpleQueue()
    _started = 0
    _locks = [threading.RLock() for _ in range(_LOCK_COUNT)]
    _document_locks = [threading.RLock() for _ in range(_LOCK_COUNT)]


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_threads)
