"""A store in a dictionary."""

from __future__ import annotations

import contextlib
from collections.abc import Hashable, Iterator, MutableMapping, Sequence
from typing import Self

from fastzarr.ranges import Range, clip
from fastzarr.stores.base import (
    Buffer,
    Closing,
    check_key,
    check_prefix,
    check_writable,
    copy_into,
    names_below,
)


class MemoryStore(Closing):
    """Objects as `bytes` in a dictionary; what is set is copied."""

    range_gap = 0
    concurrency = 1

    def __init__(
        self, store_dict: MutableMapping[str, bytes] | None = None, *, read_only: bool = False
    ) -> None:
        self._objects: MutableMapping[str, bytes] = {} if store_dict is None else store_dict
        self.read_only = read_only

    def __repr__(self) -> str:
        return f"memory://{id(self._objects)}"

    @property
    def identity(self) -> Hashable:
        """Equal for stores over the same dictionary."""
        return id(self._objects)

    def with_read_only(self) -> Self:
        """The same objects, read only."""
        return type(self)(self._objects, read_only=True)

    def get(self, key: str) -> Buffer | None:
        """The object's bytes, or None where there is none."""
        check_key(key)
        return self._objects.get(key)

    def get_into(self, key: str, out: memoryview) -> int | None:
        """Size of the object in bytes, or None where there is none; fills `out` from its start."""
        check_key(key)
        data = self._objects.get(key)
        return None if data is None else copy_into(data, out)

    def get_range(self, key: str, start: int, length: int) -> Buffer | None:
        """`length` bytes from `start` on, or None where there is no object."""
        found = self.get_ranges(key, ((start, length),))
        return None if found is None else found[0]

    def get_ranges(self, key: str, ranges: Sequence[Range]) -> list[Buffer] | None:
        """The bytes of each range without a copy, or None where there is no object."""
        data = self.get(key)
        if data is None:
            return None
        clipped = (clip(len(data), start, length) for start, length in ranges)
        return [memoryview(data)[start : start + length] for start, length in clipped]

    def snapshot(self, key: str) -> contextlib.AbstractContextManager[MemoryStore]:
        """What is under `key` now, for several reads, also when another object takes its place."""
        data = self.get(key)
        return contextlib.nullcontext(MemoryStore({} if data is None else {key: bytes(data)}))

    def set(self, key: str, data: Buffer) -> None:
        """Store a copy of `data`."""
        check_key(key)
        check_writable(self, key)
        self._objects[key] = bytes(data)

    def erase(self, key: str) -> None:
        """Remove `key`; nothing happens where it is absent."""
        check_key(key)
        check_writable(self, key)
        self._objects.pop(key, None)

    def erase_prefix(self, prefix: str) -> None:
        """Remove all keys that begin with `prefix`."""
        check_writable(self, prefix)
        for key in self.list_prefix(prefix):
            self._objects.pop(key, None)

    def list_prefix(self, prefix: str) -> Iterator[str]:
        """All keys that begin with `prefix`, as they are at the call."""
        check_prefix(prefix)
        return iter([key for key in list(self._objects) if key.startswith(prefix)])

    def list_dir(self, prefix: str) -> Iterator[str]:
        """Names directly below `prefix`."""
        return names_below(prefix, self.list_prefix(prefix))
