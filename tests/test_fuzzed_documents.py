"""Documents made and mutated by hypothesis open rightly, or raise `MetadataError` with all problems.

Real documents of every data type are the start; members are replaced, removed, added and moved.
"""

import copy
import json
from collections.abc import Iterator
from typing import Any

import numcodecs
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracle import SAMPLES

import fastzarr
from fastzarr import data_types
from fastzarr.errors import ArrayNotFoundError, MetadataError

DTYPES = ["bool", "i1", ">u2", "<f2", "f4", ">c16", "string", *(sample.dtype for sample in SAMPLES.values())]
FILTERS = (
    [numcodecs.Delta("<i4")],
    [numcodecs.Shuffle(), numcodecs.CRC32()],
    [numcodecs.AsType("<f4", "<i4")],
)
OBJECTS = (numcodecs.VLenArray("<i4"), numcodecs.JSON(), numcodecs.VLenBytes())


def corpus() -> Iterator[dict[str, Any]]:
    for zarr_format, key in ((2, ".zarray"), (3, "zarr.json")):
        for dtype in DTYPES:
            objects: dict[str, bytes] = {}
            fastzarr.create_array(objects, shape=(4, 6), chunks=(2, 3), dtype=dtype, zarr_format=zarr_format)
            yield json.loads(objects[key])
    for filters in (*FILTERS, *([codec] for codec in OBJECTS)):
        dtype = object if filters[0] in OBJECTS else "<i4"
        objects = {}
        fastzarr.create_array(
            objects, shape=(4, 6), chunks=(2, 3), dtype=dtype, zarr_format=2, order="F", filters=filters
        )
        yield json.loads(objects[".zarray"])
    objects = {}
    fastzarr.create_array(
        *(objects,),
        shape=(4, 6),
        chunks=(2, 3),
        shards=(4, 6),
        dtype="f8",
        fill_value=np.nan,
        filters=[{"name": "transpose", "configuration": {"order": [1, 0]}}],
        compressors=[
            {
                "name": "blosc",
                "configuration": {"cname": "zstd", "clevel": 5, "shuffle": "shuffle", "blocksize": 0},
            },
            {"name": "crc32c"},
        ],
        dimension_names=["x", None],
        attributes={"a": [1]},
        chunk_key_encoding={"name": "v2", "separator": "/"},
    )
    yield json.loads(objects["zarr.json"])


CORPUS = list(corpus())
WORDS = [
    *data_types.names(),
    *("blosc", "zstd", "gzip", "bytes", "vlen-utf8", "vlen-bytes", "transpose", "sharding_indexed", "crc32c"),
    *("numcodecs.filters", "delta", "zlib", "json2", "vlen-array", "pickle", "regular", "default", "v2"),
    *("array", "NaN", "Infinity", "NaT", "0x7fc00000", "0xzz", "AAAA", "AAAAAAAAAAA=", "===="),
    *(
        "name",
        "id",
        "configuration",
        "must_understand",
        "fields",
        "length_bytes",
        "unit",
        "scale_factor",
        "dtype",
    ),
    *("filters", "codecs", "|O", "<i4", ">M8[ns]", "<M8[0s]", "|V0", "<U0", "|S3"),
    *("<U9999999999", "|b8", "<f16", "<i4,<i4", "(2,)i4", "<m8[0x]"),
]
"""What documents say, and what they might."""
SCALARS: Any = st.one_of(
    st.none(),
    st.booleans(),
    st.sampled_from([0, 1, -1, 2, 8, 2**31, 2**63, -(2**63), 2**64, 10**400, 0.0, -0.0, 1.5, 1e308]),
    st.floats(allow_nan=True),
    st.sampled_from(WORDS),
    st.text(max_size=4),
)
NAMES = st.sampled_from(WORDS) | st.text(max_size=3)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3),
    max_leaves=6,
)


def containers(value: Any) -> Iterator[Any]:
    """`value` and all lists and objects below it that are not empty."""
    if isinstance(value, dict | list) and value:
        yield value
        for below in value.values() if isinstance(value, dict) else value:
            yield from containers(below)


