"""A store in a directory of the local file system.

An object appears whole or not at all: it is written to `.NAME.….partial` beside its place, then renamed.
Nothing outside the root is read or written, also where a link leads there.
"""

from __future__ import annotations

import contextlib
import io
import itertools
import os
import stat
import struct
import time
from collections.abc import Callable, Hashable, Iterator, Sequence
from typing import Literal, Self, get_args

from fastzarr.errors import KeyNameError
from fastzarr.ranges import Range, clip
from fastzarr.stores.base import (
    Buffer,
    Closing,
    PlainFiles,
    RangeReader,
    check_key,
    check_prefix,
    check_writable,
)
from fastzarr.stores.memory import MemoryStore

Durability = Literal["none", "files", "full"]

_PARTIAL = ".partial"
_RUN = os.urandom(4).hex()
_serial = itertools.count()
_KNOWN_DIRECTORIES = 4096
_OF_FILES = ("get", "get_into", "set", "erase")
"""Methods that others may do the work of."""
_GRAIN = 2_000_000_000
"""Nanoseconds for which two contents of a file may have the same times."""
_ATTEMPTS = 100
"""Of a call that others disturb."""
_OPEN_READ = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC
"""Not blocking: a pipe in the place of a file must not hang the reader."""
_OPEN_WRITE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
_OPEN_CHANGE = os.O_WRONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
"""Not by a link: `set` replaces the link, and leaves what it leads to."""
_LINE = 64
"""Bytes, aligned alike, that a processor copies at once: a reader sees all of a change of them or nothing."""
_ABSENT = (FileNotFoundError, NotADirectoryError, IsADirectoryError)
"""A directory is no object, and there is none below a file."""
_NOTHING = MemoryStore({}, read_only=True)
_BEYOND = bytearray(1)
"""Where a read into given memory puts the byte that would be too many, so that one call tells."""
_DESCRIPTORS = "/proc/self/fd/" if os.path.isdir("/proc/self/fd") else None


