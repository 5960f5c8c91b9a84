"""Failures, interrupts and odd requests: what was there stays, and what was asked for happens or doesn't."""

import json
import threading
import time
from typing import Any

import numpy as np
import pytest

import fastzarr
from fastzarr import errors
from fastzarr.storage import MemoryStore, WrapperStore


class Failing(WrapperStore):
    """Fails when it writes or erases one key, or just after."""

    def __init__(self, *, key: str, verb: str, after: bool = False, error: Any = None) -> None:
        super().__init__(MemoryStore())
        self._fails = (verb, key)
        self._after = after
        self._error = error or OSError(5, "x")
        self.armed = False

    def set(self, key: str, data: Any) -> None:
        self._do("set", key, lambda: super(Failing, self).set(key, data))

    def erase(self, key: str) -> None:
        self._do("erase", key, lambda: super(Failing, self).erase(key))

    def _do(self, verb: str, key: str, call: Any) -> None:
        failing = self.armed and (verb, key) == self._fails
        if not failing or self._after:
            call()
        if failing:
            self.armed = False
            raise self._error


@pytest.mark.parametrize("key", ["zarr.json", "c/2", "c/3"])
@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize("error", [OSError(5, "x"), KeyboardInterrupt()])
def test_an_append_that_fails_leaves_shape_and_elements(key: str, after: bool, error: BaseException) -> None:
    store = Failing(key=key, verb="set", after=after, error=error)
    array = fastzarr.create_array(store, shape=10, chunks=4, dtype="i4")
    array[...] = 1
    store.armed = True
    with pytest.raises(type(error)):
        array.append(np.full(7, 9))
    assert array.shape == fastzarr.open_array(store).shape == (10,)
    array.resize(20)
    np.testing.assert_array_equal(array[...], [1] * 10 + [0] * 10)


def test_a_shrinking_that_failed_is_made_good_by_the_next() -> None:
    store = Failing(key="c/12", verb="erase")
    array = fastzarr.create_array(store, shape=100, chunks=5, dtype="i4")
    array[...] = 1
    store.armed = True
    with pytest.raises(OSError, match="x"):
        array.resize(50)
    array.resize(50)
    array.resize(100)
    np.testing.assert_array_equal(array[...], [1] * 50 + [0] * 50)


def test_shards_of_rectilinear_grids_grow_by_whole_inner_chunks() -> None:
    store: dict[str, bytes] = {}
    array = fastzarr.create_array(store, shape=6, chunks=2, shards=[[4, 2]], dtype="i4")
    array[...] = range(6)
    for value in (6, 7, 8):
        array.append([value])
        np.testing.assert_array_equal(fastzarr.open_array(store)[...], range(value + 1))


def test_erasing_beyond_the_edge_keeps_what_others_write_before_it() -> None:
    class Slow(WrapperStore):
        def set(self, key: str, data: Any) -> None:
            time.sleep(0.005)
            super().set(key, data)

    for _ in range(10):
        array = fastzarr.create_array(Slow(MemoryStore()), shape=50, chunks=100, dtype="i4")
        array[...] = 1
        writer = threading.Thread(target=array.__setitem__, args=(3, 99))
        writer.start()
        array.resize(40, erase_beyond=True)
        writer.join()
        assert array[3] == 99


def test_parts_of_huge_arrays_come_one_by_one() -> None:
    array = fastzarr.create_array({}, shape=(2**40, 10), chunks=(1, 4), dtype="u1")
    parts = array.iter_chunk_selections()
    assert [next(parts) for _ in range(4)] == [
        (slice(0, 1), slice(0, 4)),
        (slice(0, 1), slice(4, 8)),
        (slice(0, 1), slice(8, 10)),
        (slice(1, 2), slice(0, 4)),
    ]


def test_nothing_is_copied_onto_itself_or_into_itself() -> None:
    group = fastzarr.create_group({})
    group["a"] = np.arange(5)
    group.create_group("g/h")["x"] = np.arange(3)
    requests = [("a", "", "a"), ("g", "", "g"), ("g", "g", "new"), ("g", "g/h", "new"), ("g/h/x", "", "g")]
    for source, dest, name in requests:
        target = group[dest] if dest else group
        with pytest.raises(ValueError, match="expected a place apart from"):
            fastzarr.copy(group[source], target, name=name, if_exists="replace")
    assert group["a"][...].tolist() == [0, 1, 2, 3, 4]
    fastzarr.copy(group["g"], group, name="g2")
    assert group["g2/h/x"][...].tolist() == [0, 1, 2]


def test_an_array_may_be_made_of_what_it_replaces() -> None:
    store: dict[str, bytes] = {}
    array = fastzarr.create_array(store, data=np.arange(5))
    again = fastzarr.create(5, dtype="i8", store=store, data=array, overwrite=True)
    assert again[...].tolist() == [0, 1, 2, 3, 4]


def test_data_that_do_not_fit_replace_nothing_and_leave_nothing() -> None:
    store: dict[str, bytes] = {}
    for data, error in ((["x", "y", "z"], ValueError), (np.arange(4), errors.BufferMismatchError)):
        with pytest.raises(error):
            fastzarr.create(3, dtype="i4", store=store, data=data)
        assert store == {}
    fastzarr.save(store, x=np.arange(3), y=np.arange(4))
    before = dict(store)
    with pytest.raises(errors.MetadataError):
        fastzarr.save(store, x=np.arange(3), z=np.array([object()], object))
    assert store == before
    array = fastzarr.create_array(store, name="x", data=np.arange(3), overwrite=True)
    with pytest.raises(errors.BufferMismatchError):
        fastzarr.create(3, dtype="i4", store=store, path="x", data=np.arange(4), overwrite=True)
    assert array[...].tolist() == [0, 1, 2]


