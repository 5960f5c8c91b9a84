"""Array documents of v2 and v3, what they leave out and what they add: as reported elsewhere."""

import copy
import json
import math
from pathlib import Path
from typing import Any

import numcodecs
import numpy as np
import pytest
import tensorstore as ts
import zarr
from oracle import SAMPLES, assert_same, files, read_by_tensorstore, read_by_zarr

import fastzarr
from fastzarr.errors import MetadataError, UnknownCodecError

V2: dict[str, Any] = {
    "zarr_format": 2,
    "shape": [4],
    "chunks": [2],
    "dtype": "<i4",
    "fill_value": 0,
    "order": "C",
    "filters": None,
    "compressor": None,
    "dimension_separator": ".",
}
BYTES = {"name": "bytes", "configuration": {"endian": "little"}}
V3: dict[str, Any] = {
    "zarr_format": 3,
    "node_type": "array",
    "shape": [4],
    "data_type": "int32",
    "fill_value": 0,
    "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [2]}},
    "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}},
    "codecs": [BYTES],
    "attributes": {},
}
DTYPES = [
    *("|b1", "|i1", ">i2", "<u8", "<f2", "<f8", "<c8", ">c16"),
    *(
        sample.dtype.str if sample.dtype.names is None else json.loads(json.dumps(sample.dtype.descr))
        for sample in SAMPLES.values()
    ),
]
VLEN = {"|O": "vlen-utf8", "|O (bytes)": "vlen-bytes", "|O (JSON)": "json2"}


def stored(document: dict[str, Any], **chunks: bytes) -> dict[str, bytes]:
    key = "zarr.json" if document["zarr_format"] == 3 else ".zarray"
    return {key: json.dumps(document).encode(), **chunks}


def opened(document: dict[str, Any]) -> fastzarr.Array:
    return fastzarr.open_array(stored(document), mode="r+")


def written(root: Path, document: dict[str, Any], **chunks: bytes) -> Path:
    for key, data in stored(document, **chunks).items():
        (root / key).parent.mkdir(parents=True, exist_ok=True)
        (root / key).write_bytes(data)
    return root


# zarr-python#2271, zarr-python#3198; Unidata/netcdf-c#2063, Rarr#4, saalfeldlab/n5-zarr#62, Zarr.jl#97
@pytest.mark.parametrize("dtype", [*DTYPES, *VLEN], ids=str)
def test_null_is_kept_and_reads_as_the_default_of_every_data_type(dtype: Any) -> None:
    filters = [{"id": VLEN[dtype]}] if str(dtype) in VLEN else None
    document = V2 | {"dtype": "|O" if filters else dtype, "fill_value": None, "filters": filters}
    objects = stored(document)
    array = fastzarr.open_array(objects, mode="r+")
    assert array.fill_value is None
    missing = array[...]
    assert missing.shape == (4,)
    assert missing.tolist() == [missing.tolist()[0]] * 4 or missing.dtype.kind in "Mm"
    if missing.dtype.kind in "biufcSUVT":
        assert not missing.astype(bool).any() if missing.dtype.kind != "V" else not any(missing.tobytes())
    array.attrs["a"] = 1
    assert json.loads(objects[".zarray"]) == document
    array[:2] = missing[:2]
    assert "0" in objects, "null leaves nothing out"
    assert fastzarr.open_array(objects)[...].tolist() == missing.tolist() or missing.dtype.kind in "Mm"


# zarr-python#2792, scverse/anndata-rs#15
@pytest.mark.parametrize("fill", [0, "", None])
def test_texts_with_every_fill_that_writers_left_read_as_empty(fill: Any) -> None:
    array = opened(V2 | {"dtype": "|O", "filters": [{"id": "vlen-utf8"}], "fill_value": fill})
    assert array[...].tolist() == [""] * 4


