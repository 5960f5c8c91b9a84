"""Metadata documents, key by key, are those that zarr-python writes for the same call."""

import re
from typing import Any

import numcodecs
import numpy as np
import pytest
import zarr.codecs as zc
from oracle import DATA_TYPES, Call, documents, written_by_fastzarr, written_by_zarr

FORMATS = (2, 3)
NAN, INFINITY = float("nan"), float("inf")


def assert_same_documents(call: Call) -> None:
    theirs, ours = written_by_zarr(call), written_by_fastzarr(call)
    assert ours.keys() == theirs.keys()
    assert documents(ours) == documents(theirs)


def created(**arguments: Any) -> Call:
    return lambda library, store: library.create_array(
        store, **{"shape": (10, 11), "dtype": "f4"} | arguments
    )


@pytest.mark.parametrize("zarr_format", FORMATS)
@pytest.mark.parametrize("byte_order", ["<", ">"])
@pytest.mark.parametrize("dtype", DATA_TYPES)
def test_data_types(dtype: str, byte_order: str, zarr_format: int) -> None:
    numpy_dtype = np.dtype(dtype).newbyteorder(byte_order)
    for given in (dtype, numpy_dtype, numpy_dtype.str, numpy_dtype.type):
        assert_same_documents(created(dtype=given, zarr_format=zarr_format))


@pytest.mark.parametrize("zarr_format", FORMATS)
@pytest.mark.parametrize("dtype", ["u1", "f4", "c16"])
@pytest.mark.parametrize(
    "shape",
    [
        *[(), (0,), (1,), (0, 5), (3, 0, 2), (1, 1, 1), (7, 8, 9), (5, 5, 5, 5, 5, 5)],
        *[(1000,), (10**6,), (10**7 + 3,), (2**40,), (3, 10**6), (10**6, 3), (2**31 + 5, 2), (10**5, 10**5)],
        *[(1000, 1000), (12345, 678), (100, 100, 100), (64, 64, 16, 50), (512, 512, 64, 50)],
    ],
)
def test_chunks_chosen_for_a_shape(shape: tuple[int, ...], dtype: str, zarr_format: int) -> None:
    assert_same_documents(created(shape=shape, dtype=dtype, zarr_format=zarr_format))
    assert_same_documents(
        lambda library, store: library.create(shape, dtype=dtype, store=store, zarr_format=zarr_format)
    )


def test_chunks_chosen_for_random_shapes() -> None:
    generator = np.random.default_rng(1)
    for _ in range(100):
        shape = tuple(int(size) for size in 10 ** generator.uniform(0, 3, generator.integers(1, 5)))
        assert_same_documents(created(shape=shape, dtype=str(generator.choice(DATA_TYPES))))


@pytest.mark.parametrize("zarr_format", FORMATS)
@pytest.mark.parametrize("chunks", [(3, 4), [3, 4], (20, 20), (1, 1), (np.int64(3), 4), "auto"])
def test_chunks_given(chunks: Any, zarr_format: int) -> None:
    assert_same_documents(created(chunks=chunks, zarr_format=zarr_format))


@pytest.mark.parametrize("zarr_format", FORMATS)
@pytest.mark.parametrize("chunks", [(3, 4), (-1, 3), -1, 5, False, None])
def test_chunks_given_to_create(chunks: Any, zarr_format: int) -> None:
    assert_same_documents(
        lambda library, store: library.create((10, 11), chunks=chunks, store=store, zarr_format=zarr_format)
    )


@pytest.mark.parametrize("zarr_format", FORMATS)
def test_shape_as_one_integer_and_from_data(zarr_format: int) -> None:
    assert_same_documents(created(shape=10, chunks=3, zarr_format=zarr_format))
    data = np.arange(20, dtype="<i2").reshape(4, 5)
    assert_same_documents(
        lambda library, store: library.create_array(store, data=data, zarr_format=zarr_format)
    )


@pytest.mark.parametrize("zarr_format", FORMATS)
@pytest.mark.parametrize("order", ["C", "F", None])
def test_order(order: str | None, zarr_format: int) -> None:
    assert_same_documents(created(order=order, zarr_format=zarr_format))


@pytest.mark.parametrize(
    ("zarr_format", "encoding"),
    [
        *[(zarr_format, {"name": "v2", "separator": s}) for s in "./" for zarr_format in FORMATS],
        *[(3, {"name": "default", "separator": s}) for s in "./"],
        (3, {"name": "v2", "configuration": {"separator": "/"}}),
        *[(zarr_format, {"name": "v2"}) for zarr_format in FORMATS],
        (3, {"name": "default"}),
    ],
)
def test_chunk_key_encoding(zarr_format: int, encoding: dict[str, Any]) -> None:
    assert_same_documents(created(zarr_format=zarr_format, chunk_key_encoding=encoding))


