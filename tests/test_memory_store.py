"""The store in a dictionary."""

from pathlib import Path

import numpy as np

import fastzarr
from fastzarr.stores.base import Store
from fastzarr.testing.store_contract import SnapshotStoreContract


class TestMemoryStore(SnapshotStoreContract):
    def make(self, tmp_path: Path) -> Store:
        return fastzarr.MemoryStore()


class TestGivenDictionary(SnapshotStoreContract):
    def make(self, tmp_path: Path) -> Store:
        return fastzarr.MemoryStore({})


def test_a_given_dictionary_is_used_not_copied() -> None:
    objects: dict[str, bytes] = {"zarr.json": b"{}"}
    store = fastzarr.MemoryStore(objects)
    assert store.get("zarr.json") == b"{}"
    store.set("a", bytearray(b"1"))
    assert objects["a"] == b"1"
    assert isinstance(objects["a"], bytes)
    assert store.identity == fastzarr.MemoryStore(objects).identity
    assert store.identity != fastzarr.MemoryStore({}).identity


# zarr-developers/zarr-python PR#4157: the caller's memory was kept
def test_what_is_written_does_not_change_with_the_callers_array() -> None:
    data = np.arange(12, dtype="i4").reshape(3, 4)
    for compressors in (None, "auto"):
        array = fastzarr.create_array(None, shape=(3, 4), chunks=(3, 4), dtype="i4", compressors=compressors)
        array[...] = data
        changed = data.copy()
        array[...] = changed
        changed[...] = -1
        np.testing.assert_array_equal(array[...], data)


def test_what_is_read_does_not_change_the_store() -> None:
    array = fastzarr.create_array(None, data=np.arange(4), chunks=4, compressors=None)
    found = array[...]
    found[...] = -1
    np.testing.assert_array_equal(array[...], np.arange(4))
