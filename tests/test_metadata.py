"""Documents that other writers may leave: what is read, what is refused, with every problem named."""

import copy
import itertools
import json
import pickle
from collections.abc import Iterator
from typing import Any

import numcodecs
import numpy as np
import pytest
import zarr
from oracle import files

import fastzarr
from fastzarr.errors import MetadataError, UnknownCodecError, ZarrError

V3: dict[str, Any] = {
    "zarr_format": 3,
    "node_type": "array",
    "shape": [4, 6],
    "data_type": "int16",
    "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [2, 3]}},
    "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}},
    "fill_value": 0,
    "codecs": [
        {"name": "bytes", "configuration": {"endian": "little"}},
        {"name": "zstd", "configuration": {"level": 0, "checksum": False}},
    ],
    "attributes": {"a": 1},
    "dimension_names": ["y", None],
    "storage_transformers": [],
}
V2: dict[str, Any] = {
    "zarr_format": 2,
    "shape": [4, 6],
    "chunks": [2, 3],
    "dtype": "<i2",
    "compressor": {"id": "zlib", "level": 1},
    "fill_value": 0,
    "order": "C",
    "filters": None,
    "dimension_separator": ".",
}


def opened(document: Any, attributes: Any = None) -> fastzarr.Array:
    version = document["zarr_format"] if isinstance(document, dict) and "zarr_format" in document else 3
    objects = {".zarray" if version == 2 else "zarr.json": json.dumps(document).encode()}
    if attributes is not None:
        objects[".zattrs"] = json.dumps(attributes).encode()
    return fastzarr.open_array(objects, mode="r+")


def v3(**members: Any) -> dict[str, Any]:
    return {**V3, **members}


def v2(**members: Any) -> dict[str, Any]:
    return {**V2, **members}


def grid(**configuration: Any) -> dict[str, Any]:
    return {"name": "regular", "configuration": configuration}


