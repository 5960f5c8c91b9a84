"""Many chunks in one call of the compiled kernel, which works without Python's lock.

It does what is usual: plain files of a local directory, inner chunks of a shard in an open file; chunks of
one shape as they are in memory, or coded by one codec that tells of C functions. What it finds to be
otherwise, it leaves to Python. The package works without it, and with `FASTZARR_KERNEL=0` in the environment.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from fastzarr.chunk_io import crew
from fastzarr.codec_chain import PreparedChain
from fastzarr.codecs.native import NativeCodec
from fastzarr.indexing.plan import Bounds
from fastzarr.stores.base import PlainFiles, Store

INTERFACE = 2
"""Of the kernel that this module calls; one left over from another version has another, or none."""

try:
    from fastzarr._kernel import INTERFACE as FOUND
    from fastzarr._kernel import Transfer
except ImportError:  # there was no compiler
    TRANSFER = None
else:
    TRANSFER = Transfer if FOUND == INTERFACE and os.environ.get("FASTZARR_KERNEL") != "0" else None


class Place(NamedTuple):
    """Files of a directory as the kernel takes them."""

    root: bytes
    """Absolute path of the directory."""
    inside: bytes
    """The same with links resolved and `/` at its end."""
    key: bytes
    """A `%` template that makes keys of coordinates; or a key."""
    unfinished: bytes
    """What the names of unfinished files say of this run of the program."""


class KeptIndex(NamedTuple):
    """The index of a stored shard."""

    version: bytes
    """What tells the file from others that were or will be in its place."""
    entries: NDArray[np.uint64]
    """Offset and size of each inner chunk."""
    limit: int
    """The byte at which inner chunks end, at the latest."""


Shard = tuple[int, NDArray[np.uint64], int, bytes]
"""File descriptor, index, end of the inner chunks, and version, as the kernel takes them."""

_MOST_DIMENSIONS = 31
_BATCH_BYTES = 1 << 20
"""Of chunks that are moved in one call: a fraction of a millisecond, for which an interrupt waits."""
_BATCH_CHUNKS = 64
_SHARES = 4
"""Batches for each thread at least, where there are as many chunks, so that all end almost together."""
_WORTH_THREADS = 1 << 18
"""Bytes from which a second thread is worth waking, each chunk counted as `_CHUNK_BYTES` more."""
_CHUNK_BYTES = 1 << 15


class Kernel:
    """Makes the transfers of all selections of one array, or of the inner chunks of its shards."""

    def __init__(
        self,
        chain: PreparedChain,
        chunks: tuple[int, ...],
        dtype: np.dtype[Any],
        fill: Any,
        codec: NativeCodec | None,
        *,
        elide: bool,
    ) -> None:
        self.nbytes = chain.nbytes
        self.plain = codec is None
        self._codec = codec
        self._chunks = chunks
        self._strides = chain.strides(chunks)
        self._dtype = dtype
        self._elements = np.dtype(f"V{dtype.itemsize}")
        element = np.empty(1, dtype)
        element[0] = fill
        self._fill = element.tobytes()
        self.elide = elide
        self._format = f"{7 * len(chunks)}q"

    @classmethod
    def of(
        cls, chain: PreparedChain, chunks: tuple[int, ...], dtype: np.dtype[Any], fill: Any, *, elide: bool
    ) -> Self | None:
        """The kernel for such chunks, or None where there is none or it can't do them."""
        codecs = [_native(codec, chain.nbytes) for codec in chain.bytes_codecs]
        if (
            TRANSFER is None
            or not chain.direct
            or chain.swapped
            or dtype.hasobject
            or dtype.kind == "T"
            or not dtype.itemsize
            or not 0 < len(chunks) <= _MOST_DIMENSIONS
            or len(codecs) > 1
            or None in codecs
        ):
            return None
        return cls(chain, chunks, dtype, fill, codecs[0] if codecs else None, elide=elide)

    def files(
        self,
        array: NDArray[Any],
        bounds: Sequence[Bounds],
        sizes: Sequence[int],
        place: Place,
        *,
        reading: bool,
        fill_missing: bool,
    ) -> Transfer:
        """Between `array` and files whose keys the place makes of the coordinates; `sizes`: the array's."""
        return self._transfer(array, bounds, sizes, reading, fill_missing, place, None)

    def shard(
        self,
        array: NDArray[Any],
        bounds: Sequence[Bounds],
        extent: Sequence[int],
        file: int,
        index: NDArray[np.uint64],
        limit: int,
        *,
        reading: bool,
    ) -> Transfer:
        """Between `array` and inner chunks in an open file, which end at byte `limit` or before.

        `extent` is how much of the shard lies in the array.
        """
        return self._transfer(array, bounds, extent, reading, True, None, (file, index, limit, b""))

    def kept_shard(
        self,
        out: NDArray[Any],
        bounds: Sequence[Bounds],
        extent: Sequence[int],
        place: Place,
        kept: KeptIndex,
    ) -> Transfer:
        """From a shard, whose key the place names, if it still is the version of which the index is kept."""
        shard = (-1, kept.entries, kept.limit, kept.version)
        return self._transfer(out, bounds, extent, True, True, place, shard)

    def chunks(self, out: NDArray[np.uint8], entries: NDArray[np.uint64], file: int, limit: int) -> Transfer:
        """From whole inner chunks in an open file to the rows of `out`, each in stored order.

        `entries`: offset and size of each.
        """
        return self._rows(out, None, (file, self._in_a_row(entries), limit, b""))

    def kept_chunks(
        self, out: NDArray[np.uint8], entries: NDArray[np.uint64], place: Place, kept: KeptIndex
    ) -> Transfer:
        """As `chunks`, from a shard if it still is the version of which the index is kept."""
        return self._rows(out, place, (-1, self._in_a_row(entries), kept.limit, kept.version))

    def _in_a_row(self, entries: NDArray[np.uint64]) -> NDArray[np.uint64]:
        return entries.reshape(len(entries), *(1,) * len(self._chunks), 2)

    def _rows(self, out: NDArray[np.uint8], place: Place | None, shard: Shard) -> Transfer:
        assert TRANSFER is not None
        count = len(out)
        numbers = [0, count, 1, count, 1, count, self.nbytes]
        for size, stride in zip(self._chunks, self._strides, strict=True):
            numbers += (0, size, 1, size, size, size, stride)
        array: NDArray[Any] = np.ndarray(
            (count, *self._chunks), self._elements, out, strides=(self.nbytes, *self._strides)
        )
        dimensions = struct.pack(f"7q{self._format}", *numbers)
        return TRANSFER(array, True, dimensions, self._fill, self.elide, True, self._codec, place, shard)

    def _transfer(
        self,
        array: NDArray[Any],
        bounds: Sequence[Bounds],
        sizes: Sequence[int],
        reading: bool,
        fill_missing: bool,
        place: Place | None,
        shard: Shard | None,
    ) -> Transfer:
        assert TRANSFER is not None
        numbers: list[int] = []
        for bound, chunk, size, stride in zip(bounds, self._chunks, sizes, self._strides, strict=True):
            numbers += (*bound, chunk, size, stride)
        return TRANSFER(
            array.view(self._elements),
            reading,
            struct.pack(self._format, *numbers),
            self._fill,
            self.elide,
            fill_missing,
            self._codec,
            place,
            shard,
        )

    def run(self, act: Callable[[tuple[int, int]], object], count: int, threads: int) -> None:
        """Call `act` with the numbers of all chunks, first and last + 1 of each batch."""
        if count == 1:
            act((0, 1))
            return
        threads = self.worth(count, threads)
        crew.run(act, self.batches(count, threads), threads)

    def worth(self, count: int, threads: int) -> int:
        """Threads that are worth it for so many chunks, `threads` at most."""
        work = count * (self.nbytes + _CHUNK_BYTES)
        return max(1, min(threads, count, work // _WORTH_THREADS + 1))

    def batches(self, count: int, threads: int) -> Iterator[tuple[int, int]]:
        """The numbers of `count` chunks, first and last + 1 of each batch."""
        least = count if threads == 1 else -(-count // (_SHARES * threads))
        size = max(1, min(_BATCH_CHUNKS, _BATCH_BYTES // self.nbytes, least))
        return ((begin, min(begin + size, count)) for begin in range(0, count, size))


def _native(codec: object, nbytes: int) -> NativeCodec | None:
    """What codes chunks of `nbytes` as `codec` does, whose own package may not know of that."""
    native = getattr(codec, "native", None)
    return None if native is None else native(nbytes)


def place_of(store: Store, template: str) -> tuple[Place | None, bool]:
    """Where the chunks are of a store that keeps plain files, and whether it lets others write them."""
    plain_files = getattr(store, "plain_files", None)
    files: PlainFiles | None = None if plain_files is None else plain_files()
    if files is None:
        return None, False
    root, inside, key, unfinished = map(os.fsencode, (files.root, files.inside, template, files.unfinished))
    return Place(root, inside, key, unfinished), files.writable
