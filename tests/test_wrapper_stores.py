"""Stores around another store."""

import io
import logging
import threading
from pathlib import Path

import numpy as np
import pytest

import fastzarr
from fastzarr.errors import ReadOnlyError
from fastzarr.storage import LoggingStore, WrapperStore, ZipStore
from fastzarr.stores.base import Store
from fastzarr.testing.store_contract import SnapshotStoreContract


class TestWrapperStore(SnapshotStoreContract):
    def make(self, tmp_path: Path) -> Store:
        return WrapperStore(fastzarr.MemoryStore())


class TestLoggingStore(SnapshotStoreContract):
    def make(self, tmp_path: Path) -> Store:
        return LoggingStore(fastzarr.LocalStore(tmp_path / "a"))


def test_calls_are_logged(caplog: pytest.LogCaptureFixture) -> None:
    store = LoggingStore(fastzarr.MemoryStore(), log_level="INFO")
    with caplog.at_level("INFO", "fastzarr.stores"):
        store.set("a/b", b"123")
        store.get("a/b")
        store.get("a/c")
        store.get_into("a/b", memoryview(bytearray(5)))
        store.get_range("a/b", 1, 9)
        store.get_ranges("a/b", [(0, 1), (1, 1)])
        list(store.list_prefix(""))
        list(store.list_dir("a/"))
        store.erase("a/b")
        with pytest.raises(ReadOnlyError):
            store.with_read_only().erase_prefix("a/")
    texts = [record.getMessage() for record in caplog.records]
    assert all(
        text.endswith(" ms") and record.levelno == logging.INFO
        for text, record in zip(texts, caplog.records, strict=True)
    )
    assert [text.rsplit(" ", 2)[0] for text in texts[:-1]] == [
        "set 'a/b': 3 B",
        "get 'a/b': 3 B",
        "get 'a/c': None",
        "get_into 'a/b': 3 B",
        "get_range 'a/b': 2 B",
        "get_ranges 'a/b': 2 B",
        "list_prefix '': 1 names",
        "list_dir 'a/': 1 names",
        "erase 'a/b': ",
    ]
    assert texts[-1].startswith("erase_prefix 'a/': ReadOnlyError: 'a/' can't be written")
    assert store.counter["get"] == 2


def test_a_handler_gets_the_records() -> None:
    text = io.StringIO()
    handler = logging.StreamHandler(text)
    store = LoggingStore(fastzarr.MemoryStore(), log_handler=handler)
    try:
        store.set("zarr.json", b"{}")
    finally:
        logging.getLogger("fastzarr.stores").removeHandler(handler)
        logging.getLogger("fastzarr.stores").setLevel(logging.NOTSET)
    assert text.getvalue().startswith("set 'zarr.json': 2 B ")


def test_a_store_that_answers_late_is_asked_for_several_chunks_at_the_same_time() -> None:
    together = threading.Barrier(12)

    class Waiting(WrapperStore):
        def get_into(self, key: str, out: memoryview) -> int | None:
            together.wait(20)
            return super().get_into(key, out)

    memory = fastzarr.MemoryStore()
    fastzarr.create_array(memory, data=np.arange(24), chunks=2, compressors=None)
    store = Waiting(memory)
    store.concurrency = 12
    np.testing.assert_array_equal(fastzarr.open_array(store)[...], np.arange(24))


# zarr-developers/zarr-python#4165, #4187
def test_stores_are_closed_by_a_with_block(tmp_path: Path) -> None:
    """Those that hold nothing open can be used afterwards; an archive can't."""
    for store in (
        fastzarr.MemoryStore(),
        fastzarr.LocalStore(tmp_path / "a"),
        LoggingStore(fastzarr.MemoryStore()),
    ):
        for turn in (b"1", b"2"):
            with store as same:
                assert same is store
                store.set("a", turn)
            store.close()
        assert bytes(store.get("a") or b"") == b"2"
    archive = ZipStore(tmp_path / "a.zip", mode="w")
    with LoggingStore(archive) as store:
        store.set("a", b"1")
    with pytest.raises(ValueError, match="is closed"):
        archive.get("a")
