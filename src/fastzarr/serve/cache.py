"""Decoded buckets of many volumes in memory, within a budget of bytes."""

from __future__ import annotations

import itertools
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from threading import Lock
from typing import NamedTuple
from weakref import WeakValueDictionary

from fastzarr.serve.chunk_files import status_of
from fastzarr.serve.http import Piece
from fastzarr.serve.volume import BUCKET, NOWHERE, Point, Volume

RECHECK = 2.0
"""Seconds for which files are taken to be what they were when last looked at."""
OVERHEAD = 640
"""Bytes that an entry needs besides its bucket: key, record, places in tables, a share of its origin."""
TOGETHER = 8 << 20
"""Bytes of buckets at the most that are read with one, since they are in the same chunks, or at a time."""
MANY = 2048
"""Buckets at the most that are read with one."""
_GRAIN = 2_000_000_000
"""Nanoseconds for which two contents of a file may have the same times."""

Key = tuple[int, ...]
"""Number of the volume, edge of the bucket, its coordinates, indices along additional axes."""


class Origin:
    """The files that buckets are from, as they were before these were read."""

    __slots__ = ("__weakref__", "_signature", "checked", "paths", "stale")

    def __init__(self, paths: tuple[str, ...] | None, now: float) -> None:
        self.paths = paths
        """None for what can't be told: such buckets are read anew when they are checked."""
        self.stale = False
        """Whether the files have changed since."""
        self.checked = now
        """When they were last looked at."""
        self._signature = self._sign()

    def check(self, now: float) -> None:
        """Look at the files again."""
        if self._signature is None or self._sign() != self._signature:
            self.stale = True
        self.checked = now

    def _sign(self) -> tuple[Hashable, ...] | None:
        """What tells the files from others; None where a later change might not show in it."""
        if self.paths is None:
            return None
        signs: list[Hashable] = []
        recent = time.time_ns() - _GRAIN
        for path in self.paths:
            found = status_of(path)
            if found is None:
                signs.append(None)
                continue
            if max(found.st_mtime_ns, found.st_ctime_ns) > recent:
                return None
            signs.append((found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns))
        return tuple(signs)


class Entry(NamedTuple):
    """A bucket that is kept."""

    data: Piece | None
    """None for one that is not stored."""
    origin: Origin


class Counts(NamedTuple):
    """What a cache has done and holds."""

    hits: int
    """Buckets that were there."""
    misses: int
    """Buckets that had to be read."""
    evicted: int
    """Buckets given up for others."""
    entries: int
    """Buckets held now."""
    nbytes: int
    """Bytes held now, with what the entries themselves need."""


