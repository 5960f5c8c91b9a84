"""A store in a ZIP archive: one file that many tools open."""

from __future__ import annotations

import contextlib
import io
import os
import struct
import threading
import time
from bisect import bisect_left
from collections.abc import Collection, Hashable, Iterator, Sequence
from typing import IO, TYPE_CHECKING, Any, Literal, Self, cast, get_args

from fastzarr.errors import StoreError
from fastzarr.ranges import Range, clip
from fastzarr.stores.base import (
    Buffer,
    Closing,
    check_key,
    check_prefix,
    check_writable,
    copy_into,
    is_key,
    names_below,
)

if TYPE_CHECKING:
    from zipfile import ZipFile, ZipInfo

ZipMode = Literal["r", "w", "a", "x"]

_STORED, _DEFLATED = 0, 8
_LOCAL_HEADER = struct.Struct("<4s22xHH")
"""Signature, length of the name, length of the extra field (APPNOTE.TXT 4.3.7)."""
_HEADER_SIGNATURE = b"PK\x03\x04"
_ENCRYPTED = 1
_RAW_DEFLATE = -15
"""Window bits of a deflate stream without header, in the sense of zlib."""
_written: set[str | None] = set()
"""Real paths of the archives that are open for writing in this process."""
_claiming = threading.Lock()
_PLAIN_FILE = 0o100644 << 16
"""File mode, in the upper half of the external attributes."""


class ZipStore(Closing):
    """Objects as entries of the archive at `path`.

    `mode`: `"r"` reads; `"a"` reads and adds, creating the archive if absent; `"w"` creates it anew; `"x"`
    creates it and raises `FileExistsError` where there is one. `compression` and `allowZip64` are those of
    `zipfile.ZipFile`, for what is added; `"ZIP_STORED"` (0) is right for chunks, already compressed.

    The table of contents is written by `close`: an archive is complete after it, or at the end of a `with`
    block, and not before. Writing a key again or erasing it takes the old entry out of the table; its space
    is regained only by writing a new archive. One store writes an archive at a time: a second one in this
    process raises `StoreError`. Mode `"a"` writes behind the old table of contents: where the process ends
    before `close`, the old archive is what remains up to the end of that table.
    """

    range_gap = 1 << 15
    concurrency = 1

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        mode: ZipMode = "r",
        read_only: bool | None = None,
        compression: int = _STORED,
        allowZip64: bool = True,  # noqa: N803
    ) -> None:
        if mode not in get_args(ZipMode):
            raise ValueError(f"mode: got {mode!r}, expected one of {', '.join(get_args(ZipMode))}")
        if mode == "r" and read_only is False:
            raise ValueError("read_only: got False with mode 'r', expected mode 'a' to write")
        self.path = os.path.abspath(path)
        self.mode = mode
        self.read_only = mode == "r" or bool(read_only)
        self.compression = compression
        self._archive = _Archive(self.path, mode, compression, allowZip64)

    def __repr__(self) -> str:
        return f"zip://{self.path}"

    def __reduce__(self) -> tuple[object, ...]:
        if self.mode != "r":
            raise TypeError(f"{self} is open in mode {self.mode!r}: close it, and pickle one of mode 'r'")
        return _restore, (self.path,)

    @property
    def identity(self) -> Hashable:
        """Equal for stores of the same archive."""
        return "zip", os.path.realpath(self.path)

    def with_read_only(self) -> Self:
        """The same open archive, read only; closing one closes both."""
        locked = type(self).__new__(type(self))
        locked.__dict__.update(self.__dict__)
        locked.read_only = True
        return locked

    def close(self) -> None:
        """Write the table of contents, where something was changed, and close the file; again is nothing."""
        self._archive.close()

    def get(self, key: str) -> Buffer | None:
        """The entry's bytes, or None where there is none. Raises `StoreError` where they are damaged."""
        check_key(key)
        entry = self._archive.entry(key)
        return None if entry is None else self._archive.read(entry)

    def get_into(self, key: str, out: memoryview) -> int | None:
        """Size of the entry in bytes, or None where there is none; fills `out` from its start."""
        check_key(key)
        entry = self._archive.entry(key)
        if entry is None:
            return None
        if entry.compress_type == _STORED and entry.file_size <= len(out):
            self._archive.read_stored_into(entry, out[: entry.file_size])
        else:
            copy_into(self._archive.read(entry), out)
        return entry.file_size

    def get_range(self, key: str, start: int, length: int) -> Buffer | None:
        """`length` bytes from `start` on, or None where there is no entry."""
        found = self.get_ranges(key, ((start, length),))
        return None if found is None else found[0]

    def get_ranges(self, key: str, ranges: Sequence[Range]) -> list[Buffer] | None:
        """The bytes of each range, or None where there is no entry.

        Stored entries are read in part; compressed ones whole. What is read in part is not checked against
        the entry's checksum.
        """
        check_key(key)
        entry = self._archive.entry(key)
        if entry is None:
            return None
        return self._archive.read_ranges(entry, ranges)

    def snapshot(self, key: str) -> contextlib.AbstractContextManager[_Snapshot]:
        """What is under `key` now, for several reads: an entry stays where it is."""
        check_key(key)
        return contextlib.nullcontext(_Snapshot(self._archive, self._archive.entry(key)))

    def set(self, key: str, data: Buffer) -> None:
        """Add an entry; one of the same name is taken out of the table of contents."""
        check_key(key)
        check_writable(self, key)
        self._archive.add(key, data)

    def erase(self, key: str) -> None:
        """Take the entry out of the table of contents; nothing happens where it is absent."""
        check_key(key)
        check_writable(self, key)
        self._archive.drop({key})

    def erase_prefix(self, prefix: str) -> None:
        """Take all entries below `prefix` out of the table of contents."""
        check_writable(self, prefix)
        self._archive.drop(set(self.list_prefix(prefix)))

    def list_prefix(self, prefix: str) -> Iterator[str]:
        """All keys that begin with `prefix`, sorted; directories and names that are no keys are left out."""
        check_prefix(prefix)
        names = self._archive.names()
        if prefix:
            names = names[bisect_left(names, prefix) : bisect_left(names, _after(prefix))]
        return iter(names)

    def list_dir(self, prefix: str) -> Iterator[str]:
        """Names directly below `prefix`."""
        return names_below(prefix, self.list_prefix(prefix))