# VirtualiZarr#1053
@pytest.mark.parametrize(
    ("codec", "dtype"), [("vlen-utf8", np.dtypes.StringDType()), ("vlen-bytes", np.dtype("O"))]
)
def test_the_filter_says_what_an_object_dtype_holds(codec: str, dtype: Any) -> None:
    array = opened(V2 | {"dtype": "|O", "filters": [{"id": codec}], "fill_value": None})
    assert array.dtype == dtype
    array[0] = "a" if codec == "vlen-utf8" else b"a"
    assert array[...].tolist()[:2] == (["a", ""] if codec == "vlen-utf8" else [b"a", b""])


# Unidata/netcdf-c#2059
def test_an_absent_fill_value_is_refused_and_not_invented() -> None:
    document = {member: value for member, value in V2.items() if member != "fill_value"}
    objects = stored(document)
    with pytest.raises(MetadataError, match=r"\.zarray: missing members: fill_value$"):
        fastzarr.open_array(objects)
    assert json.loads(objects[".zarray"]) == document


# zarr-python#2929
@pytest.mark.parametrize("document", [V2, V3], ids=["v2", "v3"])
def test_metadata_with_nan_equals_itself(document: dict[str, Any]) -> None:
    document = copy.deepcopy(document) | {"fill_value": "NaN"}
    document |= {"dtype": "<f8"} if document["zarr_format"] == 2 else {"data_type": "float64"}
    objects = stored(document)
    first, second = fastzarr.open_array(objects), fastzarr.open_array(objects)
    assert first.metadata == second.metadata
    assert first == second
    assert first.metadata != opened(document | {"fill_value": 0.0}).metadata


# zarr-python#2842, zarrs PR#147, google/tensorstore#199, z5 PR#194
def test_no_filters_are_read_as_list_and_written_as_null(tmp_path: Path) -> None:
    array = opened(V2 | {"filters": []})
    array[...] = 1
    assert array.metadata.document["filters"] == []
    for filters in ([], None, "auto", ()):
        fastzarr.create_array(tmp_path, shape=4, dtype="i4", filters=filters, zarr_format=2, overwrite=True)
        assert json.loads((tmp_path / ".zarray").read_bytes())["filters"] is None
        read_by_tensorstore(tmp_path)


# zarr-python#2647, casangi/xradio#480
@pytest.mark.parametrize(
    "compressors", ["auto", {"id": "zstd"}, numcodecs.Zstd(3), fastzarr.codecs.ZstdCodec()]
)
def test_v2_zstd_is_written_without_a_false_checksum(compressors: Any, tmp_path: Path) -> None:
    fastzarr.create_array(tmp_path, data=np.arange(4), compressors=compressors, zarr_format=2)
    compressor = json.loads((tmp_path / ".zarray").read_bytes())["compressor"]
    assert compressor.keys() == {"id", "level"}
    assert_same(read_by_tensorstore(tmp_path), np.arange(4))


# zarr-python#2647; zarr-extensions, zstd
def test_zstd_opens_with_and_without_its_members() -> None:
    for members in (
        {},
        {"level": 1},
        {"level": 1, "checksum": False},
        {"checksum": False},
        {"checksum": True},
    ):
        for document in (
            V2 | {"compressor": {"id": "zstd", **members}},
            V3 | {"codecs": [BYTES, {"name": "zstd", "configuration": members}]},
        ):
            array = opened(document)
            array[...] = 5
            assert (array[...] == 5).all()
    array = opened(V3 | {"codecs": [BYTES, {"name": "zstd", "configuration": {"level": 1}}]})
    assert array.compressors == (fastzarr.codecs.ZstdCodec(level=1, checksum=False),)


