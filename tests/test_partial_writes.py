"""Bytes of an object are changed where they are, if that is as safe as a rename."""

import errno
import logging
import os
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from oracle import files

import fastzarr
from fastzarr.errors import KeyNameError
from fastzarr.storage import LoggingStore, WrapperStore
from fastzarr.stores import local
from fastzarr.stores.base import Store
from fastzarr.stores.local import Durability
from fastzarr.testing.store_contract import PartialWriteStoreContract

SIZE = 8192
VALUE = b"12345678"


class TestLocalStore(PartialWriteStoreContract):
    def make(self, tmp_path: Path) -> Store:
        return fastzarr.LocalStore(tmp_path / "store")


class TestDurableStore(PartialWriteStoreContract):
    def make(self, tmp_path: Path) -> Store:
        return fastzarr.LocalStore(tmp_path / "store", durability="full")


class TestWrapperStore(PartialWriteStoreContract):
    def make(self, tmp_path: Path) -> Store:
        return WrapperStore(fastzarr.LocalStore(tmp_path / "store"))


class TestLoggingStore(PartialWriteStoreContract):
    def make(self, tmp_path: Path) -> Store:
        return LoggingStore(fastzarr.LocalStore(tmp_path / "store"))


@pytest.fixture
def store(tmp_path: Path) -> fastzarr.LocalStore:
    store = fastzarr.LocalStore(tmp_path / "store")
    store.set("c/0", bytes(SIZE))
    return store


@pytest.fixture
def path(tmp_path: Path, store: Store) -> Path:
    return tmp_path / "store/c/0"


def change(store: Any, start: int = 16) -> bool:
    done = store.set_range("c/0", start, VALUE, SIZE)
    assert isinstance(done, bool)
    return done


def test_the_file_stays_the_same(store: fastzarr.LocalStore, path: Path) -> None:
    before = path.stat()
    assert change(store)
    after = path.stat()
    assert (after.st_ino, after.st_size, after.st_mode) == (before.st_ino, before.st_size, before.st_mode)
    assert after.st_mtime_ns >= before.st_mtime_ns
    assert [*path.parent.iterdir()] == [path]


@pytest.mark.parametrize(("start", "length"), [(60, 8), (0, 65), (63, 2), (4092, 8), (64, 128)])
def test_what_a_reader_could_see_in_part_is_not_changed(
    start: int, length: int, store: fastzarr.LocalStore, path: Path
) -> None:
    assert not store.set_range("c/0", start, b"x" * length, SIZE)
    assert path.read_bytes() == bytes(SIZE)


def test_other_names_of_a_file_keep_its_content(store: fastzarr.LocalStore, path: Path) -> None:
    backup = path.with_name("backup")
    os.link(path, backup)
    assert not change(store)
    assert backup.read_bytes() == bytes(SIZE)
    backup.unlink()
    assert change(store)


def test_what_a_link_leads_to_keeps_its_content(store: fastzarr.LocalStore, path: Path) -> None:
    other = path.with_name("other")
    path.rename(other)
    path.symlink_to("other")
    assert not change(store)
    assert other.read_bytes() == bytes(SIZE)


def test_a_link_out_of_the_store_is_not_followed(
    store: fastzarr.LocalStore, path: Path, tmp_path: Path
) -> None:
    outside = tmp_path / "outside"
    path.parent.rename(outside)
    path.parent.symlink_to(outside)
    with pytest.raises(KeyNameError, match="outside of the store"):
        change(store)
    assert (outside / "0").read_bytes() == bytes(SIZE)


def test_only_files_are_changed(store: fastzarr.LocalStore, path: Path) -> None:
    path.unlink()
    os.mkfifo(path)
    assert not change(store)
    with os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK)):
        assert not store.set_range("c/0", 0, b"1", 1)
        assert not change(store)


