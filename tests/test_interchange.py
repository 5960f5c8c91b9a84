"""What fastzarr writes is read bit by bit by zarr-python and TensorStore, and the other way round."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorstore as ts
import zarr
from fixtures import contents
from fixtures.contents import BYTE_STRINGS, TEXTS, fixed_dtypes, sample
from oracle import DTYPES, assert_same, files, read_by_tensorstore, read_by_zarr, values
from zarr.storage import LocalStore

import fastzarr

LAYOUTS: list[tuple[tuple[int, ...], tuple[int, ...], str]] = [
    ((7, 11), (3, 5), "C"),
    ((7, 11), (3, 5), "F"),
    ((10,), (100,), "C"),
    ((4, 2, 6), (2, 1, 3), "F"),
    ((0, 3), (2, 2), "C"),
    ((), (), "C"),
]
"""Shape, chunks, order in a chunk: edge chunks, chunks beyond the shape, no elements, no dimensions."""

BLOSC = {"cname": "lz4", "clevel": 5, "blocksize": 0}
CODECS: dict[tuple[int, str], Any] = {
    (2, "none"): None,
    (2, "blosc"): {"id": "blosc", **BLOSC, "shuffle": 1},
    (2, "blosc-auto"): {"id": "blosc", **BLOSC, "shuffle": -1},
    (2, "blosc-bits"): {"id": "blosc", **BLOSC, "cname": "zstd", "shuffle": 2},
    (2, "zstd"): {"id": "zstd", "level": 3},
    (2, "zlib"): {"id": "zlib", "level": 5},
    (2, "gzip"): {"id": "gzip", "level": 1},
    (2, "lz4"): {"id": "lz4", "acceleration": 1},
    (3, "none"): None,
    (3, "blosc"): {"name": "blosc", "configuration": {**BLOSC, "typesize": 4, "shuffle": "shuffle"}},
    (3, "blosc-bits"): {"name": "blosc", "configuration": {**BLOSC, "typesize": 1, "shuffle": "bitshuffle"}},
    (3, "zstd"): {"name": "zstd", "configuration": {"level": 3, "checksum": False}},
    (3, "zstd-checksum"): {"name": "zstd", "configuration": {"level": -1, "checksum": True}},
    (3, "gzip"): {"name": "gzip", "configuration": {"level": 6}},
    (3, "crc32c"): {"name": "crc32c"},
    (3, "gzip-crc32c"): [{"name": "gzip", "configuration": {"level": 1}}, {"name": "crc32c"}],
}

each_dtype = pytest.mark.parametrize("dtype", DTYPES, ids=lambda dtype: dtype.str)
each_codec = pytest.mark.parametrize(("zarr_format", "codec"), CODECS)
each_codec_of_tensorstore = pytest.mark.parametrize(
    ("zarr_format", "codec"), [known for known in CODECS if known != (2, "lz4")]
)


def arguments(
    dtype: np.dtype[Any], zarr_format: int, codec: str, layout: tuple[Any, Any, str]
) -> dict[str, Any]:
    """Of `create_array`, for either library; in v3 the byte order is the serializer's."""
    shape, chunks, order = layout
    given = {"shape": shape, "chunks": chunks, "dtype": dtype, "zarr_format": zarr_format}
    given["compressors"] = CODECS[zarr_format, codec]
    if zarr_format == 2:
        return given | {"order": order}
    if order == "F":
        axes = list(reversed(range(len(shape))))
        given["filters"] = [{"name": "transpose", "configuration": {"order": axes}}]
    if dtype.itemsize > 1:
        endian = "big" if dtype.byteorder == ">" else "little"
        given["serializer"] = {"name": "bytes", "configuration": {"endian": endian}}
    return given


def cases(
    tmp_path: Path, dtype: np.dtype[Any], zarr_format: int, codec: str
) -> Iterator[tuple[Path, dict[str, Any], Any]]:
    for number, layout in enumerate(LAYOUTS):
        data = values(layout[0], dtype, seed=number)
        yield tmp_path / str(number), arguments(dtype, zarr_format, codec, layout), data


