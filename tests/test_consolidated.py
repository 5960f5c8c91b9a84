"""Consolidated metadata: the documents of zarr-python, no other document read, stale until written again."""

import json
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
import zarr
from oracle import documents, files

import fastzarr
from fastzarr.errors import GroupNotFoundError, MetadataError

FORMATS = pytest.mark.parametrize("zarr_format", [2, 3])

pytestmark = pytest.mark.filterwarnings("ignore:Consolidated metadata is currently not part:UserWarning")

NODES = ("a", "g", "g/b", "g/h", "g/h/c", "z")
DOCUMENTS = (".zgroup", ".zarray", ".zattrs", ".zmetadata", "zarr.json")


def build(library: ModuleType, store: Any, zarr_format: Any) -> None:
    root = library.create_group(store, zarr_format=zarr_format, attributes={"top": 1})
    root.create_group("g", attributes={"unit": "K"}).create_group("h")
    for path in ("a", "g/b", "g/h/c", "z"):
        array = root.create_array(path, data=np.arange(4, dtype="<i4"), compressors=None, chunks=(3,))
        array.attrs["path"] = path


class Reads(dict[str, bytes]):
    """A dictionary as a store, which tells the documents that were asked for."""

    asked: list[str]

    def _note(self, key: object) -> None:
        if str(key).rpartition("/")[2] in DOCUMENTS:
            self.asked.append(str(key))

    def __getitem__(self, key: str) -> bytes:
        self._note(key)
        return super().__getitem__(key)

    def get(self, key: str, default: Any = None) -> Any:
        self._note(key)
        return super().get(key, default)


@FORMATS
@pytest.mark.parametrize("path", [None, "g"])
def test_the_documents_are_those_of_zarr_python(path: str | None, zarr_format: Any, tmp_path: Path) -> None:
    for library in (zarr, fastzarr):
        root = tmp_path / library.__name__
        build(library, root, zarr_format)
        group = library.consolidate_metadata(root, path=path, zarr_format=zarr_format)
        assert group.metadata.consolidated_metadata is not None
    ours, theirs = (
        {key: json.loads(data) for key, data in files(tmp_path / name).items() if key.endswith(DOCUMENTS)}
        for name in ("fastzarr", "zarr")
    )
    for key in (key for key in theirs if key.endswith(".zmetadata")):
        for document in theirs[key]["metadata"].values():
            document.pop("consolidated_metadata", None)  # of v3, in v2's documents
    assert ours == theirs


@FORMATS
def test_nothing_is_read_but_the_consolidated_documents(zarr_format: Any) -> None:
    objects = Reads()
    objects.asked = []
    build(fastzarr, objects, zarr_format)
    fastzarr.consolidate_metadata(objects, zarr_format=zarr_format)
    root = fastzarr.open_consolidated(objects, mode="r", zarr_format=zarr_format)
    assert root.metadata.consolidated_metadata is not None
    objects.asked.clear()
    assert [path for path, _ in root.members(max_depth=None)] == list(NODES)
    assert root["g/h/c"].attrs["path"] == root["g"]["h"]["c"].attrs["path"] == "g/h/c"
    assert [*root["g"].array_keys(), *root["g"].group_keys()] == ["b", "h"]
    assert "missing" not in root and "g/h/c" in root and len(root["g"]) == 2
    assert "c (4,) int32" in str(root.tree())
    np.testing.assert_array_equal(root["g/b"][...], np.arange(4))
    assert objects.asked == []


@FORMATS
@pytest.mark.parametrize("use", [None, True, False])
@pytest.mark.parametrize("there", [True, False])
def test_use_consolidated(there: bool, use: bool | None, zarr_format: Any, tmp_path: Path) -> None:
    """What each of its values shows of a node that is not in the consolidated metadata."""
    shown = {}
    for library in (zarr, fastzarr):
        root = tmp_path / library.__name__
        build(library, root, zarr_format)
        if there:
            library.consolidate_metadata(root, zarr_format=zarr_format)
        library.create_array(root, name="late", data=np.arange(2), zarr_format=zarr_format)
        try:
            group = library.open_group(root, mode="r", zarr_format=zarr_format, use_consolidated=use)
        except ValueError:
            shown[library] = "error"
        else:
            shown[library] = (sorted(group), group.metadata.consolidated_metadata is not None)
    assert shown[fastzarr] == shown[zarr]
    assert (shown[fastzarr] == "error") == (use is True and not there)


