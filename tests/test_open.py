"""Creating and opening: modes, names, stores, and what is in the way; nothing is touched when it fails."""

import json
import os
import re
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
import zarr
from oracle import files
from zarr.storage import LocalStore

import fastzarr
from fastzarr.errors import (
    ArrayNotFoundError,
    ContainsArrayError,
    ContainsGroupError,
    KeyNameError,
    MetadataError,
    NodeExistsError,
    NodeNotFoundError,
    ReadOnlyError,
)

STATES = ("absent", "array", "group", "other files")
MODES = (None, "r", "r+", "a", "w", "w-")


def prepare(root: Path, state: str, zarr_format: int) -> None:
    if state == "array":
        fastzarr.create_array(root, data=np.arange(1, 5), chunks=2, zarr_format=zarr_format)
    elif state == "group":
        zarr.open_group(LocalStore(root), mode="w", zarr_format=zarr_format)
    elif state == "other files":
        root.mkdir()
        (root / "notes.txt").write_text("mine")


def outcome(library: Any, root: Path, mode: str | None, **arguments: Any) -> str:
    """What opening does: an error's kind in common words, or what the array holds and allows."""
    try:
        array = library.open_array(store=root, **({} if mode is None else {"mode": mode}), **arguments)
    except FileExistsError:
        return "exists"
    except FileNotFoundError:
        return "not found"
    return f"{array.shape} {np.asarray(array[...]).sum()} {'read only' if array.read_only else 'writable'}"


EXPECTED = {
    ("absent", None): "not found",
    ("absent", "r"): "not found",
    ("absent", "r+"): "not found",
    ("absent", "a"): "(3,) 0 writable",
    ("absent", "w"): "(3,) 0 writable",
    ("absent", "w-"): "(3,) 0 writable",
    ("array", None): "(4,) 10 writable",
    ("array", "r"): "(4,) 10 read only",
    ("array", "r+"): "(4,) 10 writable",
    ("array", "a"): "(4,) 10 writable",
    ("array", "w"): "(3,) 0 writable",
    ("array", "w-"): "exists",
    ("group", None): "not found",
    ("group", "r"): "not found",
    ("group", "r+"): "not found",
    ("group", "a"): "exists",
    ("group", "w"): "(3,) 0 writable",
    ("group", "w-"): "exists",
    ("other files", None): "not found",
    ("other files", "r"): "not found",
    ("other files", "r+"): "not found",
    ("other files", "a"): "(3,) 0 writable",
    ("other files", "w"): "(3,) 0 writable",
    ("other files", "w-"): "exists",
}


@pytest.mark.parametrize("zarr_format", [2, 3])
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("state", STATES)
def test_modes(state: str, mode: str | None, zarr_format: int, tmp_path: Path) -> None:
    root = tmp_path / "data"
    prepare(root, state, zarr_format)
    before = files(tmp_path)
    found = outcome(fastzarr, root, mode, shape=3, dtype="i8", zarr_format=zarr_format)
    assert found == EXPECTED[state, mode]
    if "(3,)" not in found:
        assert files(tmp_path) == before
    if mode == "w":
        assert "notes.txt" not in {path.name for path in root.iterdir()}


@pytest.mark.parametrize("mode", [mode for mode in MODES if mode is not None])
@pytest.mark.parametrize("state", ["absent", "array"])
def test_modes_are_those_of_zarr_python(state: str, mode: str, tmp_path: Path) -> None:
    ours, theirs = tmp_path / "ours", tmp_path / "theirs"
    for root in (ours, theirs):
        prepare(root, state, 3)
    assert outcome(fastzarr, ours, mode, shape=3, dtype="i8") == outcome(
        zarr, theirs, mode, shape=3, dtype="i8", zarr_format=3
    )


def test_open_is_open_array_with_mode_a_by_default(tmp_path: Path) -> None:
    made = fastzarr.open(tmp_path / "data", shape=3, dtype="i4")
    made[...] = 1
    again = fastzarr.open(tmp_path / "data", shape=7)
    assert again.shape == (3,)
    again[0] = 2
    assert fastzarr.open(tmp_path / "data", mode="r").read_only
    assert fastzarr.open(fastzarr.LocalStore(tmp_path / "data", read_only=True)).read_only