# zarr-python#2962, zarrs-python PR#94
@pytest.mark.parametrize("dtype", ["<M8[s]", "<U2", "|S3", "|V3", "<c16", [["a", "<i2"], ["b", "|u1"]]])
@pytest.mark.parametrize("shuffle", [-1, 0, 1, 2])
def test_v2_blosc_shuffles_by_the_size_of_every_element(shuffle: int, dtype: Any) -> None:
    document = V2 | {"dtype": dtype, "fill_value": None, "shape": [256], "chunks": [256]}
    document["compressor"] = {"id": "blosc", "cname": "lz4", "clevel": 5, "shuffle": shuffle, "blocksize": 0}
    objects = stored(document)
    array = fastzarr.open_array(objects, mode="r+")
    data = np.frombuffer(bytes(range(256)) * array.itemsize, np.uint8)
    data = (data[: 256 * array.itemsize] % 3 if array.dtype.kind == "U" else data).copy().view(array.dtype)
    array[...] = data
    expected = numcodecs.get_codec(document["compressor"]).encode(
        data if data.dtype.names is None else data.view("V3")
    )
    assert objects["0"] == bytes(expected)
    assert_same(fastzarr.open_array(objects)[...], data)


# zarr-python#2296
def test_members_of_others_are_kept_in_v2() -> None:
    objects = stored(V2 | {"_nczarr_array": {"dimrefs": ["/x"]}, "extra": None})
    array = fastzarr.open_array(objects, mode="r+")
    array.attrs["a"] = array[...].tolist()
    assert json.loads(objects[".zarray"]) == V2 | {"_nczarr_array": {"dimrefs": ["/x"]}, "extra": None}


# zarr-python#3523, zarr-python#3530; zarr-java PR#94, Zarr.jl PR#261
def test_unknown_members_of_v3_open_only_where_they_need_not_be_understood() -> None:
    extra = {"must_understand": False, "kind": "x"}
    objects = stored(V3 | {"extra": extra})
    fastzarr.open_array(objects, mode="r+").attrs["a"] = 1
    assert json.loads(objects["zarr.json"])["extra"] == extra
    for value in ({"must_understand": True}, {}, {"must_understand": None}, 0, "x", False, [extra]):
        with pytest.raises(MetadataError, match="extra: got"):
            opened(V3 | {"extra": value})
    with pytest.raises(UnknownCodecError, match="mystery"):
        opened(V3 | {"codecs": [BYTES, {"name": "mystery", "must_understand": False}]})


# zarr-python#2029
@pytest.mark.parametrize(
    ("encoding", "key"),
    [("default", "c/1"), ({"name": "default"}, "c/1"), ("v2", "1"), ({"name": "v2"}, "1")],
)
def test_short_chunk_key_encodings_find_the_chunks(encoding: Any, key: str, tmp_path: Path) -> None:
    document = V3 | {"chunk_key_encoding": encoding}
    root = written(tmp_path, document, **{key: np.array([7, 8], "<i4").tobytes()})
    assert fastzarr.open_array(root)[...].tolist() == [0, 0, 7, 8]
    if isinstance(encoding, dict):  # zarr-python 3.1 reads no plain names
        assert read_by_zarr(root).tolist() == [0, 0, 7, 8]


# google/tensorstore, documents without configurations
def test_what_tensorstore_leaves_out_is_read(tmp_path: Path) -> None:
    spec = {"driver": "zarr3", "kvstore": {"driver": "file", "path": f"{tmp_path}/"}, "create": True}
    ts.open(spec, dtype=ts.int16, shape=(5,)).result().write(np.arange(5, dtype="i2")).result()
    assert_same(fastzarr.open_array(tmp_path)[...], np.arange(5, dtype="i2"))


