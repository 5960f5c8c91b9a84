"""A shard written through the kernel: whole inner chunks of an array, others as the old shard has them."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fastzarr.chunk_io import crew
from fastzarr.chunk_io.kernel import Kernel
from fastzarr.indexing.plan import Bounds
from fastzarr.sharding import ABSENT, ShardLayout

_MOST_COPIED = 1 << 23
"""Bytes of the old shard that are copied in one go."""
_PIECE = 1 << 20


class ShardWrite:
    """One shard on its way. Inner chunks are put one behind the other in C order, as everywhere."""

    def __init__(
        self,
        layout: ShardLayout,
        kernel: Kernel,
        value: NDArray[Any],
        bounds: Sequence[Bounds],
        extent: Sequence[int],
        threads: int,
    ) -> None:
        self._layout = layout
        self._kernel = kernel
        self._value = value
        self._bounds = bounds
        self._extent = extent
        self._box = tuple(
            [
                slice(start // size, -(-stop // size))
                for (start, stop, _, _), size in zip(bounds, layout.chunk_shape, strict=True)
            ]
        )
        """The inner chunks that are written."""
        self._sizes = np.full(layout.counts, -1, np.int64)
        """Bytes of each inner chunk, -1 where it is left out."""
        self._sources = np.zeros(layout.counts, np.int64)
        """Where the bytes of each one are that is copied: in the old shard, or in the content."""
        self._content: bytes | None = None
        """The encoded inner chunks, for a kernel with a codec."""
        self._index = np.full((*layout.counts, 2), ABSENT)
        self._count = self._sizes[self._box].size
        self._threads = kernel.worth(self._count, threads)

    def prepare(self, old: NDArray[np.uint64] | None) -> bool:
        """Encode what is encoded, and give all inner chunks their places; False where that failed.

        `old` is the index of the old shard, from which inner chunks are kept that are not written.
        """
        if old is not None:
            stored = old[..., 0] != ABSENT
            self._sizes[stored] = old[..., 1][stored]
            self._sources[stored] = old[..., 0][stored]
        sizes = self._filled_or_not() if self._kernel.plain else self._encode()
        if sizes is not None:
            self._give_places(sizes)
        return sizes is not None

    def _give_places(self, sizes: NDArray[np.int64]) -> None:
        """Give all inner chunks their places, from the sizes of those that are written."""
        shape = self._sizes[self._box].shape
        taken = np.maximum(sizes, 0)
        self._sizes[self._box] = sizes.reshape(shape)
        self._sources[self._box] = (np.cumsum(taken) - taken).reshape(shape)
        begin = 0 if self._layout.index_at_end else self._layout.index_size
        stored = self._sizes >= 0
        lengths = np.where(stored, self._sizes, 0).reshape(-1)
        offsets = begin + np.cumsum(lengths) - lengths
        self._index[stored, 0] = offsets.reshape(stored.shape)[stored]
        self._index[stored, 1] = self._sizes[stored]
        self._end = begin + int(lengths.sum())

    def is_left_out(self) -> bool:
        """Whether all that is written is the fill value, which is not stored."""
        return self._kernel.elide and all(self._transfer(-1).filled(0, self._count))

    @property
    def empty(self) -> bool:
        """Whether there is no inner chunk."""
        return not (self._sizes >= 0).any()

    def whole(self) -> bytes:
        """The shard, of which all inner chunks are encoded."""
        assert self._content is not None
        encoded = bytes(self._layout.index.encode(self._index))
        return self._content + encoded if self._layout.index_at_end else encoded + self._content

    def encode_into(self, file: int) -> bool:
        """Encode a whole shard into an open file, batch by batch, each as soon as those before are there.

        Whether that was done.
        """
        transfer = self._transfer(-1)
        batches = [*self._kernel.batches(self._count, self._threads)]
        encoded: dict[int, tuple[bytes, bytes] | None] = {}
        sizes: list[bytes] = []
        writing = threading.Lock()
        offset = 0 if self._layout.index_at_end else self._layout.index_size

        def write() -> None:
            nonlocal offset
            while (part := encoded.pop(len(sizes), None)) is not None:
                _write(file, memoryview(part[1]), offset)
                offset += len(part[1])
                sizes.append(part[0])

        def encode(number: int) -> None:
            encoded[number] = transfer.encode(*batches[number])
            if writing.acquire(blocking=False):
                try:
                    write()
                finally:
                    writing.release()

        crew.run(encode, range(len(batches)), self._threads)
        write()  # what came while another thread was just done with writing
        if len(sizes) < len(batches):
            return False
        self._give_places(np.frombuffer(b"".join(sizes), np.int64))
        index = memoryview(self._layout.index.encode(self._index))
        _write(file, index, self._end if self._layout.index_at_end else 0)
        return True

    def put(self, old: int, file: int) -> bool:
        """Write the shard into an open file, with what is kept of an open `old` one; was that done?"""
        os.pwrite(file, self._layout.index.encode(self._index), self._end if self._layout.index_at_end else 0)
        failed: list[object] = []
        crew.run(lambda task: failed.extend(task()), self._tasks(old, file), self._threads)
        return not failed

    def _tasks(self, old: int, file: int) -> Iterator[Callable[[], Sequence[object]]]:
        """What is to be done, each of which tells what it could not do."""
        written = np.zeros(self._sizes.shape, np.bool_)
        written[self._box] = True
        for source, offset, size in self._runs((self._sizes >= 0) & ~written):
            for done in range(0, size, _MOST_COPIED):
                length = min(_MOST_COPIED, size - done)
                yield partial(_copy, old, source + done, file, offset + done, length)
        if self._content is None:
            transfer = self._transfer(file)
            for batch in self._kernel.batches(self._count, self._threads):
                yield partial(transfer.write, *batch, ())
        else:
            content = memoryview(self._content)
            for source, offset, size in self._runs((self._sizes >= 0) & written):
                yield partial(_write, file, content[source : source + size], offset)

    def _runs(self, chosen: NDArray[np.bool_]) -> Iterator[tuple[int, int, int]]:
        """Where chosen inner chunks are, where they go, and their bytes: neighbours together."""
        sources, offsets = self._sources[chosen], self._index[chosen, 0].astype(np.int64)
        sizes = self._sizes[chosen]
        ends = np.cumsum(sizes)
        apart = (np.diff(sources) != sizes[:-1]) | (np.diff(offsets) != sizes[:-1])
        first = np.concatenate([[0], np.flatnonzero(apart) + 1])[: sizes.size]
        begins = (ends - sizes)[first]
        lengths = np.diff(begins, append=ends[-1:])
        return zip(sources[first].tolist(), offsets[first].tolist(), lengths.tolist(), strict=True)

    def _filled_or_not(self) -> NDArray[np.int64]:
        """Sizes of inner chunks that are not coded."""
        if not self._kernel.elide:
            return np.full(self._count, self._kernel.nbytes)
        filled = np.frombuffer(self._transfer(-1).filled(0, self._count), np.bool_)
        return np.where(filled, -1, self._kernel.nbytes)

    def _encode(self) -> NDArray[np.int64] | None:
        """Sizes of the inner chunks, encoded as the content; None where that failed."""
        transfer = self._transfer(-1)
        found: list[tuple[int, tuple[bytes, bytes] | None]] = []
        self._kernel.run(
            lambda batch: found.append((batch[0], transfer.encode(*batch))), self._count, self._threads
        )
        parts = [part for _, part in sorted(found, key=lambda item: item[0]) if part is not None]
        if len(parts) < len(found):
            return None
        self._content = b"".join([content for _, content in parts])
        return np.frombuffer(b"".join([sizes for sizes, _ in parts]), np.int64)

    def _transfer(self, file: int) -> Any:
        return self._kernel.shard(
            self._value, self._bounds, self._extent, file, self._index, 0, reading=False
        )


def _write(file: int, data: memoryview, offset: int) -> Sequence[object]:
    while data:
        written = os.pwrite(file, data, offset)
        data, offset = data[written:], offset + written
    return ()


def _copy(source: int, begin: int, target: int, offset: int, length: int) -> Sequence[object]:
    """Copy bytes from one open file to another, by the system where it can; what is not there is told."""
    try:
        while length and (done := os.copy_file_range(source, target, length, begin, offset)):
            begin, offset, length = begin + done, offset + done, length - done
    except (OSError, AttributeError):  # other systems, and file systems that can't
        while length and (data := os.pread(source, min(length, _PIECE), begin)):
            _write(target, memoryview(data), offset)
            begin, offset, length = begin + len(data), offset + len(data), length - len(data)
    return (length,) if length else ()