def test_a_wrong_mode_names_those_allowed(tmp_path: Path) -> None:
    for function in (fastzarr.open, fastzarr.open_array):
        with pytest.raises(ValueError, match=r"mode: got 'x', expected one of r, r\+, a, w, w-, or None"):
            function(tmp_path, mode="x")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("mode", "text"),
    [
        ("r", r"no array found in store file://.*/data at path 'a/b'$"),
        ("r+", r"no array found in store file://.*/data at path 'a/b'$"),
        ("a", r"no array found in store .* at path 'a/b'; give shape=… to create one"),
    ],
)
def test_not_found_names_store_and_path(mode: Any, text: str, tmp_path: Path) -> None:
    with pytest.raises(ArrayNotFoundError, match=text) as caught:
        fastzarr.open_array(tmp_path / "data", path="/a/b", mode=mode)
    assert isinstance(caught.value, FileNotFoundError | NodeNotFoundError)
    assert caught.value.kind == "array-not-found"
    assert not (tmp_path / "data").exists()


def test_not_found_tells_of_groups_and_other_formats(tmp_path: Path) -> None:
    prepare(tmp_path / "group", "group", 3)
    with pytest.raises(ArrayNotFoundError, match=r"there is a group, open one of its arrays with path=…"):
        fastzarr.open_array(tmp_path / "group", mode="r")
    prepare(tmp_path / "array", "array", 2)
    with pytest.raises(ArrayNotFoundError, match=r"in Zarr format 3; there is one in the other format"):
        fastzarr.open_array(tmp_path / "array", mode="r", zarr_format=3)
    assert fastzarr.open_array(tmp_path / "array", mode="r", zarr_format=2).metadata.zarr_format == 2


def test_v3_comes_before_v2(tmp_path: Path) -> None:
    fastzarr.create_array(tmp_path, shape=2, dtype="i4", zarr_format=2)
    document = tmp_path / "zarr.json"
    objects: dict[str, bytes] = {}
    fastzarr.create_array(objects, shape=3, dtype="i4", zarr_format=3)
    document.write_bytes(objects["zarr.json"])
    assert fastzarr.open_array(tmp_path).shape == (3,)
    assert fastzarr.open_array(tmp_path, zarr_format=2).shape == (2,)


def test_mode_w_needs_a_shape() -> None:
    with pytest.raises(TypeError, match=r"shape: missing; mode 'w' creates an array and needs its shape"):
        fastzarr.open_array({}, mode="w")


# Existing nodes


@pytest.mark.parametrize("zarr_format", [2, 3])
def test_creating_over_a_node_is_refused(zarr_format: int, tmp_path: Path) -> None:
    prepare(tmp_path / "array", "array", zarr_format)
    prepare(tmp_path / "group", "group", zarr_format)
    before = files(tmp_path)
    for name, error, kind in (
        ("array", ContainsArrayError, "contains-array"),
        ("group", ContainsGroupError, "contains-group"),
    ):
        with pytest.raises(
            error, match=rf"path '' is taken by an existing {name}; use overwrite=True or mode='w'"
        ) as caught:
            fastzarr.create_array(tmp_path / name, shape=3, dtype="i4", zarr_format=zarr_format)
        assert caught.value.kind == kind
        assert isinstance(caught.value, FileExistsError)
        assert isinstance(caught.value, NodeExistsError)
    assert files(tmp_path) == before


def test_overwriting_removes_all_that_was_there(tmp_path: Path) -> None:
    fastzarr.create_array(tmp_path, name="g/a", data=np.arange(1, 9), chunks=1, zarr_format=2)
    fastzarr.create_array(tmp_path, name="g/b", data=np.arange(1, 9), chunks=1)
    other = {path: data for path, data in files(tmp_path).items() if not path.startswith("g/a/")}
    array = fastzarr.create_array(tmp_path, name="g/a", shape=8, dtype="i8", chunks=1, overwrite=True)
    assert not array[...].any()
    assert {p: data for p, data in files(tmp_path).items() if not p.startswith("g/a/")} == other
    assert [p for p in files(tmp_path) if p.startswith("g/a/")] == ["g/a/zarr.json"]


