"""Stores through obstore and fsspec: in memory, on disk, and S3 over a socket."""

import os
import pickle
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import fsspec
import numpy as np
import obstore
import pytest
import zarr
from moto.server import ThreadedMotoServer
from obstore.store import LocalStore as ObstoreLocalStore
from obstore.store import MemoryStore as ObstoreMemoryStore

import fastzarr
from fastzarr.errors import ReadOnlyError, StoreError
from fastzarr.storage import FsspecStore, MemoryStore, ObjectStore
from fastzarr.stores import registry
from fastzarr.stores.base import Store
from fastzarr.stores.registry import open_store
from fastzarr.testing.store_contract import StoreContract

NO_RETRIES = {"max_retries": 0}


@pytest.fixture(scope="module")
def s3() -> Iterator[dict[str, Any]]:
    """Options for a server with the interface of S3, with one bucket."""
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    try:
        host, port = server.get_host_and_port()
        options = {
            "endpoint": f"http://{host}:{port}",
            "access_key_id": "key",
            "secret_access_key": "secret",
            "region": "us-east-1",
            "client_options": {"allow_http": True},
        }
        import urllib.request

        request = urllib.request.Request(f"{options['endpoint']}/bucket", method="PUT")
        urllib.request.urlopen(request).close()
        yield options
    finally:
        server.stop()


class TestObjectStoreInMemory(StoreContract):
    def make(self, tmp_path: Path) -> Store:
        return ObjectStore(ObstoreMemoryStore())


class TestObjectStoreOnDisk(StoreContract):
    def make(self, tmp_path: Path) -> Store:
        return ObjectStore(ObstoreLocalStore(tmp_path))


class TestS3(StoreContract):
    @pytest.fixture(autouse=True)
    def _options(self, s3: dict[str, Any], tmp_path: Path) -> None:
        self.options = s3

    def make(self, tmp_path: Path) -> Store:
        return ObjectStore.from_url(f"s3://bucket/{tmp_path.name}", storage_options=self.options)


class TestFsspecInMemory(StoreContract):
    def make(self, tmp_path: Path) -> Store:
        return FsspecStore.from_url(f"memory://{tmp_path}")


class TestFsspecOnDisk(StoreContract):
    def make(self, tmp_path: Path) -> Store:
        return FsspecStore(fsspec.filesystem("file"), path=str(tmp_path / "store"))

    def test_many_threads(self, store: Store) -> None:
        """This file system writes in place, so that a reader may see a part: each thread has its own keys."""
        with ThreadPoolExecutor(8) as pool:
            for key in (f"d/{number % 4}/{number}" for number in range(100)):
                pool.submit(store.set, key, key.encode() * 500)
        assert {key: store.get(key) for key in store.list_prefix("")} == {
            key: key.encode() * 500 for key in (f"d/{number % 4}/{number}" for number in range(100))
        }


class TestMapper(StoreContract):
    def make(self, tmp_path: Path) -> Store:
        return open_store(fsspec.get_mapper(f"memory://{tmp_path}/mapped"))


def test_s3_arrays_equal_those_of_others(s3: dict[str, Any], tmp_path: Path) -> None:
    data = np.random.default_rng(0).normal(size=(40, 30)).astype("f4")
    for zarr_format in (2, 3):
        url = f"s3://bucket/arrays/v{zarr_format}"
        array = fastzarr.create_array(
            url, name="a", data=data, chunks=(16, 16), zarr_format=zarr_format, storage_options=s3
        )
        array[3:20, 5] = 7
        expected = data.copy()
        expected[3:20, 5] = 7
        opened = fastzarr.open_array(url, path="a", mode="r", storage_options=s3)
        np.testing.assert_array_equal(opened[...], expected)
        theirs = zarr.storage.ObjectStore(obstore.store.from_url(url, **s3), read_only=True)
        np.testing.assert_array_equal(zarr.open_array(theirs, path="a", mode="r")[...], expected)
        with pytest.raises(ReadOnlyError):
            opened[...] = 0
    empty = fastzarr.create_array(url, name="b", shape=5, dtype="i2", fill_value=3, storage_options=s3)
    np.testing.assert_array_equal(empty[...], [3] * 5)