class _Snapshot:
    """One entry."""

    range_gap = ZipStore.range_gap
    concurrency = ZipStore.concurrency

    def __init__(self, archive: _Archive, entry: ZipInfo | None) -> None:
        self._archive = archive
        self._entry = entry

    def get_range(self, key: str, start: int, length: int) -> Buffer | None:
        """As of the store; `key` is the snapshot's."""
        if self._entry is None:
            return None
        return self._archive.read_ranges(self._entry, ((start, length),))[0]


class _Archive:
    """The open file and its entries, shared by a store and its read-only views.

    Entries are read by position, without a lock; only `zipfile`, which writes and expands unusual ones,
    moves the position in the file and is used under the lock.
    """

    def __init__(self, path: str, mode: ZipMode, compression: int, allow_zip64: bool) -> None:
        from zipfile import BadZipFile, ZipFile

        self._path = path
        self._compression = compression
        self._lock = threading.RLock()
        self._names: list[str] | None = None
        self._writes = None if mode == "r" else os.path.realpath(path)
        if self._writes is not None:
            _claim(self._writes)
        try:
            self._file = _open(path, mode)
        except BaseException:
            _written.discard(self._writes)
            raise
        try:
            self._zip: ZipFile = ZipFile(self._file, mode, compression, allow_zip64)
            self._entries = dict(self._zip.NameToInfo)
            if mode == "a":  # the old table of contents stays where it is
                self._zip.start_dir = os.fstat(self._file.fileno()).st_size
        except BaseException as error:
            self._file.close()
            _written.discard(self._writes)
            if isinstance(error, BadZipFile):
                raise StoreError(f"{path!r} is no ZIP archive, or an incomplete one: {error}") from error
            raise

    def __del__(self) -> None:
        if hasattr(self, "_entries"):
            self.close()

    def close(self) -> None:
        with self._lock:
            if self._file.closed:
                return
            try:
                self._zip.close()
            finally:
                self._file.close()
                _written.discard(self._writes)

    def entry(self, key: str) -> ZipInfo | None:
        self._require_open()
        return self._entries.get(key)

    def names(self) -> list[str]:
        """All keys, sorted."""
        with self._lock:
            self._require_open()
            if self._names is None:
                self._names = sorted(name for name in self._entries if is_key(name))
            return self._names

    def read(self, entry: ZipInfo) -> Buffer:
        """The whole content, checked."""
        self._require_possible(entry)
        if entry.compress_type == _STORED and not entry.flag_bits & _ENCRYPTED:
            out = memoryview(bytearray(entry.file_size))
            self.read_stored_into(entry, out)
            return out
        try:
            if entry.compress_type == _DEFLATED and not entry.flag_bits & _ENCRYPTED:
                from isal.isal_zlib import decompressobj

                raw = self.read_raw(entry, 0, entry.compress_size)
                data = decompressobj(_RAW_DEFLATE).decompress(raw, entry.file_size + 1)
                self._check(entry, data)
                return data
            with self._lock:
                return self._zip.read(entry)
        except StoreError:
            raise
        except Exception as error:
            raise self._damaged(entry, str(error)) from error

    def read_ranges(self, entry: ZipInfo, ranges: Sequence[Range]) -> list[Buffer]:
        """Parts of the content."""
        clipped = [clip(entry.file_size, start, length) for start, length in ranges]
        self._require_possible(entry)
        if entry.compress_type == _STORED and not entry.flag_bits & _ENCRYPTED:
            return [self.read_raw(entry, start, length) for start, length in clipped]
        data = memoryview(self.read(entry))
        return [data[start : start + length] for start, length in clipped]

    def read_stored_into(self, entry: ZipInfo, out: memoryview) -> None:
        """The content of an entry that is not compressed, checked; `out` has its size."""
        start = self._start(entry)
        found = 0
        while found < len(out):
            count = os.preadv(self._file.fileno(), [out[found:]], start + found)
            if count == 0:
                raise self._damaged(entry, "the file ends within it")
            found += count
        self._check(entry, out)

    def read_raw(self, entry: ZipInfo, start: int, length: int) -> Buffer:
        """Bytes as they lie in the file."""
        start += self._start(entry)
        data = os.pread(self._file.fileno(), length, start)
        while len(data) < length:
            more = os.pread(self._file.fileno(), length - len(data), start + len(data))
            if not more:
                raise self._damaged(entry, "the file ends within it")
            data += more
        return data

    def add(self, key: str, data: Buffer) -> None:
        from zipfile import ZipInfo

        entry = ZipInfo(key, date_time=time.localtime()[:6])
        entry.compress_type = self._compression
        entry.external_attr = _PLAIN_FILE
        with self._lock:
            self._require_open()
            start, count = self._zip.start_dir, len(self._zip.filelist)
            old = self._zip.NameToInfo.pop(key, None)
            try:
                self._zip.writestr(entry, memoryview(data))
            except BaseException as error:
                self._take_back(start, count, key, old)
                if isinstance(error, OSError):
                    text = f"{error.strerror} while writing key {key!r}"
                    raise type(error)(error.errno, text, self._path) from error
                raise
            if old is not None:
                self._zip.filelist.remove(old)
            self._entries[key] = entry
            self._names = None

    def _take_back(self, start: int, count: int, key: str, old: ZipInfo | None) -> None:
        """Make the archive what it was before an entry that failed."""
        del self._zip.filelist[count:]
        self._zip.NameToInfo.pop(key, None)
        if old is not None:
            self._zip.NameToInfo[key] = old
        self._zip.start_dir = start
        self._file.truncate(start)

    def drop(self, keys: Collection[str]) -> None:
        with self._lock:
            self._require_open()
            present = [key for key in keys if key in self._zip.NameToInfo]
            if not present:
                return
            for key in present:
                del self._zip.NameToInfo[key], self._entries[key]
            self._zip.filelist[:] = [entry for entry in self._zip.filelist if entry.filename not in keys]
            self._zip.comment = self._zip.comment  # so that `close` writes the table of contents
            self._names = None

    def _require_possible(self, entry: ZipInfo) -> None:
        """Refuse sizes that can't be, before memory is taken for them."""
        self._require_open()
        archive = os.fstat(self._file.fileno()).st_size
        plain = entry.compress_type == _STORED and not entry.flag_bits & _ENCRYPTED
        if entry.compress_size > archive or (plain and entry.file_size != entry.compress_size):
            raise self._damaged(
                entry,
                f"got {entry.file_size} bytes, {entry.compress_size} as stored, in an archive of {archive}",
            )

    def _require_open(self) -> None:
        if self._file.closed:
            raise ValueError(f"the archive {self._path!r} is closed; open it again")

    def _start(self, entry: ZipInfo) -> int:
        """Where the content begins: the header before it has fields that the table of contents lacks."""
        self._require_open()
        header = os.pread(self._file.fileno(), _LOCAL_HEADER.size, entry.header_offset)
        if len(header) < _LOCAL_HEADER.size or not header.startswith(_HEADER_SIGNATURE):
            raise self._damaged(entry, "no header where the table of contents says")
        _, name, extra = _LOCAL_HEADER.unpack(header)
        return entry.header_offset + _LOCAL_HEADER.size + int(name) + int(extra)

    def _check(self, entry: ZipInfo, data: Buffer) -> None:
        from isal.isal_zlib import crc32

        if len(data) != entry.file_size or crc32(data) != entry.CRC:
            raise self._damaged(
                entry, f"got {len(data)} bytes, expected {entry.file_size} of checksum {entry.CRC:#010x}"
            )

    def _damaged(self, entry: ZipInfo, reason: str) -> StoreError:
        return StoreError(f"key {entry.filename!r} in {self._path!r} can't be read: {reason}")


def _open(path: str, mode: ZipMode) -> IO[bytes]:
    """Open for reading, and writing where the mode says so."""
    extra = {"r": os.O_RDONLY, "a": os.O_RDWR | os.O_CREAT, "w": os.O_RDWR | os.O_CREAT | os.O_TRUNC}
    flags = extra.get(mode, os.O_RDWR | os.O_CREAT | os.O_EXCL)
    return cast(
        "IO[bytes]", _File(os.open(path, flags | os.O_CLOEXEC, 0o666), "rb" if mode == "r" else "r+b")
    )


class _File(io.FileIO):
    """Without a buffer, in which a failed write would stay; writes all or raises."""

    def write(self, data: Any) -> int:
        rest = memoryview(data).cast("B")
        size = len(rest)
        while rest:
            rest = rest[super().write(rest) :]
        return size


def _claim(path: str) -> None:
    with _claiming:
        if path in _written:
            raise StoreError(f"{path!r} is open for writing in this process; close that ZipStore first")
        _written.add(path)


def _after(prefix: str) -> str:
    """The first text behind all that begin with `prefix`, which ends with `/`."""
    return prefix[:-1] + chr(ord("/") + 1)


def _restore(path: str) -> ZipStore:
    return ZipStore(path)