class BucketCache:
    """The buckets used last, of all volumes of a process. Safe to share between threads.

    What is in a file that changes is read anew `recheck` seconds after the change at the latest.
    """

    def __init__(
        self, limit: int, *, recheck: float = RECHECK, clock: Callable[[], float] = time.monotonic
    ) -> None:
        """`limit`: bytes to hold at the most; 0 keeps nothing."""
        self.limit = limit
        self._recheck = recheck
        self._clock = clock
        self._entries: OrderedDict[Key, Entry] = OrderedDict()
        self._origins: WeakValueDictionary[tuple[str, ...], Origin] = WeakValueDictionary()
        self._lock = Lock()
        self._nbytes = self._hits = self._misses = self._evicted = 0

    def counts(self) -> Counts:
        """What it has done and holds."""
        with self._lock:
            return Counts(self._hits, self._misses, self._evicted, len(self._entries), self._nbytes)

    def fresh(self, keys: Sequence[Key]) -> list[Piece | None] | None:
        """All these buckets, if they are here and their files need no look; else None. Waits for no disk."""
        due = self._clock() - self._recheck
        entries = self._entries
        found: list[Piece | None] = []
        with self._lock:
            for key in keys:
                entry = entries.get(key)
                if entry is None or entry.origin.stale or entry.origin.checked < due:
                    return None
                found.append(entry.data)
            for key in keys:
                entries.move_to_end(key)
            self._hits += len(keys)
        return found

    def read(
        self,
        volume: Volume,
        coords: Sequence[Point],
        edge: int = BUCKET,
        additional: Mapping[str, int] = NOWHERE,
    ) -> list[Piece | None]:
        """`volume.buckets`, with those that are here not read again."""
        if not self.limit:
            with self._lock:
                self._misses += len(coords)
            for path in {p for point in coords for p in volume.paths(point, edge, additional) or ()}:
                status_of(path)
            return volume.buckets(coords, edge, additional)
        indices = volume.indices(additional)
        keys = [(volume.number, edge, *point, *indices) for point in coords]
        found = self._valid(keys)
        wanted = {coords[number] for number, entry in enumerate(found) if entry is None}
        misses = len(wanted)
        read: dict[Point, Entry] = {}
        size = edge**3 * volume.voxel_bytes
        most = min(TOGETHER, self.limit // 4, MANY * size)
        for point in list(wanted):
            cubes = volume.beside(point, edge, most) if point not in read else None
            if cubes is not None:
                points = [(x, y, z) for x, y, z in itertools.product(*map(range, *cubes))]
                origins = {p: self._origin(volume.paths(p, edge, additional)) for p in points}
                for p, data in volume.region(cubes, edge, additional):
                    entry = Entry(data, origins[p])
                    self._keep((volume.number, edge, *p, *indices), entry)
                    if p in wanted:
                        read[p] = entry
        wanted -= read.keys()
        for left in _batches(list(wanted), size):
            of_left = [self._origin(volume.paths(point, edge, additional)) for point in left]
            pieces = volume.buckets(left, edge, additional)
            for p, piece, origin in zip(left, pieces, of_left, strict=True):
                read[p] = Entry(_alone(piece), origin)
                self._keep((volume.number, edge, *p, *indices), read[p])
        with self._lock:
            self._misses += misses
            self._hits += len(keys) - misses
        return [(known or read[point]).data for point, known in zip(coords, found, strict=True)]

    def _valid(self, keys: Sequence[Key]) -> list[Entry | None]:
        """What is here of these, after a look at the files where one is due."""
        now = self._clock()
        with self._lock:
            found = [self._entries.get(key) for key in keys]
        for origin in {id(entry.origin): entry.origin for entry in found if entry is not None}.values():
            if not origin.stale and origin.checked < now - self._recheck:
                origin.check(now)
        with self._lock:
            for number, (key, entry) in enumerate(zip(keys, found, strict=True)):
                if entry is None:
                    continue
                if entry.origin.stale:
                    found[number] = None
                    if self._entries.get(key) is entry:
                        self._drop(key)
                elif key in self._entries:
                    self._entries.move_to_end(key)
        return found

    def _origin(self, paths: tuple[str, ...] | None) -> Origin:
        """The files as they are now; one record for all buckets of the same files."""
        now = self._clock()
        if paths is None:
            return Origin(None, now)
        with self._lock:
            known = self._origins.get(paths)
        if known is not None and not known.stale:
            if known.checked < now - self._recheck:
                known.check(now)
            if not known.stale:
                return known
        made = Origin(paths, now)
        with self._lock:
            self._origins[paths] = made
        return made

    def _keep(self, key: Key, entry: Entry) -> None:
        size = _size(entry)
        if size > self.limit:
            return
        with self._lock:
            if key in self._entries:
                self._drop(key)
            self._entries[key] = entry
            self._nbytes += size
            while self._nbytes > self.limit:
                self._drop(next(iter(self._entries)))
                self._evicted += 1

    def _drop(self, key: Key) -> None:
        self._nbytes -= _size(self._entries.pop(key))


def _batches(coords: list[Point], nbytes: int) -> Iterator[list[Point]]:
    """Buckets of `nbytes` that are read at a time, and are there twice until they are copied."""
    count = max(1, TOGETHER // max(1, nbytes))
    for first in range(0, len(coords), count):
        yield coords[first : first + count]


def _alone(piece: Piece | None) -> Piece | None:
    """A bucket in memory of its own; one that was read alone is there as it is."""
    return piece if piece is None or len(piece) > TOGETHER else bytes(piece)


def _size(entry: Entry) -> int:
    return OVERHEAD + (0 if entry.data is None else len(entry.data))