@each_codec
@each_dtype
def test_written_by_fastzarr(dtype: np.dtype[Any], zarr_format: int, codec: str, tmp_path: Path) -> None:
    for root, given, data in cases(tmp_path, dtype, zarr_format, codec):
        fastzarr.create_array(root, **given)[...] = data
        assert_same(read_by_zarr(root), data)
        if codec != "lz4":
            assert_same(read_by_tensorstore(root), data)
        array = fastzarr.open_array(root, mode="r")
        assert array.chunks == given["chunks"]
        assert_same(array[...], data)


@each_codec
@each_dtype
def test_written_by_zarr_python(dtype: np.dtype[Any], zarr_format: int, codec: str, tmp_path: Path) -> None:
    for root, given, data in cases(tmp_path, dtype, zarr_format, codec):
        zarr.create_array(LocalStore(root), **given)[...] = data
        assert_same(fastzarr.open_array(root, mode="r")[...], data)


@each_codec_of_tensorstore
@each_dtype
def test_written_by_tensorstore(dtype: np.dtype[Any], zarr_format: int, codec: str, tmp_path: Path) -> None:
    for root, given, data in cases(tmp_path, dtype, zarr_format, codec):
        document = fastzarr.create_array(None, **given).metadata.document
        spec = {
            "driver": f"zarr{'' if zarr_format == 2 else 3}",
            "kvstore": {"driver": "file", "path": f"{root}/", "file_io_sync": False},
            "metadata": json.loads(json.dumps(document)),
        }
        ts.open(spec, create=True).result()[...] = data
        assert_same(fastzarr.open_array(root, mode="r")[...], data)


@pytest.mark.parametrize("zarr_format", [2, 3])
@each_dtype
def test_uncompressed_files_are_the_same(dtype: np.dtype[Any], zarr_format: int, tmp_path: Path) -> None:
    """Edge chunks included, whose elements beyond the array are the fill value."""
    for root, given, data in cases(tmp_path, dtype, zarr_format, "none"):
        theirs, ours = root / "zarr-python", root / "fastzarr"
        for fill_value in (0, 1):
            given |= {"fill_value": fill_value, "overwrite": True}
            zarr.create_array(LocalStore(theirs), **given)[...] = data
            fastzarr.create_array(ours, **given)[...] = data
            assert files(ours) == files(theirs)


OTHER_TYPES: dict[str, tuple[Any, Any]] = {
    **{name: (dtype, sample(dtype)) for name, dtype in fixed_dtypes().items() if dtype.kind not in "biufc"},
    "string": ("string", contents.objects(TEXTS)),
    "bytes": ("bytes", contents.objects(BYTE_STRINGS)),
}
"""dtype and content of each data type that is no number."""

READ_BY_ZARR_3_1: dict[int, list[str]] = {
    # Nested fields and subarrays it does not open, nor `struct`, as zarr-python 3.3 writes it.
    2: [name for name in OTHER_TYPES if not name.startswith(("struct-nested", "struct-sub"))],
    3: [name for name in OTHER_TYPES if not name.startswith("struct-")],
}
MAIN_CODECS = [
    *((2, codec) for codec in ("none", "zstd", "blosc", "zlib", "gzip")),
    *((3, codec) for codec in ("none", "zstd", "blosc", "gzip", "sharded")),
]


@pytest.mark.parametrize(("zarr_format", "codec"), MAIN_CODECS)
def test_other_data_types_written_by_fastzarr(zarr_format: int, codec: str, tmp_path: Path) -> None:
    for name in READ_BY_ZARR_3_1[zarr_format]:
        if codec == "sharded" and name.startswith("V"):
            continue  # It compares inner chunks with the fill value in a way that raw bytes do not have.
        dtype, data = OTHER_TYPES[name]
        given: dict[str, Any] = {"chunks": (2, 1), "shards": (4, 2), "compressors": "auto"}
        if codec != "sharded":
            given = {"chunks": (3, 2), "compressors": CODECS[zarr_format, codec]}
        root = tmp_path / name
        array = fastzarr.create_array(root, shape=data.shape, dtype=dtype, zarr_format=zarr_format, **given)
        array[...] = data
        read = read_by_zarr(root)
        if data.dtype == object:
            assert read.tolist() == data.tolist()
        else:
            assert_same(read, data)
