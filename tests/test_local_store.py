"""The store in a directory: whole objects, nothing outside the root, failures that raise."""

import errno
import itertools
import os
import pickle
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from oracle import files

import fastzarr
from fastzarr.chunk_io import kernel
from fastzarr.errors import KeyNameError
from fastzarr.stores import local
from fastzarr.stores.base import Store
from fastzarr.testing.store_contract import SnapshotStoreContract


class TestLocalStore(SnapshotStoreContract):
    def make(self, tmp_path: Path) -> Store:
        return fastzarr.LocalStore(tmp_path / "store")


class TestExistingDirectory(SnapshotStoreContract):
    def make(self, tmp_path: Path) -> Store:
        (tmp_path / "store").mkdir()
        return fastzarr.LocalStore(str(tmp_path / "store"), durability="full")


class TestLinkedRoot(SnapshotStoreContract):
    def make(self, tmp_path: Path) -> Store:
        (tmp_path / "real").mkdir()
        (tmp_path / "link").symlink_to("real")
        return fastzarr.LocalStore(tmp_path / "link")


class TestWithoutDescriptorLinks(SnapshotStoreContract):
    """As on systems without `/proc`."""

    @pytest.fixture(autouse=True)
    def _no_links(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(local, "_DESCRIPTORS", None)

    def make(self, tmp_path: Path) -> Store:
        return fastzarr.LocalStore(tmp_path / "store")


@pytest.fixture
def store(tmp_path: Path) -> fastzarr.LocalStore:
    return fastzarr.LocalStore(tmp_path / "store")


def test_keys_are_files(store: fastzarr.LocalStore, tmp_path: Path) -> None:
    store.set("c/0/1", b"data")
    store.set("zarr.json", b"{}")
    assert files(tmp_path) == {"store/c/0/1": b"data", "store/zarr.json": b"{}"}


def test_making_a_store_touches_nothing(tmp_path: Path) -> None:
    root = tmp_path / "a" / "b"
    made = fastzarr.LocalStore(root)
    assert made.get("zarr.json") is None
    made.erase("zarr.json")
    assert list(made.list_dir("")) == []
    assert list(tmp_path.iterdir()) == []
    made.set("zarr.json", b"1")
    assert (root / "zarr.json").read_bytes() == b"1"


def test_a_relative_root_is_kept_when_the_directory_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    made = fastzarr.LocalStore("data")
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    made.set("a", b"1")
    assert (tmp_path / "data" / "a").read_bytes() == b"1"


def test_pickles(store: fastzarr.LocalStore) -> None:
    store.set("a", b"1")
    for original in (store, store.with_read_only(), fastzarr.LocalStore(store.root, durability="full")):
        copied = pickle.loads(pickle.dumps(original))
        assert copied.get("a") == b"1"
        assert copied.identity == original.identity
        assert (copied.read_only, copied.durability) == (original.read_only, original.durability)


def test_a_wrong_durability_names_what_is_allowed(tmp_path: Path) -> None:
    with pytest.raises(
        ValueError, match=r"durability: got 'some', expected one of \('none', 'files', 'full'\)"
    ):
        fastzarr.LocalStore(tmp_path, durability="some")  # type: ignore[arg-type]


def test_directories_are_no_objects(store: fastzarr.LocalStore) -> None:
    store.set("c/0", b"1")
    assert store.get("c") is None
    assert store.get_into("c", memoryview(bytearray(4))) is None
    assert store.get_range("c", 0, 4) is None
    store.erase("c")
    assert store.get("c/0") == b"1"
    assert store.get("c/0/1") is None
    assert store.get_into("c/0/1", memoryview(bytearray(4))) is None
    store.erase("c/0/1")
    with pytest.raises(OSError, match="c"):
        store.set("c", b"2")
    with pytest.raises(NotADirectoryError, match="c/0"):
        store.set("c/0/1", b"2")
    assert files(Path(store.root)) == {"c/0": b"1"}


def test_directories_removed_by_others_are_made_again(store: fastzarr.LocalStore) -> None:
    store.set("a/b/c", b"1")
    for path in ("a/b/c", "a/b", "a", ""):
        target = Path(store.root) / path
        target.unlink() if target.is_file() else target.rmdir()
    store.set("a/b/c", b"2")
    store.set("a/d/c", b"3")
    assert files(Path(store.root)) == {"a/b/c": b"2", "a/d/c": b"3"}


def test_calls_that_move_few_bytes_are_repeated(
    store: fastzarr.LocalStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A read or write of more than 2 GiB, or one interrupted by a signal, moves a part only."""
    data = bytes(range(256)) * 5
    read, readv, pread, write = os.read, os.readv, os.pread, os.write

    def short_readv(file: int, buffers: Any) -> int:
        return readv(file, buffers if len(buffers[0]) <= 100 else [memoryview(buffers[0])[:100]])

    monkeypatch.setattr(os, "read", lambda file, size: read(file, min(size, 100)))
    monkeypatch.setattr(os, "readv", short_readv)
    monkeypatch.setattr(os, "pread", lambda file, size, start: pread(file, min(size, 100), start))
    monkeypatch.setattr(os, "write", lambda file, buffer: write(file, bytes(buffer[:100])))
    store.set("a", data)
    assert Path(store.root, "a").read_bytes() == data
    assert bytes(store.get("a") or b"") == data
    for size in (0, 50, len(data) - 1, len(data), len(data) + 1, 2 * len(data)):
        out = bytearray(size)
        assert store.get_into("a", memoryview(out)) == len(data)
        assert out[: len(data)] == data[:size]
        assert store.get_range("a", 7, size) == data[7 : 7 + size]


# Unfinished files


def test_unfinished_files_are_no_keys(store: fastzarr.LocalStore) -> None:
    store.set("c/0", b"1")
    leftover = Path(store.root, "c", ".1.beef-0.partial")
    leftover.write_bytes(b"half")
    assert list(store.list_prefix("")) == ["c/0"]
    assert list(store.list_dir("c/")) == ["0"]
    assert store.get("c/1") is None
    store.erase_prefix("c/")
    assert files(Path(store.root)) == {}


def test_only_unfinished_files_are_hidden(store: fastzarr.LocalStore) -> None:
    for key in ("notes.partial", "a.partial/zarr.json", ".hidden"):
        store.set(key, b"1")
    assert sorted(store.list_prefix("")) == [".hidden", "a.partial/zarr.json", "notes.partial"]


@contextmanager
def failing(name: str, error: int, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    def fail(*_: Any, **__: Any) -> None:
        raise OSError(error, os.strerror(error))

    with monkeypatch.context() as patch:
        patch.setattr(os, name, fail)
        yield


@pytest.mark.parametrize("call", ["write", "fsync", "replace"])
@pytest.mark.parametrize("error", [errno.ENOSPC, errno.EIO, errno.EDQUOT])
def test_a_failed_write_leaves_the_old_object_and_nothing_else(
    tmp_path: Path, call: str, error: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = fastzarr.LocalStore(tmp_path / "store", durability="files")
    made.set("c/0", b"old")
    before = files(tmp_path)
    with failing(call, error, monkeypatch), pytest.raises(OSError, match="c/0") as caught:
        made.set("c/0", b"new content")
    assert caught.value.errno == error
    assert files(tmp_path) == before
    with failing(call, error, monkeypatch), pytest.raises(OSError, match="c/new"):
        made.set("c/new", b"new content")
    assert files(tmp_path) == before
    made.set("c/new", b"new content")
    assert made.get("c/new") == b"new content"


def test_an_interrupted_write_leaves_nothing(
    store: fastzarr.LocalStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.set("a", b"old")

    def interrupt(*_: Any) -> int:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(os, "write", interrupt)
        with pytest.raises(KeyboardInterrupt):
            store.set("a", b"new")
    assert files(Path(store.root)) == {"a": b"old"}


# Failures that are not absence: zarr-python#486, zarr-developers/zarr-python PR#3748, pydata/xarray#9701


@pytest.mark.parametrize("error", [errno.EIO, errno.EACCES, errno.ESTALE, errno.EMFILE, errno.ELOOP])
@pytest.mark.parametrize("call", ["open", "read", "readv", "pread"])
def test_failed_reads_are_never_fill_values(
    tmp_path: Path, call: str, error: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kernel, "TRANSFER", None)  # whose calls can't be made to fail here
    data = np.arange(1, 9, dtype="i4")
    plain = fastzarr.create_array(tmp_path, name="plain", data=data, chunks=4, compressors=None)
    packed = fastzarr.create_array(tmp_path, name="packed", data=data, chunks=4)
    reads: list[Callable[[], Any]] = [
        lambda: plain[...],
        lambda: packed[...],
        lambda: plain[1],
        lambda: packed[1],
    ]
    if call == "read":
        reads = [lambda: packed[...], lambda: packed[1]]
    elif call == "readv":
        reads = [lambda: plain[...]]
    elif call == "pread":
        store = fastzarr.LocalStore(tmp_path)
        reads = [lambda: store.get_range("plain/c/0", 1, 2), lambda: store.get_ranges("plain/c/1", [(1, 2)])]
    with failing(call, error, monkeypatch):
        for read in reads:
            with pytest.raises(OSError, match=r"(plain|packed)/c/[01]") as caught:
                read()
            assert caught.value.errno == error
        if call == "open":
            for array in (plain, packed):
                with pytest.raises(OSError):
                    array[1] = 5
            with pytest.raises(OSError):
                fastzarr.open_array(tmp_path, path="plain")
    np.testing.assert_array_equal(plain[...], data)
    np.testing.assert_array_equal(packed[...], data)


@contextmanager
def unprivileged() -> Iterator[None]:
    """As a user to whom permissions apply."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(0)


@pytest.fixture
def open_path() -> Iterator[Path]:
    """A directory that every user may enter."""
    with tempfile.TemporaryDirectory() as path:
        Path(path).chmod(0o777)
        yield Path(path)


def test_permission_denied_raises(open_path: Path) -> None:
    with unprivileged():
        array = fastzarr.create_array(
            open_path / "array", data=np.arange(1, 9), chunks=4, chunk_key_encoding="default"
        )
        file, directory = open_path / "array/c/0", open_path / "array/c"
        file.chmod(0)
        with pytest.raises(PermissionError, match="c/0"):
            array[...]
        with pytest.raises(PermissionError, match="c/0"):
            array[1] = 0
        file.chmod(0o600)
        directory.chmod(0o500)
        with pytest.raises(PermissionError, match="array/c"):
            array[...] = 5
        with pytest.raises(PermissionError, match="array/c"):
            array[...] = 0
        directory.chmod(0)
        with pytest.raises(PermissionError, match="c/0"):
            array[...]
        with pytest.raises(PermissionError, match="array/c"):
            array.store.erase("c/0")
        with pytest.raises(PermissionError, match="array/c"):
            list(array.store.list_dir("c/"))
        directory.chmod(0o700)
        np.testing.assert_array_equal(array[...], np.arange(1, 9))
        (open_path / "array/zarr.json").chmod(0)
        with pytest.raises(PermissionError, match=r"zarr\.json"):
            fastzarr.open_array(open_path / "array")


# Links


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    """A directory with a secret, beside the store."""
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "secret").write_bytes(b"secret")
    return tmp_path / "outside"


def assert_leads_outside(call: Callable[[], Any], key: str) -> None:
    with pytest.raises(
        KeyNameError, match=rf"key '{key}.*' leads to '.*', outside of the store file://"
    ) as caught:
        call()
    assert caught.value.kind == "key-name"
    assert isinstance(caught.value, ValueError)


def verbs(store: fastzarr.LocalStore, key: str) -> list[Callable[[], Any]]:
    return [
        lambda: store.get(key),
        lambda: store.get_into(key, memoryview(bytearray(10))),
        lambda: store.set(key, b"written"),
        lambda: store.erase(key),
    ]


@pytest.mark.parametrize("fresh", [True, False])
@pytest.mark.parametrize("relative", [True, False])
def test_a_linked_directory_that_leads_outside_is_refused(
    store: fastzarr.LocalStore, outside: Path, relative: bool, fresh: bool
) -> None:
    """By a store that made the directories, and by one that found them."""
    store.set("c/0", b"1")
    if fresh:
        store = fastzarr.LocalStore(store.root)
    Path(store.root, "linked").symlink_to("../outside" if relative else outside)
    Path(store.root, "c/deep").symlink_to(outside)
    for directory in ("linked", "c/deep"):
        calls = [
            *verbs(store, f"{directory}/secret"),
            *[partial(store.set, f"{directory}/{key}", b"1") for key in ("new", "further/new")],
            *[partial(store.list_dir, f"{directory}/"), lambda d=directory: list(store.list_prefix(f"{d}/"))],
        ]
        for call in calls:
            assert_leads_outside(call, directory)
    assert files(outside) == {"secret": b"secret"}
    assert [path.name for path in outside.iterdir()] == ["secret"]


def test_a_directory_that_becomes_a_link_is_refused(store: fastzarr.LocalStore, outside: Path) -> None:
    store.set("c/0", b"1")
    Path(store.root, "c").rename(Path(store.root, "d"))
    Path(store.root, "c").symlink_to(outside)
    assert_leads_outside(lambda: store.get("c/secret"), "c")
    assert_leads_outside(lambda: store.set("c/new", b"1"), "c")


def test_a_linked_file_that_leads_outside_is_not_read(store: fastzarr.LocalStore, outside: Path) -> None:
    store.set("c/0", b"1")
    Path(store.root, "c/1").symlink_to(outside / "secret")
    assert_leads_outside(lambda: store.get("c/1"), "c/1")
    assert_leads_outside(lambda: store.get_into("c/1", memoryview(bytearray(10))), "c/1")


def test_writing_and_erasing_replace_a_link_not_its_target(store: fastzarr.LocalStore, outside: Path) -> None:
    store.set("c/0", b"1")
    link = Path(store.root, "c/1")
    for change in (lambda: store.set("c/1", b"new"), lambda: store.erase("c/1")):
        link.unlink(missing_ok=True)
        link.symlink_to(outside / "secret")
        change()
        assert not link.is_symlink()
        assert files(outside) == {"secret": b"secret"}
    Path(store.root, "inside").symlink_to("c/0")
    assert store.get("inside") == b"1"
    store.set("inside", b"2")
    assert store.get("c/0") == b"1"


def test_links_within_the_store_are_followed(store: fastzarr.LocalStore) -> None:
    store.set("a/0", b"1")
    Path(store.root, "b").symlink_to("a")
    assert store.get("b/0") == b"1"
    store.set("b/1", b"2")
    assert store.get("a/1") == b"2"
    store.erase("b/1")
    assert store.get("a/1") is None


def test_erase_prefix_removes_links_and_keeps_what_they_lead_to(
    store: fastzarr.LocalStore, outside: Path
) -> None:
    store.set("a/0", b"1")
    store.set("kept/0", b"2")
    Path(store.root, "a/file").symlink_to(outside / "secret")
    Path(store.root, "a/directory").symlink_to(outside)
    Path(store.root, "a/inside").symlink_to("../kept")
    store.erase_prefix("a/")
    assert files(outside) == {"secret": b"secret"}
    assert files(Path(store.root)) == {"kept/0": b"2"}
    Path(store.root, "linked").symlink_to("kept")
    store.erase_prefix("linked/")
    assert files(Path(store.root)) == {"kept/0": b"2"}
    assert not Path(store.root, "linked").is_symlink()


def test_a_link_that_leads_nowhere(store: fastzarr.LocalStore, tmp_path: Path) -> None:
    store.set("a/0", b"1")
    Path(store.root, "inside").symlink_to("nowhere")
    Path(store.root, "outside").symlink_to(tmp_path / "nowhere")
    for key in ("inside/0", "outside/0"):
        assert store.get(key) is None
        with pytest.raises((OSError, KeyNameError)):
            store.set(key, b"1")
    assert store.get("inside") is None
    assert not (tmp_path / "nowhere").exists()


def test_links_in_a_circle_do_not_hang_listing(store: fastzarr.LocalStore) -> None:
    store.set("a/0", b"1")
    store.set("b/0", b"1")
    Path(store.root, "a/up").symlink_to("..")
    Path(store.root, "a/also").symlink_to("..")
    Path(store.root, "a/across").symlink_to("../b")
    Path(store.root, "b/across").symlink_to("../a")
    found = list(itertools.islice(store.list_prefix(""), 1000))
    assert {"a/0", "b/0"} <= set(found)
    assert len(found) < 1000
    Path(store.root, "self").symlink_to("self")
    with pytest.raises(OSError, match="self"):
        store.get("self")


def test_a_neighbour_with_a_longer_name_is_outside(tmp_path: Path) -> None:
    made = fastzarr.LocalStore(tmp_path / "data")
    made.set("a", b"1")
    (tmp_path / "data-secret").mkdir()
    (tmp_path / "data-secret" / "x").write_bytes(b"secret")
    Path(made.root, "link").symlink_to("../data-secret")
    assert_leads_outside(lambda: made.get("link/x"), "link/x")
    with pytest.raises(KeyNameError):
        list(made.list_dir("link/"))


# JuliaIO/Zarr.jl#344, dandi/dandi-archive#2881
@pytest.mark.parametrize("key", ["../secret", "a/../../secret", "/etc/hostname", "..", "./a", "a\\..\\b"])
def test_keys_that_climb_are_refused_by_arrays_and_stores(
    store: fastzarr.LocalStore, key: str, tmp_path: Path
) -> None:
    (tmp_path / "secret").write_bytes(b"secret")
    before = files(tmp_path)
    for verb in verbs(store, key):
        with pytest.raises(KeyNameError, match=r"expected names joined by '/'"):
            verb()
    assert files(tmp_path) == before


def test_writing_and_removing_a_directory_at_the_same_time(store: fastzarr.LocalStore) -> None:
    other = fastzarr.LocalStore(store.root)
    done = threading.Event()
    failures: list[Exception] = []

    def repeat(call: Callable[[int], None]) -> None:
        number = 0
        while not done.is_set():
            number += 1
            try:
                call(number)
            except Exception as error:
                failures.append(error)

    calls: list[Callable[[int], None]] = [
        lambda n: store.set(f"a/c/{n % 7}/{n % 3}", b"1"),
        lambda n: other.set(f"a/c/{n % 5}/{n % 3}", b"2"),
        lambda _: store.erase_prefix("a/"),
        lambda _: other.erase_prefix("a/c/"),
    ]
    threads = [threading.Thread(target=repeat, args=(call,)) for call in calls]
    for thread in threads:
        thread.start()
    time.sleep(0.5)
    done.set()
    for thread in threads:
        thread.join()
    assert failures == []
    store.erase_prefix("a/")
    assert list(Path(store.root).iterdir()) == []
