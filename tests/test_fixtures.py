"""Arrays that releases of zarr-python wrote, read bit by bit; the scripts in `fixtures/` made them.

A fixture is one data type with one codec, layout or fill value; a test takes all data types of one.
"""

import json
import re
from collections import defaultdict
from collections.abc import Callable
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fixtures.archive import to_json, unpack
from fixtures.contents import objects, sample
from numpy.typing import NDArray
from oracle import assert_same, documents

import fastzarr
from fastzarr.errors import MetadataError

FIXTURES = Path(__file__).with_name("fixtures")
RELEASES = ("zarr-2.18", "zarr-3.4")

NOT_READ: dict[str, tuple[type[Exception], str]] = {
    "zarr-2.18/refused/pickle": (MetadataError, "decoding it runs what the file says"),
}
"""Start of the names of what is refused, the error and a part of its text."""

PACKAGES = {
    "zfpy": ("zarr-2.18/compressors/zfpy-", "zarr-3.4/v3/serializers/numcodecs.zfpy-"),
    "pcodec": ("zarr-2.18/compressors/pcodec", "zarr-3.4/v3/serializers/numcodecs.pcodec"),
    "msgpack": ("zarr-2.18/objects/msgpack2", "zarr-2.18/fill-values/msgpack2"),
}
"""Optional packages, and what needs them; without them the error names them."""

for package, starts in PACKAGES.items():
    if find_spec(package) is None:
        NOT_READ |= dict.fromkeys(starts, (MetadataError, package))

VERSIONED = ("blosc", "zlib", "gzip", "zstd", "bz2", "lzma", "lz4", "pcodec", "zfpy", "sharding_indexed")
"""Codecs whose bytes depend on the library's version, or may lie in any order."""

PADDED = ("zarr-2.18/objects/vlen-array-", "zarr-2.18/objects/categorize/")
"""Padded beyond the array's edge with the number 0, which is not of the data type."""

METADATA = ("zarr.json", ".zarray", ".zattrs", ".zgroup", ".zmetadata")


@cache
def release(name: str) -> tuple[dict[str, NDArray[Any] | None], dict[str, dict[str, bytes]]]:
    return unpack(FIXTURES / f"{name}.tar.xz")


def groups() -> dict[str, list[str]]:
    """Names of the fixtures by all but the last part, which is mostly the data type."""
    found = defaultdict(list)
    for name in RELEASES:
        for case in release(name)[0]:
            found[f"{name}/{case.rpartition('/')[0]}"].append(f"{name}/{case}")
    return found


def fixture(name: str) -> tuple[NDArray[Any] | None, dict[str, bytes]]:
    """Content, and a store of its own."""
    archive, _, case = name.partition("/")
    contents, stores = release(archive)
    return contents[case], dict(stores[case])


def path_of(name: str) -> str:
    return "top" if "/hierarchies/" in name else "a/b" if name.endswith("/layouts/path") else ""


def refusal(name: str) -> tuple[type[Exception], str] | None:
    return next((error for start, error in NOT_READ.items() if name.startswith(start)), None)


def check_each(names: list[str], check: Callable[[str], None]) -> None:
    """Check them all, then fail with all that failed."""
    failures = []
    for name in names:
        if refusal(name) is None:
            try:
                check(name)
            except Exception as error:
                failures.append(f"{name}: {type(error).__name__}: {error}")
    assert not failures, f"{len(failures)} of {len(names)} failed\n" + "\n".join(failures[:10])


def assert_same_elements(found: Any, expected: NDArray[Any]) -> None:
    if expected.dtype == object:
        if not expected.shape:
            found = objects([found], ())
        assert json.dumps(to_json(found)) == json.dumps(to_json(expected))
    else:
        assert_same(found, expected)


each_group = pytest.mark.parametrize("names", groups().values(), ids=groups())


@each_group
def test_reads_bit_by_bit(names: list[str]) -> None:
    check_each(names, check_read)


def check_read(name: str) -> None:
    content, store = fixture(name)
    assert content is not None
    array = fastzarr.open_array(store, path=path_of(name), mode="r")
    assert_same_elements(array[...], content)
    for axis, size in enumerate(content.shape):
        for part in (slice(1, size - 1), slice(0, None, 2), size - 1):
            if size:
                selection = (slice(None),) * axis + (part,)
                assert_same_elements(array[selection], np.asarray(content[selection]))


@each_group
def test_written_as_it_was(names: list[str]) -> None:
    check_each(names, check_written)