BAD: list[tuple[dict[str, Any], str]] = [
    (v3(shape=[4, -1]), r"shape: got \[4, -1\], expected a list of integers of 0 or more"),
    (v3(shape=[4, 6.0]), r"shape: got \[4, 6.0\], expected a list of integers"),
    (v3(shape=[True, 6]), r"shape: got \[True, 6\], expected a list of integers"),
    (v3(shape="4x6"), r"shape: got '4x6', expected a list of integers of 0 or more"),
    (v3(data_type="int24"), r"data_type: got 'int24', expected one of bool, int8, .*, complex128"),
    (
        v3(data_type={"name": "numpy.datetime64"}),
        r"configuration of data type 'numpy.datetime64': got None, expected unit .Y, M, .* and scale_factor",
    ),
    (v3(data_type="<f4"), r"data_type: got '<f4', expected one of bool"),
    (v3(chunk_grid={"name": "hexagonal"}), r"chunk_grid: got \{'name': 'hexagonal'\}, expected the name"),
    (
        v3(chunk_grid=grid(chunk_shape=[2])),
        r"chunk_shape: got \[2\], expected 2 sizes, one for each dimension",
    ),
    (v3(chunk_grid=grid(chunk_shape=[2, 0])), r"chunk_shape: got \[2, 0\], expected a list .* of 1 or more"),
    (v3(chunk_grid=grid()), r"chunk_shape: got None, expected a list of integers of 1 or more"),
    (
        v3(chunk_key_encoding={"name": "v3"}),
        r"chunk_key_encoding: got \{'name': 'v3'\}, expected the name 'def",
    ),
    (
        v3(chunk_key_encoding={"name": "v2", "configuration": {"separator": "-"}}),
        r"chunk_key_encoding: got separator '-', expected '.' or '/'",
    ),
    (
        v3(fill_value=None),
        r"fill_value: got None, expected an integer from -32768 to 32767 \(data type int16\)",
    ),
    (v3(fill_value=1.5), r"fill_value: got 1.5, expected an integer from -32768 to 32767"),
    (v3(fill_value=40000), r"fill_value: got 40000, expected an integer from -32768 to 32767"),
    (v3(fill_value="NaN"), r"fill_value: got 'NaN', expected an integer"),
    (v3(fill_value="hello", data_type="float32"), r"fill_value: got 'hello', expected a number, \"NaN\""),
    (
        v3(fill_value="0xZZ", data_type="float32"),
        r"fill_value: got '0xZZ', .*\"0x\" and 8 hexadecimal digits",
    ),
    (
        v3(fill_value="0x12", data_type="float64"),
        r"fill_value: got '0x12', .*\"0x\" and 16 hexadecimal digits",
    ),
    (v3(fill_value=True, data_type="float64"), r"fill_value: got True, expected a number"),
    (
        v3(fill_value=0, data_type="complex64"),
        r"fill_value: got 0, expected a list of real and imaginary part",
    ),
    (v3(fill_value=2, data_type="bool"), r"fill_value: got 2, expected true or false \(data type bool\)"),
    (v3(codecs=[]), r"codecs: got \[\], expected a list with at least one codec"),
    (
        v3(codecs=[{"configuration": {}}]),
        r"codecs: got \{'configuration': \{\}\}, expected an object with a name",
    ),
    (
        v3(codecs=[{"name": "bytes", "configuration": 1}]),
        r"configuration of codec 'bytes': got 1, expected an ob",
    ),
    (
        v3(codecs=["bytes"]),
        r"codec 'bytes': endian is missing for data type int16, expected 'little' or 'big'",
    ),
    (v3(codecs=["zstd"]), r"codecs: got \['zstd'\], expected array→array codecs, "),
    (v3(codecs=["crc32c", "bytes"]), r"codecs: got \['crc32c', 'bytes'\], expected array→array codecs, "),
    (
        v3(codecs=[{"name": "transpose", "configuration": {"order": [0]}}, V3["codecs"][0]]),
        r"codec 'transpose': order: got \[0\], expected 2 dimensions",
    ),
    (
        v3(codecs=[{"name": "transpose", "configuration": {"order": [0, 0]}}, V3["codecs"][0]]),
        r"codec 'transpose': order: got \[0, 0\], expected a permutation",
    ),
    (
        v3(codecs=[V3["codecs"][0], {"name": "zstd", "configuration": {"level": 23}}]),
        r"codec 'zstd': level: got 23, expected an integer from -131072 to 22",
    ),
    (
        v3(codecs=[V3["codecs"][0], {"name": "gzip", "configuration": {"level": 10}}]),
        r"codec 'gzip': level: got 10, expected an integer from 0 to 9",
    ),
    (
        v3(codecs=[V3["codecs"][0], {"name": "blosc", "configuration": {"cname": "lz5", "clevel": 1}}]),
        r"codec 'blosc': cname: got 'lz5', expected one of blosclz, lz4",
    ),
    (
        v3(codecs=[V3["codecs"][0], {"name": "zstd", "configuration": {"levle": 1}}]),
        r"codec 'zstd': got members \['levle'\], expected only: checksum, level",
    ),
    (v3(attributes=[1]), r"attributes: got \[1\], expected an object"),
    (
        v3(dimension_names=["x"]),
        r"dimension_names: got \['x'\], expected a list of names or nulls, 2 of them",
    ),
    (v3(dimension_names=["x", 1]), r"dimension_names: got \['x', 1\], expected a list of names or nulls"),
    (v3(storage_transformers=[{"name": "x"}]), r"storage_transformers: got .*, expected an empty list"),
    (v3(zarr_format=4), r"zarr_format: got 4, expected 3"),
    (v3(node_type="sculpture"), r"node_type: got 'sculpture', expected 'array'"),
    (v3(shape=[2**63, 6]), r"shape: got \[9223372036854775808, 6\], expected sizes of less than 2\*\*63"),
    (v2(shape=[4, 10**30]), r"shape: got \[4, 10{30}\], expected sizes of less than 2\*\*63"),
    (v2(chunks=[2**63, 1]), r"chunks: got \[9223372036854775808, 1\], expected sizes of less than 2\*\*63"),
    (
        v3(chunk_grid={"name": "regular", "configuration": {"chunk_shape": [2, 2**64]}}),
        r"chunk_shape: got \[2, 18446744073709551616\], expected sizes of less than 2\*\*63",
    ),
    (
        v3(chunk_grid={"name": "regular", "configuration": {"chunk_shape": [2**31, 2**31]}}),
        r"chunk shape: got \(2147483648, 2147483648\), expected chunks of less than 2\*\*63 bytes",
    ),
    (v2(shape=None), r"shape: got None, expected a list of integers of 0 or more"),
    (v2(chunks=[2, 0]), r"chunks: got \[2, 0\], expected a list of integers of 1 or more"),
    (v2(chunks=[2]), r"chunks: got \[2\], expected 2 sizes, one for each dimension"),
    (v2(dtype="int16"), r"dtype: got 'int16', expected a NumPy typestr such as '<f4'.*, or a list of fields"),
    (
        v2(dtype="|O"),
        r"dtype: got '\|O' without a filter that says what is stored, expected one of vlen-utf8",
    ),
    (v2(dtype="<M8[foo]"), r"dtype: got '<M8\[foo\]', expected a NumPy typestr"),
    (v2(dtype=[["a", "i4"]]), r"fields of the data type: field 0: got 'i4', expected a NumPy typestr"),
    (v2(fill_value=1.5), r"fill_value: got 1.5, expected an integer from -32768 to 32767"),
    (v2(fill_value="0x7fc00000", dtype="<f4"), r"fill_value: got '0x7fc00000', expected a number, \"NaN\", "),
    (v2(order="A"), r"order: got 'A', expected 'C' or 'F'"),
    (
        v2(filters=[{"name": "delta"}]),
        r"filters: got \[\{'name': 'delta'\}\], expected null or a list of obj",
    ),
    (v2(dimension_separator="-"), r"dimension_separator: got '-', expected '.' or '/'"),
    (v2(compressor="zlib"), r"compressor: got 'zlib', expected null or an object with an id"),
    (v2(compressor={"level": 1}), r"compressor: got \{'level': 1\}, expected null or an object with an id"),
    (
        v2(compressor={"id": "zlib", "level": 11}),
        r"codec 'numcodecs.zlib': level: got 11, expected an integer",
    ),
    (
        v2(compressor={"id": "blosc", "shuffle": 3}),
        r"codec 'blosc': shuffle: got 3, expected one of noshuffle",
    ),
]


