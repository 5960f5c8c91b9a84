"""The store in a ZIP archive."""

import pickle
import resource
import signal
import tracemalloc
import zipfile
from pathlib import Path

import numpy as np
import pytest
import zarr

import fastzarr
from fastzarr.errors import ReadOnlyError, StoreError
from fastzarr.storage import ZipStore
from fastzarr.stores.base import Store
from fastzarr.testing.store_contract import SnapshotStoreContract

METHODS = {
    "stored": zipfile.ZIP_STORED,
    "deflated": zipfile.ZIP_DEFLATED,
    "bzip2": zipfile.ZIP_BZIP2,
    "lzma": zipfile.ZIP_LZMA,
}


class TestZipStore(SnapshotStoreContract):
    def make(self, tmp_path: Path) -> Store:
        return ZipStore(tmp_path / "a.zip", mode="w")


class TestAdding(SnapshotStoreContract):
    def make(self, tmp_path: Path) -> Store:
        with zipfile.ZipFile(tmp_path / "a.zip", "w"):
            pass
        return ZipStore(tmp_path / "a.zip", mode="a")


class TestDeflated(SnapshotStoreContract):
    def make(self, tmp_path: Path) -> Store:
        return ZipStore(tmp_path / "a.zip", mode="x", compression=zipfile.ZIP_DEFLATED)


def reopened(path: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(path) as archive:
        assert archive.testzip() is None
        return {name: archive.read(name) for name in archive.namelist()}


def test_what_closing_writes_is_an_archive_of_the_last_contents(tmp_path: Path) -> None:
    path = tmp_path / "a.zip"
    with ZipStore(path, mode="w") as store:
        store.set("a", b"1")
        store.set("b/c", b"22")
        store.set("a", b"333")
        store.set("gone", b"4")
        store.erase("gone")
    assert reopened(path) == {"b/c": b"22", "a": b"333"}
    with ZipStore(path, mode="a") as store:
        store.erase("a")
    assert reopened(path) == {"b/c": b"22"}
    with ZipStore(path, mode="a") as store:
        store.set("é/d", b"5")
    assert reopened(path) == {"b/c": b"22", "é/d": b"5"}
    size = path.stat().st_size
    with ZipStore(path, mode="a"), ZipStore(path):
        pass
    assert path.stat().st_size == size


@pytest.mark.parametrize("method", METHODS)
def test_archives_of_others(tmp_path: Path, method: str) -> None:
    """With directories, duplicate names and names that are no keys; behind a program, as installers are."""
    path = tmp_path / "a.zip"
    path.write_bytes(b"#!program\n" * 10)
    with zipfile.ZipFile(path, "a", METHODS[method]) as archive:
        archive.mkdir("c")
        archive.writestr("c/0", b"old content")
        with pytest.warns(UserWarning, match="Duplicate name"):
            archive.writestr("c/0", b"0123456789" * 20)
        archive.writestr("../outside", b"x")
        archive.writestr("/absolute", b"x")
        archive.writestr("zarr.json", b"{}")
    data = b"0123456789" * 20
    store = ZipStore(path)
    assert list(store.list_prefix("")) == ["c/0", "zarr.json"]
    assert list(store.list_dir("")) == ["c", "zarr.json"]
    assert store.get("c") is None
    assert bytes(store.get("c/0") or b"") == data
    assert bytes(store.get_range("c/0", 15, 10) or b"") == data[15:25]
    assert bytes(store.get_range("c/0", -15, 10) or b"") == data[-15:-5]
    out = bytearray(300)
    assert store.get_into("c/0", memoryview(out)) == 200
    assert out == data + bytes(100)
    store.close()


def test_modes(tmp_path: Path) -> None:
    path = tmp_path / "a.zip"
    with pytest.raises(FileNotFoundError, match=r"a\.zip"):
        ZipStore(path)
    with ZipStore(path, mode="x") as store:
        store.set("a", b"1")
    with pytest.raises(FileExistsError, match=r"a\.zip"):
        ZipStore(path, mode="x")
    with ZipStore(path) as store:
        assert store.read_only
        with pytest.raises(ReadOnlyError):
            store.set("a", b"2")
    with ZipStore(path, mode="a", read_only=True) as store, pytest.raises(ReadOnlyError):
        store.set("a", b"2")
    assert reopened(path) == {"a": b"1"}
    with ZipStore(path, mode="w") as store:
        assert store.get("a") is None
    with pytest.raises(ValueError, match=r"mode: got 'r\+', expected one of r, w, a, x"):
        ZipStore(path, mode="r+")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"read_only: got False with mode 'r', expected mode 'a'"):
        ZipStore(path, read_only=False)


def test_a_closed_archive_says_so(tmp_path: Path) -> None:
    store = ZipStore(tmp_path / "a.zip", mode="w")
    store.set("a", b"1")
    view = store.with_read_only()
    store.close()
    store.close()
    for verb in (
        lambda: view.get("a"),
        lambda: view.get_range("a", 0, 1),
        lambda: store.set("a", b"2"),
        lambda: store.erase("a"),
        lambda: list(store.list_prefix("")),
    ):
        with pytest.raises(ValueError, match=r"the archive '.*a\.zip' is closed; open it again"):
            verb()


