"""What every store does. A store passes by subclassing one of the contracts in a test module.

`StoreContract` is for stores that are read, written and listed, `SnapshotStoreContract` for those of them
that read snapshots, `PartialWriteStoreContract` for those that change bytes in place, `ReadableStoreContract`
for others.
"""

import threading
from abc import ABC, abstractmethod
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

import pytest

from fastzarr.errors import KeyNameError, ReadOnlyError
from fastzarr.stores.base import PartialWriteStore, ReadableStore, SnapshotStore, Store

BAD_KEYS = ("", "/a", "a/", "a//b", ".", "..", "../a", "a/..", "a/../b", "a/./b", "a\\b", "a\0b")
GOOD_KEYS = ("a", "c/0/0", "0..0", "...", ".zarray", "a.b", "a b", "é", "a/.hidden/b", "c%d", "~", "-")


class ReadableStoreContract(ABC):
    """Tests of a store that may be read only: subclass it as `TestMyStore` and write `filled`."""

    @abstractmethod
    def filled(self, tmp_path: Path, objects: Mapping[str, bytes]) -> ReadableStore:
        """A store that holds these objects and no others."""

    def test_absent_objects_read_as_none(self, tmp_path: Path) -> None:
        store = self.filled(tmp_path, {"b": b"1"})
        out = bytearray(b"????")
        assert store.get("a") is None
        assert store.get_into("a/b", memoryview(out)) is None
        assert out == b"????"
        for start, length in ((0, 1), (3, 0), (-1, 1)):
            assert store.get_range("a", start, length) is None
        for ranges in ([], [(0, 1)], [(0, 1), (2, 1)], [(0, 1), (9_000_000, 1)]):
            assert store.get_ranges("a/b", ranges) is None

    @pytest.mark.parametrize("data", [b"", b"x", bytes(range(256)) * 300], ids=len)
    def test_whole_objects_are_read(self, tmp_path: Path, data: bytes) -> None:
        found = self.filled(tmp_path, {"a/b": data}).get("a/b")
        assert found is not None
        assert bytes(found) == data

    @pytest.mark.parametrize("size", [0, 1, 5, 6, 10])
    def test_get_into_fills_and_tells_the_whole_size(self, tmp_path: Path, size: int) -> None:
        out = bytearray(b"?" * size)
        assert self.filled(tmp_path, {"a": b"012345"}).get_into("a", memoryview(out)) == 6
        assert out[:6] == b"012345"[:size]
        assert out[6:] == b"?" * max(0, size - 6)

    def test_ranges_end_where_the_object_does(self, tmp_path: Path) -> None:
        data = b"012345"
        store = self.filled(tmp_path, {"a/b": data, "empty": b""})
        inside = [(0, 6), (2, 3), (4, 9), (6, 1), (9, 2), (3, 0)]
        for start, length in inside:
            found = store.get_range("a/b", start, length)
            assert found is not None
            assert bytes(found) == data[start : start + length]
        for start, length, expected in ((-2, 2, b"45"), (-4, 2, b"23"), (-6, 6, data), (-9, 9, data)):
            assert bytes(store.get_range("a/b", start, length) or b"") == expected
        for start, length in ((0, 5), (-5, 5), (0, 0)):
            assert store.get_range("empty", start, length) is not None
            assert bytes(store.get_range("empty", start, length) or b"") == b""
        assert store.get_ranges("a/b", []) == []
        for ranges in ([(9, 2)], inside, inside[::-1]):
            several = store.get_ranges("a/b", ranges)
            assert several is not None
            assert [bytes(part) for part in several] == [data[start : start + n] for start, n in ranges]

    def test_ranges_may_be_far_apart_overlap_and_come_in_any_order(self, tmp_path: Path) -> None:
        data = bytes(range(256)) * 20_000
        store = self.filled(tmp_path, {"a": data})
        ranges = [
            (5_000_000, 300),
            (0, 10),
            (5, 20),
            (2_500_000, 1),
            (9_000_000, 5),
            (5_000_100, 50),
            (0, 10),
        ]
        found = store.get_ranges("a", ranges)
        assert found is not None
        assert [bytes(part) for part in found] == [data[start : start + n] for start, n in ranges]

    def test_good_keys_are_read(self, tmp_path: Path) -> None:
        objects = {f"{number}/{key}": key.encode() for number, key in enumerate(GOOD_KEYS)}
        store = self.filled(tmp_path, objects)
        assert {key: bytes(store.get(key) or b"") for key in objects} == objects

    @pytest.mark.parametrize("key", BAD_KEYS)
    def test_bad_keys_are_not_read(self, tmp_path: Path, key: str) -> None:
        store = self.filled(tmp_path, {"b": b"1"})
        verbs: list[Any] = [
            store.get,
            lambda key: store.get_into(key, memoryview(bytearray(1))),
            lambda key: store.get_range(key, 0, 1),
            lambda key: store.get_ranges(key, [(0, 1)]),
        ]
        for verb in verbs:
            with pytest.raises(KeyNameError, match=r"^key .*: expected names joined by '/'"):
                verb(key)

    def test_a_read_only_view_has_the_same_objects(self, tmp_path: Path) -> None:
        store = self.filled(tmp_path, {"a/b": b"1"})
        locked = store.with_read_only()
        assert locked.read_only
        assert locked.identity == store.identity
        assert hash(store.identity) == hash(store.identity)
        assert bytes(locked.get("a/b") or b"") == b"1"
        assert "://" in repr(store)