class LocalStore(Closing):
    """Objects as files below `root`.

    `durability` says what `set` waits for: `"none"` nothing, the operating system writes when it likes;
    `"files"` the file's content (`fsync` before the rename); `"full"` also the directories that name it.
    """

    range_gap = 1 << 15
    concurrency = 1

    def __init__(
        self, root: str | os.PathLike[str], *, read_only: bool = False, durability: Durability = "none"
    ) -> None:
        if durability not in get_args(Durability):
            raise ValueError(f"durability: got {durability!r}, expected one of {get_args(Durability)}")
        self.root = os.path.abspath(root)
        self.read_only = read_only
        self.durability: Durability = durability
        self._prefix = os.path.join(self.root, "")
        self._inside = os.path.join(os.path.realpath(self.root), "")
        self._known: dict[str, bool] = {}

    def __repr__(self) -> str:
        return f"file://{self.root}"

    def __reduce__(self) -> tuple[object, ...]:
        return _restore, (self.root, self.read_only, self.durability)

    @property
    def identity(self) -> Hashable:
        """Equal for stores in the same directory."""
        return self._inside

    def plain_files(self) -> PlainFiles | None:
        """Where the files are, for those who move many at once; None where a subclass does more."""
        own = type(self)
        if any(getattr(own, name) is not getattr(LocalStore, name) for name in _OF_FILES):
            return None
        writable = not self.read_only and self.durability == "none"
        return PlainFiles(self.root, self._inside, _RUN, writable)

    def with_read_only(self) -> Self:
        """The same objects, read only."""
        return type(self)(self.root, read_only=True, durability=self.durability)

    def get(self, key: str) -> Buffer | None:
        """The file's bytes, or None where there is none."""
        check_key(key)
        path = self._prefix + key
        files: list[int] = []
        try:
            file = _open(path, _OPEN_READ, files)
            self._require_inside(file, key, path)
            size = os.fstat(file).st_size
            data: Buffer = os.read(file, size)
            if len(data) < size:
                rest = bytearray(size)
                rest[: len(data)] = data
                data = memoryview(rest)[: len(data) + _fill(file, memoryview(rest)[len(data) :])]
            return data
        except _ABSENT:
            return None
        except OSError as error:
            error.filename = error.filename or path
            raise
        finally:
            for opened in files:
                os.close(opened)

    def get_into(self, key: str, out: memoryview) -> int | None:
        """Size of the file in bytes, or None where there is none; fills `out` from its start."""
        check_key(key)
        path = self._prefix + key
        files: list[int] = []
        try:
            file = _open(path, _OPEN_READ, files)
            self._require_inside(file, key, path)
            size = len(out)
            found = os.readv(file, (out, _BEYOND))
            if found == size:
                return found
            if found < size:
                found += _fill(file, out[found:])
            return found if found < size else os.fstat(file).st_size
        except _ABSENT:
            return None
        except OSError as error:
            error.filename = error.filename or path
            raise
        finally:
            for opened in files:
                os.close(opened)

    def get_range(self, key: str, start: int, length: int) -> Buffer | None:
        """`length` bytes from `start` on, or None where there is no file."""
        found = self.get_ranges(key, ((start, length),))
        return None if found is None else found[0]

    def get_ranges(self, key: str, ranges: Sequence[Range]) -> list[Buffer] | None:
        """The bytes of each range, read from one open file, or None where there is none."""
        check_key(key)
        path = self._prefix + key
        files: list[int] = []
        try:
            file = _open(path, _OPEN_READ, files)
            self._require_inside(file, key, path)
            size = os.fstat(file).st_size
            return [_read_at(file, *clip(size, start, length)) for start, length in ranges]
        except _ABSENT:
            return None
        except OSError as error:
            error.filename = error.filename or path
            raise
        finally:
            for opened in files:
                os.close(opened)

    def snapshot(self, key: str) -> contextlib.AbstractContextManager[RangeReader]:
        """What is under `key` now, for several reads: the open file, also when another takes its place."""
        path = self._path(key)
        files: list[int] = []
        try:
            file = _open(path, _OPEN_READ, files)
            self._require_inside(file, key, path)
            status = os.fstat(file)
            if stat.S_ISDIR(status.st_mode):
                return contextlib.nullcontext(_NOTHING)
            [snapshot] = map(_Snapshot, map(files.pop, (0,)))  # in one step, as opening is
            snapshot.path, snapshot.size, snapshot.version = path, status.st_size, _version(status)
            return snapshot
        except _ABSENT:
            return contextlib.nullcontext(_NOTHING)
        finally:
            for opened in files:
                os.close(opened)

    def set(self, key: str, data: Buffer) -> None:
        """Write the file beside its place, then rename it there.

        Tries again where others remove the directory meanwhile.
        """
        self.set_by(key, lambda file: _write(file, data))

    def set_by(self, key: str, write: Callable[[int], bool]) -> bool:
        """As `set`, with the content that `write` gives the file whose descriptor it gets.

        Where it returns False nothing is stored, and False is returned.
        """
        path = self._path(key)
        check_writable(self, key)
        for _ in range(_ATTEMPTS - 1):
            try:
                return self._set(key, path, write)
            except FileNotFoundError:
                self._known.clear()
        try:
            return self._set(key, path, write)
        except FileNotFoundError as error:
            text = f"{error.strerror} while writing key {key!r}: its directory is removed again and again"
            raise FileNotFoundError(error.errno, text, path) from error

    def _set(self, key: str, path: str, write: Callable[[int], bool]) -> bool:
        directory, _, name = path.rpartition("/")
        partial = f"{directory}/{_partial_name(name)}"
        if directory not in self._known:
            self._make_in_new(directory)
        files: list[int] = []
        try:
            try:
                try:
                    file = _open(partial, _OPEN_WRITE, files)
                except FileNotFoundError:
                    self._make(directory)
                    file = _open(partial, _OPEN_WRITE, files)
                self._require_inside(file, key, partial)
                if directory not in self._known:
                    self._remember(directory, made=False)
                whole = write(file)
                if whole and self.durability != "none":
                    os.fsync(file)
            finally:
                for opened in files:
                    os.close(opened)
            if not whole:
                os.unlink(partial)
                return False
            os.replace(partial, path)
        except BaseException as error:
            if files:
                with contextlib.suppress(FileNotFoundError):  # an interrupt may come after the rename
                    os.unlink(partial)
            if isinstance(error, OSError) and error.filename is None:
                raise type(error)(error.errno, f"{error.strerror} while writing key {key!r}", path) from error
            raise
        if self.durability == "full":
            _sync_directory(directory)
        return True

    def set_range(self, key: str, start: int, data: Buffer, size: int) -> bool:
        """Replace bytes within a file of `size` bytes that has one name, and tell whether that was done.

        They must lie within 64 bytes at a multiple of 64, as one number does: see `docs/stores.md`.
        """
        path = self._path(key)
        check_writable(self, key)
        end = start + len(data)
        if not 0 <= start < end <= size or start // _LINE != (end - 1) // _LINE:
            return False
        if type(self).set is not LocalStore.set:  # whatever it does besides is to be done for a change too
            return False
        files: list[int] = []
        try:
            try:
                file = _open(path, _OPEN_CHANGE, files)
                status = os.fstat(file)
                if not stat.S_ISREG(status.st_mode) or status.st_size != size or status.st_nlink != 1:
                    return False
                self._require_inside(file, key, path)
                if os.pwrite(file, data, start) < len(data):
                    return False
            except OSError:  # `set`, which needs less, will tell if it can't either
                return False
            if self.durability != "none":
                _sync_content(file)
            return True
        except OSError as error:
            raise type(error)(error.errno, f"{error.strerror} while writing key {key!r}", path) from error
        finally:
            for opened in files:
                os.close(opened)

    @contextlib.contextmanager
    def change(self, key: str) -> Iterator[int]:
        """The descriptor of an object's file, to be written to where it is: whoever reads it may find both.

        Raises `FileNotFoundError` where there is none, and other kinds of `OSError`.
        """
        path = self._path(key)
        check_writable(self, key)
        files: list[int] = []
        try:
            file = _open(path, _OPEN_CHANGE, files)
            self._require_inside(file, key, path)
            yield file
            if self.durability != "none":
                _sync_content(file)
        except OSError as error:
            text = f"{error.strerror} while writing key {key!r}"
            raise type(error)(error.errno, text, path) from error
        finally:
            for opened in files:
                os.close(opened)

    def erase(self, key: str) -> None:
        """Remove the file; nothing happens where it is absent."""
        path = self._path(key)
        check_writable(self, key)
        directory = path.rpartition("/")[0]
        try:
            if stat.S_ISDIR(os.lstat(path).st_mode):
                return
            self._require_real(os.path.realpath(directory), key)
            os.unlink(path)
        except (FileNotFoundError, NotADirectoryError):
            return
        if self.durability == "full":
            _sync_directory(directory)

    def erase_prefix(self, prefix: str) -> None:
        """Remove the directory `prefix`, or everything in the root; links are removed, not followed."""
        check_prefix(prefix)
        check_writable(self, prefix)
        self._known.clear()
        directory = self._prefix + prefix.rstrip("/") if prefix else self.root
        if not os.path.isdir(directory):
            return
        holder = directory.rpartition("/")[0] if prefix else directory
        self._require_real(os.path.realpath(holder), prefix)
        for path in [directory] if prefix else [self._prefix + name for name in os.listdir(directory)]:
            self._remove(path, prefix)
        if self.durability == "full":
            _sync_directory(holder)

    def _remove(self, path: str, prefix: str) -> None:
        """Rename aside, where listing doesn't look and nobody writes, then remove."""
        directory, _, name = path.rpartition("/")
        aside = f"{directory}/{_partial_name(name)}"
        try:
            os.rename(path, aside)
        except FileNotFoundError:  # somebody else removed it
            return None
        for _ in range(_ATTEMPTS - 1):
            with contextlib.suppress(OSError):
                return _remove_tree(aside)
        try:
            _remove_tree(aside)
        except FileNotFoundError:
            return None
        except OSError as error:
            text = f"{error.strerror} while removing {prefix!r}"
            raise type(error)(error.errno, text, error.filename) from error

    def list_prefix(self, prefix: str) -> Iterator[str]:
        """All keys that begin with `prefix`; unfinished files are no keys.

        A link to a directory that is on the way to it is not followed: there would be no end.
        """
        return self._walk(prefix, ())

    def list_dir(self, prefix: str) -> Iterator[str]:
        """Names directly below `prefix`, sorted; unfinished files are left out."""
        check_prefix(prefix)
        directory = self._prefix + prefix
        try:
            names = os.listdir(directory)
        except (FileNotFoundError, NotADirectoryError):
            return iter(())
        self._require_real(os.path.realpath(directory), prefix)
        return iter(sorted(name for name in names if not is_unfinished(name)))

    def _walk(self, prefix: str, above: tuple[str, ...]) -> Iterator[str]:
        real = os.path.realpath(self._prefix + prefix)
        if real in above:
            return
        for name in self.list_dir(prefix):
            if os.path.isdir(f"{self._prefix}{prefix}{name}"):
                yield from self._walk(f"{prefix}{name}/", (*above, real))
            else:
                yield f"{prefix}{name}"

    def _path(self, key: str) -> str:
        check_key(key)
        return self._prefix + key

    def _require_inside(self, file: int, key: str, path: str) -> None:
        """Raise `KeyNameError` unless the open file lies below the root, links resolved."""
        real = os.readlink(f"{_DESCRIPTORS}{file}") if _DESCRIPTORS else os.path.realpath(path)
        if not real.startswith(self._inside):
            self._require_real(real, key)

    def _require_real(self, real: str, key: str) -> None:
        """Raise `KeyNameError` unless the real path is the root or below."""
        if not f"{real}/".startswith(self._inside):
            raise KeyNameError(f"key {key!r} leads to {real!r}, outside of the store {self}")

    def _make_in_new(self, directory: str) -> None:
        """Make a directory if it lies in one that this store made: then it is hardly there yet."""
        missing = self._unknown(directory)
        if self._known.get(missing[-1].rpartition("/")[0]):
            try:
                self._make_each(missing)
            except FileNotFoundError:  # somebody removed what was known
                self._known.clear()

    def _make(self, directory: str) -> None:
        """Make a directory that turned out not to be there, and those above it."""
        self._known.clear()
        above = []
        missing = self.root
        while not os.path.isdir(missing):
            above.append(missing)
            missing = os.path.dirname(missing)
        self._make_each(above)
        self._make_each(self._unknown(directory))

    def _make_each(self, missing: list[str]) -> None:
        """Make directories, the last first; those above the root are made without a look where they lie."""
        for directory in reversed(missing):
            made = True
            try:
                os.mkdir(directory)
            except FileExistsError:
                if not os.path.isdir(directory):
                    return  # opening a file below will tell that this is no directory
                made = False
            if len(directory) >= len(self.root):
                if not made:
                    self._require_real(os.path.realpath(directory), directory[len(self._prefix) :])
                self._remember(directory, made=made)
            if made and self.durability == "full":
                _sync_directory(os.path.dirname(directory))

    def _unknown(self, directory: str) -> list[str]:
        """The directory and those above it up to the root that are not known, innermost first."""
        unknown = [directory]
        while len(directory) > len(self.root):
            directory = directory.rpartition("/")[0]
            if directory in self._known:
                break
            unknown.append(directory)
        return unknown

    def _remember(self, directory: str, *, made: bool) -> None:
        """Note that a directory is there and inside the root, and whether this store made it.

        Keeps a bounded number of them.
        """
        if len(self._known) >= _KNOWN_DIRECTORIES:
            self._known.clear()
        self._known[directory] = made