def test_a_failed_change_is_left_to_set(
    store: fastzarr.LocalStore, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def denied(*_: object) -> int:
        raise PermissionError(errno.EACCES, "Permission denied")

    with monkeypatch.context() as patch:
        patch.setattr(os, "pwrite", denied)
        assert not change(store)
    with monkeypatch.context() as patch:
        patch.setattr(os, "pwrite", lambda *_: 3)
        assert not change(store)
    assert path.read_bytes() == bytes(SIZE)


def test_a_file_that_may_not_be_written_is_left_to_set(
    store: fastzarr.LocalStore, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened = os.open

    def only_for_reading(path: str, flags: int, *mode: int) -> int:  # as for those who are not root
        if flags & (os.O_WRONLY | os.O_RDWR):
            raise PermissionError(errno.EACCES, "Permission denied", path)
        return opened(path, flags, *mode)

    with monkeypatch.context() as patch:
        patch.setattr(os, "open", only_for_reading)
        assert not change(store)
    assert path.read_bytes() == bytes(SIZE)


@pytest.mark.parametrize(("durability", "waits"), [("none", []), ("files", ["0"]), ("full", ["0"])])
def test_durable_stores_wait_for_the_content(
    durability: Durability, waits: list[str], path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[str] = []

    def sync(file: int) -> None:
        assert path.read_bytes()[16:24] == VALUE
        synced.append(path.name if os.path.samestat(os.fstat(file), path.stat()) else "?")

    monkeypatch.setattr(local, "_sync_content", sync)
    assert change(fastzarr.LocalStore(tmp_path / "store", durability=durability))
    assert synced == waits


def test_a_failed_sync_names_the_key(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(file: int) -> None:
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(local, "_sync_content", fail)
    with pytest.raises(OSError, match="Input/output error while writing key 'c/0'") as caught:
        change(fastzarr.LocalStore(tmp_path / "store", durability="files"))
    assert (caught.value.errno, caught.value.filename) == (errno.EIO, str(path))


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="asks /proc for open descriptors")
def test_no_descriptor_stays_open(store: fastzarr.LocalStore, path: Path) -> None:
    before = [*Path("/proc/self/fd").iterdir()]
    os.link(path, path.with_name("1"))
    for _ in range(5):
        assert not change(store)
    path.with_name("1").unlink()
    for _ in range(5):
        assert change(store)
    assert len([*Path("/proc/self/fd").iterdir()]) == len(before)


def test_stores_that_set_otherwise_are_not_passed_by(tmp_path: Path) -> None:
    class Counting(WrapperStore):
        def set(self, key: str, data: Any) -> None:
            super().set(key, data)

    class Encrypting(fastzarr.LocalStore):
        def set(self, key: str, data: Any) -> None:
            super().set(key, bytes(255 - byte for byte in data))

    class Quiet(LoggingStore):
        def set(self, key: str, data: Any) -> None:
            self._store.set(key, data)

    plain = fastzarr.LocalStore(tmp_path)
    plain.set("c/0", bytes(SIZE))
    for store in (Counting(plain), Encrypting(tmp_path), WrapperStore(Encrypting(tmp_path)), Quiet(plain)):
        assert not change(store)
    assert plain.get("c/0") == bytes(SIZE)
    assert change(WrapperStore(plain))


def test_wrapped_stores_may_have_no_such_verb() -> None:
    for wrapper in (WrapperStore, LoggingStore):
        store = wrapper(fastzarr.MemoryStore({"c/0": bytes(SIZE)}))
        assert not change(store)


def test_changes_are_logged(store: fastzarr.LocalStore, caplog: pytest.LogCaptureFixture) -> None:
    logged = LoggingStore(store)
    with caplog.at_level(logging.DEBUG, "fastzarr.stores"):
        assert change(logged)
        assert not change(logged, start=60)
    texts = [record.getMessage().rsplit(" ", 2)[0] for record in caplog.records]
    assert texts == ["set_range 'c/0': 8 B", "set_range 'c/0': not done"]
    assert logged.counter["set_range"] == 2


def test_a_reader_sees_the_old_bytes_or_the_new(store: fastzarr.LocalStore) -> None:
    stop = threading.Event()

    def write() -> None:
        while not stop.is_set():
            for value in (b"\0" * 8, b"\xff" * 8):
                store.set_range("c/0", 4096, value, SIZE)

    thread = threading.Thread(target=write)
    thread.start()
    try:
        seen = {bytes(store.get("c/0") or b"")[4096:4104] for _ in range(2000)}
    finally:
        stop.set()
        thread.join()
    assert seen <= {b"\0" * 8, b"\xff" * 8}


LAYOUTS: list[dict[str, Any]] = [
    {},
    {"config": {"order": "F"}},
    {"serializer": {"name": "bytes", "configuration": {"endian": "big"}}},
    {"filters": [{"name": "transpose", "configuration": {"order": [2, 0, 1]}}]},
    {"dtype": "c16"},
    {"dtype": "u1"},
    {"dtype": "M8[s]", "fill_value": np.datetime64(7, "s")},
    {"zarr_format": 2, "order": "F", "dtype": ">f4"},
    {"zarr_format": 2, "dtype": "S3"},
    {"chunks": [[4, 3], [5], [6, 3]]},
    {"config": {"write_empty_chunks": True}},
    {"compressors": {"name": "crc32c"}},
    {"shards": (8, 5, 6)},
]


@pytest.mark.parametrize("layout", LAYOUTS, ids=str)
def test_single_elements_are_written_as_whole_chunks_would_be(layout: dict[str, Any], tmp_path: Path) -> None:
    shape = (7, 5, 9)
    given = {"shape": shape, "chunks": (4, 5, 6), "dtype": "i4", "compressors": None} | layout
    objects: dict[str, bytes] = {}
    random = np.random.default_rng(0)
    # A memory store changes nothing in place, so it has what is expected.
    array, other = (fastzarr.create_array(store, **given) for store in (tmp_path, objects))
    expected = np.full(shape, array.fill_value, array.dtype)
    expected[:, :, :6] = random.integers(1, 100, (7, 5, 6)).astype(array.dtype)
    array[:, :, :6] = other[:, :, :6] = expected[:, :, :6]
    for turn in range(60):
        place = tuple(int(random.integers(size)) for size in shape)
        value = np.int64(turn % 50).astype(array.dtype)
        expected[place] = value
        for one in (array, other):
            if turn % 3 == 0:
                one[place] = value
            elif turn % 3 == 1:
                one[tuple(slice(n, n + 1) for n in place)] = value
            else:
                one.vindex[tuple([n] for n in place)] = value
        assert array[place] == value
    np.testing.assert_array_equal(array[...], expected)
    assert files(tmp_path) == objects


@pytest.mark.parametrize("layout", LAYOUTS[:8], ids=str)
def test_a_single_element_is_written_in_place(layout: dict[str, Any], tmp_path: Path) -> None:
    given = {"shape": (8, 5, 6), "chunks": (4, 5, 6), "dtype": "i4", "compressors": None} | layout
    array = fastzarr.create_array(tmp_path, **given)
    array[...] = np.arange(1, 241).reshape(8, 5, 6).astype(array.dtype)
    before = {path: path.stat().st_ino for path in tmp_path.rglob("*")}
    array[5, 2, 3] = np.int64(99).astype(array.dtype)
    assert {path: path.stat().st_ino for path in tmp_path.rglob("*")} == before
    assert array[5, 2, 3] == np.int64(99).astype(array.dtype)


def test_a_chunk_that_becomes_the_fill_value_is_left_out(tmp_path: Path) -> None:
    array = fastzarr.create_array(tmp_path, shape=(4,), chunks=(2,), dtype="i4", compressors=None)
    array[:] = [1, 0, 2, 2]
    array[0] = 0
    assert not (tmp_path / "c/0").exists()
    array[1] = 5
    assert array[...].tolist() == [0, 5, 2, 2]


@pytest.mark.parametrize("content", [b"", b"1234567", b"123456789"])
def test_one_element_in_a_damaged_chunk_raises(content: bytes, tmp_path: Path) -> None:
    array = fastzarr.create_array(tmp_path, shape=(4,), chunks=(2,), dtype="i4", compressors=None)
    array[:] = 1
    (tmp_path / "c/1").write_bytes(content)
    with pytest.raises(fastzarr.errors.ChunkError, match=f"got {len(content)} bytes, expected 8"):
        array[2] = 5
    assert (tmp_path / "c/1").read_bytes() == content