@pytest.mark.parametrize(
    "arguments",
    [
        *[{"dtype": "S"}, {"dtype": "nonsense"}, {"shape": -1}, {"shape": "3"}, {"shape": 1.5}],
        *[{"chunks": 0}, {"chunks": (1, 2)}, {"chunks": "big"}, {"chunks": -2}, {"chunks": 1.5}],
        *[{"fill_value": "x"}, {"order": "A"}, {"zarr_format": 1}, {"zarr_format": "3"}, {"shards": (2,)}],
        *[{"compressors": "zstd"}, {"compressors": {"name": "nope"}}, {"compressors": [{"id": "zlib"}]}],
        *[{"compressors": {"name": "zstd", "configuration": {"level": 99}}}, {"compressors": 5}],
        *[{"compressors": {"name": "zstd", "configuration": 5}}, {"compressors": {"name": "bytes"}}],
        *[{"serializer": {"name": "zstd"}}, {"filters": {"name": "zstd"}}, {"serializer": None}],
        *[{"chunk_key_encoding": "v4"}, {"chunk_key_encoding": {"name": "v2", "separator": "-"}}],
        *[{"dimension_names": ["x", "y"]}, {"dimension_names": [1]}],
        *[
            pytest.param({"attributes": {"x": object()}}, id="{'attributes': {'x': object()}}"),
            {"attributes": {"x": np.float32(1)}},
            {"attributes": {"x": {1, 2}}},
        ],
        *[{"config": {"speed": 1}}, {"config": {"order": "A"}}],
        *[{"zarr_format": 2, "dimension_names": ["x"]}, {"zarr_format": 2, "serializer": {"name": "bytes"}}],
        *[
            {"zarr_format": 2, "filters": [{"id": "delta"}]},
            {"zarr_format": 2, "chunk_key_encoding": "default"},
        ],
        *[{"zarr_format": 2, "compressors": [{"id": "zlib"}, {"id": "zstd"}]}],
        *[{"zarr_format": 2, "compressors": {"id": "nope"}}],
        *[{"zarr_format": 2, "compressors": {"id": "zlib", "level": 77}}],
    ],
    ids=repr,
)
def test_requests_that_cannot_be_met_leave_everything_as_it_was(
    arguments: dict[str, Any], tmp_path: Path
) -> None:
    """With `overwrite` too: what is there is erased only once the new documents are known to be good."""
    fastzarr.create_array(tmp_path, name="a", data=np.arange(4))
    before = files(tmp_path)
    for name in ("a", "new/below"):
        with pytest.raises(MetadataError, match=r"got|missing|expected") as caught:
            fastzarr.create_array(
                tmp_path, name=name, overwrite=True, **{"shape": 3, "dtype": "f4"} | arguments
            )
        assert caught.value.kind in ("metadata", "unknown-codec")
    assert files(tmp_path) == before


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({"shape": 3}, r"dtype: missing; give dtype, or data"),
        ({"dtype": "f4"}, r"shape: missing; give shape, or data"),
        ({"shape": 3, "data": [1]}, r"data: given together with shape or dtype, expected one or the other"),
        ({"shape": 3, "dtype": "S"}, r"dtype: got '\|S0', expected a length of 1 or more, such as 'S5'"),
        ({"shape": -1, "dtype": "f4"}, r"shape: got \(-1,\), expected sizes of 0 or more"),
        ({"shape": 3, "dtype": "f4", "chunks": (1, 2)}, r"chunks: got 2 sizes \(1, 2\) for 1 dimensions"),
        ({"shape": 3, "dtype": "f4", "chunks": 0}, r"chunks: got \(0,\), expected sizes of 1 or more, or -1"),
        ({"shape": 3, "dtype": "f4", "order": "A"}, r"order: got 'A', expected 'C', 'F' or None"),
        ({"shape": 3, "dtype": "f4", "zarr_format": 1}, r"zarr_format: got 1, expected 2 or 3"),
        ({"shape": 3, "dtype": "f4", "shards": (2,)}, r"shards: got \(2,\), expected multiples"),
        ({"data": [object()]}, r"dtype: got object: .*; give dtype='string' for text or 'bytes'"),
        (
            {"shape": 3, "dtype": "f4", "attributes": {"x": {1}}},
            r"attributes: 'x': got \{1\}, expected what JSON can say: Object of type set",
        ),
    ],
)
def test_what_is_wrong_with_a_request_is_named(arguments: dict[str, Any], text: str) -> None:
    with pytest.raises(MetadataError, match=text):
        fastzarr.create_array({}, **arguments)