def test_pickles_for_reading_only(tmp_path: Path) -> None:
    path = tmp_path / "a.zip"
    with ZipStore(path, mode="w") as store:
        store.set("a", b"1")
        with pytest.raises(TypeError, match=r"open in mode 'w': close it, and pickle one of mode 'r'"):
            pickle.dumps(store)
    with ZipStore(path) as store, pickle.loads(pickle.dumps(store)) as copied:
        assert bytes(copied.get("a") or b"") == b"1"
        assert copied.identity == store.identity


def test_a_dropped_store_is_closed(tmp_path: Path) -> None:
    store = ZipStore(tmp_path / "a.zip", mode="w")
    store.set("a", b"1")
    del store
    assert reopened(tmp_path / "a.zip") == {"a": b"1"}


@pytest.mark.parametrize("method", METHODS)
def test_damage_is_found(tmp_path: Path, method: str) -> None:
    path = tmp_path / "a.zip"
    content = np.random.default_rng(0).bytes(1000)
    with ZipStore(path, mode="w", compression=METHODS[method]) as store:
        store.set("c/0", content)
    whole = path.read_bytes()
    for position, change in ((300, b"\xff\x00\xff\x00"), (0, b"XX")):
        path.write_bytes(whole[:position] + change + whole[position + len(change) :])
        with ZipStore(path) as store:
            with pytest.raises(StoreError, match=r"key 'c/0' in '.*a\.zip' can't be read: "):
                store.get("c/0")
            with pytest.raises(StoreError, match=r"key 'c/0'"):
                store.get_into("c/0", memoryview(bytearray(1000)))
    path.write_bytes(whole[:-30])
    with pytest.raises(StoreError, match=r"a\.zip' is no ZIP archive, or an incomplete one"):
        ZipStore(path)


@pytest.mark.parametrize("zarr_format", [2, 3])
def test_arrays_both_ways_with_zarr_python(tmp_path: Path, zarr_format: int) -> None:
    data = np.random.default_rng(1).normal(size=(30, 20)).astype("f4")
    for compressors in (None, "auto"):
        with ZipStore(tmp_path / "ours.zip", mode="w") as store:
            array = fastzarr.create_array(
                store, data=data, chunks=(8, 7), compressors=compressors, zarr_format=zarr_format
            )
            array[3:11, 2] = 5
        expected = data.copy()
        expected[3:11, 2] = 5
        theirs = zarr.storage.ZipStore(tmp_path / "ours.zip", mode="r")
        np.testing.assert_array_equal(zarr.open_array(theirs, mode="r")[...], expected)
        theirs.close()
        written = zarr.storage.ZipStore(tmp_path / "theirs.zip", mode="w")
        zarr.create_array(written, data=data, chunks=(8, 7), compressors=compressors, zarr_format=zarr_format)
        written.close()
        with ZipStore(tmp_path / "theirs.zip") as store:
            opened = fastzarr.open_array(store, mode="r")
            np.testing.assert_array_equal(opened[...], data)
            np.testing.assert_array_equal(opened[5:9, -1], data[5:9, -1])
        (tmp_path / "theirs.zip").unlink()


def test_a_failed_write_leaves_the_archive_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "a.zip"
    with ZipStore(path, mode="w") as store:
        store.set("c/0", b"old" * 100)
    before = path.read_bytes()
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    with ZipStore(path, mode="a") as store:
        try:
            resource.setrlimit(resource.RLIMIT_FSIZE, (20000, hard))
            with pytest.raises(OSError, match=r"while writing key 'c/0'"):
                store.set("c/0", bytes(50000))
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
            signal.signal(signal.SIGXFSZ, handler)
        assert path.read_bytes() == before
        assert bytes(store.get("c/0") or b"") == b"old" * 100
        store.set("c/1", b"new")
    assert reopened(path) == {"c/0": b"old" * 100, "c/1": b"new"}


def test_adding_keeps_the_old_table_until_closed(tmp_path: Path) -> None:
    path = tmp_path / "a.zip"
    with ZipStore(path, mode="w") as store:
        store.set("a", b"1")
    before = path.read_bytes()
    with ZipStore(path, mode="a") as store:
        store.set("b", bytes(100000))
        assert path.read_bytes().startswith(before)
    assert reopened(path) == {"a": b"1", "b": bytes(100000)}


def test_an_archive_has_one_writer(tmp_path: Path) -> None:
    path = tmp_path / "a.zip"
    with ZipStore(path, mode="w") as store:
        store.set("a", b"1")
        for mode in ("a", "w"):
            with pytest.raises(StoreError, match=r"a\.zip' is open for writing in this process"):
                ZipStore(path, mode=mode)
    assert reopened(path) == {"a": b"1"}


@pytest.mark.parametrize("method", ["stored", "deflated"])
def test_sizes_that_cannot_be_take_no_memory(tmp_path: Path, method: str) -> None:
    path = tmp_path / "a.zip"
    with ZipStore(path, mode="w", compression=METHODS[method]) as store:
        store.set("c/0", b"abc" * 100)
    data = bytearray(path.read_bytes())
    table = data.rindex(b"PK\x01\x02")
    data[table + 24 : table + 28] = (3 << 30).to_bytes(4, "little")
    path.write_bytes(data)
    with ZipStore(path) as store:
        tracemalloc.start()
        with pytest.raises(StoreError, match=r"key 'c/0' in '.*a\.zip' can't be read: got "):
            store.get("c/0")
        assert tracemalloc.get_traced_memory()[1] < 1 << 20
        tracemalloc.stop()
