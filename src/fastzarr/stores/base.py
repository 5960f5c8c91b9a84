"""What a store can do, in capabilities; and which keys are allowed."""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import NamedTuple, Protocol, Self

from fastzarr.errors import KeyNameError, ReadOnlyError
from fastzarr.ranges import Range

Buffer = bytes | bytearray | memoryview
"""A flat, contiguous run of bytes."""

CONCURRENCY = 16
"""Of stores that answer over a network: a call waits for tens of milliseconds, and the processor idles."""

_BAD_KEY = re.compile(r"(?:^|/)\.{0,2}(?:/|$)|[\0\\]")


class ReadableStore(Protocol):
    """Objects by key. Absent is None; every other failure raises and names the key."""

    read_only: bool
    """Whether `set` and `erase` raise `ReadOnlyError`."""
    range_gap: int
    """Bytes between two ranges of an object up to which it is cheaper to fetch both at once."""

    concurrency: int
    """Calls that are worth making at the same time on one processor: 1 where they keep it busy."""

    @property
    def identity(self) -> Hashable:
        """Equal for stores that hold the same objects, in this process."""

    def get(self, key: str) -> Buffer | None:
        """The object's bytes, or None where there is none."""

    def get_into(self, key: str, out: memoryview) -> int | None:
        """Size of the object in bytes, or None where there is none; fills `out` from its start."""

    def get_range(self, key: str, start: int, length: int) -> Buffer | None:
        """`length` bytes from `start` on, or None where there is no object; fewer where it ends before.

        A `start` below 0 counts from the end; `length` is then at most `-start`.
        """

    def get_ranges(self, key: str, ranges: Sequence[Range]) -> list[Buffer] | None:
        """The bytes of each range, or None where there is no object; fewer where it ends before.

        `start` is 0 or more. Opens the object once; remote stores merge near ranges.
        """

    def with_read_only(self) -> Self:
        """The same objects, read only."""


class SnapshotStore(ReadableStore, Protocol):
    """A store that can read an object several times as it was at first; others read shards without that."""

    def snapshot(self, key: str) -> AbstractContextManager[RangeReader]:
        """What is under `key` now, for several reads, also when another object takes its place.

        Stores that can't keep it raise `StoreError` then.
        """


class FileWriteStore(ReadableStore, Protocol):
    """A store that lets others write the content of a file, by several threads at different places of it."""

    def set_by(self, key: str, write: Callable[[int], bool]) -> bool:
        """As `set`, with the content that `write` gives the file whose descriptor it gets.

        Where it returns False nothing is stored, and False is returned.
        """


class PartialWriteStore(ReadableStore, Protocol):
    """A store that can change a few bytes of an object where they are, as well as `set` replaces all."""

    def set_range(self, key: str, start: int, data: Buffer, size: int) -> bool:
        """Replace the bytes from `start` on in an object of `size` bytes, and tell whether that was done.

        Where it is False nothing has changed: so if there is no such object, or if anyone could find `data`
        in part, a reader at the same time or, after the process was killed or the power failed, a later one.
        Who has the object open, also by a snapshot, sees the change.
        """


class PlainFiles(NamedTuple):
    """A directory in which each object is the file that its key names."""

    root: str
    """Absolute path of the directory."""
    inside: str
    """The same with links resolved and `/` at its end: how real paths of what may be touched begin."""
    unfinished: str
    """What names of unfinished files say of this run of the program: `.NAME.PROCESS-UNFINISHED….partial`."""
    writable: bool
    """Whether a file that is written beside its place and renamed is all that `set` does."""


class FileStore(ReadableStore, Protocol):
    """A store of plain files, which others may read and write many at a time, as the store does."""

    def plain_files(self) -> PlainFiles | None:
        """Where they are; None where the store's own methods must be called."""


class RangeReader(Protocol):
    """Reads ranges of objects.

    One that a snapshot gave may have a `version`, bytes that no other content of the key has, or None; and,
    where it is an open file, `fileno()` and its `size`.
    """

    range_gap: int
    """As of a store."""

    def get_range(self, key: str, start: int, length: int) -> Buffer | None:
        """As of a store."""


class Store(ReadableStore, Protocol):
    """A store that can be written and listed."""

    def set(self, key: str, data: Buffer) -> None:
        """Store bytes under `key`, whole or not at all; keeps no reference to `data`.

        Is called with a lock of the chunk held, so it must not write to arrays itself.
        """

    def erase(self, key: str) -> None:
        """Remove `key`; nothing happens where it is absent."""

    def erase_prefix(self, prefix: str) -> None:
        """Remove all keys below `prefix`, which is empty or ends with `/`."""

    def list_prefix(self, prefix: str) -> Iterator[str]:
        """All keys that begin with `prefix`, which is empty or ends with `/`."""

    def list_dir(self, prefix: str) -> Iterator[str]:
        """Names directly below `prefix`, which is empty or ends with `/`."""


class Closing:
    """A context manager that closes at its end; of what holds nothing open, as most stores do."""

    def close(self) -> None:
        """Nothing, since nothing is held open: the store can be used afterwards."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


def copy_into(data: Buffer, out: memoryview) -> int:
    """Fill `out` from its start with as much of `data` as it holds; the size of `data`."""
    size = min(len(data), len(out))
    out[:size] = memoryview(data)[:size]
    return len(data)


def check_key(key: str) -> None:
    """Raise `KeyNameError` for an empty key, empty, `.` or `..` segments, backslashes and NUL."""
    wrapped = f"/{key}/"
    # Good keys pass by the first line, which is three times as fast as the expression.
    suspicious = "./" in wrapped or "//" in wrapped or "\\" in key or "\0" in key
    if suspicious and _BAD_KEY.search(key):
        raise KeyNameError(
            f"key {key!r}: expected names joined by '/', none of them empty, '.' or '..', "
            "without backslash or NUL"
        )


def is_key(name: str) -> bool:
    """Whether a name that others gave is one that a key may have."""
    return not _BAD_KEY.search(name)


def names_below(prefix: str, keys: Iterable[str]) -> Iterator[str]:
    """Names directly below `prefix`, each once, of the keys that begin with it."""
    return iter(dict.fromkeys(key[len(prefix) :].split("/", 1)[0] for key in keys))


def check_prefix(prefix: str) -> None:
    """Raise `KeyNameError` unless `prefix` is empty or a key and `/`."""
    if prefix and not (prefix.endswith("/") and not _BAD_KEY.search(prefix[:-1])):
        raise KeyNameError(f"prefix {prefix!r}: expected nothing, or a key followed by '/'")


def check_writable(store: ReadableStore, key: str) -> None:
    """Raise `ReadOnlyError` where the store is read only."""
    if store.read_only:
        raise ReadOnlyError(
            f"{key!r} can't be written: the store {store} is read only; open it with mode 'r+' or 'a'"
        )