# scalableminds/webknossos#8233, zarr-java#27
@pytest.mark.parametrize("codec", ["bytes", {"name": "bytes"}, {"name": "bytes", "configuration": {}}])
def test_byte_order_may_be_left_out_only_where_there_is_none(codec: Any) -> None:
    for data_type, fill in (
        ("uint8", 0),
        ("bool", False),
        ({"name": "raw_bytes", "configuration": {"length_bytes": 3}}, "AAAA"),
    ):
        assert opened(V3 | {"codecs": [codec, "crc32c"], "data_type": data_type, "fill_value": fill})[
            ...
        ].shape == (4,)
    time = {"name": "numpy.datetime64", "configuration": {"unit": "s", "scale_factor": 1}}
    for data_type in ("int16", "complex64", time):
        fill = [0, 0] if data_type == "complex64" else 0
        with pytest.raises(MetadataError, match="codec 'bytes': endian is missing"):
            opened(V3 | {"codecs": [codec], "data_type": data_type, "fill_value": fill})


# zarr-python#4073, zarr-python PR#3417
@pytest.mark.parametrize(
    "codecs",
    [
        *[[{"name": "bytes", "configuration": {"endian": endian}}] for endian in ("little", "big")],
        [{"name": "transpose", "configuration": {"order": [0]}}, BYTES, {"name": "zstd"}],
        [
            BYTES,
            {
                "name": "blosc",
                "configuration": {"cname": "lz4", "clevel": 1, "shuffle": "noshuffle", "blocksize": 0},
            },
        ],
    ],
    ids=str,
)
def test_a_parsed_document_is_written_as_it_was(codecs: Any) -> None:
    for document in (
        V3 | {"codecs": codecs, "storage_transformers": []},
        V3 | {"codecs": codecs, "dimension_names": ["x"]},
    ):
        objects = stored(document)
        array = fastzarr.open_array(objects, mode="r+")
        assert array.metadata.to_dict() == document
        array.attrs.put({})
        assert json.loads(objects["zarr.json"]) == document
    one_byte = V3 | {"codecs": ["bytes"], "data_type": "uint8"}
    assert opened(one_byte).metadata.to_dict() == one_byte


# zarr-python#2111
def test_setting_attributes_keeps_keys_and_all_else(tmp_path: Path) -> None:
    for zarr_format, name in ((2, ".zarray"), (3, "zarr.json")):
        root = tmp_path / name
        encoding = {"name": "v2", "separator": "/"}
        array = fastzarr.create_array(
            root,
            data=np.arange(1.0, 7).reshape(2, 3),
            chunks=(1, 2),
            chunk_key_encoding=encoding,
            zarr_format=zarr_format,
        )
        before, chunks = json.loads((root / name).read_bytes()), files(root).keys()
        array.attrs["a"] = 1
        after = json.loads((root / name).read_bytes())
        assert after | {"attributes": 0} == before | {"attributes": 0}
        assert files(root).keys() == chunks
        assert_same(fastzarr.open_array(root)[...], np.arange(1.0, 7).reshape(2, 3))


# zarr-python#3280
@pytest.mark.parametrize("zarr_format", [2, 3])
def test_nan_in_attributes_is_written_and_read_as_zarr_python_does(zarr_format: int, tmp_path: Path) -> None:
    array = fastzarr.create_array(tmp_path, shape=1, dtype="i4", zarr_format=zarr_format)
    array.attrs.update({"nan": math.nan, "inf": [math.inf, -math.inf]})
    for found in (fastzarr.open_array(tmp_path).attrs, zarr.open_array(tmp_path, mode="r").attrs):
        assert math.isnan(found["nan"])
        assert found["inf"] == [math.inf, -math.inf]


# zarr-python#1308
@pytest.mark.parametrize("zarr_format", [2, 3])
def test_documents_are_utf8_without_a_mark(zarr_format: int, tmp_path: Path) -> None:
    attributes = {"Größe ☃": "𐍈", "\u2028": "\x7f\0"}
    fastzarr.create_array(tmp_path, shape=1, dtype="i4", attributes=attributes, zarr_format=zarr_format)
    for data in files(tmp_path).values():
        assert data.decode("utf-8")[0] == "{"
    assert fastzarr.open_array(tmp_path).attrs.asdict() == attributes
    assert zarr.open_array(tmp_path, mode="r").attrs.asdict() == attributes