def test_s3_failures_name_the_key(s3: dict[str, Any]) -> None:
    """A bucket that is not there, and a server that is not there, are no missing chunks."""
    gone = {**s3, "endpoint": "http://127.0.0.1:9", "retry_config": NO_RETRIES}
    store = ObjectStore.from_url("s3://bucket/x", storage_options=gone)
    for verb in (
        lambda: store.get("c/0"),
        lambda: store.get_into("c/0", memoryview(bytearray(3))),
        lambda: store.get_range("c/0", 0, 1),
        lambda: store.get_range("c/0", -4, 4),
        lambda: store.get_ranges("c/0", [(0, 1), (9_000_000, 1)]),
        lambda: store.set("c/0", b"1"),
        lambda: store.erase("c/0"),
    ):
        with pytest.raises(
            StoreError, match=r"^'c/0' in object_store://S3Store\(bucket=\"bucket\".*: "
        ) as caught:
            verb()
        assert caught.value.__cause__ is not None
    with pytest.raises(StoreError, match=r"^'c/' in "):
        list(store.list_dir("c/"))


@pytest.mark.parametrize("place", ["memory", "disk", "s3"])
def test_a_snapshot_is_of_one_version(place: str, s3: dict[str, Any], tmp_path: Path) -> None:
    store = {
        "memory": lambda: ObjectStore(ObstoreMemoryStore()),
        "disk": lambda: ObjectStore(ObstoreLocalStore(tmp_path)),
        "s3": lambda: ObjectStore.from_url("s3://bucket/snapshots", storage_options=s3),
    }[place]()
    store.set("c/0", b"0123456789")
    with store.snapshot("c/0") as reader:
        assert bytes(reader.get_range("c/0", -2, 2) or b"") == b"89"
        assert bytes(reader.get_range("c/0", 1, 3) or b"") == b"123"
        for other in (b"abcdefghij", b"abc"):
            store.set("c/0", other)
            with pytest.raises(StoreError, match=r"^'c/0' in .*[Pp]recondition"):
                reader.get_range("c/0", 1, 3)
        assert bytes(store.get_range("c/0", 1, 3) or b"") == b"bc"
    with store.snapshot("c/1") as reader:
        assert reader.get_range("c/1", 1, 3) is None


def test_options_that_a_store_does_not_know() -> None:
    with pytest.raises(
        ValueError, match=r"'s3://b': Configuration key: 'nonsense' is not valid for store 'S3'"
    ):
        open_store("s3://b", {"nonsense": 1})
    with pytest.raises(ValueError, match=r"'s3://b': Expected config prefix .*_\. Options are those of"):
        open_store("s3://b", {"proxy_url": "http://proxy"})
    with pytest.raises(ValueError, match=r"'wrong://b': .*\. Options are those of"):
        ObjectStore.from_url("wrong://b")
    plain = ObjectStore.from_url("s3://b", storage_options={"allow_http": True, "endpoint": "http://h"})
    assert plain.store.client_options == {"allow_http": "true"}
    gcs = open_store("gcs://b", {"skip_signature": True})
    assert gcs.identity == open_store("gs://b", {"skip_signature": True}).identity
    anonymous = ObjectStore.from_url("s3://b", storage_options={"anon": True})
    assert anonymous.store.config["skip_signature"] == "true"


