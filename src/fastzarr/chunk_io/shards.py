"""The shards of one array: their inner chunks read and written, by the kernel or one by one."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fastzarr.chunk_io.kernel import Kernel
from fastzarr.chunk_io.shard_reading import InnerIO, ShardReading
from fastzarr.chunk_io.shard_writing import ShardWrite
from fastzarr.errors import ChunkError, CodecError
from fastzarr.indexing import Projection
from fastzarr.indexing.plan import Bounds
from fastzarr.sharding import ABSENT, ShardLayout, ShardWriter
from fastzarr.stores.base import Store


class Shards(ShardReading):
    """The inner chunks of all shards of an array."""

    _layout: ShardLayout

    def __init__(self, layout: ShardLayout, io: InnerIO, kernel: Kernel | None) -> None:
        super().__init__(layout, io, kernel)

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
            index = layout.read_index(old, key)
            if index is not None and not self._is_within(index, old.size):
                return False
            if not shard.prepare(index):
                return False
            if not shard.empty:
                file = -1 if index is None else old.fileno()
                return store.set_by(key, lambda new: shard.put(file, new))  # type: ignore[no-any-return]
        store.erase(key)
        return True

    def _is_within(self, index: NDArray[np.uint64], size: int) -> bool:
        """Whether no inner chunk reaches beyond the content of a shard of `size` bytes."""
        stored = index[index[..., 0] != ABSENT]
        return bool((stored.sum(axis=-1) <= self._limit(size)).all())


def _covers(bound: Bounds, size: int, extent: int) -> bool:
    """Whether the selection along one dimension takes all of each inner chunk that it meets."""
    start, _, step, length = bound
    return step == 1 and start % size == 0 and (start + length == extent or (start + length) % size == 0)
