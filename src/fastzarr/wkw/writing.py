"""One file written: blocks that are not compressed where they are, else the whole file anew.

Compressed blocks lie one behind the other in Morton order. A file is made of sub-cubes of blocks in that
order: what is new of each is encoded, the rest copied as it is stored.
"""

from __future__ import annotations

import itertools
import os
import threading
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fastzarr.chunk_io import crew
from fastzarr.chunk_io.kernel import Kernel
from fastzarr.fill import FillPattern
from fastzarr.indexing.plan import Bounds
from fastzarr.stores.local import LocalStore
from fastzarr.wkw import morton
from fastzarr.wkw.header import SIZE, Header
from fastzarr.wkw.layout import FileLayout

_EDGE = 4
"""Blocks along each edge of a sub-cube."""

Box = tuple[tuple[int, ...], NDArray[Any]]
"""The first voxel, of c, x, y, z, of whole blocks, and their content."""

Pieces = dict[tuple[int, ...], list[Box]]
"""What of each box lies in each sub-cube."""


class FileWriting:
    """Writes whole blocks to files whose blocks are stored as `layout` says."""

    def __init__(self, layout: FileLayout, kernel: Kernel | None) -> None:
        self._layout = layout
        self._kernel = kernel
        self._zero = FillPattern(layout.spec.fill_value, layout.spec.dtype)
        header = layout.header
        self._edge = min(header.file_len, _EDGE)
        self._sub = morton.numbers(self._edge)

    def write(
        self,
        store: LocalStore,
        key: str,
        opened: Any,
        header: Header,
        boxes: Iterable[Box],
        threads: int,
    ) -> None:
        """Write the boxes to the file under `key`, which is open as `opened`, or None where there is none."""
        pieces = self._pieces(boxes)
        if not self._layout.header.compressed:
            self._write_plain(store, key, opened, header, pieces, threads)
            return
        rewrite = _Rewrite(self, opened, key, header, pieces, threads)
        if not store.set_by(key, rewrite.write):
            store.erase(key)

    def _write_plain(
        self, store: LocalStore, key: str, opened: Any, header: Header, pieces: Pieces, threads: int
    ) -> None:
        def put(file: int) -> bool:
            every = itertools.chain.from_iterable(pieces.values())
            crew.run(lambda piece: self._put(piece, file), every, threads)
            return True

        def make(file: int) -> bool:
            os.ftruncate(file, self._layout.file_size)
            os.pwrite(file, header.to_bytes(data_offset=SIZE), 0)
            return put(file)

        if opened is not None:
            self._layout.read_index(opened, key)  # raises where the file is not what its header says
            with store.change(key) as file:
                put(file)
        elif not all(self._zero.covers(content) for some in pieces.values() for _, content in some):
            store.set_by(key, make)

    def _put(self, piece: Box, file: int) -> None:
        """Write blocks that are not compressed to their places."""
        left: Sequence[int]
        coords = [*self._coords(piece)]
        if self._kernel is None:
            left = range(len(coords))
        else:
            transfer = self._transfer(self._kernel, piece, file)
            left = transfer.write(0, len(coords), ())
        for number in left:
            data = memoryview(self._layout.inner.encode(self._block(piece, coords[number])))
            first = int(morton.number(*np.asarray(coords[number])))
            offset = SIZE + first * self._layout.header.block_nbytes
            while data:
                written = os.pwrite(file, data, offset)
                data, offset = data[written:], offset + written

    def encode(self, piece: Box) -> Iterator[tuple[tuple[int, int, int], bytes | memoryview]]:
        """Coordinates of each block of a piece, and what it is stored as."""
        coords = [*self._coords(piece)]
        kernel = self._kernel
        encoded = None if kernel is None else self._transfer(kernel, piece, -1).encode(0, len(coords))
        if encoded is None:
            for place in coords:
                block = self._block(piece, place)
                zero = self._zero.covers(block)
                yield place, self._layout.zero_block if zero else bytes(self._layout.inner.encode(block))
            return
        sizes, content = np.frombuffer(encoded[0], np.int64).tolist(), memoryview(encoded[1])
        at = 0
        for place, size in zip(coords, sizes, strict=True):
            if size < 0:
                yield place, self._layout.zero_block
            else:
                yield place, content[at : at + size]
                at += size

    def _pieces(self, boxes: Iterable[Box]) -> Pieces:
        pieces: Pieces = defaultdict(list)
        side = self._edge * self._layout.header.block_len
        for start, content in boxes:
            # Along x, y and z: the sub-cubes met, and of each the first and last + 1 voxel.
            met = [
                [
                    (n, max(first, n * side), min(first + size, (n + 1) * side))
                    for n in range(first // side, -(-(first + size) // side))
                ]
                for first, size in zip(start[1:], content.shape[1:], strict=True)
            ]
            for parts in itertools.product(*met):
                sub, low, high = zip(*parts, strict=True)
                inside = [
                    slice(a - first, b - first) for a, b, first in zip(low, high, start[1:], strict=True)
                ]
                pieces[sub].append(((0, *low), content[(slice(None), *inside)]))
        return pieces

    def _coords(self, piece: Box) -> Iterator[tuple[int, int, int]]:
        """Coordinates of the blocks of a piece in the file, in C order."""
        start, content = piece
        size = self._layout.header.block_len
        ranges = [
            range(first // size, (first + length) // size)
            for first, length in zip(start[1:], content.shape[1:], strict=True)
        ]
        return itertools.product(*ranges)  # type: ignore[return-value]

    def _block(self, piece: Box, coords: Sequence[int]) -> NDArray[Any]:
        start, content = piece
        size = self._layout.header.block_len
        first = [coord * size - begin for coord, begin in zip(coords, start[1:], strict=True)]
        return content[(slice(None), *(slice(begin, begin + size) for begin in first))]

    def _transfer(self, kernel: Kernel, piece: Box, file: int) -> Any:
        start, content = piece
        bounds: list[Bounds] = [
            (first, first + size, 1, size) for first, size in zip(start, content.shape, strict=True)
        ]
        extent = self._layout.spec.shape
        return kernel.shard(content, bounds, extent, file, self._layout.plain_index, 0, reading=False)


class _Rewrite:
    """A compressed file on its way."""

    def __init__(
        self, writing: FileWriting, opened: Any, key: str, header: Header, pieces: Pieces, threads: int
    ) -> None:
        self._writing = writing
        self._layout = writing._layout
        self._opened = opened
        self._header = header
        self._pieces = pieces
        self._threads = threads
        self._edge = writing._edge
        self._count = self._edge**3
        self._old = None if opened is None else self._layout.read_index(opened, key)

    def write(self, file: int) -> bool:
        """Write the file, and tell whether it is to be kept: not where all of it is zeros."""
        layout = self._layout
        sizes = np.zeros(self._header.blocks, np.uint64)
        done: dict[int, list[bytes | memoryview]] = {}
        writing = threading.Lock()
        at = layout.index_size
        number = 0
        kept = False
        zero = layout.zero_block

        def flush() -> None:
            nonlocal at, number, kept
            while (blocks := done.pop(number, None)) is not None:
                kept = kept or any(block != zero for block in blocks)
                sizes[number * self._count : (number + 1) * self._count] = [len(block) for block in blocks]
                data = memoryview(b"".join(blocks))
                while data:
                    written = os.pwrite(file, data, at)
                    data, at = data[written:], at + written
                number += 1

        def work(sub: int) -> None:
            done[sub] = self._blocks(sub)
            if writing.acquire(blocking=False):
                try:
                    flush()
                finally:
                    writing.release()

        crew.run(work, range(self._header.blocks // self._count), self._threads)
        flush()  # what came while another thread was just done with writing
        if kept:
            ends = np.cumsum(sizes, dtype=np.uint64) + np.uint64(layout.index_size)
            head = self._header.to_bytes(data_offset=layout.index_size) + layout.jump_table(ends)
            os.pwrite(file, head, 0)
        return kept

    def _blocks(self, number: int) -> list[bytes | memoryview]:
        """The stored blocks of a sub-cube, in Morton order."""
        sub = morton.place(number)
        blocks = self._kept(sub)
        for piece in self._pieces.get(sub, ()):
            for coords, data in self._writing.encode(piece):
                inside = [coord % self._edge for coord in coords]
                blocks[self._writing._sub[tuple(inside)]] = data
        return blocks

    def _kept(self, sub: Sequence[int]) -> list[bytes | memoryview]:
        """What is stored of a sub-cube: one run of bytes."""
        if self._old is None:
            return [self._layout.zero_block] * self._count
        places = morton.coords(self._edge) + np.asarray(sub) * self._edge
        entries = self._old[0, places[:, 0], places[:, 1], places[:, 2]].astype(np.int64)
        start, end = int(entries[0, 0]), int(entries[-1].sum())
        data = memoryview(self._opened.get_range("", start, end - start))
        return [data[begin - start :][:size] for begin, size in entries.tolist()]
