"""What every store does. A store passes by subclassing `StoreContract` in a test module and giving `make`."""

import threading
from abc import ABC, abstractmethod
from pathlib import Path
from typing import Any

import pytest

from fastzarr.errors import KeyNameError, ReadOnlyError
from fastzarr.stores.base import Store

BAD_KEYS = ("", "/a", "a/", "a//b", ".", "..", "../a", "a/..", "a/../b", "a/./b", "a\\b", "a\0b")
GOOD_KEYS = ("a", "c/0/0", "0..0", "...", ".zarray", "a.b", "a b", "é", "a/.hidden/b", "c%d", "~", "-")


class StoreContract(ABC):
    """Tests of one kind of store: subclass it as `TestMyStore` and write `make`."""

    @abstractmethod
    def make(self, tmp_path: Path) -> Store:
        """A new, empty, writable store."""

    @pytest.fixture
    def store(self, tmp_path: Path) -> Store:
        """A new store for one test."""
        return self.make(tmp_path)

    def test_what_is_absent_is_none(self, store: Store) -> None:
        out = bytearray(b"????")
        assert store.get("a") is None
        assert store.get_into("a/b", memoryview(out)) is None
        assert out == b"????"
        assert store.get_range("a", 0, 1) is None
        assert store.get_range("a/b", -1, 1) is None
        assert store.get_ranges("a", [(0, 1), (2, 1)]) is None
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

    @pytest.mark.parametrize("size", [0, 1, 5, 6, 10])
    def test_get_into_fills_and_tells_the_whole_size(self, store: Store, size: int) -> None:
        store.set("a", b"012345")
        out = bytearray(b"?" * size)
        assert store.get_into("a", memoryview(out)) == 6
        assert out[:6] == b"012345"[:size]
        assert out[6:] == b"?" * max(0, size - 6)

    @pytest.mark.parametrize(
        ("start", "length", "expected"),
        [
            (0, 6, b"012345"),
            (2, 3, b"234"),
            (4, 9, b"45"),
            (6, 1, b""),
            (9, 2, b""),
            (3, 0, b""),
            (-2, 2, b"45"),
            (-4, 2, b"23"),
            (-6, 6, b"012345"),
            (-9, 9, b"012345"),
        ],
    )
    def test_get_range(self, store: Store, start: int, length: int, expected: bytes) -> None:
        store.set("a/b", b"012345")
        found = store.get_range("a/b", start, length)
        assert found is not None
        assert bytes(found) == expected
        ranges = [(0, 1), (max(start, 0), length), (1, 2)] if start >= 0 else [(5, 1), (0, 2)]
        several = store.get_ranges("a/b", ranges)
        assert several is not None
        assert [bytes(data) for data in several] == [b"012345"[s : s + n] for s, n in ranges]

    def test_ranges_of_an_empty_object_and_no_ranges(self, store: Store) -> None:
        store.set("a", b"")
        assert bytes(store.get_range("a", 0, 5) or b"") == b""
        assert bytes(store.get_range("a", -5, 5) or b"") == b""
        assert store.get_range("a", 0, 1) is not None
        assert store.get_range("a", -1, 1) is not None
        assert store.get_ranges("a", []) == []

    def test_ranges_far_apart_and_overlapping(self, store: Store) -> None:
        data = bytes(range(256)) * 20_000
        store.set("a", data)
        ranges = [(5_000_000, 300), (0, 10), (5, 20), (2_500_000, 1), (5_000_100, 50), (0, 10)]
        found = store.get_ranges("a", ranges)
        assert found is not None
        assert [bytes(part) for part in found] == [data[start : start + n] for start, n in ranges]

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
    def test_good_keys(self, store: Store, key: str) -> None:
        store.set(key, b"1")
        assert bytes(store.get(key) or b"") == b"1"
        assert list(store.list_prefix("")) == [key]

    @pytest.mark.parametrize("key", BAD_KEYS)
    def test_bad_keys_are_refused(self, store: Store, key: str) -> None:
        verbs: list[Any] = [
            store.get,
            lambda key: store.get_into(key, memoryview(bytearray(1))),
            lambda key: store.get_range(key, 0, 1),
            lambda key: store.get_ranges(key, [(0, 1)]),
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

    def test_read_only(self, store: Store) -> None:
        store.set("a/b", b"1")
        locked = store.with_read_only()
        assert locked.read_only
        assert not store.read_only
        assert locked.identity == store.identity
        assert bytes(locked.get("a/b") or b"") == b"1"
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

    def test_identity_and_repr(self, store: Store) -> None:
        assert hash(store.identity) == hash(store.identity)
        assert "://" in repr(store)

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
