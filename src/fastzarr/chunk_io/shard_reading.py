"""Objects that hold many chunks and an index of them, such as shards: read by the kernel or one by one."""

from __future__ import annotations

import contextlib
import os
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from fastzarr.chunk_io.kernel import KeptIndex, Kernel, Place
from fastzarr.chunks.axis import Axis
from fastzarr.codec_chain import PreparedChain
from fastzarr.errors import ChunkError, CodecError
from fastzarr.indexing import Grid, Plan, Projection
from fastzarr.indexing.plan import Bounds
from fastzarr.sharding import ABSENT, Layout, ShardReader
from fastzarr.stores.base import RangeReader

KEPT_BYTES = 1 << 24
"""Of shard indices kept for each array: those of 32 shards with 32768 inner chunks each."""


class InnerIO(Protocol):
    """Reads and writes the chunks of a grid by plan: an array's own or, another one, inner chunks."""

    def inside(self, shard: Any, grid: Grid, outer: Self) -> Self:
        """The same for the inner chunks of one shard of `outer`, which is a store of them."""

    def read(self, plan: Plan, out: NDArray[Any]) -> None:
        """Fill `out`."""

    def read_left(self, plan: Plan, numbers: Sequence[int], out: NDArray[Any]) -> None:
        """Fill what chunks of these numbers have of `out`."""

    def write(self, plan: Plan, value: NDArray[Any]) -> None:
        """Write `value`."""

    def threads(self, count: int) -> int:
        """Threads that work on `count` chunks."""


