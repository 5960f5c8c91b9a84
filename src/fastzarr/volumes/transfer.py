"""Voxels moved from a source to a target: read, cast, written, and read back, tile by tile in some threads.

Tiles are submitted in the order of the target's files, and what became of them is taken in the same order, so
that a file grows in its order while no more than `workers + 1` tiles are in memory.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Literal, TypeVar

import crc32c
import numpy as np
from numpy.typing import NDArray

from fastzarr.errors import ChunkError, ZarrError
from fastzarr.volumes.boxes import BoundingBox
from fastzarr.volumes.casting import Cast, cast, holds_all
from fastzarr.volumes.streams import Chunk, Stream
from fastzarr.volumes.targets import Target, put
from fastzarr.volumes.voxels import Voxels, is_zero

Verify = Literal["none", "written", "full"]
_T = TypeVar("_T")
_LONGEST_TILE = 512
_CHECKED_CAST = 32
"""Bytes for each value that finding those which can't be cast takes."""


class VerifyError(ZarrError, OSError):
    """What was written is not what was read."""

    kind = "verify"


class MemoryLimitError(ZarrError, ValueError):
    """The memory allowed is too small for one tile in each thread."""

    kind = "memory-limit"


@dataclass(frozen=True, kw_only=True)
class Work:
    """How voxels are moved."""

    workers: int
    """Number of threads."""
    memory: int
    """Most bytes that voxels may take at once."""
    verify: Verify
    """Whether what was written is read back and compared."""
    cast: Cast
    """How values become those of another data type."""
    resume: bool
    """Whether pieces that are there already are compared, and kept where they are right."""
    tell: Callable[[int], None]
    """Takes the number of voxels done since the last call."""


@dataclass(kw_only=True)
class Moved:
    """What became of the pieces of a magnification."""

    written: int = 0
    """Pieces written."""
    empty: int = 0
    """Pieces that are all zero, which have no file."""
    kept: int = 0
    """Pieces of an interrupted conversion that were there and right."""
    replaced: int = 0
    """Pieces of an interrupted conversion that were there and wrong; they are counted as written too."""
    largest: int | None = None
    """The largest value of integers; None where there are none."""

    def saw(self, value: int | None) -> None:
        """Take a value into account."""
        if value is not None and (self.largest is None or value > self.largest):
            self.largest = value


@dataclass(kw_only=True)
class _Piece:
    box: BoundingBox
    tile_len: int
    stream: Stream | None
    tiles: list[BoundingBox]
    checksums: dict[BoundingBox, int] = field(default_factory=dict)
    zero: bool = True


@dataclass(frozen=True, kw_only=True)
class _Tile:
    """A tile that was read, and written or encoded."""

    checksum: int | None
    zero: bool
    largest: int | None
    encoded: list[Chunk] | None