@pytest.mark.parametrize("names", [None, ("x", "y"), ["x", None], (None, None)])
def test_dimension_names(names: Any) -> None:
    assert_same_documents(created(dimension_names=names))


@pytest.mark.parametrize("zarr_format", FORMATS)
@pytest.mark.parametrize(
    "attributes",
    [
        None,
        {},
        {"a": 1, "b": [1, 2.5, None, True], "c": {"d": "Größe ☃ 𐍈"}, "": ""},
        {"big": 2**70, "tiny": 5e-324, "minus zero": -0.0},
        {"nan": NAN, "infinities": [INFINITY, -INFINITY]},
    ],
)
def test_attributes(attributes: Any, zarr_format: int) -> None:
    assert_same_documents(created(attributes=attributes, zarr_format=zarr_format))


@pytest.mark.parametrize("zarr_format", FORMATS)
@pytest.mark.parametrize("name", ["a", "a/b/c", "/a/b", "a//b", "a/", "a\\b", "a b", "é", "a%b", "...", None])
def test_names_and_the_groups_above(name: str | None, zarr_format: int) -> None:
    assert_same_documents(created(name=name, zarr_format=zarr_format))


def test_groups_above_are_made_once() -> None:
    def two(library: Any, store: Any) -> None:
        for name in ("group/first", "group/second"):
            library.create_array(store, name=name, shape=3, dtype="i1")

    assert_same_documents(two)


FILL_VALUES: dict[str, list[Any]] = {
    "bool": [True, False, 0, 1, None, np.True_],
    "int8": [0, -1, 127, 1.0, None, True, np.int8(3), np.int64(-128)],
    "uint64": [0, 2**64 - 1, 1e3, None],
    "int64": [2**63 - 1, -(2**63), None],
    "float16": [
        0,
        1.5,
        NAN,
        INFINITY,
        -INFINITY,
        -0.0,
        65504,
        1e6,
        None,
        "NaN",
        "Infinity",
        "-Infinity",
        True,
    ],
    "float32": [0, 0.1, NAN, INFINITY, -0.0, 1e39, None, "NaN", np.float64(0.1), np.float32(0.1), 3, 2**60],
    "float64": [0.1, -0.0, NAN, 5e-324, None, 2**60, np.float32(0.1)],
    "complex64": [0, 1 + 2j, complex(NAN, INFINITY), -0.0, complex(-0.0, -0.0), None, 1.5],
    "complex128": [0, 1 + 2j, 0.1 - 0.2j, None, np.complex64(0.1)],
}


@pytest.mark.parametrize("zarr_format", FORMATS)
@pytest.mark.parametrize(
    ("dtype", "value"), [(dtype, value) for dtype, values in FILL_VALUES.items() for value in values]
)
def test_fill_values(dtype: str, value: Any, zarr_format: int) -> None:
    assert_same_documents(created(dtype=dtype, fill_value=value, zarr_format=zarr_format))


def named(compressors: Any) -> str:
    """The same in each process: zarr-python shows a set, whose order changes."""
    return re.sub(r"_tunable_attrs=\{.*?\}, ", "", repr(compressors))


@pytest.mark.parametrize("dtype", ["u1", "<f4", ">f4", "c16"])
@pytest.mark.parametrize(
    "compressors",
    [
        *[None, "auto", []],
        *[
            zc.ZstdCodec(),
            zc.ZstdCodec(level=3, checksum=True),
            zc.ZstdCodec(level=-5),
            zc.ZstdCodec(level=22),
        ],
        *[zc.GzipCodec(), zc.GzipCodec(level=9), zc.Crc32cCodec()],
        *[[zc.ZstdCodec(), zc.Crc32cCodec()], [zc.Crc32cCodec(), zc.GzipCodec()]],
        zc.BloscCodec(),
        zc.BloscCodec(cname="lz4", clevel=9, shuffle="bitshuffle"),
        zc.BloscCodec(cname="zlib", shuffle="noshuffle", blocksize=256),
        zc.BloscCodec(typesize=2, shuffle="shuffle"),
        {"name": "zstd", "configuration": {"level": 3, "checksum": False}},
        {"name": "zstd", "configuration": {"level": 3}},
        [{"name": "gzip", "configuration": {"level": 1}}],
        {"name": "crc32c"},
        {
            "name": "blosc",
            "configuration": {
                "cname": "zstd",
                "clevel": 1,
                "shuffle": "shuffle",
                "blocksize": 0,
                "typesize": 4,
            },
        },
    ],
    ids=named,
)
def test_v3_compressors(compressors: Any, dtype: str) -> None:
    assert_same_documents(created(dtype=dtype, compressors=compressors))