class ShardReading:
    """Reads the inner chunks of all shards of an array."""

    def __init__(
        self, layout: Layout, io: InnerIO, kernel: Kernel | None, kept_bytes: int = KEPT_BYTES
    ) -> None:
        self._layout = layout
        self._io = io
        """Reads and writes inner chunks, once it has a shard."""
        self._kernel = kernel
        self._grids: dict[tuple[int, ...], Grid] = {}
        self._indices = _Indices(kept_bytes)

    @property
    def inner(self) -> PreparedChain:
        """Chain of the inner chunks."""
        return self._layout.inner

    @property
    def counts(self) -> tuple[int, ...]:
        """Number of inner chunks of a shard along each dimension."""
        return self._layout.counts

    def read_kept(
        self,
        outer: InnerIO,
        place: Place,
        key_of: Callable[[tuple[int, ...]], str],
        axes: Sequence[Axis],
        bounds: Sequence[Bounds],
        out: NDArray[Any],
    ) -> bool:
        """Fill `out` from one shard whose index is known, by the kernel, and tell whether that was done."""
        kernel = self._kernel
        if kernel is None or not self._indices:
            return False
        coords, extent, within = [], [], []
        for (start, stop, step, length), axis, size in zip(
            bounds, axes, self._layout.chunk_shape, strict=True
        ):
            if step > size:
                return False
            coord = start // axis.chunk
            begin = coord * axis.chunk
            coords.append(coord)
            extent.append(min(axis.chunk, axis.size - begin))
            within.append((start - begin, stop - begin, step, length))
        key = key_of(tuple(coords))
        kept = self._indices.get(key)
        if kept is None:
            return False
        transfer = kernel.kept_shard(out, within, extent, place._replace(key=os.fsencode(key)), kept)
        return not self._run(outer, transfer)

    def read(
        self,
        outer: InnerIO,
        store: object,
        key: str,
        extent: tuple[int, ...],
        projection: Projection,
        target: NDArray[Any],
    ) -> bool:
        """Fill `target` with a shard's share of a selection, and tell whether the shard was there."""
        # One version of the shard is read: its index tells nothing of another that takes its place meanwhile.
        with _snapshot(store, key) as opened:
            index = self._index(opened, key)
            if index is None:
                return False
            left = self._read_by_kernel(outer, opened, index, extent, projection, target)
            if left is None or left:
                self._read_each(outer, opened, key, index, extent, projection, target, left)
        return True

    def read_chunks(
        self,
        outer: InnerIO,
        store: object,
        place: Place | None,
        key: str,
        coords: NDArray[np.intp],
        out: NDArray[np.uint8],
    ) -> NDArray[np.bool_]:
        """Fill the rows of `out` with inner chunks of one shard, in stored order; which of them are there.

        `coords` are those within the shard, shape `(n, ndim)`. What is missing is left as it is.
        """
        kept = None if place is None else self.read_kept_chunks(outer, place, key, coords, out)
        if kept is not None:
            return kept
        with _snapshot(store, key) as opened:
            index = self._index(opened, key)
            if index is None:
                return np.zeros(len(out), np.bool_)
            entries = index[tuple(coords.T)]
            found: NDArray[np.bool_] = entries[:, 0] != ABSENT
            left: Sequence[int] = np.flatnonzero(found).tolist()
            if self._kernel is not None and hasattr(opened, "fileno"):
                limit = self._limit(opened.size)
                left = self._run(outer, self._kernel.chunks(out, entries, opened.fileno(), limit))
            shard = ShardReader(self._layout, opened, key, index)
            for row in left:
                self._read_chunk(shard, key, coords[row].tolist(), out[row])
        return found

    def read_kept_chunks(
        self, outer: InnerIO, place: Place, key: str, coords: NDArray[np.intp], out: NDArray[np.uint8]
    ) -> NDArray[np.bool_] | None:
        """As `read_chunks`, of a shard whose index is known, by the kernel; None where that was not done."""
        kept = self._indices.get(key)
        if kept is None or self._kernel is None:
            return None
        entries = kept.entries[tuple(coords.T)]
        transfer = self._kernel.kept_chunks(out, entries, place._replace(key=os.fsencode(key)), kept)
        return None if self._run(outer, transfer) else np.asarray(entries[:, 0] != ABSENT)

    def _read_chunk(self, shard: ShardReader, key: str, coords: list[int], out: NDArray[np.uint8]) -> None:
        inner = self._layout.template % tuple(coords)
        try:
            data = shard.get(inner)
            if data is not None:
                self._layout.inner.decode_into(data, self._layout.inner.in_memory(out))
        except CodecError as error:
            raise ChunkError(key, f"inner chunk {inner}: {error}") from error
        except ChunkError as error:
            raise ChunkError(key, f"inner chunk {error.key}: {error.reason}") from error

    def _run(self, outer: InnerIO, transfer: Any) -> list[int]:
        """Have the kernel read all chunks of a transfer; the numbers of those that are left."""
        assert self._kernel is not None
        count = len(transfer)
        left: list[int] = []
        self._kernel.run(lambda batch: left.extend(transfer.read(*batch)), count, outer.threads(count))
        return left

    def _index(self, opened: Any, key: str) -> NDArray[np.uint64] | None:
        """The index of the shard under `key`, perhaps from an earlier time; None where there is no shard."""
        version = getattr(opened, "version", None)
        kept = self._indices.get(key)
        if kept is not None and kept.version == version:
            return kept.entries
        index = self._layout.read_index(opened, key)
        if version is not None and isinstance(index, np.ndarray):
            self._indices.put(key, KeptIndex(version, index, self._limit(opened.size)))
        return index

    def _limit(self, size: int) -> int:
        """The byte at which inner chunks end, at the latest, in a shard of `size` bytes."""
        return size - self._layout.index_size if self._layout.index_at_end else size

    def _read_by_kernel(
        self,
        outer: InnerIO,
        opened: Any,
        index: NDArray[np.uint64],
        extent: tuple[int, ...],
        projection: Projection,
        target: NDArray[Any],
    ) -> list[int] | None:
        """The numbers of inner chunks that were not read; None where the kernel can't read such at all."""
        kernel = self._kernel
        bounds = None if kernel is None else self._bounds(projection)
        if kernel is None or bounds is None or not hasattr(opened, "fileno"):
            return None
        transfer = kernel.shard(
            target, bounds, extent, opened.fileno(), index, self._limit(opened.size), reading=True
        )
        return self._run(outer, transfer)

    def _read_each(
        self,
        outer: InnerIO,
        opened: RangeReader,
        key: str,
        index: NDArray[np.uint64],
        extent: tuple[int, ...],
        projection: Projection,
        target: NDArray[Any],
        numbers: Sequence[int] | None,
    ) -> None:
        """Read inner chunks one by one: those of these numbers, or all."""
        shard = ShardReader(self._layout, opened, key, index)
        io, plan = self._inside(outer, extent, projection, shard)
        try:
            if numbers is None:
                shard.expect([self._layout.template % inner.coords for inner in plan])
                io.read(plan, target)
            else:
                io.read_left(plan, numbers, target)
        except ChunkError as error:
            raise ChunkError(key, f"inner chunk {error.key}: {error.reason}") from error

    def _bounds(self, projection: Projection) -> list[Bounds] | None:
        """A shard's share of a selection along each dimension; None where it may leave out inner chunks."""
        bounds: list[Bounds] = []
        for chosen, out, size in zip(projection.chunk, projection.out, self._layout.chunk_shape, strict=True):
            if not isinstance(chosen, slice) or not isinstance(out, slice) or chosen.step > size:
                return None
            length = len(range(out.start, out.stop, out.step or 1))
            bounds.append((chosen.start, chosen.stop, chosen.step, length))
        return bounds

    def _inside(
        self, outer: InnerIO, extent: tuple[int, ...], projection: Projection, shard: object
    ) -> tuple[InnerIO, Plan]:
        """What reads and writes the inner chunks of a shard, and the plan of its share of the selection."""
        grid = self._grids.get(extent)
        if grid is None:
            grid = self._grids[extent] = Grid(extent, self._layout.chunk_shape)
        return self._io.inside(shard, grid, outer), grid.replan(projection)


def _snapshot(store: object, key: str) -> contextlib.AbstractContextManager[Any]:
    """What is under `key` now, where the store can tell for several reads, or the store."""
    snapshot = getattr(store, "snapshot", None)
    return contextlib.nullcontext(store) if snapshot is None else snapshot(key)


class _Indices(OrderedDict[str, KeptIndex]):
    """Indices of stored shards by key, those put last, of bounded size."""

    def __init__(self, most: int) -> None:
        super().__init__()
        self._most = most

    def put(self, key: str, kept: KeptIndex) -> None:
        """Keep an index."""
        nbytes = kept.entries.nbytes
        if nbytes > self._most:
            return
        while self and (len(self) + 1) * nbytes > self._most:
            # Another thread may have taken the last one.
            with contextlib.suppress(KeyError):
                self.popitem(last=False)
        self[key] = kept