# zarr-python#2582: a node under an array
@pytest.mark.parametrize("zarr_format", [2, 3])
def test_arrays_have_no_children(zarr_format: int, tmp_path: Path) -> None:
    fastzarr.create_array(tmp_path, name="g/a", shape=3, dtype="i4", zarr_format=zarr_format)
    before = files(tmp_path)
    for name in ("g/a/b", "g/a/b/c"):
        with pytest.raises(
            ContainsArrayError, match=rf"'{name}' can't be created, since 'g/a' is an array; only groups"
        ):
            fastzarr.create_array(tmp_path, name=name, shape=3, dtype="i4", overwrite=True)
    assert files(tmp_path) == before


# Names: zarr-python#2357, zarr-developers/zarr-python PR#2850


@pytest.mark.parametrize(
    ("name", "path"),
    [("/foo", "foo"), ("a//b", "a/b"), ("a\\b", "a/b"), ("a/b/", "a/b"), ("", ""), (None, "")],
)
def test_names_are_normalized(name: Any, path: str, tmp_path: Path) -> None:
    array = fastzarr.create_array(tmp_path, name=name, data=np.arange(3))
    assert (array.path, array.name, array.basename) == (path, f"/{path}", path.rpartition("/")[2])
    assert (tmp_path / path / "zarr.json").exists()
    assert fastzarr.open_array(tmp_path, path=name)[...].tolist() == [0, 1, 2]


@pytest.mark.parametrize("name", [".", "..", "../x", "a/../b", "a/./b", "a/..", "..\\x", "a\0b"])
def test_names_that_climb_are_refused(name: str, tmp_path: Path) -> None:
    store = tmp_path / "store"
    for call in (
        lambda: fastzarr.create_array(store, name=name, shape=1, dtype="i4", overwrite=True),
        lambda: fastzarr.open_array(store, path=name, mode="w", shape=1, dtype="i4"),
        lambda: fastzarr.open(store, path=name),
    ):
        with pytest.raises(KeyNameError, match="expected names joined by '/'"):
            call()
    assert list(tmp_path.iterdir()) == []


def test_names_with_percent_signs_and_dots(tmp_path: Path) -> None:
    for name in ("50%", "a%d", "...", "%s/%(x)s", "0..0"):
        fastzarr.create_array(tmp_path, name=name, data=np.arange(5), chunks=2)
        assert fastzarr.open_array(tmp_path, path=name)[...].tolist() == [0, 1, 2, 3, 4]
        assert (tmp_path / name / "c/2").exists()


# Stores


def test_forms_of_a_store(tmp_path: Path) -> None:
    root = tmp_path / "data"
    for store in (root, str(root), f"file://{root}", os.fspath(root) + "/", fastzarr.LocalStore(root)):
        array = fastzarr.open_array(store, mode="w", shape=3, dtype="i4")
        array[...] = 5
        assert (root / "c/0").exists()
        assert str(array.store) == f"file://{root}"
    objects: dict[str, bytes] = {}
    fastzarr.open_array(objects, mode="w", shape=3, dtype="i4")
    assert json.loads(objects["zarr.json"])["shape"] == [3]
    for store in (None, "memory://"):
        assert isinstance(fastzarr.create_array(store, shape=3, dtype="i4").store, fastzarr.MemoryStore)


def test_other_stores_are_refused() -> None:
    with pytest.raises(ValueError, match=r"Protocol not known: nosuch"):
        fastzarr.open_array("nosuch://bucket")
    with pytest.raises(
        TypeError, match=r"store: got int, expected a store, a path, a URL, a mapping or None"
    ):
        fastzarr.open_array(5)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"storage_options: got .* without a URL, expected None"):
        fastzarr.open_array({}, storage_options={"key": 1})


# Read only


@pytest.mark.parametrize("mode", ["r+", "a", "w", "w-"])
def test_a_read_only_store_refuses_modes_that_write(mode: Any, tmp_path: Path) -> None:
    fastzarr.create_array(tmp_path, name="a", data=np.arange(3))
    before = files(tmp_path)
    store = fastzarr.LocalStore(tmp_path, read_only=True)
    with pytest.raises(ReadOnlyError, match=rf"is read only, but mode is '{re.escape(mode)}'"):
        fastzarr.open_array(store, mode=mode, path="a", shape=3)
    with pytest.raises(ReadOnlyError):
        fastzarr.create_array(store, name="new", shape=3, dtype="i4")
    with pytest.raises(ReadOnlyError):
        fastzarr.create_array(store, name="a", shape=3, dtype="i4", overwrite=True)
    assert files(tmp_path) == before