def check_written(name: str) -> None:
    """With its chunks written anew: documents and keys stay, bytes too where codecs leave no choice."""
    content, store = fixture(name)
    assert content is not None
    path = path_of(name)
    before = {key: data for key, data in store.items() if key.startswith(path)}
    chunks = {key: data for key, data in before.items() if key.rpartition("/")[2] not in METADATA}
    for key in chunks:
        del store[key]
    described = json.dumps(documents(before))
    array = fastzarr.open_array(store, path=path, mode="r")
    with_empty = "sharding_indexed" not in described and len(chunks) == array.nchunks
    array = fastzarr.open_array(store, path=path, mode="r+", config={"write_empty_chunks": with_empty})
    array[...] = content
    array.attrs["added"] = 1
    del array.attrs["added"]
    assert_same_elements(fastzarr.open_array(store, path=path, mode="r")[...], content)
    after = {key: bytes(data) for key, data in store.items() if key.startswith(path)}
    assert documents(after) == documents(before)
    # No chunk is left out where there is no fill value to stand for it.
    keeps_all = array.metadata.fill_value is None and after.keys() > before.keys()
    assert after.keys() == before.keys() or keeps_all
    if not name.startswith(PADDED) and not any(codec in described for codec in VERSIONED):
        assert {key: after[key] for key in chunks} == chunks


@pytest.mark.parametrize(("start", "error", "text"), [(start, *error) for start, error in NOT_READ.items()])
def test_refused(start: str, error: type[Exception], text: str) -> None:
    names = [name for group in groups().values() for name in group if name.startswith(start)]
    assert names
    for name in names:
        with pytest.raises(error, match=re.escape(text)):
            fastzarr.open_array(fixture(name)[1], path=path_of(name), mode="r")


@each_group
def test_described_anew(names: list[str]) -> None:
    check_each(names, check_described)


def check_described(name: str) -> None:
    """An array made like it has its document, but for members that may be left out."""
    _, store = fixture(name)
    path = path_of(name)
    array = fastzarr.open_array(store, path=path, mode="r")
    made: dict[str, bytes] = {}
    again = fastzarr.empty_like(array, store=made)
    key = "zarr.json" if array.metadata.zarr_format == 3 else ".zarray"
    theirs, ours = json.loads(store[f"{path}/{key}".lstrip("/")]), json.loads(made[key])
    # Neither keys nor names and attributes are a matter of being alike, and configurations are completed.
    skipped = {"chunk_key_encoding", "dimension_separator", "dimension_names", "attributes", "codecs"}
    if "/objects/" in name:
        skipped.add("fill_value")  # The number 0, whatever the objects are.
    if name.endswith("/aligned-struct"):
        skipped.add("dtype")  # Its gap has no name there.
    for document in (theirs, ours):
        if (document.get("compressor") or {}).get("checksum") is False:
            del document["compressor"]["checksum"]
    assert _text(ours, skipped) == _text(theirs, skipped)
    if array.metadata.zarr_format == 3:
        assert (again.filters, again.serializer) == (array.filters, array.serializer)
        assert again.compressors == array.compressors


@pytest.mark.parametrize("start", ["zarr-2.18/", "zarr-3.4/v2/", "zarr-3.4/v3/"])
@pytest.mark.parametrize("use_consolidated", [None, True, False])
def test_hierarchies(start: str, use_consolidated: bool | None) -> None:
    for kind in ("plain", "consolidated"):
        if kind == "plain" and use_consolidated:
            continue
        store = fixture(f"{start}hierarchies/{kind}")[1]
        contents = {"top": sample("<i4"), "a/one": sample("f8"), "a/b/two": sample("U5")}
        root = fastzarr.open_group(store, mode="r", use_consolidated=use_consolidated)
        members = dict(root.members(max_depth=None))
        assert members.keys() == {"a", "a/b", "empty", *contents}
        assert dict(root.attrs) == {"title": "é"}
        assert dict(members["a/b"].attrs) == {"n": 1}
        assert list(root["empty"]) == []
        for path, content in contents.items():
            assert_same(members[path][...], content)
            assert dict(members[path].attrs) == {"path": path}


@pytest.mark.parametrize("start", ["zarr-2.18/", "zarr-3.4/v2/", "zarr-3.4/v3/"])
def test_consolidated_as_it_was(start: str) -> None:
    """From the plain hierarchy, what zarr-python made of it."""
    plain, consolidated = (fixture(f"{start}hierarchies/{kind}")[1] for kind in ("plain", "consolidated"))
    fastzarr.consolidate_metadata(plain)
    assert plain.keys() == consolidated.keys()
    assert _documents_of_nodes(plain) == _documents_of_nodes(consolidated)


def _documents_of_nodes(store: dict[str, bytes]) -> dict[str, Any]:
    """What is consolidated; of v2, where releases differ, without what says nothing."""
    if ".zmetadata" not in store:
        found = json.loads(store["zarr.json"])
        assert found["consolidated_metadata"].keys() == {"kind", "must_understand", "metadata"}
        return found
    found = json.loads(store[".zmetadata"])["metadata"]
    for document in found.values():
        document.pop("consolidated_metadata", None)
    return {key: document for key, document in found.items() if document}


@pytest.mark.parametrize("name", RELEASES)
def test_every_array_is_there(name: str) -> None:
    contents, stores = release(name)
    made_with = json.loads((FIXTURES / f"{name}.json").read_text(encoding="utf-8"))
    assert len(contents) == len(stores) == made_with["arrays"]
    assert not contents.keys() & made_with["not_made"].keys()
    assert all(stores.values())


def _text(document: dict[str, Any], skipped: set[str]) -> str:
    kept = {name: member for name, member in document.items() if name not in skipped}
    return json.dumps(kept, sort_keys=True)