@st.composite
def mutated(draw: st.DrawFn) -> dict[str, Any]:
    document = copy.deepcopy(draw(st.sampled_from(CORPUS)))
    for _ in range(draw(st.integers(1, 3))):
        target = draw(st.sampled_from([*containers(document)]))
        place = draw(st.sampled_from(list(target) if isinstance(target, dict) else range(len(target))))
        action = draw(st.sampled_from(["replace", "replace", "remove", "add", "swap", "graft"]))
        if action == "replace":
            target[place] = draw(VALUES)
        elif action == "remove":
            del target[place]
        elif action == "add" and isinstance(target, dict):
            target[draw(st.sampled_from(WORDS))] = draw(VALUES)
        elif action == "add":
            target.insert(place, copy.deepcopy(target[place]))
        elif action == "swap" and isinstance(target, list):
            target.reverse()
        else:
            other = draw(st.sampled_from([*containers(draw(st.sampled_from(CORPUS)))]))
            target[place] = copy.deepcopy(other)
        if not document:
            break
    return document


def open_or_refuse(document: dict[str, Any]) -> bool:
    """Whether the document opened; only a `MetadataError` and an absent array are let through."""
    text = json.dumps(document)
    for key in {"zarr.json", ".zarray"} if "zarr_format" not in document else {key_of(document)}:
        try:
            array = fastzarr.open_array({key: text.encode()}, mode="r")
        except MetadataError as error:
            assert error.problems
            assert all(problem and isinstance(problem, str) for problem in error.problems)
            assert key in str(error)
            return False
        except ArrayNotFoundError:
            return False
        assert json.loads(text) == document or "NaN" in text
        assert array.ndim == len(array.chunks) == len(document["shape"])
        if array.nbytes < 10**6 and np.prod(array.chunks) * array.dtype.itemsize < 10**6:
            assert array[...].shape == tuple(document["shape"])
            stored = array.metadata.to_dict()
            assert json.dumps(stored | {"attributes": {}}) == json.dumps(document | {"attributes": {}})
    return True


def key_of(document: dict[str, Any]) -> str:
    return "zarr.json" if "chunk_grid" in document or document["zarr_format"] == 3 else ".zarray"


def test_the_real_documents_open() -> None:
    assert all(open_or_refuse(document) for document in CORPUS)


@settings(max_examples=500, derandomize=True)
@given(mutated())
def test_mutated_documents(document: dict[str, Any]) -> None:
    open_or_refuse(document)


@settings(max_examples=150, derandomize=True)
@given(st.data())
def test_made_documents(data: st.DataObject) -> None:
    """All members of a document, each real or made."""
    real = data.draw(st.sampled_from(CORPUS))
    others = [document for document in CORPUS if document.keys() >= real.keys()]
    document = {
        member: data.draw(VALUES)
        if data.draw(st.integers(0, 9)) == 0
        else data.draw(st.sampled_from(others))[member]
        for member in real
    }
    open_or_refuse(document)


@settings(max_examples=200, derandomize=True)
@given(VALUES)
def test_made_data_types(value: Any) -> None:
    for make in (data_types.from_json, lambda made: data_types.from_v2(made, [{"id": "vlen-utf8"}])):
        try:
            found = make(value)
        except MetadataError:
            continue
        assert found.parse_fill_value(found.fill_value_to_json(found.default_fill, 2), 2) is not None


@pytest.mark.parametrize(
    "document", CORPUS, ids=lambda document: str(document.get("dtype") or document.get("data_type"))[:60]
)
def test_fill_values_of_any_kind(document: dict[str, Any]) -> None:
    for fill in (
        *WORDS,
        None,
        True,
        0,
        -1,
        2**64,
        1.5,
        float("nan"),
        [],
        [0],
        [0, 0],
        [[0]],
        {},
        {"a": 0},
        "é",
        "\ud800",
    ):
        open_or_refuse(document | {"fill_value": fill})
