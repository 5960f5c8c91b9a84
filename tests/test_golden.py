"""Files that an older zarr-python wrote, kept in `golden/`, read bit by bit; `golden/make.py` made them."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from oracle import assert_same, files, read_by_zarr

import fastzarr

GOLDEN = Path(__file__).with_name("golden")
NAMES = sorted(np.load(GOLDEN / "expected.npz").files)


@pytest.fixture(scope="module")
def expected() -> dict[str, np.ndarray]:
    with np.load(GOLDEN / "expected.npz") as stored:
        return {name: stored[name] for name in stored.files}


def test_every_golden_array_is_expected() -> None:
    stored = {p.parent.relative_to(GOLDEN).as_posix() for p in GOLDEN.rglob("zarr.json")}
    stored |= {p.parent.relative_to(GOLDEN).as_posix() for p in GOLDEN.rglob(".zarray")}
    assert stored == set(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_reads_bit_by_bit(name: str, expected: dict[str, np.ndarray]) -> None:
    array = fastzarr.open_array(GOLDEN / name, mode="r")
    assert_same(array[...], expected[name])
    for selection in np.ndindex(array.shape):
        assert_same(array[selection], expected[name][selection])


@pytest.mark.parametrize("name", NAMES)
def test_document_is_kept_when_attributes_change(name: str, tmp_path: Path) -> None:
    shutil.copytree(GOLDEN / name, tmp_path / "array")
    before = files(tmp_path / "array")
    array = fastzarr.open_array(tmp_path / "array", mode="r+")
    attributes = array.attrs.asdict()
    array.attrs["added"] = 1
    del array.attrs["added"]
    after = files(tmp_path / "array")
    assert {key: _content(key, data) for key, data in after.items()} == {
        key: _content(key, data) for key, data in before.items()
    }
    assert array.attrs.asdict() == attributes


@pytest.mark.parametrize("name", [name for name in NAMES if "data-types" in name or "layouts" in name])
def test_rewritten_in_place(name: str, expected: dict[str, np.ndarray], tmp_path: Path) -> None:
    """Written in the layout that is there, and read by zarr-python."""
    shutil.copytree(GOLDEN / name, tmp_path / "array")
    array = fastzarr.open_array(tmp_path / "array", mode="r+")
    reversed_content = expected[name][tuple(slice(None, None, -1) for _ in array.shape)].copy()
    array[...] = reversed_content
    assert_same(read_by_zarr(tmp_path / "array"), reversed_content)


def _content(key: str, data: bytes) -> object:
    return json.loads(data) if key.endswith(("zarr.json", ".zarray", ".zattrs")) else data
