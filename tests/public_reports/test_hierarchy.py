"""Groups, consolidated metadata and read-only handles: as reported elsewhere."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import zarr
from oracle import assert_same, files

import fastzarr
from fastzarr.errors import ContainsArrayError, MetadataError, ReadOnlyError

FORMATS = pytest.mark.parametrize("zarr_format", [2, 3])
TREE = ("a/x", "B/y", "a/z", "A/x", "b/y/deep", "a-b/x", "a.b")
"""Arrays whose groups are not one behind the other when sorted, or differ in case only."""


def write_tree(root: Path, zarr_format: Any) -> None:
    fastzarr.create_group(root, zarr_format=zarr_format)
    for number, path in enumerate(TREE):
        data = np.full(3, number)
        fastzarr.create_array(root, name=path, data=data, zarr_format=zarr_format, attributes={"path": path})


def shuffle_consolidated(root: Path, zarr_format: int) -> None:
    """The nodes of different subtrees in turn, as other writers have them."""
    path = root / (".zmetadata" if zarr_format == 2 else "zarr.json")
    document = json.loads(path.read_text())
    holder = document if zarr_format == 2 else document["consolidated_metadata"]
    keys = sorted(holder["metadata"], key=lambda key: (key.count("/"), key[::-1]))
    holder["metadata"] = {key: holder["metadata"][key] for key in keys[::2] + keys[1::2]}
    path.write_text(json.dumps(document))


# zarr-python#4227
@FORMATS
@pytest.mark.parametrize("consolidated", [True, False])
@pytest.mark.parametrize("writer", [fastzarr, zarr])
@pytest.mark.filterwarnings("ignore:Consolidated metadata is currently not part:UserWarning")
def test_every_node_of_interleaved_subtrees_is_reachable(
    writer: Any, consolidated: bool, zarr_format: Any, tmp_path: Path
) -> None:
    write_tree(tmp_path, zarr_format)
    writer.consolidate_metadata(str(tmp_path), zarr_format=zarr_format)
    shuffle_consolidated(tmp_path, zarr_format)
    root = fastzarr.open_group(tmp_path, mode="r", use_consolidated=consolidated)
    members = dict(root.members(max_depth=None))
    groups = {"a", "A", "B", "b", "b/y", "a-b"}
    assert set(members) == {*TREE, *groups}
    assert root.nmembers(max_depth=None) == len(members)
    for number, path in enumerate(TREE):
        for array in (root[path], members[path]):
            assert array.attrs["path"] == path
            assert_same(array[...], np.full(3, number))
        assert path in root
        holder, _, name = path.rpartition("/")
        if holder:
            assert name in set(root[holder])
    assert {name for name, _ in root.members()} == {"a", "A", "B", "b", "a-b", "a.b"}


# zarr-python#2694, #2695, #2921, #3287, #3535
@FORMATS
def test_consolidated_metadata_tells_what_is_there(zarr_format: Any, tmp_path: Path) -> None:
    key = ".zmetadata" if zarr_format == 2 else "zarr.json"

    def consolidated() -> set[str] | None:
        if not (tmp_path / key).exists():
            return None
        document = json.loads((tmp_path / key).read_text())
        holder = document if zarr_format == 2 else document.get("consolidated_metadata")
        if zarr_format == 3 and "consolidated_metadata" not in document:
            return None
        return {name.removesuffix("/.zarray") for name in holder["metadata"] if ".zattrs" not in name}

    root = fastzarr.create_group(tmp_path, zarr_format=zarr_format)
    root.create_array("a", data=np.arange(3))
    root.attrs["x"] = 1
    assert consolidated() is None, "nothing is consolidated that nobody asked for"
    root.create_group("g").create_array("deep", data=np.arange(3))
    root = fastzarr.consolidate_metadata(tmp_path)
    assert (root.nmembers(), root.nmembers(max_depth=None)) == (2, 3)
    fastzarr.create_array(tmp_path, name="late", data=np.arange(3), zarr_format=zarr_format)
    truth = fastzarr.open_group(tmp_path, mode="r+", use_consolidated=False)
    assert "late" in truth
    assert "late" not in fastzarr.open_consolidated(tmp_path)
    del truth["a"]
    fastzarr.consolidate_metadata(tmp_path)
    for opened in (fastzarr.open_group(tmp_path, mode="r"), zarr.open_group(tmp_path, mode="r")):
        assert set(opened) == {"g", "late"}
    assert "a" not in (consolidated() or ())
    del truth["g"], truth["late"]
    fastzarr.consolidate_metadata(tmp_path)
    opened = fastzarr.open_consolidated(tmp_path)
    assert list(opened.members(max_depth=None)) == []
    assert opened.nmembers(max_depth=None) == 0
    assert opened.attrs["x"] == 1


# zarr-python#2694: v2's document without a node, and the null of v3
def test_empty_consolidated_documents(tmp_path: Path) -> None:
    fastzarr.create_group(tmp_path / "v2", zarr_format=2)
    empty = {"zarr_consolidated_format": 1, "metadata": {".zgroup": {"zarr_format": 2}}}
    (tmp_path / "v2/.zmetadata").write_text(json.dumps(empty))
    assert list(fastzarr.open_group(tmp_path / "v2", mode="r")) == []
    assert list(fastzarr.open_consolidated(tmp_path / "v2")) == []
    fastzarr.create_array(tmp_path, name="v3/a", data=np.arange(3))
    path = tmp_path / "v3/zarr.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"consolidated_metadata": None}))
    assert list(fastzarr.open_group(tmp_path / "v3", mode="r")) == ["a"]
    with pytest.raises(MetadataError, match="consolidated metadata: none found"):
        fastzarr.open_consolidated(tmp_path / "v3")


# JuliaIO/Zarr.jl#342
@FORMATS
@pytest.mark.parametrize("consolidated", [True, False])
def test_a_read_only_handle_changes_nothing(consolidated: bool, zarr_format: Any, tmp_path: Path) -> None:
    write_tree(tmp_path, zarr_format)
    if consolidated:
        fastzarr.consolidate_metadata(tmp_path)
    before = files(tmp_path)
    root = fastzarr.open_group(tmp_path, mode="r")
    array = root["a/x"]
    changes: list[Any] = [
        lambda: array.resize(1),
        lambda: array.resize(0),
        lambda: array.append([1, 2]),
        lambda: array.attrs.update(x=1),
        lambda: array.__setitem__(0, 1),
        lambda: root.attrs.update(x=1),
        lambda: root.create_group("new"),
        lambda: root.create_array("new", shape=1, dtype="i4"),
        lambda: root.create_array("a/x", shape=1, dtype="i4", overwrite=True),
        lambda: root.require_group("new"),
        lambda: root.__delitem__("a"),
        lambda: fastzarr.consolidate_metadata(array.store),
    ]
    for change in changes:
        with pytest.raises(ReadOnlyError):
            change()
        assert files(tmp_path) == before


# JuliaIO/Zarr.jl#342: a copy of the metadata that is out of date leaves the store whole
@FORMATS
def test_resizing_what_was_opened_by_consolidated_metadata(zarr_format: Any, tmp_path: Path) -> None:
    root = fastzarr.create_group(tmp_path, zarr_format=zarr_format)
    root.create_array("a", data=np.arange(1, 9), chunks=2, attributes={"kept": True})
    root = fastzarr.consolidate_metadata(tmp_path)
    array = fastzarr.open_consolidated(tmp_path, mode="r+")["a"]
    array.resize(5)
    array.append([10, 11])
    expected = [1, 2, 3, 4, 5, 10, 11]
    truth = fastzarr.open_group(tmp_path, mode="r", use_consolidated=False)["a"]
    for found in (array, truth, fastzarr.open_array(tmp_path, path="a", mode="r")):
        np.testing.assert_array_equal(found[...], expected)
        assert found.attrs["kept"] is True
    fastzarr.consolidate_metadata(tmp_path)
    np.testing.assert_array_equal(fastzarr.open_consolidated(tmp_path)["a"][...], expected)
    np.testing.assert_array_equal(zarr.open_array(tmp_path, path="a", mode="r")[...], expected)


# zarr-python#2582
@FORMATS
def test_nothing_is_created_under_an_array(zarr_format: Any, tmp_path: Path) -> None:
    root = fastzarr.create_group(tmp_path, zarr_format=zarr_format)
    root.create_array("g/a", data=np.arange(3))
    before = files(tmp_path)
    for name in ("g/a/b", "g/a/b/c"):
        creations: list[Any] = [
            lambda name: root.create_group(name),
            lambda name: root.require_group(name),
            lambda name: root.create_array(name, shape=1, dtype="i4"),
            lambda name: root.create_array(name, shape=1, dtype="i4", overwrite=True),
            lambda name: root["g"].create_group(name.removeprefix("g/")),
            lambda name: fastzarr.open_group(tmp_path, path=name, mode="a"),
            lambda name: fastzarr.open_group(tmp_path, path=name, mode="w"),
            lambda name: fastzarr.create_group(tmp_path, path=name, overwrite=True),
        ]
        for create in creations:
            with pytest.raises(ContainsArrayError):
                create(name)
    assert files(tmp_path) == before