def test_what_is_taken_as_a_store(tmp_path: Path) -> None:
    assert isinstance(open_store("s3://bucket/a", {"region": "us-east-1"}), ObjectStore)
    assert isinstance(open_store("gs://bucket/a", {"skip_signature": True}), ObjectStore)
    assert isinstance(open_store("az://container/a", {"account_name": "name"}), ObjectStore)
    assert open_store("https://example.org/a").read_only
    assert isinstance(open_store(ObstoreMemoryStore()), ObjectStore)
    assert isinstance(open_store(fsspec.get_mapper("memory://m")), FsspecStore)
    assert isinstance(open_store(fsspec.get_mapper(str(tmp_path))), fastzarr.LocalStore)
    assert isinstance(open_store(f"simplecache::file://{tmp_path}"), FsspecStore)
    assert isinstance(open_store(os.environ), MemoryStore)  # any mutable mapping
    open_store("memory://shared").set("a", b"1")
    assert open_store("memory://shared/").get("a") == b"1"
    assert open_store("memory://").get("a") is None
    with pytest.raises(ValueError, match=r"expected memory://NAME; give what is in"):
        open_store("memory://shared/a")
    assert open_store(f"file://{tmp_path}").identity == open_store(tmp_path).identity


def test_a_file_is_no_directory(tmp_path: Path) -> None:
    (tmp_path / "a.zip").write_bytes(b"")
    for given in (tmp_path / "a.zip", str(tmp_path / "a.zip"), f"file://{tmp_path}/a.zip"):
        with pytest.raises(
            NotADirectoryError, match=r"a\.zip': got a file, expected .*; ZipStore\('.*a\.zip'\)"
        ):
            open_store(given)


def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "_is_installed", lambda package: package == "fsspec")
    with pytest.raises(ImportError, match=r"s3fs.*pip install 'fastzarr\[remote\]'"):
        open_store("s3://bucket")
    monkeypatch.setattr(registry, "_is_installed", lambda package: False)
    with pytest.raises(
        ImportError, match=r"'s3://bucket' needs obstore or fsspec: pip install 'fastzarr\[remote\]'"
    ):
        open_store("s3://bucket")


def test_the_same_place_has_the_same_identity(tmp_path: Path) -> None:
    options = {"region": "us-east-1", "endpoint": "http://one"}
    one = open_store("s3://bucket/a", options)
    assert one.identity == open_store("s3://bucket/a/", options).identity
    assert one.identity != open_store("s3://bucket/b", options).identity
    assert one.identity != open_store("s3://bucket/a", {**options, "endpoint": "http://two"}).identity
    assert ObjectStore(ObstoreMemoryStore()).identity != ObjectStore(ObstoreMemoryStore()).identity
    assert FsspecStore.from_url("memory://a").identity == FsspecStore.from_url("memory://a/").identity
    assert FsspecStore.from_url("memory://a").identity != FsspecStore.from_url("memory://b").identity


def test_remote_stores_pickle(tmp_path: Path, s3: dict[str, Any]) -> None:
    for store in (
        ObjectStore.from_url("s3://bucket/pickled", storage_options=s3),
        FsspecStore.from_url(f"memory://{tmp_path}"),
    ):
        store.set("a", b"1")
        copied = pickle.loads(pickle.dumps(store.with_read_only()))
        assert bytes(copied.get("a")) == b"1"
        assert copied.read_only
        assert copied.identity == store.identity


def test_asynchronous_file_systems_are_refused() -> None:
    class Asynchronous:
        asynchronous = True

    with pytest.raises(
        TypeError, match=r"fs: got an asynchronous file system, expected .* asynchronous=False"
    ):
        FsspecStore(Asynchronous())


def test_failures_of_file_systems_name_the_key() -> None:
    class Failing:
        protocol = "failing"
        asynchronous = False

        def _strip_protocol(self, path: str) -> str:
            return path

        def __getattr__(self, name: str) -> Any:
            def call(*_: Any, **__: Any) -> Any:
                raise PermissionError(13, "denied")

            return call

    store = FsspecStore(Failing(), path="/root")
    for verb in (
        lambda: store.get("c/0"),
        lambda: store.get_range("c/0", 0, 1),
        lambda: store.get_range("c/0", -4, 4),
        lambda: store.set("c/0", b"1"),
        lambda: store.erase("c/0"),
    ):
        with pytest.raises(StoreError, match=r"^'c/0' in failing:///root: PermissionError: "):
            verb()