class Transfer:
    """Moves the voxels of one magnification."""

    def __init__(self, source: Voxels, target: Target, work: Work, where: str) -> None:
        self._source, self._target, self._work, self._where = source, target, work, where
        self._tile_len = _tile_len(source, target, work, where)
        tiles = math.prod(-(-size // self._tile_len) for size in target.box.size)
        self._threads = max(1, work.workers // max(1, tiles))
        """Of each call, where there are fewer tiles than workers."""
        self._moved = Moved()
        self._pending: deque[tuple[Future[Any], Callable[[Any], None]]] = deque()
        self._streams: list[Stream] = []

    def run(self) -> Moved:
        """Move all pieces; raises `CastError`, `VerifyError`, and what reading and writing raise."""
        self._writer = self._target.writer(self._threads)
        with ThreadPoolExecutor(self._work.workers, "convert") as pool:
            self._pool = pool
            try:
                for box in self._target.pieces(self._tile_len):
                    if self._work.resume and any(file.exists() for file in self._target.files(box)):
                        self._submit(partial(self._compare, box), partial(self._compared, box))
                    else:
                        self._write(box)
                self._drain()
            except BaseException:
                for future, _ in self._pending:
                    future.cancel()
                raise
            finally:
                pool.shutdown(cancel_futures=True)
                for stream in self._streams:
                    stream.abandon()
        return self._moved

    def check(self) -> int:
        """Read source and target once more and compare all; the number of pieces. Raises `VerifyError`."""
        count = 0
        with ThreadPoolExecutor(self._work.workers, "verify") as pool:
            self._pool = pool
            for box in self._target.pieces(self._tile_len):
                self._submit(partial(self._compare, box), partial(self._checked, box))
                count += 1
            self._drain()
        return count

    def _submit(self, call: Callable[[], _T], then: Callable[[_T], None]) -> None:
        while len(self._pending) > self._work.workers:
            self._settle()
        self._pending.append((self._pool.submit(call), then))

    def _settle(self) -> None:
        future, then = self._pending.popleft()
        then(future.result())

    def _drain(self) -> None:
        while self._pending:
            self._settle()

    def _tiles(self, piece: BoundingBox) -> Iterator[BoundingBox]:
        """Tiles of a piece that is not streamed, or is only read."""
        edge = self._tile_len
        for z in range(piece.offset[2], piece.end[2], edge):
            for y in range(piece.offset[1], piece.end[1], edge):
                for x in range(piece.offset[0], piece.end[0], edge):
                    tile = BoundingBox(offset=(x, y, z), size=(edge, edge, edge)).intersection(piece)
                    if not tile.intersection(self._target.box).is_empty():
                        yield tile

    def _streamed(self, piece: BoundingBox, stream: Stream) -> Iterator[BoundingBox]:
        """Tiles of a piece in the order of its stream, those without voxels among them."""
        edge, chunk = self._tile_len, self._target.format.chunk
        for x, y, z in stream.tiles(edge // chunk):
            ox, oy, oz = piece.offset
            offset = (ox + x * chunk, oy + y * chunk, oz + z * chunk)
            yield BoundingBox(offset=offset, size=(edge, edge, edge)).intersection(piece)

    def _write(self, box: BoundingBox) -> None:
        tiles = [*self._tiles(box)]
        whole = self._tile_len >= box.size[0]
        stream = None if whole else self._target.stream(box)
        if stream is not None:
            self._streams.append(stream)
            tiles = [*self._streamed(box, stream)]
        piece = _Piece(box=box, tile_len=self._tile_len, stream=stream, tiles=tiles)
        for number, tile in enumerate(tiles):
            last = number == len(tiles) - 1
            self._submit(partial(self._move, piece, tile), partial(self._done, piece, tile, last))

    def _move(self, piece: _Piece, tile: BoundingBox) -> _Tile:
        """Read a tile, and write or encode it."""
        inside = tile.intersection(self._target.box)
        if inside.is_empty():
            return _Tile(checksum=None, zero=True, largest=None, encoded=None)
        values = self._read(inside)
        zero = is_zero(values)
        encoded = None
        if piece.stream is None:
            if not zero:
                put(self._writer, inside, values)
        elif not zero:
            encoded = piece.stream.encode(_padded(values, inside, tile))
        return _Tile(checksum=_checksum(values), zero=zero, largest=_largest(values), encoded=encoded)

    def _done(self, piece: _Piece, tile: BoundingBox, last: bool, found: _Tile) -> None:
        inside = tile.intersection(self._target.box)
        if found.checksum is not None:
            piece.checksums[inside] = found.checksum
            piece.zero = piece.zero and found.zero
            self._moved.saw(found.largest)
            self._work.tell(_count(inside))
        if piece.stream is not None:
            chunk = self._target.format.chunk
            first = [(t - p) // chunk for t, p in zip(tile.offset, piece.box.offset, strict=True)]
            piece.stream.append(first, self._tile_len // chunk, found.encoded)
        if last:
            self._finished(piece)

    def _finished(self, piece: _Piece) -> None:
        if piece.stream is not None:
            piece.stream.finish()
            self._streams.remove(piece.stream)
        if piece.zero:
            self._moved.empty += 1
        else:
            self._moved.written += 1
        if self._work.verify == "none":
            return
        for inside, expected in piece.checksums.items():
            self._submit(partial(self._read_back, inside), partial(self._verified, inside, expected))

    def _read_back(self, inside: BoundingBox) -> int:
        return _checksum(self._target.reader(self._threads).read(inside))

    def _verified(self, inside: BoundingBox, expected: int, found: int) -> None:
        if found != expected:
            raise VerifyError(
                f"{self._target.path}: voxels from {inside.offset} to {inside.end} read back with checksum "
                f"{found:08x}, expected {expected:08x}; is the disk sound?"
            )

    def _compare(self, box: BoundingBox) -> tuple[BoundingBox | None, int | None]:
        """The first tile of a piece that differs from the source, and the largest value of those before."""
        target = self._target.reader()
        seen = Moved()
        for tile in self._tiles(box):
            inside = tile.intersection(self._target.box)
            values = self._read(inside)
            seen.saw(_largest(values))
            try:
                stored = target.read(inside)
            except ChunkError:
                return inside, seen.largest
            if _checksum(stored) != _checksum(values):
                return inside, seen.largest
        return None, seen.largest

    def _compared(self, box: BoundingBox, found: tuple[BoundingBox | None, int | None]) -> None:
        differs, largest = found
        if differs is None:
            self._moved.kept += 1
            self._moved.saw(largest)
            self._work.tell(_count(box.intersection(self._target.box)))
        else:
            self._moved.replaced += 1
            self._target.discard(box)
            self._write(box)

    def _checked(self, box: BoundingBox, found: tuple[BoundingBox | None, int | None]) -> None:
        differs, _ = found
        if differs is not None:
            place = f"from {differs.offset} to {differs.end}"
            raise VerifyError(f"{self._target.path}: voxels {place} differ from {self._where}")
        self._work.tell(_count(box.intersection(self._target.box)))

    def _read(self, inside: BoundingBox) -> NDArray[Any]:
        values = self._source.read(inside)
        return cast(values, self._target.dtype, self._work.cast, f"{self._where} at {inside.offset}")


def _tile_len(source: Voxels, target: Target, work: Work, where: str) -> int:
    """Voxels along each edge of the largest tile of which there is memory for `workers + 1`."""
    chunk, object_len = target.format.chunk, target.format.object_len
    values = source.dtype.itemsize + 4 * target.dtype.itemsize
    if not holds_all(target.dtype, source.dtype):
        values += _CHECKED_CAST
    each = source.voxel_nbytes + target.channels * values
    fixed = work.workers * (2 * source.chunk_nbytes + 3 * target.channels * target.dtype.itemsize * chunk**3)
    room = work.memory - fixed
    if (work.workers + 1) * each * chunk**3 > room:
        least = fixed + (work.workers + 1) * each * chunk**3
        workers = f"{work.workers} worker{'s' * (work.workers > 1)}"
        raise MemoryLimitError(
            f"memory: got {work.memory} bytes, expected at least {least} for {workers} and chunks of {where}"
        )
    longest = min(_LONGEST_TILE, object_len or _LONGEST_TILE)
    covering = max(o % chunk + s for o, s in zip(target.box.offset, target.box.size, strict=True))
    sizes = [chunk]
    while sizes[-1] * 2 <= longest and sizes[-1] < covering:
        sizes.append(sizes[-1] * 2)
    if object_len is not None and object_len <= longest:
        sizes.append(object_len)
    return max(size for size in sizes if (work.workers + 1) * each * size**3 <= room)


def _padded(values: NDArray[Any], inside: BoundingBox, tile: BoundingBox) -> NDArray[Any]:
    """The voxels of a whole tile, of which those outside of `inside` are zero."""
    if inside == tile:
        return values
    whole = np.zeros((values.shape[0], *tile.size), values.dtype)
    x, y, z = (
        slice(i - t, i - t + s) for i, t, s in zip(inside.offset, tile.offset, inside.size, strict=True)
    )
    whole[:, x, y, z] = values
    return whole


def _checksum(values: NDArray[Any]) -> int:
    """Of voxels in the order in which files have them: x fastest."""
    ordered = np.ascontiguousarray(values.transpose(3, 2, 1, 0))
    return int(crc32c.crc32c(ordered.reshape(-1).view(np.uint8).data))


def _largest(values: NDArray[Any]) -> int | None:
    return int(values.max()) if values.dtype.kind in "iu" and values.size else None


def _count(box: BoundingBox) -> int:
    x, y, z = box.size
    return x * y * z
