"""Groups: the same calls on fastzarr and zarr-python leave the same documents and see the same nodes."""

import warnings
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
import zarr
from hypothesis import given, settings
from hypothesis import strategies as st
from oracle import assert_same, documents, files, written_by_fastzarr, written_by_zarr

import fastzarr

FORMATS = pytest.mark.parametrize("zarr_format", [2, 3])
LIBRARIES = pytest.mark.parametrize(("writer", "reader"), [(fastzarr, zarr), (zarr, fastzarr)])

pytestmark = pytest.mark.filterwarnings(
    "ignore:Consolidated metadata is currently not part:UserWarning",
    "ignore:Object at :UserWarning",
)


def seen(node: Any) -> Any:
    """What a caller sees of a node and of all below."""
    if hasattr(node, "shape"):
        return ("array", node.path, node.shape, node.attrs.asdict(), np.asarray(node[...]).tolist())
    return ("group", node.path, node.attrs.asdict(), sorted(map(str, node.keys())))


def outcome(call: Callable[[], Any]) -> Any:
    """What a call gives, or `error` where it raises."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return seen(call())
        except (ValueError, TypeError, OSError, KeyError):
            return "error"


def build(library: ModuleType, root: Any, zarr_format: Any) -> None:
    top = library.create_group(root, zarr_format=zarr_format, attributes={"title": "é", "n": [1, None]})
    deep = top.create_group("a/b/c", attributes={"level": 3})
    deep.create_array(
        "x", shape=(3, 4), chunks=(2, 2), dtype="i4", attributes={"unit": "K"}, compressors=None
    )
    deep["x"][...] = np.arange(12).reshape(3, 4)
    top["a"].create_array("y", data=np.array([1.5, np.nan]), compressors=None)
    top.require_group("a/b/empty")
    top.attrs["later"] = {"nested": True}
    top["a/b"].attrs.update(k=1)


STATES: dict[str, Callable[[ModuleType, Any, Any], object]] = {
    "absent": lambda library, store, zarr_format: None,
    "group": build,
    "array": lambda library, store, zarr_format: library.create_array(
        store, data=np.arange(3), attributes={"kept": 1}, zarr_format=zarr_format
    ),
    "below only": lambda library, store, zarr_format: library.create_group(
        store, path="other", zarr_format=zarr_format
    ),
}
MODES = ("r", "r+", "a", "w", "w-")
OPENERS: dict[str, Callable[[ModuleType, Any, Any], Any]] = {
    **{
        f"open_group {m}": lambda lib, root, f, m=m: lib.open_group(root, mode=m, zarr_format=f)
        for m in MODES
    },
    **{f"open {m}": lambda lib, root, f, m=m: lib.open(root, mode=m, zarr_format=f) for m in MODES},
    **{
        f"open {m} with shape": lambda lib, root, f, m=m: lib.open(
            root, mode=m, shape=2, dtype="i4", zarr_format=f, fill_value=7
        )
        for m in MODES
    },
    **{
        f"open_group {m} at a path": lambda lib, root, f, m=m: lib.open_group(
            root, path="a/b", mode=m, zarr_format=f, attributes={"new": 1}
        )
        for m in MODES
    },
    "open": lambda lib, root, f: lib.open(root, zarr_format=f),
    "open_group": lambda lib, root, f: lib.open_group(root, zarr_format=f),
    "group": lambda lib, root, f: lib.group(root, zarr_format=f),
    "group, overwrite": lambda lib, root, f: lib.group(root, overwrite=True, zarr_format=f),
    "create_group": lambda lib, root, f: lib.create_group(root, zarr_format=f),
    "create_group, overwrite": lambda lib, root, f: lib.create_group(root, overwrite=True, zarr_format=f),
    "create_group at a path": lambda lib, root, f: lib.create_group(root, path="p/q", zarr_format=f),
    "open_consolidated": lambda lib, root, f: lib.open_consolidated(root, zarr_format=f),
    "open_array r": lambda lib, root, f: lib.open_array(root, mode="r", zarr_format=f),
}


@FORMATS
@pytest.mark.parametrize("state", STATES)
@pytest.mark.parametrize("opener", OPENERS)
def test_openers_do_what_zarr_python_does(opener: str, state: str, zarr_format: int, tmp_path: Path) -> None:
    found = {}
    for library in (zarr, fastzarr):
        root = tmp_path / library.__name__
        root.mkdir()
        STATES[state](library, root, zarr_format)
        before = files(root)
        result = outcome(lambda: OPENERS[opener](library, root, zarr_format))  # noqa: B023
        if result == "error" and library is fastzarr:
            assert files(root) == before, "a call that fails leaves nothing behind"
        found[library.__name__] = (result, None if result == "error" else documents(files(root)))
    if (opener, state) == ("open w-", "absent"):
        assert found["zarr"] == ("error", None)  # it looks for a node instead of creating one
        assert found["fastzarr"][0] == ("group", "", {}, [])
    else:
        assert found["fastzarr"] == found["zarr"]


@FORMATS
def test_documents_are_those_of_zarr_python(zarr_format: int) -> None:
    ours = written_by_fastzarr(lambda library, store: build(library, store, zarr_format))
    theirs = written_by_zarr(lambda library, store: build(library, store, zarr_format))
    assert documents(ours) == documents(theirs)
    assert ours.keys() == theirs.keys()


@FORMATS
@LIBRARIES
@pytest.mark.parametrize("consolidated", [False, True])
def test_one_library_sees_what_the_other_wrote(
    writer: Any, reader: Any, consolidated: bool, zarr_format: int, tmp_path: Path
) -> None:
    build(writer, tmp_path, zarr_format)
    if consolidated:
        writer.consolidate_metadata(tmp_path, zarr_format=zarr_format)
    own, other = (library.open_group(tmp_path, mode="r") for library in (writer, reader))
    for depth in (0, 1, 2, None):
        expected = {path: seen(node) for path, node in own.members(max_depth=depth)}
        assert {path: seen(node) for path, node in other.members(max_depth=depth)}.keys() == expected.keys()
        assert other.nmembers(max_depth=depth) == len(expected)
    for group in ("a", "a/b", "a/b/c", "a/b/empty"):
        for names in ("keys", "array_keys", "group_keys"):
            assert set(getattr(other[group], names)()) == set(getattr(own[group], names)())
        assert dict(other[group].attrs) == dict(own[group].attrs)
    assert_same(np.asarray(other["a/b/c/x"][...]), np.arange(12, dtype="i4").reshape(3, 4))
    assert_same(np.asarray(other["a"]["y"][...]), np.array([1.5, np.nan]))


@FORMATS
def test_the_mapping_of_members(zarr_format: int) -> None:
    found = []
    for library in (zarr, fastzarr):
        group = library.create_group(store={}, zarr_format=zarr_format)
        group["n"] = np.arange(3)
        group.create_group("g/h")
        facts = [
            [name in group for name in ("n", "g", "g/h", "/g/h", "g/", "h", "missing", "n/x")],
            sorted(group),
            len(group),
            group.get("missing", 5),
            [group["g/h"].name, group["/g/h"].path, group["g"]["h"].basename, group.name, group.path],
            [node.path for node in group.array_values()],
            [node.path for node in group.group_values()],
            [node.path for node in group.require_groups("g", "new")],
        ]
        for missing in ("missing", "g/missing", "n/x"):
            with pytest.raises(KeyError):
                group[missing]
        del group["g"]
        facts.append(sorted(group))
        found.append(facts)
    assert found[0] == found[1]
    assert [node.name for node in group.values()] == ["/n", "/new"]
    assert [(name, node.name) for name, node in group.items()] == [("n", "/n"), ("new", "/new")]


@FORMATS
@pytest.mark.parametrize(
    ("shape", "dtype", "exact", "taken"),
    [
        ((4,), "i4", False, True),
        (4, "i4", True, True),
        ((4,), "i8", False, True),
        ((4,), "i8", True, False),
        ((4,), "i2", False, False),
        ((5,), "i4", False, False),
    ],
)
def test_require_array(shape: Any, dtype: str, exact: bool, taken: bool, zarr_format: int) -> None:
    for library in (zarr, fastzarr):
        group = library.create_group(store={}, zarr_format=zarr_format)
        group.create_array("a", data=np.arange(4, dtype="i4"))
        if taken:
            found = group.require_array("a", shape=shape, dtype=dtype, exact=exact)
            assert np.asarray(found[...]).tolist() == [0, 1, 2, 3]
        else:
            with pytest.raises(TypeError):
                group.require_array("a", shape=shape, dtype=dtype, exact=exact)
        assert group.require_array("new", shape=shape, dtype=dtype).dtype == dtype


@FORMATS
@pytest.mark.parametrize("kind", ["empty", "zeros", "ones", "full"])
def test_arrays_of_one_value(kind: str, zarr_format: int) -> None:
    def call(library: ModuleType, store: Any) -> None:
        group = library.create_group(store, path="g", zarr_format=zarr_format)
        fill = {"fill_value": 5} if kind == "full" else {}
        made = getattr(group, kind)(name="p/a", shape=(2, 3), chunks=(2, 2), dtype="i2", **fill)
        assert made.path == "g/p/a"
        like = getattr(group, f"{kind}_like")(name="like", data=np.ones((2, 3), "i2"), chunks=(1, 3), **fill)
        assert (like.shape, like.chunks, like.dtype) == ((2, 3), (1, 3), np.dtype("i2"))
        if kind != "empty":
            expected = np.full((2, 3), {"zeros": 0, "ones": 1, "full": 5}[kind], "i2")
            for array in (made, like):
                assert_same(np.asarray(array[...]), expected)

    ours, theirs = (documents(written(call)).keys() for written in (written_by_fastzarr, written_by_zarr))
    if zarr_format == 3:
        assert ours == theirs
    else:  # zarr-python's are in format 3 all the same
        assert not any(key.endswith("zarr.json") for key in ours)


NAMES = st.sampled_from(["a", "b", "a/b", "a/c", "a/b/c", "b/a"])
OPERATIONS = st.lists(
    st.tuples(
        st.sampled_from(
            [
                "create_group",
                "create_array",
                "require_group",
                "replace_group",
                "replace_array",
                "delete",
                "attribute",
            ]
        ),
        NAMES,
    ),
    max_size=12,
)


def apply(group: Any, operation: str, name: str) -> Any:
    given: dict[str, Any] = {"shape": 2, "dtype": "i4", "compressors": None}
    if operation == "create_group":
        return group.create_group(name)
    if operation == "create_array":
        return group.create_array(name, **given)
    if operation == "require_group":
        return group.require_group(name)
    if operation == "replace_group":
        return group.create_group(name, overwrite=True)
    if operation == "replace_array":
        return group.create_array(name, overwrite=True, **given)
    if operation == "attribute":
        group[name].attrs["set"] = name
        return group[name]
    del group[name]
    return group


@FORMATS
@settings(max_examples=60, deadline=None)
@given(operations=OPERATIONS)
def test_any_operations_leave_the_nodes_of_zarr_python(
    operations: list[tuple[str, str]], zarr_format: int
) -> None:
    """What would be put below an array is left out: zarr-python doesn't refuse all of it."""
    memory, objects = zarr.storage.MemoryStore(), {}
    theirs = zarr.create_group(memory, zarr_format=zarr_format)
    ours = fastzarr.create_group(objects, zarr_format=zarr_format)
    for operation, name in operations:
        above = [name[:end] for end in range(len(name)) if name[end] == "/"]
        if any(hasattr(ours.get(path), "shape") for path in above):
            continue
        if operation == "delete" and name not in ours:  # zarr-python does nothing
            with pytest.raises(KeyError, match=name):
                del ours[name]
            continue
        assert outcome(lambda: apply(ours, operation, name)) == outcome(  # noqa: B023
            lambda: apply(theirs, operation, name)  # noqa: B023
        ), (operation, name)
        stored = {key: buffer.to_bytes() for key, buffer in memory._store_dict.items()}
        assert documents(objects) == documents(stored), (operation, name)
    expected = {path: seen(node) for path, node in theirs.members(max_depth=None)}
    assert {path: seen(node) for path, node in ours.members(max_depth=None)} == expected