@pytest.mark.parametrize(("document", "text"), BAD, ids=[text[:40] for _, text in BAD])
def test_bad_members_are_named_with_what_is_expected(document: dict[str, Any], text: str) -> None:
    with pytest.raises(MetadataError, match=text) as caught:
        opened(document)
    name = ".zarray" if document["zarr_format"] == 2 else "zarr.json"
    assert str(caught.value).startswith("memory://")
    assert name in str(caught.value).split(": ")[0], "the document is named"
    assert isinstance(caught.value, ValueError)
    assert caught.value.kind == "metadata"


@pytest.mark.parametrize(
    ("document", "members"),
    [
        (
            v3(shape=-1, data_type="x", chunk_grid=1, chunk_key_encoding=2, codecs=3, attributes=4, extra=5),
            ["shape", "data_type", "chunk_grid", "chunk_key_encoding", "codecs", "attributes", "extra"],
        ),
        (v3(fill_value="x", dimension_names=1, codecs=[1, 2]), ["fill_value", "dimension_names", "codecs"]),
        (
            v2(shape=-1, chunks=0, dtype="x", order="x", filters=[1], dimension_separator="x", compressor=1),
            ["shape", "chunks", "dtype", "order", "filters", "dimension_separator", "compressor"],
        ),
    ],
)
def test_all_problems_are_told_at_once(document: dict[str, Any], members: list[str]) -> None:
    with pytest.raises(MetadataError) as caught:
        opened(document)
    assert {problem.split(":")[0] for problem in caught.value.problems} == set(members)
    lines = str(caught.value).splitlines()
    assert lines[0].endswith(f": {len(lines) - 1} problems")
    assert all(line.startswith("- ") for line in lines[1:])


