"""The shards of one array: their inner chunks read and written, by the kernel or one by one."""

from __future__ import annotations

import contextlib
import math
import os
from collections import OrderedDict
from collections.abc import Sequence
from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from fastzarr.chunk_io.kernel import KeptIndex, Kernel, Place
from fastzarr.chunk_io.shard_writing import ShardWrite
from fastzarr.chunks.axis import Axis
from fastzarr.errors import ChunkError, CodecError
from fastzarr.indexing import Grid, Plan, Projection
from fastzarr.indexing.plan import Bounds
from fastzarr.sharding import ABSENT, ShardLayout, ShardReader, ShardWriter
from fastzarr.stores.base import RangeReader, Store

_KEPT_BYTES = 1 << 24
"""Of shard indices kept for each array: those of 256 shards with 4096 inner chunks each."""


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


class Shards:
    """The inner chunks of all shards of an array."""

    def __init__(self, layout: ShardLayout, io: InnerIO, kernel: Kernel | None) -> None:
        self._layout = layout
        self._io = io
        """Reads and writes inner chunks, once it has a shard."""
        self._kernel = kernel
        self._grids: dict[tuple[int, ...], Grid] = {}
        self._indices = _Indices()

    def read_kept(
        self,
        outer: InnerIO,
        place: Place,
        template: str,
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
        key = template % tuple(coords)
        kept = self._indices.get(key)
        if kept is None:
            return False
        transfer = kernel.kept_shard(out, within, extent, place._replace(key=os.fsencode(key)), kept)
        count = len(transfer)
        left: list[int] = []
        kernel.run(lambda batch: left.extend(transfer.read(*batch)), count, outer.threads(count))
        return not left

    def read(
        self,
        outer: InnerIO,
        store: Store,
        key: str,
        extent: tuple[int, ...],
        projection: Projection,
        target: NDArray[Any],
    ) -> bool:
        """Fill `target` with a shard's share of a selection, and tell whether the shard was there."""
        # One version of the shard is read: its index tells nothing of another that takes its place meanwhile.
        snapshot = getattr(store, "snapshot", None)
        with contextlib.nullcontext(store) if snapshot is None else snapshot(key) as opened:
            index = self._index(opened, key)
            if index is None:
                return False
            left = self._read_by_kernel(outer, opened, index, extent, projection, target)
            if left is None or left:
                self._read_each(outer, opened, key, index, extent, projection, target, left)
        return True

    def write(
        self,
        outer: InnerIO,
        store: Store,
        key: str,
        extent: tuple[int, ...],
        projection: Projection,
        value: NDArray[Any],
    ) -> None:
        """Write a shard's share of a selection; whoever calls has the shard's lock."""
        if self._write_by_kernel(outer, store, key, extent, projection, value):
            return
        old = None if projection.complete else store.get(key)
        try:
            shard = ShardWriter(self._layout, {} if old is None else self._layout.split(old))
            io, plan = self._inside(outer, extent, projection, shard)
            io.write(plan, value)
        except CodecError as error:
            raise ChunkError(key, str(error)) from error
        except ChunkError as error:
            raise ChunkError(key, f"inner chunk {error.key}: {error.reason}") from error
        if shard.empty:
            store.erase(key)
        else:
            store.set(key, shard.encode())

    def _write_by_kernel(
        self,
        outer: InnerIO,
        store: Any,
        key: str,
        extent: tuple[int, ...],
        projection: Projection,
        value: NDArray[Any],
    ) -> bool:
        """Write whole inner chunks through the kernel, and tell whether that was done."""
        kernel, layout = self._kernel, self._layout
        bounds = None if kernel is None else self._bounds(projection)
        if kernel is None or bounds is None or value.dtype != layout.spec.dtype:
            return False
        if not all(map(_covers, bounds, layout.chunk_shape, extent)):
            return False
        shard = ShardWrite(layout, kernel, value, bounds, extent, outer.threads(math.prod(layout.counts)))
        into_file = hasattr(store, "set_by")
        if projection.complete and shard.is_left_out():
            store.erase(key)
            return True
        if projection.complete and into_file and not kernel.plain:
            return store.set_by(key, shard.encode_into)  # type: ignore[no-any-return]
        if projection.complete and (into_file or not kernel.plain):
            if not shard.prepare(None):
                return False
            if shard.empty:
                store.erase(key)
            elif not kernel.plain:
                store.set(key, shard.whole())
            else:
                return store.set_by(key, lambda file: shard.put(-1, file))  # type: ignore[no-any-return]
            return True
        if not into_file or not hasattr(store, "snapshot"):
            return False
        with store.snapshot(key) as old:
            index = ShardReader.read_index(layout, old, key)
            if index is not None and not self._is_within(index, old.size):
                return False
            if not shard.prepare(index):
                return False
            if not shard.empty:
                file = -1 if index is None else old.fileno()
                return store.set_by(key, lambda new: shard.put(file, new))  # type: ignore[no-any-return]
        store.erase(key)
        return True

    def _index(self, opened: Any, key: str) -> NDArray[np.uint64] | None:
        """The index of the shard under `key`, perhaps from an earlier time; None where there is no shard."""
        version = getattr(opened, "version", None)
        kept = self._indices.get(key)
        if kept is not None and kept.version == version:
            return kept.entries
        index = ShardReader.read_index(self._layout, opened, key)
        if index is not None and version is not None:
            self._indices.put(key, KeptIndex(version, index, self._limit(opened.size)))
        return index

    def _limit(self, size: int) -> int:
        """The byte at which inner chunks end, at the latest, in a shard of `size` bytes."""
        return size - self._layout.index_size if self._layout.index_at_end else size

    def _is_within(self, index: NDArray[np.uint64], size: int) -> bool:
        """Whether no inner chunk reaches beyond the content of a shard of `size` bytes."""
        stored = index[index[..., 0] != ABSENT]
        return bool((stored.sum(axis=-1) <= self._limit(size)).all())

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
        count = len(transfer)
        left: list[int] = []
        kernel.run(lambda batch: left.extend(transfer.read(*batch)), count, outer.threads(count))
        return left

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
            bounds.append((chosen.start, chosen.stop, chosen.step, out.stop - out.start))
        return bounds

    def _inside(
        self, outer: InnerIO, extent: tuple[int, ...], projection: Projection, shard: object
    ) -> tuple[InnerIO, Plan]:
        """What reads and writes the inner chunks of a shard, and the plan of its share of the selection."""
        grid = self._grids.get(extent)
        if grid is None:
            grid = self._grids[extent] = Grid(extent, self._layout.chunk_shape)
        return self._io.inside(shard, grid, outer), grid.replan(projection)


class _Indices(OrderedDict[str, KeptIndex]):
    """Indices of stored shards by key, those put last, of bounded size."""

    def put(self, key: str, kept: KeptIndex) -> None:
        """Keep an index."""
        nbytes = kept.entries.nbytes
        if nbytes > _KEPT_BYTES:
            return
        while self and (len(self) + 1) * nbytes > _KEPT_BYTES:
            # Another thread may have taken the last one.
            with contextlib.suppress(KeyError):
                self.popitem(last=False)
        self[key] = kept


def _covers(bound: Bounds, size: int, extent: int) -> bool:
    """Whether the selection along one dimension takes all of each inner chunk that it meets."""
    start, _, step, length = bound
    return step == 1 and start % size == 0 and (start + length == extent or (start + length) % size == 0)
