"""A store in any file system of fsspec."""

from __future__ import annotations

import copy
import re
from collections.abc import Hashable, Iterator, Sequence
from functools import partial
from typing import Any, Self

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
)
from fastzarr.stores.failures import NamesKeys

_ABSENT = (FileNotFoundError, NotADirectoryError, IsADirectoryError)
"""A directory is no object, and there is none below a file."""


class FsspecStore(Closing, NamesKeys):
    """Objects below `path` in the file system `fs`, which blocks (not made with `asynchronous=True`).

    Whether an object appears whole is up to the file system; that of local files writes in place.
    """

    _absent = _ABSENT
    range_gap = GAP
    concurrency = CONCURRENCY

    def __init__(self, fs: Any, *, path: str = "/", read_only: bool = False) -> None:
        if getattr(fs, "asynchronous", False):
            raise TypeError("fs: got an asynchronous file system, expected one made with asynchronous=False")
        self.fs = fs
        self.path = str(fs._strip_protocol(path))
        self.read_only = read_only
        self._takes_ranges = None if "http" in fs.protocol else True
        self._prefix = f"{self.path.rstrip('/')}/" if self.path else ""

    @classmethod
    def from_url(
        cls, url: str, *, storage_options: dict[str, Any] | None = None, read_only: bool = False
    ) -> Self:
        """The store at a URL; the options are those of `fsspec.url_to_fs`."""
        from fsspec.core import url_to_fs

        fs, path = url_to_fs(url, **(storage_options or {}))
        return cls(fs, path=path, read_only=read_only)

    @classmethod
    def from_mapper(cls, fs_map: Any, *, read_only: bool = False) -> Self:
        """The store of a mapping that `fsspec.get_mapper` made."""
        return cls(fs_map.fs, path=fs_map.root, read_only=read_only)

    def __repr__(self) -> str:
        protocol = self.fs.protocol
        scheme = protocol if isinstance(protocol, str) else protocol[0]
        return f"{scheme}://{re.sub('^[a-z0-9]+://', '', self.path)}"

    @property
    def identity(self) -> Hashable:
        """Equal for stores of the same path in equal file systems."""
        return "fsspec", hash(self.fs), self._prefix

    def with_read_only(self) -> Self:
        """The same objects, read only."""
        locked = copy.copy(self)
        locked.read_only = True
        return locked

    def get(self, key: str) -> Buffer | None:
        """The file's bytes, or None where there is none."""
        check_key(key)
        return self._unless_missing(key, lambda: self.fs.cat_file(self._prefix + key))

    def get_into(self, key: str, out: memoryview) -> int | None:
        """Size of the file in bytes, or None where there is none; fills `out` from its start."""
        data = self.get(key)
        return None if data is None else copy_into(data, out)

    def get_range(self, key: str, start: int, length: int) -> Buffer | None:
        """`length` bytes from `start` on, or None where there is no file."""
        check_key(key)
        if start >= 0 and length > 0:
            try:
                return self._part(key, start, length)
            except _ABSENT:
                return None
            except Exception as error:  # so do some for ranges beyond the end
                failure: Exception | None = error
        else:
            failure = None
        size = self._unless_missing(key, lambda: self._size(key))
        if size is None:
            return None
        first, count = clip(size, start, length)
        if failure is not None and (first, count) == (start, length):
            self._failed(key, failure)
        return self._unless_missing(key, lambda: self._part(key, first, count)) if count else b""

    def get_ranges(self, key: str, ranges: Sequence[Range]) -> list[Buffer] | None:
        """The bytes of each range, or None where there is no file; near ranges are fetched at once."""
        merged = merge(ranges) or [(0, 0)]
        parts = [self.get_range(key, *part) for part in merged]
        found = [part for part in parts if part is not None]
        return None if len(found) < len(parts) else list(cut(merged, found, ranges))

    def set(self, key: str, data: Buffer) -> None:
        """Write a file, and make the directories above it where they are missing."""
        check_key(key)
        check_writable(self, key)
        path, content = self._prefix + key, bytes(data)
        try:
            self.fs.pipe_file(path, content)
        except FileNotFoundError:
            directory = path.rpartition("/")[0]
            self._named(key, lambda: self.fs.makedirs(directory, exist_ok=True))
            self._named(key, lambda: self.fs.pipe_file(path, content))
        except Exception as error:
            self._failed(key, error)

    def erase(self, key: str) -> None:
        """Remove the file; nothing happens where it is absent."""
        check_key(key)
        check_writable(self, key)
        path = self._prefix + key
        if self._unless_missing(key, lambda: self.fs.isfile(path)):
            self._unless_missing(key, lambda: self.fs.rm_file(path))
            self.fs.invalidate_cache(path.rpartition("/")[0])

    def erase_prefix(self, prefix: str) -> None:
        """Remove everything below `prefix`."""
        check_prefix(prefix)
        check_writable(self, prefix)
        path = (self._prefix + prefix).rstrip("/")
        if prefix:
            self._unless_missing(prefix, lambda: self.fs.rm(path, recursive=True))
        else:
            for name in list(self.list_dir("")):
                self._unless_missing(name, partial(self.fs.rm, self._prefix + name, recursive=True))
        self.fs.invalidate_cache(path)

    def list_prefix(self, prefix: str) -> Iterator[str]:
        """All keys that begin with `prefix`."""
        check_prefix(prefix)
        path = (self._prefix + prefix).rstrip("/")
        found = self._unless_missing(prefix, lambda: self.fs.find(path)) or ()
        return (key for key in self._keys(found) if key.startswith(prefix) and is_key(key))

    def list_dir(self, prefix: str) -> Iterator[str]:
        """Names directly below `prefix`."""
        check_prefix(prefix)
        path = (self._prefix + prefix).rstrip("/")
        found = self._unless_missing(prefix, lambda: self.fs.ls(path, detail=False)) or ()
        keys = (key.rstrip("/") for key in self._keys(found))
        return iter(
            dict.fromkeys(key[len(prefix) :] for key in keys if key.startswith(prefix) and is_key(key))
        )

    def _keys(self, paths: Sequence[str]) -> Iterator[str]:
        """Keys of paths as the file system tells them, with or without the first slash."""
        prefix = self._prefix.lstrip("/")
        for path in paths:
            bare = path.lstrip("/")
            if bare.startswith(prefix):
                yield bare[len(prefix) :]

    def _part(self, key: str, start: int, length: int) -> Buffer:
        path = self._prefix + key
        if self._takes_ranges is None:
            self._takes_ranges = self._probed(key)
        if self._takes_ranges:
            data: Buffer = self.fs.cat_file(path, start=start, end=start + length)
            return data
        return memoryview(self.fs.cat_file(path))[start : start + length]

    def _probed(self, key: str) -> bool | None:
        """Whether an HTTP server sends ranges and not the whole file; None where this file can't tell."""
        if self._size(key) < 2:
            return None
        return len(self.fs.cat_file(self._prefix + key, start=0, end=1)) == 1

    def _size(self, key: str) -> int:
        """Size in bytes; where nothing tells it, the file is read."""
        try:
            info = self.fs.info(self._prefix + key)
        except FileNotFoundError:  # that of HTTP says so for every failure
            info = {"type": "file", "size": None}
        if info["type"] == "directory":
            raise IsADirectoryError(key)
        size = info["size"]
        return len(self.fs.cat_file(self._prefix + key)) if size is None else int(size)

    def _text(self, error: Exception) -> str:
        return f"{type(error).__name__}: {error}"
