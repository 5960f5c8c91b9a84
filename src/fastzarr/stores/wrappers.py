"""Stores around another store."""

from __future__ import annotations

import copy
import time
from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Self, TypeVar

from fastzarr.ranges import Range
from fastzarr.stores.base import Buffer, Closing, RangeReader, Store

if TYPE_CHECKING:
    import logging

_Result = TypeVar("_Result")


class WrapperStore(Closing):
    """All verbs of another store; subclass it and change some."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self.read_only = store.read_only
        self.range_gap = store.range_gap
        self.concurrency = store.concurrency

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._store})"

    def close(self) -> None:
        """Close the store within, where it can be closed."""
        close = getattr(self._store, "close", None)
        if close is not None:
            close()

    @property
    def identity(self) -> Hashable:
        """That of the store within, since it holds the objects."""
        return self._store.identity

    def with_read_only(self) -> Self:
        """The same wrapper around a read-only view of the store within."""
        locked = copy.copy(self)
        locked._store = self._store.with_read_only()
        locked.read_only = True
        return locked

    def get(self, key: str) -> Buffer | None:
        """As of the store within."""
        return self._store.get(key)

    def get_into(self, key: str, out: memoryview) -> int | None:
        """As of the store within."""
        return self._store.get_into(key, out)

    def get_range(self, key: str, start: int, length: int) -> Buffer | None:
        """As of the store within."""
        return self._store.get_range(key, start, length)

    def get_ranges(self, key: str, ranges: Sequence[Range]) -> list[Buffer] | None:
        """As of the store within."""
        return self._store.get_ranges(key, ranges)

    def snapshot(self, key: str) -> AbstractContextManager[RangeReader]:
        """As of the store within; where it has none, each read is of what is under `key` at its time."""
        snapshot = getattr(self._store, "snapshot", None)
        return nullcontext(self) if snapshot is None else snapshot(key)

    def set(self, key: str, data: Buffer) -> None:
        """As of the store within."""
        self._store.set(key, data)

    def set_range(self, key: str, start: int, data: Buffer, size: int) -> bool:
        """As of the store within, if `set` is; where it has none, nothing is done."""
        set_range = getattr(self._store, "set_range", None)
        if set_range is None or type(self).set is not WrapperStore.set:
            return False
        return bool(set_range(key, start, data, size))

    def erase(self, key: str) -> None:
        """As of the store within."""
        self._store.erase(key)

    def erase_prefix(self, prefix: str) -> None:
        """As of the store within."""
        self._store.erase_prefix(prefix)

    def list_prefix(self, prefix: str) -> Iterator[str]:
        """As of the store within."""
        return self._store.list_prefix(prefix)

    def list_dir(self, prefix: str) -> Iterator[str]:
        """As of the store within."""
        return self._store.list_dir(prefix)


class LoggingStore(WrapperStore):
    """Logs each call: verb, key or prefix, bytes or number of names, milliseconds; or the error it raised.

    Records go to the logger `fastzarr.stores` with `log_level`, and to `log_handler` where one is given;
    `counter` counts the calls of each verb. Listings are read whole before they are given on.
    """

    def __init__(
        self, store: Store, log_level: str | int = "DEBUG", log_handler: logging.Handler | None = None
    ) -> None:
        import logging

        super().__init__(store)
        self.counter: Counter[str] = Counter()
        self.log_level = (
            logging.getLevelNamesMapping()[log_level] if isinstance(log_level, str) else log_level
        )
        self._logger = logging.getLogger("fastzarr.stores")
        if log_handler is not None:
            self._logger.addHandler(log_handler)
            self._logger.setLevel(min(self.log_level, self._logger.getEffectiveLevel()))

    def get(self, key: str) -> Buffer | None:
        """Logs the size in bytes, or None where there is no object."""
        return self._logged("get", key, lambda: self._store.get(key), _size)

    def get_into(self, key: str, out: memoryview) -> int | None:
        """Logs the size in bytes, or None where there is no object."""
        return self._logged("get_into", key, lambda: self._store.get_into(key, out), _bytes)

    def get_range(self, key: str, start: int, length: int) -> Buffer | None:
        """Logs the bytes found, or None where there is no object."""
        return self._logged("get_range", key, lambda: self._store.get_range(key, start, length), _size)

    def get_ranges(self, key: str, ranges: Sequence[Range]) -> list[Buffer] | None:
        """Logs the bytes found in all ranges, or None where there is no object."""
        return self._logged("get_ranges", key, lambda: self._store.get_ranges(key, ranges), _sizes)

    def snapshot(self, key: str) -> AbstractContextManager[RangeReader]:
        """Logs the call; the reads in a snapshot are not logged."""
        return self._logged("snapshot", key, lambda: super(LoggingStore, self).snapshot(key), lambda _: "")

    def set(self, key: str, data: Buffer) -> None:
        """Logs the size in bytes."""
        self._logged("set", key, lambda: self._store.set(key, data), lambda _: _size(data))

    def set_range(self, key: str, start: int, data: Buffer, size: int) -> bool:
        """Logs the size in bytes, or that the store within can't do it."""
        set_range = getattr(self._store, "set_range", None)
        if set_range is None or type(self).set is not LoggingStore.set:
            return False
        return self._logged(
            "set_range",
            key,
            lambda: bool(set_range(key, start, data, size)),
            lambda done: _size(data) if done else "not done",
        )

    def erase(self, key: str) -> None:
        """Logs the call."""
        self._logged("erase", key, lambda: self._store.erase(key), lambda _: "")

    def erase_prefix(self, prefix: str) -> None:
        """Logs the call."""
        self._logged("erase_prefix", prefix, lambda: self._store.erase_prefix(prefix), lambda _: "")

    def list_prefix(self, prefix: str) -> Iterator[str]:
        """Logs the number of keys."""
        names = self._logged("list_prefix", prefix, lambda: [*self._store.list_prefix(prefix)], _names)
        return iter(names)

    def list_dir(self, prefix: str) -> Iterator[str]:
        """Logs the number of names."""
        names = self._logged("list_dir", prefix, lambda: [*self._store.list_dir(prefix)], _names)
        return iter(names)

    def _logged(
        self, verb: str, key: str, call: Callable[[], _Result], describe: Callable[[_Result], str]
    ) -> _Result:
        self.counter[verb] += 1
        start = time.perf_counter()
        try:
            result = call()
        except BaseException as error:
            self._log(verb, key, start, f"{type(error).__name__}: {error}")
            raise
        self._log(verb, key, start, describe(result))
        return result

    def _log(self, verb: str, key: str, start: float, text: str) -> None:
        if self._logger.isEnabledFor(self.log_level):
            milliseconds = (time.perf_counter() - start) * 1e3
            self._logger.log(self.log_level, "%s %r: %s %.3f ms", verb, key, text, milliseconds)


def _bytes(size: int | None) -> str:
    return "None" if size is None else f"{size} B"


def _size(data: Buffer | None) -> str:
    return _bytes(None if data is None else len(data))


def _sizes(parts: list[Buffer] | None) -> str:
    return _bytes(None if parts is None else sum(map(len, parts)))


def _names(names: list[str]) -> str:
    return f"{len(names)} names"
