"""A store in an object storage, through obstore: S3, Google Cloud Storage, Azure, HTTP and others."""

from __future__ import annotations

import contextlib
import copy
import os
import re
from collections.abc import Hashable, Iterator, Sequence
from typing import Any, Self

from fastzarr.errors import StoreError
from fastzarr.ranges import GAP, Range, clip, cut, merge
from fastzarr.stores.base import (
    CONCURRENCY,
    Buffer,
    Closing,
    check_key,
    check_prefix,
    check_writable,
    copy_into,
    is_key,
    names_below,
)
from fastzarr.stores.failures import NamesKeys

SCHEMES = ("s3", "s3a", "gs", "gcs", "az", "azure", "abfs", "abfss", "adl", "http", "https")
"""Of URLs that obstore opens."""
_ERASED_AT_ONCE = 1000
_PLACE = ("bucket", "container_name", "account_name", "endpoint", "region")
"""Members of a configuration that say where the objects are."""


_used = False
"""Whether obstore has begun to work in this process: its threads are not there in a forked child."""
_forked = False
"""Whether this process is such a child."""


def _note_fork() -> None:
    global _forked
    _forked = _forked or _used


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_note_fork)


class ObjectStore(Closing, NamesKeys):
    """Objects in `store`, a store of `obstore.store`. Its calls block, without an event loop.

    Whether an object appears whole is up to the service; S3, Google Cloud Storage and Azure do it so.
    In a process that was forked after obstore was used all calls over a network raise `StoreError`, since
    they would hang; start such processes by `spawn` or `forkserver`.
    """

    range_gap = GAP
    concurrency = CONCURRENCY

    def __init__(self, store: Any, *, read_only: bool = False) -> None:
        self.store = store
        self.read_only = read_only
        self._in_snapshot = False
        self._version: str | None = None
        self._lists = type(store).__name__ != "HTTPStore"
        self._is_remote = type(store).__name__ not in ("LocalStore", "MemoryStore")

    @classmethod
    def from_url(cls, url: str, *, storage_options: dict[str, Any] | None = None) -> Self:
        """The store at a URL; the options are the keywords of `obstore.store.from_url`.

        `{"anon": True}` is taken for `{"skip_signature": True}`, `allow_http` for the client option of that
        name, and `gcs://` for `gs://`. Stores of HTTP servers are read only. Raises
        `ValueError` for an option that the kind of store doesn't know.
        """
        from obstore.exceptions import BaseError
        from obstore.store import from_url

        options = dict(storage_options or {})
        if "anon" in options:
            options["skip_signature"] = bool(options.pop("anon"))
        allow_http = options.pop("allow_http", url.startswith("http://"))
        if allow_http:
            options["client_options"] = {"allow_http": allow_http, **options.get("client_options", {})}
        try:
            store = from_url(re.sub("^gcs://", "gs://", url), **options)
        except BaseException as error:
            if not isinstance(error, BaseError) and type(error).__name__ != "PanicException":
                raise
            raise ValueError(
                f"{url!r}: {_first_line(error).rstrip('.')}. Options are those of obstore.store.from_url; "
                "FsspecStore.from_url takes those of fsspec"
            ) from error
        return cls(store, read_only=url.startswith(("http://", "https://")))

    def __repr__(self) -> str:
        return f"object_store://{self.store!r}"

    @property
    def identity(self) -> Hashable:
        """Equal for stores of the same place; each store in memory is a place of its own."""
        name = type(self.store).__name__
        url = getattr(self.store, "url", None)
        config = getattr(self.store, "config", None)
        if url is None and config is None and name != "LocalStore":
            return name, id(self.store)
        place = tuple((config or {}).get(member) for member in _PLACE)
        return name, url, str(getattr(self.store, "prefix", None)), place

    def with_read_only(self) -> Self:
        """The same objects, read only."""
        locked = copy.copy(self)
        locked.read_only = True
        return locked

    def get(self, key: str) -> Buffer | None:
        """The object's bytes, or None where there is none."""
        import obstore

        check_key(key)
        return self._unless_missing(key, lambda: memoryview(obstore.get(self._usable(), key).bytes()))

    def get_into(self, key: str, out: memoryview) -> int | None:
        """Size of the object in bytes, or None where there is none; fills `out` from its start."""
        data = self.get(key)
        return None if data is None else copy_into(data, out)

    def get_range(self, key: str, start: int, length: int) -> Buffer | None:
        """`length` bytes from `start` on, or None where there is no object."""
        from obstore.exceptions import NotSupportedError

        check_key(key)
        failure = None
        if length > 0:
            try:
                if start < 0:
                    return self._fetch(key, {"suffix": -start})[:length]
                return self._fetch(key, (start, start + length))
            except FileNotFoundError:
                return None
            except Exception as error:  # so for ranges beyond the end, or of a kind that is not taken
                failure = error
        size = self._size(key)
        if size is None:
            return None
        first, count = clip(size, start, length)
        if count == 0:
            return b""
        if failure is None or (first, count) != (start, length):
            return self.get_range(key, first, count)
        if not isinstance(failure, NotSupportedError):
            self._failed(key, failure)
        whole = self.get(key)
        return None if whole is None else memoryview(whole)[first : first + count]

    def get_ranges(self, key: str, ranges: Sequence[Range]) -> list[Buffer] | None:
        """The bytes of each range, or None where there is no object; near ranges are fetched at once.

        What lies far apart is fetched at the same time, after a request for the object's size. A server that
        takes no ranges is asked for the whole object.
        """
        import obstore
        from obstore.exceptions import NotSupportedError

        check_key(key)
        merged = [part for part in merge(ranges) if part[1]]
        if len(merged) == 1:
            one = self.get_range(key, *merged[0])
            return None if one is None else list(cut(merged, [one], ranges))
        size = self._size(key)
        if size is None:
            return None
        # A range that begins beyond the end would make obstore panic.
        merged = [part for part in (clip(size, *part) for part in merged) if part[1]]
        starts, lengths = [part[0] for part in merged], [part[1] for part in merged]
        try:
            parts = obstore.get_ranges(self._usable(), key, starts=starts, lengths=lengths)
        except FileNotFoundError:
            return None
        except NotSupportedError:
            whole = self.get(key)
            return None if whole is None else list(cut([(0, size)], [whole], ranges))
        except Exception as error:
            self._failed(key, error)
        return list(cut(merged, [memoryview(part) for part in parts], ranges))

    def snapshot(self, key: str) -> contextlib.AbstractContextManager[Self]:
        """What is under `key` at the first read, for several; `StoreError` once another took its place.

        Where a server gives objects no entity tag, each read is of what is there at its time.
        """
        view = copy.copy(self)
        view._in_snapshot = True
        return contextlib.nullcontext(view)

    def set(self, key: str, data: Buffer) -> None:
        """Put an object."""
        import obstore

        check_key(key)
        check_writable(self, key)
        self._named(key, lambda: obstore.put(self._usable(), key, bytes(data)))

    def erase(self, key: str) -> None:
        """Remove `key`; nothing happens where it is absent."""
        check_key(key)
        check_writable(self, key)
        self._erase(key, key)

    def erase_prefix(self, prefix: str) -> None:
        """Remove all keys below `prefix`, many with one request where the service can."""
        check_prefix(prefix)
        check_writable(self, prefix)
        keys = list(self.list_prefix(prefix))
        for first in range(0, len(keys), _ERASED_AT_ONCE):
            self._erase(prefix, keys[first : first + _ERASED_AT_ONCE])

    def list_prefix(self, prefix: str) -> Iterator[str]:
        """All keys that begin with `prefix`. Raises `StoreError` for HTTP, which has no listing."""
        import obstore

        check_prefix(prefix)
        self._require_listing(prefix)
        pages = self._named(prefix, lambda: list(obstore.list(self._usable(), prefix or None)))
        return (item["path"] for page in pages for item in page if is_key(item["path"]))

    def list_dir(self, prefix: str) -> Iterator[str]:
        """Names directly below `prefix`. Raises `StoreError` for HTTP, which has no listing."""
        import obstore

        check_prefix(prefix)
        self._require_listing(prefix)
        found = self._named(prefix, lambda: obstore.list_with_delimiter(self._usable(), prefix or None))
        paths = [*found["common_prefixes"], *(item["path"] for item in found["objects"])]
        return names_below(prefix, (path for path in paths if path.startswith(prefix)))

    def _fetch(self, key: str, wanted: Any) -> memoryview:
        """A range as obstore's options say it; in a snapshot, of the version that was read first."""
        import obstore

        options = {"range": wanted}
        if self._version is not None:
            options["if_match"] = self._version
        found = obstore.get(self._usable(), key, options=options)  # type: ignore[arg-type]
        if self._in_snapshot:
            self._version = found.meta["e_tag"]
        return memoryview(found.bytes())

    def _usable(self) -> Any:
        global _used
        if _forked and self._is_remote:
            raise StoreError(
                "obstore hangs in a process that was forked after its first use; "
                "start processes by 'spawn' or 'forkserver'"
            )
        _used = True
        return self.store

    def _size(self, key: str) -> int | None:
        import obstore

        return self._unless_missing(key, lambda: int(obstore.head(self._usable(), key)["size"]))

    def _erase(self, name: str, keys: str | list[str]) -> None:
        import obstore

        with contextlib.suppress(FileNotFoundError):
            try:
                obstore.delete(self._usable(), keys)
            except FileNotFoundError:
                raise
            except Exception as error:
                self._failed(name, error)

    def _require_listing(self, prefix: str) -> None:
        if not self._lists:
            raise StoreError(
                f"prefix {prefix!r} in {self}: HTTP servers can't list what they have; open arrays by their "
                "path, or a group with consolidated metadata"
            )

    def _text(self, error: Exception) -> str:
        return _first_line(error)


def _first_line(error: BaseException) -> str:
    """Without the debugging text that obstore puts below."""
    return str(error).partition("\n")[0]
