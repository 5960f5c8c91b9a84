"""Arrays made of others, against zarr-python."""

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import zarr
from oracle import documents, read_by_zarr, written_by_fastzarr, written_by_zarr

import fastzarr

SOURCES: dict[str, dict[str, Any]] = {
    "v3": {"chunks": (2, 3), "fill_value": 7, "dimension_names": ["y", "x"]},
    "shards": {"chunks": (2, 3), "shards": (4, 6)},
    "no compressor": {
        "chunks": (2, 3),
        "compressors": None,
        "chunk_key_encoding": {"name": "v2", "separator": "/"},
    },
    "v2": {"chunks": (3, 2), "zarr_format": 2, "order": "F", "compressors": None, "fill_value": 1},
}
OPTIONS: dict[str, dict[str, Any]] = {
    "keep": {},
    "other chunks": {"chunks": (4, 6), "shards": None},
    "no data": {"write_data": False},
    "attributes": {"attributes": {"a": 1}, "name": "deep/er"},
}


ASKED = {"fill_value": None} if zarr.__version__.startswith("3.1.") else {}
"""What makes zarr-python keep the fill value."""


@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize("source", SOURCES)
def test_like_zarr_python(source: str, options: str) -> None:
    values = np.arange(88).reshape(8, 11).astype("i4")

    def call(library: Any, store: Any) -> Any:
        array = library.create_array({}, shape=values.shape, dtype="i4", **SOURCES[source])
        array[...] = values
        return library.from_array(store, data=array, **ASKED, **OPTIONS[options])

    theirs, ours = written_by_zarr(call), written_by_fastzarr(call)
    assert documents(ours) == documents(theirs)
    assert ours.keys() == theirs.keys()
    found = call(fastzarr, {})
    expected = values if OPTIONS[options].get("write_data", True) else np.full_like(values, found.fill_value)
    np.testing.assert_array_equal(found[...], expected)


@pytest.mark.parametrize(("zarr_format", "other"), [(2, 3), (3, 2)])
def test_the_other_format(tmp_path: Path, zarr_format: Any, other: Any) -> None:
    values = np.arange(12).reshape(3, 4)
    array = fastzarr.create_array({}, data=values, chunks=(2, 2), zarr_format=zarr_format)
    made = fastzarr.from_array(tmp_path, data=array, zarr_format=other)
    assert made.metadata.zarr_format == other
    assert made.chunks == (2, 2)
    np.testing.assert_array_equal(read_by_zarr(tmp_path), values)


def test_data_of_numpy_and_lists() -> None:
    for data in (np.arange(5.0), [1, 2, 3]):
        made = fastzarr.from_array({}, data=data)
        np.testing.assert_array_equal(made[...], data)
        assert made.metadata.zarr_format == 3
    store: dict[str, bytes] = {}
    fastzarr.from_array(store, data=np.arange(4), zarr_format=2, compressors=None, overwrite=True)
    assert json.loads(store[".zarray"])["compressor"] is None


def test_debug_info(capsys: pytest.CaptureFixture[str]) -> None:
    fastzarr.print_debug_info()
    text = capsys.readouterr().out
    assert re.search(rf"^fastzarr +: {fastzarr.__version__}$", text, re.MULTILINE)
    assert re.search(rf"^numpy +: {np.__version__}$", text, re.MULTILINE)