class _Snapshot(io.FileIO):
    """One open file. Its `with` block ends in C, where no interrupt can keep it from being closed."""

    range_gap = LocalStore.range_gap
    path: str
    size: int
    version: bytes | None
    """Differs from that of any other content that the path has had; None where that can't be told."""

    def get_range(self, key: str, start: int, length: int) -> Buffer | None:
        """As of the store."""
        try:
            return _read_at(self.fileno(), *clip(self.size, start, length))
        except OSError as error:
            error.filename = self.path
            raise


def _partial_name(name: str) -> str:
    return f".{name}.{os.getpid():x}-{_RUN}-{next(_serial):x}{_PARTIAL}"


def is_unfinished(name: str) -> bool:
    """Whether a file of this name is one that `set` has not finished, and no object."""
    return name.startswith(".") and name.endswith(_PARTIAL)


def _restore(root: str, read_only: bool, durability: Durability) -> LocalStore:
    return LocalStore(root, read_only=read_only, durability=durability)


def _open(path: str, flags: int, files: list[int]) -> int:
    """Open a file and put its descriptor into `files`, in one step that no interrupt can come between."""
    files.extend(map(os.open, (path,), (flags,), (0o666,)))
    return files[0]


def _version(status: os.stat_result) -> bytes | None:
    """What tells a file from what will take its place or be written into it: not while its times are young.

    File systems have times of up to two seconds' grain.
    """
    changed = max(status.st_mtime_ns, status.st_ctime_ns)
    if time.time_ns() - changed < _GRAIN:
        return None
    numbers = (status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)
    return struct.pack("5Q", *[number % 2**64 for number in numbers])


def _fill(file: int, out: memoryview) -> int:
    """Read into `out` until it is full or the file ends; one system call where that does."""
    found = 0
    while found < len(out):
        count = os.readv(file, [out[found:]])
        if count == 0:
            break
        found += count
    return found


def _read_at(file: int, start: int, length: int) -> Buffer:
    """Bytes of a range, in one system call where that does; fewer where the file ends before."""
    data: Buffer = os.pread(file, length, start)
    while len(data) < length and (more := os.pread(file, length - len(data), start + len(data))):
        data = bytes(data) + more
    return data


def _remove_tree(path: str) -> None:
    """Remove a file, a link, or a directory with all in it; no link is followed."""
    if os.path.isdir(path) and not os.path.islink(path):
        from shutil import rmtree

        rmtree(path)
    else:
        os.unlink(path)


def _write(file: int, data: Buffer) -> bool:
    """Write all, in one system call where that does."""
    written = os.write(file, data)
    while written < len(data):
        written += os.write(file, memoryview(data)[written:])
    return True


_sync_content: Callable[[int], None] = getattr(os, "fdatasync", os.fsync)


def _sync_directory(directory: str) -> None:
    file = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(file)
    finally:
        os.close(file)