@pytest.mark.parametrize("document", [V3, V2], ids=["v3", "v2"])
def test_missing_members_are_listed(document: dict[str, Any]) -> None:
    required = {*document} - {"attributes", "dimension_names", "storage_transformers", "dimension_separator"}
    for member in required:
        stored = {name: value for name, value in document.items() if name != member}
        key = "zarr.json" if document is V3 else ".zarray"
        with pytest.raises(MetadataError, match=f"{key}: missing members: {member}$"):
            fastzarr.open_array({key: json.dumps(stored).encode()})
    with pytest.raises(MetadataError) as caught:
        fastzarr.open_array({"zarr.json": b'{"node_type": "array"}'})
    assert all(member in str(caught.value) for member in required - {"node_type"} if document is V3)


ODD = (
    None,
    True,
    -1,
    0,
    1.5,
    2**70,
    "",
    "x",
    [],
    {},
    [None],
    [[]],
    {"name": 5},
    {"id": "zlib"},
    {"name": "bytes"},
)


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    members = (
        value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    )
    for member, below in members:
        yield (*path, member)
        yield from places(below, (*path, member))


def replaced(document: dict[str, Any], path: tuple[Any, ...], value: Any) -> dict[str, Any]:
    changed = copy.deepcopy(document)
    target: Any = changed
    for member in path[:-1]:
        target = target[member]
    target[path[-1]] = value
    return changed


@pytest.mark.parametrize("document", [V3, V2], ids=["v3", "v2"])
def test_odd_values_anywhere_are_refused_or_read(document: dict[str, Any]) -> None:
    """Whatever stands in a document, nothing but a fastzarr error comes out."""
    key = "zarr.json" if document is V3 else ".zarray"
    refused = 0
    for path, value in itertools.product(places(document), ODD):
        objects = {key: json.dumps(replaced(document, path, value)).encode()}
        try:
            array = fastzarr.open_array(objects, mode="r")
            assert array.shape == (4, 6) or path[0] == "shape"
        except ZarrError:
            refused += 1
    assert refused > 200


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"", "got invalid JSON: Expecting value"),
        (b"{", "got invalid JSON: Expecting property name"),
        (b'{"a": 1}}', "got invalid JSON: Extra data"),
        (b"\xff\xfe\xfd", "got invalid JSON: .*decode"),
        (b"[" * 100_000, "got invalid JSON: .*recursion"),
        (b"[1]", "got list, expected an object"),
        (b"null", "got NoneType, expected an object"),
    ],
)
@pytest.mark.parametrize("key", ["zarr.json", ".zarray", ".zattrs"])
def test_invalid_json_is_refused_with_the_key(key: str, data: bytes, text: str) -> None:
    objects = {key: data}
    if key == ".zattrs":
        objects[".zarray"] = json.dumps(V2).encode()
    with pytest.raises(MetadataError, match=rf"(?s)/{key}: {text}"):
        fastzarr.open_array(objects)