# JuliaIO/Zarr.jl#342: a read-only handle that changed the store
@pytest.mark.parametrize("zarr_format", [2, 3])
def test_a_read_only_array_refuses_before_anything_changes(zarr_format: int, tmp_path: Path) -> None:
    fastzarr.create_array(tmp_path, data=np.arange(1, 4), zarr_format=zarr_format, attributes={"a": 1})
    before = files(tmp_path)
    array = fastzarr.open_array(tmp_path, mode="r")
    changes: list[Any] = [
        lambda: array.__setitem__(..., 1),
        lambda: array.__setitem__(0, 0),
        lambda: array.__setitem__(slice(0, 0), 0),
        lambda: array.attrs.update(b=1),
        lambda: array.attrs.__setitem__("a", 2),
        lambda: array.attrs.__delitem__("a"),
        lambda: array.attrs.put({}),
        lambda: array.attrs.clear(),
        lambda: array.update_attributes({"b": 1}),
    ]
    for change in changes:
        with pytest.raises(ReadOnlyError, match="is read only; open it with mode 'r\\+' or 'a'") as caught:
            change()
        assert caught.value.kind == "read-only"
        assert isinstance(caught.value, PermissionError)
        assert isinstance(caught.value, ValueError)
    assert files(tmp_path) == before
    assert array.attrs.asdict() == {"a": 1}


# zarr-python#1977, zarr-python#150: arrays without elements; zarr-specs#379: chunks of size 0
@pytest.mark.parametrize("zarr_format", [2, 3])
@pytest.mark.parametrize("shape", [(0,), (3, 0), (0, 0, 2)])
def test_arrays_without_elements(shape: tuple[int, ...], zarr_format: int, tmp_path: Path) -> None:
    array = fastzarr.create_array(tmp_path, shape=shape, dtype="i4", zarr_format=zarr_format)
    assert array.nchunks == 0
    assert min(array.chunks) >= 1
    array[...] = 2
    array[0:0] = 5
    assert array[...].shape == shape
    out = np.empty(shape, "i4")
    array.read_into(out)
    assert len(files(tmp_path)) == (1 if zarr_format == 3 else 2)
    assert np.asarray(zarr.open_array(LocalStore(tmp_path), mode="r")[...]).shape == shape
    assert len(array) == shape[0]


# zarr-python#1976: arrays without dimensions
@pytest.mark.parametrize(("zarr_format", "key"), [(2, "0"), (3, "c")])
def test_arrays_without_dimensions(zarr_format: int, key: str, tmp_path: Path) -> None:
    array = fastzarr.create_array(tmp_path, shape=(), dtype="i4", zarr_format=zarr_format)
    for selection in ((), ..., (...,)):
        array[selection] = 5
        assert (tmp_path / key).exists()
        assert array[selection] == 5
        array[selection] = 0
        assert not (tmp_path / key).exists()
    array[()] = 7
    assert zarr.open_array(LocalStore(tmp_path), mode="r")[()] == 7
    assert (array.nchunks, array.size, array.chunks) == (1, 1, ())
    with pytest.raises(TypeError, match="len"):
        len(array)
    out = np.zeros((), "i4")
    array.read_into(out)
    assert out == 7


@pytest.mark.parametrize("zarr_format", [2, 3])
@pytest.mark.parametrize("kind", ["array", "group"])
def test_each_document_is_read_once(kind: str, zarr_format: Any) -> None:
    class Counting(fastzarr.MemoryStore):
        reads: ClassVar[list[str]] = []

        def get(self, key: str) -> Any:
            self.reads.append(key)
            return super().get(key)

    store = Counting()
    if kind == "array":
        fastzarr.create_array(store, shape=3, dtype="i4", zarr_format=zarr_format)
    else:
        fastzarr.create_group(store, zarr_format=zarr_format)
    opener = fastzarr.open_array if kind == "array" else fastzarr.open_group
    for opening in (fastzarr.open, opener):
        for mode in ("r", "r+", "a"):
            store.reads.clear()
            opening(store, mode=mode)
            assert len(store.reads) == len(set(store.reads))