@pytest.mark.parametrize(
    "filters",
    [
        *[None, "auto", [], zc.TransposeCodec(order=(1, 0))],
        [zc.TransposeCodec(order=(1, 0)), zc.TransposeCodec(order=(0, 1))],
        {"name": "transpose", "configuration": {"order": [1, 0]}},
    ],
    ids=repr,
)
def test_v3_filters(filters: Any) -> None:
    assert_same_documents(created(filters=filters))


@pytest.mark.parametrize("dtype", ["u1", "<f4", ">f4", "bool"])
@pytest.mark.parametrize(
    "serializer",
    [
        *["auto", zc.BytesCodec(), zc.BytesCodec(endian="big"), zc.BytesCodec(endian="little")],
        {"name": "bytes", "configuration": {"endian": "big"}},
    ],
    ids=repr,
)
def test_v3_serializer(serializer: Any, dtype: str) -> None:
    assert_same_documents(created(dtype=dtype, serializer=serializer))


@pytest.mark.parametrize("dtype", ["u1", "<f4", ">f4"])
@pytest.mark.parametrize(
    "compressors",
    [
        *[None, "auto", numcodecs.Blosc(), numcodecs.Blosc("zstd", 5, 1, 0)],
        *[numcodecs.Blosc(shuffle=-1), numcodecs.Blosc(shuffle=2), numcodecs.Blosc(shuffle=0, blocksize=64)],
        *[numcodecs.Zstd(), numcodecs.Zstd(level=3), numcodecs.Zstd(level=3, checksum=True)],
        *[numcodecs.Zlib(), numcodecs.Zlib(5), numcodecs.GZip(), numcodecs.LZ4(), numcodecs.LZ4(5)],
        *[[numcodecs.Zstd()], {"id": "zlib", "level": 3}, {"id": "zstd"}],
        *[{"id": "zstd", "level": 1, "checksum": False}, {"id": "lz4"}, {"id": "blosc"}, {"id": "gzip"}],
    ],
    ids=repr,
)
def test_v2_compressors(compressors: Any, dtype: str) -> None:
    assert_same_documents(created(dtype=dtype, compressors=compressors, zarr_format=2))


@pytest.mark.parametrize("function", ["create", "open_array", "open"])
@pytest.mark.parametrize(
    "arguments",
    [
        *[{}, {"zarr_format": 2}, {"zarr_format": 3}, {"dtype": "i4"}, {"dtype": ">f4"}],
        *[{"dtype": ">f4", "zarr_format": 2}, {"zarr_format": 2, "compressor": None}],
        *[{"zarr_format": 2, "compressor": numcodecs.Zlib(3)}],
        *[{"zarr_format": 2, "compressor": {"id": "zlib", "level": 2}}],
        *[{"zarr_format": 2, "dimension_separator": separator} for separator in "./"],
        *[{"codecs": [zc.BytesCodec()]}, {"codecs": [zc.BytesCodec(), zc.ZstdCodec()]}],
        {
            "codecs": [
                {"name": "bytes", "configuration": {"endian": "little"}},
                {"name": "gzip", "configuration": {"level": 1}},
            ]
        },
        *[{"chunk_shape": (2, 2)}, {"chunks": 2}, {"chunks": (2, 2), "zarr_format": 2, "order": "F"}],
        *[{"chunk_shape": (2, 2), "zarr_format": 2}, {"chunks": False}, {"order": "F"}],
        *[
            {"fill_value": None},
            {"fill_value": None, "zarr_format": 2},
            {"fill_value": NAN},
            {"fill_value": 0},
        ],
        *[{"path": "a/b"}, {"path": "a/b", "zarr_format": 2}],
        *[{"attributes": {"x": 1}}, {"attributes": {"x": 1}, "zarr_format": 2}],
        *[{"dimension_names": ("a", "b")}, {"filters": None}, {"filters": None, "zarr_format": 2}],
        *[{"chunk_key_encoding": ("v2", ".")}, {"chunk_key_encoding": ("default", "/")}],
        *[{"write_empty_chunks": True}, {"config": {"order": "F"}}],
    ],
    ids=repr,
)
def test_older_keywords(arguments: dict[str, Any], function: str) -> None:
    def call(library: Any, store: Any) -> None:
        mode = {} if function == "create" else {"mode": "w"}
        getattr(library, function)(store=store, shape=(4, 5), **mode, **arguments)

    assert_same_documents(call)