# pyramids#560: chunks read as zeros when their codec is not there
@pytest.mark.parametrize(
    ("document", "name"),
    [
        (v3(codecs=[V3["codecs"][0], {"name": "lzma"}]), "lzma"),
        (v3(codecs=[{"name": "bytez"}]), "bytez"),
        (
            v3(codecs=[V3["codecs"][0], {"name": "numcodecs.nonsense", "configuration": {"level": 1}}]),
            "nonsense",
        ),
        (v3(codecs=[V3["codecs"][0], {"name": "extra", "must_understand": False}]), "extra"),
        (v2(compressor={"id": "nonsense", "level": 1}), "nonsense"),
    ],
)
def test_unknown_codecs_are_refused_when_opened(document: dict[str, Any], name: str) -> None:
    with pytest.raises(
        UnknownCodecError,
        match=rf"(got unknown )?codec '{name}'(, expected one of .*zstd|: got .* is not in numcodecs)",
    ) as caught:
        opened(document)
    assert caught.value.kind == "unknown-codec"
    assert isinstance(caught.value, ValueError)
    assert ("zarr.json" if document["zarr_format"] == 3 else ".zarray") in str(caught.value)


def test_errors_survive_pickling() -> None:
    with pytest.raises(MetadataError) as caught:
        opened(v3(shape=-1, codecs=3))
    copied = pickle.loads(pickle.dumps(caught.value))
    assert str(copied) == str(caught.value)
    assert copied.problems == caught.value.problems


# zarr-python#3523: unknown members
def test_unknown_members_with_must_understand_false_are_kept() -> None:
    extra = {"must_understand": False, "name": "remark", "configuration": {"x": [1]}}
    objects = {"zarr.json": json.dumps(v3(remark=extra)).encode()}
    array = fastzarr.open_array(objects, mode="r+")
    array.attrs["new"] = 2
    assert json.loads(objects["zarr.json"])["remark"] == extra


@pytest.mark.parametrize("value", [{"must_understand": True}, {}, {"name": "x"}, 5, "text", None, [1], False])
def test_other_unknown_members_are_refused(value: Any) -> None:
    with pytest.raises(MetadataError, match=r"remark: got .*, expected no such member, or .*must_understand"):
        opened(v3(remark=value))


# zarr-python#2296: extra members of v2, such as NCZarr's
def test_extra_members_of_v2_are_kept() -> None:
    objects = {".zarray": json.dumps(v2(_nczarr_array={"dimrefs": ["/x"]})).encode()}
    array = fastzarr.open_array(objects, mode="r+")
    array.attrs["new"] = 2
    assert json.loads(objects[".zarray"])["_nczarr_array"] == {"dimrefs": ["/x"]}


# zarr-python#2111: setting an attribute rewrote other members
@pytest.mark.parametrize(
    "document",
    [
        v3(chunk_key_encoding={"name": "v2", "configuration": {"separator": "/"}}),
        v3(chunk_key_encoding={"name": "default"}, data_type="uint8", codecs=["bytes", "crc32c"]),
        v3(codecs=[{"name": "bytes", "configuration": {"endian": "big"}}]),
        v2(dimension_separator="/", filters=[]),
        {name: value for name, value in V2.items() if name != "dimension_separator"},
    ],
)
def test_setting_an_attribute_changes_nothing_else(document: dict[str, Any]) -> None:
    key = "zarr.json" if document["zarr_format"] == 3 else ".zarray"
    objects = {key: json.dumps(document).encode()}
    array = fastzarr.open_array(objects, mode="r+")
    array[...] = 1
    array.attrs["b"] = "Größe ☃"
    after = json.loads(objects[key])
    assert after | {"attributes": None} == document | {"attributes": None}
    reopened = fastzarr.open_array(objects)
    assert (reopened[...] == 1).all()
    assert reopened.attrs["b"] == "Größe ☃"
    assert list(after) == list(document), "the order of members is kept"


# zarr-python#2842, google/tensorstore#199: an empty list of filters
def test_v2_without_filters_reads_both_forms_and_writes_null() -> None:
    assert opened(v2(filters=[])).filters == ()
    objects: dict[str, bytes] = {}
    fastzarr.create_array(objects, shape=3, dtype="i4", filters=[], zarr_format=2)
    assert json.loads(objects[".zarray"])["filters"] is None