class StoreContract(ReadableStoreContract):
    """Tests of a store that is read, written and listed: subclass it as `TestMyStore` and write `make`."""

    @abstractmethod
    def make(self, tmp_path: Path) -> Store:
        """A new, empty, writable store."""

    def filled(self, tmp_path: Path, objects: Mapping[str, bytes]) -> ReadableStore:
        """A new store, written to."""
        store = self.make(tmp_path)
        for key, data in objects.items():
            store.set(key, data)
        return store

    @pytest.fixture
    def store(self, tmp_path: Path) -> Store:
        """A new store for one test."""
        return self.make(tmp_path)

    def test_what_is_absent_is_erased_and_listed_as_nothing(self, store: Store) -> None:
        store.erase("a")
        store.erase_prefix("a/")
        assert list(store.list_prefix("")) == []
        assert list(store.list_dir("")) == []
        assert list(store.list_dir("a/")) == []

    def test_set_and_get(self, store: Store) -> None:
        for data in (b"", b"x", bytes(range(256)) * 300):
            store.set("a/b", data)
            found = store.get("a/b")
            assert found is not None
            assert bytes(found) == data

    def test_set_takes_any_flat_buffer_and_keeps_none(self, store: Store) -> None:
        memory = bytearray(b"0123456789")
        store.set("whole", memory)
        store.set("part", memoryview(memory)[2:5])
        memory[:] = b"??????????"
        assert bytes(store.get("whole") or b"") == b"0123456789"
        assert bytes(store.get("part") or b"") == b"234"

    def test_set_replaces(self, store: Store) -> None:
        store.set("a", b"long content")
        store.set("a", b"short")
        assert bytes(store.get("a") or b"") == b"short"

    def test_erase(self, store: Store) -> None:
        store.set("a/b", b"1")
        store.set("a/c", b"2")
        store.erase("a/b")
        store.erase("a/b")
        assert store.get("a/b") is None
        assert list(store.list_prefix("")) == ["a/c"]

    def test_a_key_may_begin_like_another(self, store: Store) -> None:
        for key in ("a/b", "ab", "a.b", "a/bc"):
            store.set(key, key.encode())
        assert sorted(store.list_prefix("a/")) == ["a/b", "a/bc"]
        store.erase_prefix("a/")
        assert sorted(store.list_prefix("")) == ["a.b", "ab"]

    def test_listing(self, store: Store) -> None:
        keys = ["c/0/0", "c/0/1", "c/1/0", "group/zarr.json", "zarr.json"]
        for key in keys:
            store.set(key, b"")
        assert sorted(store.list_prefix("")) == keys
        assert sorted(store.list_prefix("c/0/")) == ["c/0/0", "c/0/1"]
        assert sorted(store.list_dir("")) == ["c", "group", "zarr.json"]
        assert sorted(store.list_dir("c/")) == ["0", "1"]
        assert sorted(store.list_dir("c/0/")) == ["0", "1"]
        assert list(store.list_dir("c/0/0/")) == []

    def test_erase_prefix_of_everything(self, store: Store) -> None:
        for key in ("zarr.json", "c/0", "g/h/i"):
            store.set(key, b"1")
        store.erase_prefix("")
        assert list(store.list_prefix("")) == []
        store.set("c/0", b"2")
        assert list(store.list_prefix("")) == ["c/0"]

    @pytest.mark.parametrize("key", GOOD_KEYS)
    def test_good_keys_are_listed(self, store: Store, key: str) -> None:
        store.set(key, b"1")
        assert list(store.list_prefix("")) == [key]

    @pytest.mark.parametrize("key", BAD_KEYS)
    def test_bad_keys_are_not_written(self, store: Store, key: str) -> None:
        verbs: list[Any] = [
            lambda key: store.set(key, b"1"),
            store.erase,
        ]
        for verb in verbs:
            with pytest.raises(KeyNameError, match=r"^key .*: expected names joined by '/'"):
                verb(key)
        assert list(store.list_prefix("")) == []

    @pytest.mark.parametrize("prefix", ["a", "/", "../", "a/../", "a//", "./", "a\\b/"])
    def test_bad_prefixes_are_refused(self, store: Store, prefix: str) -> None:
        for verb in (
            store.erase_prefix,
            lambda p: list(store.list_prefix(p)),
            lambda p: list(store.list_dir(p)),
        ):
            with pytest.raises(KeyNameError, match=r"^prefix .*: expected nothing, or a key followed by '/'"):
                verb(prefix)

    def test_a_read_only_view_changes_nothing(self, store: Store) -> None:
        store.set("a/b", b"1")
        locked = store.with_read_only()
        assert not store.read_only
        changes: list[Any] = [
            lambda: locked.set("a/b", b"2"),
            lambda: locked.set("new", b"2"),
            lambda: locked.erase("a/b"),
            lambda: locked.erase("new"),
            lambda: locked.erase_prefix("a/"),
            lambda: locked.erase_prefix(""),
        ]
        for change in changes:
            with pytest.raises(
                ReadOnlyError, match=r"the store .* is read only; open it with mode"
            ) as caught:
                change()
            assert isinstance(caught.value, PermissionError)
        assert list(store.list_prefix("")) == ["a/b"]
        assert bytes(store.get("a/b") or b"") == b"1"

    def test_many_threads(self, store: Store) -> None:
        """Objects are whole whoever writes and reads at the same time, and no directory gets lost."""
        contents = [bytes([n]) * 5000 for n in range(8)]
        failures: list[BaseException] = []

        def work(number: int) -> None:
            try:
                for turn in range(30):
                    store.set("shared", contents[number])
                    store.set(f"d/{turn}/{number}", contents[number])
                    found = store.get("shared")
                    assert found is not None
                    assert bytes(found) in contents
                    store.erase(f"d/{turn}/{number}")
            except BaseException as error:
                failures.append(error)

        threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert not failures
        assert list(store.list_prefix("")) == ["shared"]


