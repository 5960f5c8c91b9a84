"""Locks of this process, so that writers of parts of the same chunk don't lose each other's data.

Chunks and documents share a fixed number of locks. Whoever needs those of several chunks waits for one of
them only while holding none, since a finaliser may write to an array in a thread that holds a lock. Threads
that work for one that holds locks count as holding them too: it waits for them, and they must not for it.
"""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Sequence

import numpy as np

from fastzarr.stores.base import Store

_CHUNK_LOCKS = 1024
"""Enough that threads which write several chunks each seldom wait for a lock they share by chance."""
_DOCUMENT_LOCKS = 64
_STRIDE = 40503
"""Sets the chunks of a row apart from those of the next one; odd, so that all locks are used."""

_FREE: contextlib.AbstractContextManager[object] = contextlib.nullcontext()


class _Thread(threading.local):
    """What is known of one thread."""

    sections = 0
    """How many sections with a lock it is in, or more: an interrupt may leave one too many."""
    lent: frozenset[threading.RLock] = frozenset()
    """Locks of whom it works for."""


_thread = _Thread()
_chunks = [threading.RLock() for _ in range(_CHUNK_LOCKS)]
_documents = [threading.RLock() for _ in range(_DOCUMENT_LOCKS)]


class ChunkLocks:
    """The locks of the chunks of one array; equal for the same place, also in a store that begins there."""

    def __init__(self, store: Store, path: str) -> None:
        self._salt = _place(store, path) % _CHUNK_LOCKS

    def of(self, coords: Sequence[int]) -> contextlib.AbstractContextManager[object]:
        """The lock of a chunk; others may share it."""
        lock = _chunks[self._number(coords)]
        return _FREE if lock in _thread.lent else lock

    def of_run(
        self, first: Sequence[int], last: Sequence[int], begin: int, end: int
    ) -> tuple[threading.RLock, ...]:
        """The locks of some chunks of the box from `first` to `last`, by their numbers in C order."""
        places = np.arange(begin, end)
        coords = []
        for low, high in zip(reversed(first), reversed(last), strict=True):
            places, along = np.divmod(places, high - low + 1)
            coords.append(along + low)
        number = np.zeros(end - begin, np.int64)
        for along in reversed(coords):
            number = number * _STRIDE + along
        taken = np.unique((number + self._salt) % _CHUNK_LOCKS)
        lent = _thread.lent
        return tuple([lock for place in taken.tolist() if (lock := _chunks[place]) not in lent])

    def _number(self, coords: Sequence[int]) -> int:
        number = 0
        for coord in coords:
            number = number * _STRIDE + coord
        return (self._salt + number) % _CHUNK_LOCKS


class NoLocks:
    """For chunks that only one thread writes, as whoever writes a shard has its lock."""

    def of(self, coords: Sequence[int]) -> contextlib.AbstractContextManager[object]:
        """A lock that is always free."""
        return _FREE

    def of_run(
        self, first: Sequence[int], last: Sequence[int], begin: int, end: int
    ) -> tuple[threading.RLock, ...]:
        """None."""
        return ()


class _Section:
    """A block in which this thread may take the lock of a chunk, and run what is not known here."""

    def __enter__(self) -> None:
        _thread.sections += 1

    def __exit__(self, *_: object) -> None:
        _thread.sections -= 1


section = _Section()


def held() -> frozenset[threading.RLock]:
    """The locks of chunks that this thread holds, or that it works under."""
    if not _thread.sections:
        return _thread.lent
    return _thread.lent.union([lock for lock in _chunks if lock._is_owned()])  # type: ignore[attr-defined]


def lend(locks: frozenset[threading.RLock]) -> None:
    """Have this thread, which works for one that holds these locks, count as holding them; until the next."""
    _thread.lent = locks


def document_lock(store: Store, path: str) -> threading.RLock:
    """The lock of this process for the document of a node; whoever holds it may write chunks."""
    return _documents[_place(store, path) % _DOCUMENT_LOCKS]


def _place(store: Store, path: str) -> int:
    return hash(f"{store.identity}{path}".rstrip("/"))


def _forget_locks() -> None:
    """In a forked child, locks may be held by threads that are gone."""
    _chunks[:] = [threading.RLock() for _ in range(_CHUNK_LOCKS)]
    _documents[:] = [threading.RLock() for _ in range(_DOCUMENT_LOCKS)]


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_locks)