# zarr-python#2647: v2's zstd with a checksum member
@pytest.mark.parametrize(
    "compressor", [{"id": "zstd"}, {"id": "zstd", "level": 1}, {"id": "zstd", "level": 1, "checksum": False}]
)
def test_v2_zstd_with_or_without_its_members(compressor: dict[str, Any]) -> None:
    array = opened(v2(compressor=compressor))
    array[...] = 3
    assert (array[...] == 3).all()


def test_v2_zstd_is_written_without_a_false_checksum() -> None:
    for compressors in ({"id": "zstd", "level": 1, "checksum": False}, fastzarr.codecs.ZstdCodec(level=1)):
        objects: dict[str, bytes] = {}
        fastzarr.create_array(objects, shape=3, dtype="i4", compressors=compressors, zarr_format=2)
        assert json.loads(objects[".zarray"])["compressor"] == {"id": "zstd", "level": 1}


@pytest.mark.parametrize("configuration", [{"level": 3}, {}, None])
def test_v3_zstd_without_members(configuration: Any) -> None:
    codec = {"name": "zstd"} if configuration is None else {"name": "zstd", "configuration": configuration}
    array = opened(v3(codecs=[V3["codecs"][0], codec]))
    array[...] = 3
    assert array.compressors == (fastzarr.codecs.ZstdCodec(level=3 if configuration else 0, checksum=False),)
    assert (array[...] == 3).all()


# zarr-python#2962: v3's blosc without typesize
@pytest.mark.parametrize("shuffle", ["noshuffle", "shuffle", "bitshuffle"])
def test_v3_blosc_without_typesize_takes_the_element_size(shuffle: str) -> None:
    blosc = {"cname": "lz4", "clevel": 5, "shuffle": shuffle, "blocksize": 0}
    objects = {
        "zarr.json": json.dumps(
            v3(codecs=[V3["codecs"][0], {"name": "blosc", "configuration": blosc}])
        ).encode()
    }
    array = fastzarr.open_array(objects, mode="r+")
    array[...] = np.arange(24).reshape(4, 6)
    assert objects["c/0/0"][3] == 2, "the type size in the Blosc header"
    np.testing.assert_array_equal(array[...], np.arange(24).reshape(4, 6))


@pytest.mark.parametrize("dtype", ["u1", "<i2", "<f8"])
@pytest.mark.parametrize("shuffle", [0, 1, 2, -1])
def test_v2_blosc_writes_the_bytes_of_numcodecs(shuffle: int, dtype: str) -> None:
    data = np.arange(1000, dtype=dtype)
    compressor = numcodecs.Blosc("lz4", 5, shuffle)
    objects: dict[str, bytes] = {}
    fastzarr.create_array(objects, data=data, chunks=1000, compressors=compressor, zarr_format=2)
    assert objects["0"] == bytes(compressor.encode(data))


# zarr-python#2029: keys of TensorStore's documents, read as all fill value
@pytest.mark.parametrize(
    ("encoding", "key"),
    [
        ({"name": "default"}, "c/1/1"),
        ("default", "c/1/1"),
        ({"name": "default", "configuration": {}}, "c/1/1"),
        ({"name": "default", "configuration": {"separator": "."}}, "c.1.1"),
        ({"name": "v2"}, "1.1"),
        ("v2", "1.1"),
        ({"name": "v2", "configuration": {"separator": "/"}}, "1/1"),
    ],
)
def test_chunk_key_encodings(encoding: Any, key: str) -> None:
    chunk = np.arange(6, dtype="<i2")
    document = v3(chunk_key_encoding=encoding, codecs=V3["codecs"][:1])
    objects = {"zarr.json": json.dumps(document).encode(), key: chunk.tobytes()}
    np.testing.assert_array_equal(fastzarr.open_array(objects)[2:, 3:], chunk.reshape(2, 3))