@pytest.mark.parametrize("name", ["a", None])
def test_an_array_whose_data_can_not_be_written_is_removed(name: str | None) -> None:
    store = Failing(key="a/c/1" if name else "c/1", verb="set")
    store.armed = True
    with pytest.raises(OSError, match="x"):
        fastzarr.create_array(store, name=name, data=np.arange(1, 10), chunks=3)
    assert list(store.list_prefix("")) == (["zarr.json"] if name else [])


@pytest.mark.parametrize("zarr_format", [2, 3])
def test_deleting_through_a_stale_handle_keeps_what_others_stored(zarr_format: Any) -> None:
    store: dict[str, bytes] = {}
    group = fastzarr.create_group(store, zarr_format=zarr_format)
    group["a"] = np.arange(3)
    stale = fastzarr.consolidate_metadata(store)
    fastzarr.open_group(store).attrs["x"] = 1
    group["n"] = np.arange(3)
    fastzarr.consolidate_metadata(store)
    del stale["a"]
    assert "a" not in stale
    assert list(fastzarr.open_group(store)) == ["n"]
    assert dict(fastzarr.open_group(store).attrs) == {"x": 1}


def test_attributes_set_while_others_consolidate_are_kept() -> None:
    group = fastzarr.create_group({})
    for number in range(10):
        group.create_group(f"g{number}")
    stop = threading.Event()

    def consolidate() -> None:
        while not stop.is_set():
            fastzarr.consolidate_metadata(group.store)

    thread = threading.Thread(target=consolidate)
    thread.start()
    for number in range(50):
        group.attrs[f"k{number}"] = number
    stop.set()
    thread.join()
    assert len(fastzarr.open_group(group.store).attrs) == 50


def test_what_is_required_is_looked_for_behind_stale_consolidated_metadata() -> None:
    fastzarr.create_group(store := {})
    fastzarr.consolidate_metadata(store)
    group = fastzarr.open_group(store)
    assert group.require_group("x") == group.require_group("x")
    assert group.require_array("y", shape=3, dtype="i4") == group.require_array("y", shape=3, dtype="i4")
    del group["x"]
    assert list(fastzarr.open_group(store, use_consolidated=False)) == ["y"]


def test_keywords_nobody_knows_are_refused() -> None:
    store: dict[str, bytes] = {}
    fastzarr.create_array(store, shape=3, dtype="i4")
    for keywords in ({"mod": "r"}, {"synchronizer": 3}):
        for opening in (fastzarr.open, fastzarr.open_array):
            with pytest.raises(TypeError, match=f"unexpected keywords: {next(iter(keywords))}"):
                opening(store, **keywords)
    assert fastzarr.open_array(store, shape=3, dtype="i4").shape == (3,)


def test_groups_in_read_only_stores_open_without_a_mode() -> None:
    store = MemoryStore()
    fastzarr.create_group(store)
    fastzarr.consolidate_metadata(store)
    for opening in (fastzarr.open_group, fastzarr.open_consolidated, fastzarr.open):
        assert opening(store.with_read_only()).read_only


def test_arrays_like_those_of_any_data_type() -> None:
    texts = fastzarr.create_array({}, shape=3, dtype="string", fill_value="x")
    assert fastzarr.zeros_like(texts)[...].tolist() == ["", "", ""]
    assert fastzarr.zeros(2, dtype="string")[...].tolist() == ["", ""]
    blobs = fastzarr.create_array({}, shape=2, dtype=bytes)
    blobs[...] = [b"a", b"b"]
    store: dict[str, bytes] = {}
    fastzarr.save(store, blobs)
    assert fastzarr.load(store).tolist() == fastzarr.array(blobs)[...].tolist() == [b"a", b"b"]
    grid = fastzarr.create_array({}, shape=6, chunks=[[4, 2]], dtype="i4")
    assert fastzarr.array(grid).write_chunk_sizes == ((4, 2),)


@pytest.mark.parametrize("path", ["", "zarr.json", "../x", "/abs", "a//b", "a/", "x\0y", "a\\b", "a/.zarray"])
def test_paths_that_no_node_can_have_are_refused_in_consolidated_metadata(path: str) -> None:
    node = {"zarr_format": 3, "node_type": "group", "attributes": {}}
    consolidated = {"kind": "inline", "must_understand": False, "metadata": {path: node}}
    store = {"zarr.json": json.dumps({**node, "consolidated_metadata": consolidated}).encode()}
    with pytest.raises(errors.MetadataError, match=r"got the path .*, expected names joined by"):
        fastzarr.open_group(store)
    assert list(fastzarr.open_group(store, use_consolidated=False)) == []
    old = {".zgroup": {"zarr_format": 2}, f"{path}/.zgroup": {"zarr_format": 2}}
    document = {"metadata": old, "zarr_consolidated_format": 1}
    store = {".zgroup": b'{"zarr_format": 2}', ".zmetadata": json.dumps(document).encode()}
    if path:
        with pytest.raises(errors.MetadataError, match=r"got the path .*, expected names joined by"):
            fastzarr.open_group(store)