@FORMATS
def test_a_name_of_its_own_for_the_document_of_v2(zarr_format: Any, tmp_path: Path) -> None:
    build(fastzarr, tmp_path, zarr_format)
    fastzarr.consolidate_metadata(tmp_path)
    if zarr_format == 2:
        (tmp_path / ".zmetadata").rename(tmp_path / ".other")
        with pytest.raises(MetadataError, match="none found"):
            fastzarr.open_consolidated(tmp_path)
        for library in (zarr, fastzarr):
            group = library.open_group(tmp_path, mode="r", use_consolidated=".other", zarr_format=2)
            assert group.nmembers(max_depth=None) == len(NODES)


@FORMATS
@pytest.mark.parametrize(
    "change", ["create", "delete", "attributes of the group", "attributes below", "resize"]
)
def test_what_changes_afterwards(change: str, zarr_format: Any, tmp_path: Path) -> None:
    """Handles and documents after a change by a handle that has consolidated metadata."""
    seen = {}
    for library in (zarr, fastzarr):
        root = tmp_path / library.__name__
        build(library, root, zarr_format)
        library.consolidate_metadata(root, zarr_format=zarr_format)
        group = library.open_group(root, mode="r+", zarr_format=zarr_format)
        if change == "create":
            group.create_array("new", data=np.arange(2))
        elif change == "delete":
            del group["g"]
        elif change == "attributes of the group":
            group.attrs["more"] = 2
        elif change == "attributes below":
            group["g/b"].attrs["more"] = 2
        else:
            group["g/b"].resize((2,))
        facts = []
        for use in (True, False):
            again = library.open_group(root, mode="r", zarr_format=zarr_format, use_consolidated=use)
            facts.append(
                {
                    path: (node.attrs.asdict(), getattr(node, "shape", None))
                    for path, node in again.members(max_depth=None)
                }
            )
            facts.append(again.attrs.asdict())
        seen[library] = (sorted(group), facts)
    assert seen[fastzarr] == seen[zarr]


@FORMATS
def test_consolidating_again_tells_what_is_there(zarr_format: Any, tmp_path: Path) -> None:
    build(fastzarr, tmp_path, zarr_format)
    fastzarr.consolidate_metadata(tmp_path)
    truth = fastzarr.open_group(tmp_path, use_consolidated=False)
    truth["g/b"].resize(1)
    truth["g"].attrs["unit"] = "°C"
    del truth["g/h"]
    fastzarr.consolidate_metadata(tmp_path)
    for library in (zarr, fastzarr):
        group = library.open_consolidated(tmp_path, mode="r")
        assert {path for path, _ in group.members(max_depth=None)} == {"a", "g", "g/b", "z"}
        assert group["g/b"].shape == (1,)
        assert group["g"].attrs["unit"] == "°C"


@FORMATS
@pytest.mark.parametrize("at", ["absent", "array"])
def test_only_groups_are_consolidated(at: str, zarr_format: Any, tmp_path: Path) -> None:
    if at == "array":
        fastzarr.create_array(tmp_path, data=np.arange(2), zarr_format=zarr_format)
    before = files(tmp_path)
    with pytest.raises(GroupNotFoundError):
        fastzarr.consolidate_metadata(tmp_path)
    assert files(tmp_path) == before


@FORMATS
def test_no_other_write_has_the_key(zarr_format: Any, tmp_path: Path) -> None:
    build(fastzarr, tmp_path, zarr_format)
    assert not (tmp_path / ".zmetadata").exists()
    assert not any("consolidated_metadata" in text for text in documents(files(tmp_path)).values())