# dask/dask#7673, zarr-python#1533: v2's nested chunks not found
@pytest.mark.parametrize(("separator", "key"), [("/", "1/1"), (".", "1.1"), (None, "1.1")])
def test_v2_separator(separator: str | None, key: str) -> None:
    document = v2(compressor=None) | ({} if separator is None else {"dimension_separator": separator})
    if separator is None:
        del document["dimension_separator"]
    chunk = np.arange(6, dtype="<i2")
    objects = {".zarray": json.dumps(document).encode(), key: chunk.tobytes()}
    array = fastzarr.open_array(objects, mode="r+")
    np.testing.assert_array_equal(array[2:, 3:], chunk.reshape(2, 3))
    array[0, 0] = 5
    assert key.replace("1", "0") in objects


# scalableminds/webknossos#8233: the bytes codec without configuration
@pytest.mark.parametrize("codec", ["bytes", {"name": "bytes"}, {"name": "bytes", "configuration": {}}])
def test_bytes_codec_without_configuration_serves_one_byte(codec: Any) -> None:
    array = opened(v3(codecs=[codec, "crc32c"], data_type="uint8"))
    array[...] = 3
    assert (array[...] == 3).all()


# zarr-python#3072, gdal#13258: the letter forms of transpose
@pytest.mark.parametrize(("order", "flat"), [("C", [0, 1, 2, 6, 7, 8]), ("F", [0, 6, 1, 7, 2, 8])])
def test_transpose_letters_are_read_and_never_written(order: str, flat: list[int]) -> None:
    document = v3(codecs=[{"name": "transpose", "configuration": {"order": order}}, V3["codecs"][0]])
    objects = {"zarr.json": json.dumps(document).encode()}
    array = fastzarr.open_array(objects, mode="r+")
    array[...] = np.arange(24).reshape(4, 6)
    assert np.frombuffer(objects["c/0/0"], "<i2").tolist() == flat
    made: dict[str, bytes] = {}
    codec = {"name": "transpose", "configuration": {"order": order}}
    fastzarr.create_array(made, shape=(4, 6), dtype="i2", filters=codec)
    written = json.loads(made["zarr.json"])["codecs"][0]
    assert written["configuration"]["order"] == ([0, 1] if order == "C" else [1, 0])
    assert "order" not in json.loads(made["zarr.json"])


# zarr-python#3280: NaN in attributes
@pytest.mark.parametrize("zarr_format", [2, 3])
def test_nan_in_attributes_reads_back_as_with_zarr_python(zarr_format: int, tmp_path: Any) -> None:
    attributes = {"nan": float("nan"), "list": [float("inf"), -float("inf")]}
    fastzarr.create_array(tmp_path, shape=1, dtype="i4", attributes=attributes, zarr_format=zarr_format)
    for library in (fastzarr, zarr):
        found = library.open_array(tmp_path, mode="r").attrs.asdict()
        assert found["nan"] != found["nan"]
        assert found["list"] == attributes["list"]


# zarr-python#1308: text beyond ASCII
@pytest.mark.parametrize("zarr_format", [2, 3])
def test_documents_are_utf8(zarr_format: int, tmp_path: Any) -> None:
    text = "Größe ☃ 𐍈"
    fastzarr.create_array(tmp_path, shape=1, dtype="i4", attributes={text: text}, zarr_format=zarr_format)
    for key, data in files(tmp_path).items():
        json.loads(data.decode("utf-8")), key
    assert fastzarr.open_array(tmp_path).attrs[text] == text
    name = "zarr.json" if zarr_format == 3 else ".zattrs"
    plain = json.loads((tmp_path / name).read_bytes())
    (tmp_path / name).write_bytes(json.dumps(plain, ensure_ascii=False).encode())
    assert fastzarr.open_array(tmp_path).attrs[text] == text
