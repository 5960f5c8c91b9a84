"""The files of one dataset, read and written by plan."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from fastzarr.chunk_io import crew, locks
from fastzarr.chunk_io.chunks import ChunkIO, in_groups
from fastzarr.chunk_io.kernel import Kernel, place_of
from fastzarr.chunk_io.locks import ChunkLocks, NoLocks
from fastzarr.chunk_io.shard_reading import ShardReading
from fastzarr.codec_chain import PreparedChain
from fastzarr.errors import ChunkError, MetadataError
from fastzarr.indexing import Grid, Plan, Projection
from fastzarr.stores.local import LocalStore
from fastzarr.stores.memory import MemoryStore
from fastzarr.wkw.header import Header
from fastzarr.wkw.layout import FileLayout, header_of
from fastzarr.wkw.writing import FileWriting

_KEPT_BYTES = 1 << 26
"""Of jump tables kept for each dataset: those of 128 files with 32768 blocks each."""
_LENGTH = 1 << 32
"""Voxels along each dimension that the format has coordinates for."""
CUBE_OF_ALL = (_LENGTH,) * 3


class WkwFiles:
    """Reads and writes what a plan has of each file."""

    def __init__(self, store: LocalStore, header: Header, threads: int | None) -> None:
        self._store = store
        self._header = header
        self._threads = threads
        self._locks = ChunkLocks(store, "")
        self._place, _ = place_of(store, "")
        self._layout = FileLayout(header)
        """Of the files that the dataset's header tells of."""
        self._layouts = {header.compressed: self._layout}
        """By whether blocks are compressed, which each file says for itself."""
        with contextlib.suppress(MetadataError):  # blocks so large that LZ4 can't take them
            other = replace(header, block_type="raw" if header.compressed else "lz4")
            self._layouts[other.compressed] = FileLayout(other)
        self._reading = {}
        self._writing = {}
        for compressed, layout in self._layouts.items():
            kernel = None
            if layout.small:
                zero = layout.spec.fill_value
                kernel = Kernel.of(layout.inner, layout.chunk_shape, header.dtype, zero, elide=True)
            self._io = ChunkIO(
                store=MemoryStore(),
                key_template=layout.template,
                chain=layout.inner,
                axes=Grid(layout.spec.shape, layout.chunk_shape).axes,
                chunks=layout.chunk_shape,
                dtype=header.dtype,
                fill_value=layout.spec.fill_value,
                write_empty_chunks=False,
                chunk_locks=NoLocks(),
                threads=threads,
            )
            self._reading[compressed] = ShardReading(layout, self._io, kernel, _KEPT_BYTES)
            self._writing[compressed] = FileWriting(layout, kernel)
        self._readings = tuple(self._reading.values())
        """The likely one first."""
        layout = self._layout
        self.grid = Grid((header.channels, *CUBE_OF_ALL), layout.spec.shape)
        """All that the format has coordinates for."""
        self._blocks = Grid(layout.spec.shape, layout.chunk_shape)
        """Those of one file."""

    @property
    def inner(self) -> PreparedChain:
        """Chain of the blocks."""
        return self._layout.inner

    def of_field(self, name: str) -> Self:
        """No voxel has fields."""
        raise AssertionError(name)

    def threads(self, count: int) -> int:
        """Threads that work on `count` blocks or files."""
        return 1 if count == 1 else min(crew.threads_for(self._threads, 1), count)

    def read(self, plan: Plan, out: NDArray[Any]) -> None:
        """Fill `out`, of the shape of the plan's layout and the dataset's dtype; raises `ChunkError`."""
        if plan.count == 1 and self._read_kept(plan, out):
            return
        if plan.only is not None:
            self._read_file(plan.only, out)
        else:
            act = self._read_part if plan.views else self._read_scattered
            crew.run(lambda projection: act(projection, out), plan, self.threads(plan.count))

    def read_chunks(self, coords: NDArray[np.intp], out: NDArray[np.uint8]) -> NDArray[np.bool_]:
        """Fill the rows of `out` with blocks, zeros where there is no file; which of them have one."""
        found = np.zeros(len(out), np.bool_)
        outer, inner = np.divmod(coords, self._layout.counts)
        for place, rows in in_groups(outer):
            key = key_of(place)
            part = out if rows is None else np.empty((len(rows), out.shape[1]), np.uint8)
            there = self._read_blocks(key, inner if rows is None else inner[rows], part)
            if rows is None:
                return there
            found[rows] = there
            out[rows] = part
        return found

    def write(self, plan: Plan, value: NDArray[Any]) -> None:
        """Write `value`, of the shape of the plan's layout; raises `ChunkError`."""
        threads = self.threads(plan.count)
        crew.run(lambda projection: self._write_file(projection, value[projection.out]), plan, threads)

    def _read_kept(self, plan: Plan, out: NDArray[Any]) -> bool:
        """Read from one file whose index is known, and tell whether that was so."""
        place, bounds = self._place, plan.bounds
        if place is None or bounds is None:
            return False
        for reading in self._readings:
            if reading.read_kept(self._io, place, key_of, self.grid.axes, bounds, out):
                return True
        return False

    def _read_part(self, projection: Projection, out: NDArray[Any]) -> None:
        self._read_file(projection, out[projection.out])

    def _read_scattered(self, projection: Projection, out: NDArray[Any]) -> None:
        part = out[projection.out]
        self._read_file(projection, part)
        out[projection.out] = part

    def _read_file(self, projection: Projection, target: NDArray[Any]) -> None:
        key = key_of(projection.coords)
        with self._named(), self._store.snapshot(key) as opened:
            header = self._header_of(opened, key)
            if header is None:
                target[...] = 0
            else:
                self._read_opened(header, opened, key, projection, target)

    def _read_opened(
        self, header: Header, opened: Any, key: str, projection: Projection, target: NDArray[Any]
    ) -> None:
        extent = self._layout.spec.shape
        self._reading[header.compressed].read(self._io, _Opened(opened), key, extent, projection, target)

    def _read_blocks(self, key: str, coords: NDArray[np.intp], out: NDArray[np.uint8]) -> NDArray[np.bool_]:
        for reading in self._readings:
            place = self._place
            kept = None if place is None else reading.read_kept_chunks(self._io, place, key, coords, out)
            if kept is not None:
                return kept
        with self._named(), self._store.snapshot(key) as opened:
            header = self._header_of(opened, key)
            if header is None:
                out[...] = 0
                return np.zeros(len(out), np.bool_)
            reading = self._reading[header.compressed]
            return reading.read_chunks(self._io, _Opened(opened), None, key, coords, out)

    def _write_file(self, projection: Projection, value: NDArray[Any]) -> None:
        key = key_of(projection.coords)
        with (
            locks.section,
            self._locks.of(projection.coords),
            self._named(),
            self._store.snapshot(key) as opened,
        ):
            old = self._header_of(opened, key)
            boxes = list(self._boxes(old, opened, key, projection, value))
            header = old or self._header
            threads = self.threads(len(boxes) * self._header.blocks)
            before = None if old is None else opened
            self._writing[header.compressed].write(self._store, key, before, header, boxes, threads)

    def _boxes(
        self, old: Header | None, opened: Any, key: str, projection: Projection, value: NDArray[Any]
    ) -> Iterator[tuple[tuple[int, ...], NDArray[Any]]]:
        """What is to be written, as whole blocks: the first voxel of each box of them, and its content."""
        chosen = projection.chunk
        if all(isinstance(item, slice) for item in chosen):
            yield self._box(old, opened, key, chosen, value)
            return
        for inner in self._blocks.replan(projection):
            block = self._blocks_of(inner.coords)
            content = self._content(old, opened, key, block)
            content[inner.chunk] = value[inner.out]
            yield tuple(item.start for item in block), content

    def _box(
        self, old: Header | None, opened: Any, key: str, chosen: Sequence[slice], value: NDArray[Any]
    ) -> tuple[tuple[int, ...], NDArray[Any]]:
        """The box of blocks that a selection by slices meets, with what it leaves of them."""
        hull = [
            slice(item.start - item.start % size, item.stop + -item.stop % size)
            for item, size in zip(chosen, self._layout.chunk_shape, strict=True)
        ]
        start = tuple(item.start for item in hull)
        if all(
            item.step == 1 and item.start == whole.start and item.stop == whole.stop
            for item, whole in zip(chosen, hull, strict=True)
        ):
            return start, value.astype(self._header.dtype, copy=False)
        content = self._content(old, opened, key, hull)
        inside = [
            slice(item.start - first, item.stop - first, item.step)
            for item, first in zip(chosen, start, strict=True)
        ]
        content[tuple(inside)] = value
        return start, content

    def _content(self, old: Header | None, opened: Any, key: str, box: Sequence[slice]) -> NDArray[Any]:
        """What a file has in a box now."""
        shape = tuple(item.stop - item.start for item in box)
        if old is None:
            return np.zeros(shape, self._header.dtype, order="F")
        content = np.empty(shape, self._header.dtype, order="F")
        steps = tuple(slice(item.start, item.stop, 1) for item in box)
        out = tuple(slice(0, size) for size in shape)
        projection = Projection((0, 0, 0, 0), steps, out, False, False)
        self._read_opened(old, opened, key, projection, content)
        return content

    def _blocks_of(self, coords: Sequence[int]) -> list[slice]:
        sizes = self._layout.chunk_shape
        return [slice(coord * size, (coord + 1) * size) for coord, size in zip(coords, sizes, strict=True)]

    def _header_of(self, opened: Any, key: str) -> Header | None:
        header = header_of(opened, key, self._header)
        if header is None and os.path.lexists(f"{self._store.root}/{key}"):
            raise ChunkError(key, "is a directory or a link that leads nowhere, expected a file or nothing")
        return header

    @contextlib.contextmanager
    def _named(self) -> Iterator[None]:
        """Have errors name the path of the file."""
        try:
            yield
        except ChunkError as error:
            raise ChunkError(f"{self._store.root}/{error.key}", error.reason) from error


class _Opened:
    """One open file as a store, for whoever opens it anew."""

    def __init__(self, opened: Any) -> None:
        self._opened = opened

    def snapshot(self, key: str) -> contextlib.AbstractContextManager[Any]:
        """The open file."""
        return contextlib.nullcontext(self._opened)


def key_of(coords: Sequence[int]) -> str:
    """Path of a file in its dataset, by its coordinates c, x, y, z."""
    _, x, y, z = coords
    return f"z{z}/y{y}/x{x}.wkw"