class SnapshotStoreContract(StoreContract):
    """Tests of a store that reads an object several times as it was at first."""

    def test_a_snapshot_is_of_one_object(self, store: Store) -> None:
        held = cast(SnapshotStore, store)
        store.set("c/0", b"0123456789")
        with held.snapshot("c/0") as reader:
            assert reader.get_range("c/0", -2, 2) == b"89"
            store.set("c/0", b"something else")
            assert reader.get_range("c/0", 1, 3) == b"123"
            assert reader.get_range("c/0", 8, 10) == b"89"
            store.erase("c/0")
            assert reader.get_range("c/0", 0, 2) == b"01"
        with held.snapshot("c/0") as reader:
            assert reader.get_range("c/0", 0, 2) is None
        with pytest.raises(KeyNameError), held.snapshot("../c") as reader:
            reader.get_range("../c", 0, 2)


class PartialWriteStoreContract(StoreContract):
    """Tests of a store that changes bytes of an object where they are."""

    def test_bytes_are_changed_in_place(self, store: Store) -> None:
        changing = cast(PartialWriteStore, store)
        content = bytearray(range(256)) * 64
        store.set("c/0", content)
        for start in (0, 64, 4096 + 8, len(content) - 8):
            assert changing.set_range("c/0", start, memoryview(b"--12345678--")[2:10], len(content))
            content[start : start + 8] = b"12345678"
            assert bytes(store.get("c/0") or b"") == content
        assert list(store.list_prefix("")) == ["c/0"]

    @pytest.mark.parametrize("start", [-1, 0, 1, 57, 60, 63, 64, 4090, 8184, 8185, 8192, 9000])
    @pytest.mark.parametrize("length", [0, 1, 8, 64, 5000])
    def test_all_is_changed_or_nothing(self, store: Store, start: int, length: int) -> None:
        before, data = bytes(8192), b"x" * length
        store.set("a", before)
        done = cast(PartialWriteStore, store).set_range("a", start, data, len(before))
        assert bytes(store.get("a") or b"") == (
            before[:start] + data + before[start + length :] if done else before
        )
        if done:
            assert start >= 0
            assert start + length <= len(before)

    def test_an_object_that_is_not_as_expected_is_left_alone(self, store: Store) -> None:
        changing = cast(PartialWriteStore, store)
        store.set("a/b", b"0123456789abcdef")
        for key, size in (("a/b", 15), ("a/b", 17), ("a/c", 16), ("a", 16), ("a/b/c", 16), ("new/a", 16)):
            assert not changing.set_range(key, 0, b"--------", size)
        assert list(store.list_prefix("")) == ["a/b"]
        assert bytes(store.get("a/b") or b"") == b"0123456789abcdef"

    @pytest.mark.parametrize("key", BAD_KEYS)
    def test_bytes_of_bad_keys_are_not_changed(self, store: Store, key: str) -> None:
        with pytest.raises(KeyNameError, match=r"^key .*: expected names joined by '/'"):
            cast(PartialWriteStore, store).set_range(key, 0, b"1", 1)

    def test_a_read_only_view_changes_no_bytes(self, store: Store) -> None:
        store.set("a", b"01234567")
        with pytest.raises(ReadOnlyError, match=r"'a' can't be written: the store .* is read only"):
            cast(PartialWriteStore, store.with_read_only()).set_range("a", 0, b"x", 8)
        assert bytes(store.get("a") or b"") == b"01234567"
