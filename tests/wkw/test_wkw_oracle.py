"""The `wkw` wheel reads what fastzarr writes, and fastzarr what the wheel writes."""

from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
import wkw_layout as layout

from fastzarr import wkw

wheel: ModuleType = pytest.importorskip("wkw")

GEOMETRIES = [(1, 1), (1, 4), (1, 32), (2, 1), (2, 2), (2, 4), (8, 1), (8, 2), (8, 4), (32, 1)]
"""Block and file lengths; with 32 × 32 a file has 1024³ voxels: below, with less in it."""

MOST = {"kernel": 1 << 15, "python": 1 << 12}
"""Voxels times channels of a case: small, for there are many. More blocks in a file are tested below."""


def their_header(dtype: str, channels: int, block_len: int, file_len: int, block_type: str) -> Any:
    number = layout.BLOCK_TYPES[block_type]
    return wheel.Header(
        np.dtype(dtype).type, channels, block_len=block_len, file_len=file_len, block_type=number
    )


def cases(dtype: str, most: int) -> list[tuple[int, int, int]]:
    limit = 255 // np.dtype(dtype).itemsize
    return [
        (channels, block_len, file_len)
        for block_len, file_len in GEOMETRIES
        for channels in (1, 2, 3, limit)
        if channels * (block_len * file_len) ** 3 <= most
    ]


@pytest.mark.parametrize("block_type", layout.BLOCK_TYPES)
@pytest.mark.parametrize("dtype", layout.DATA_TYPES)
def test_both_ways(tmp_path: Path, dtype: str, block_type: Any, way: str) -> None:
    for number, (channels, block_len, file_len) in enumerate(cases(dtype, MOST[way])):
        edge = block_len * file_len
        cube = layout.noise((channels, edge, edge, edge), dtype, number)
        ours, theirs = tmp_path / f"{number}-ours", tmp_path / f"{number}-theirs"
        array = wkw.create(
            ours,
            dtype=dtype,
            channels=channels,
            block_len=block_len,
            file_len=file_len,
            block_type=block_type,
        )
        array[:, edge : 2 * edge, 0:edge, 0:edge] = cube
        with wheel.Dataset.create(
            str(theirs), their_header(dtype, channels, block_len, file_len, block_type)
        ) as dataset:
            dataset.write((edge, 0, 0), cube)
        with wheel.Dataset.open(str(ours)) as dataset:
            np.testing.assert_array_equal(dataset.read((edge, 0, 0), (edge,) * 3), cube)
        np.testing.assert_array_equal(wkw.open(theirs, mode="r")[:, edge:], cube)
        one, other = ((root / "z0/y0/x1.wkw").read_bytes() for root in (ours, theirs))
        if block_type == "lz4":  # small blocks differ from release to release of LZ4
            np.testing.assert_array_equal(layout.decode(one), layout.decode(other))
        elif block_type == "raw":
            assert one == other
        assert (ours / "header.wkw").read_bytes() == (theirs / "header.wkw").read_bytes()


@pytest.mark.parametrize("block_type", layout.COMPRESSED)
def test_large_blocks_are_compressed_alike(tmp_path: Path, block_type: Any) -> None:
    """With the LZ4 of the wheel and ours of today: 64 KiB and more, and any size of LZ4HC."""
    slope = np.add.outer(np.add.outer(np.arange(32), np.arange(32)), np.arange(32))[None].astype("u4")
    for number, cube in enumerate((slope, slope // 9, layout.noise(slope.shape, "uint32"))):
        ours, theirs = tmp_path / f"{number}-ours", tmp_path / f"{number}-theirs"
        wkw.create(ours, dtype="u4", file_len=1, block_type=block_type)[:, :32, :32, :32] = cube
        with wheel.Dataset.create(str(theirs), their_header("uint32", 1, 32, 1, block_type)) as dataset:
            dataset.write((0, 0, 0), cube)
        assert (ours / "z0/y0/x0.wkw").read_bytes() == (theirs / "z0/y0/x0.wkw").read_bytes()


@pytest.mark.parametrize("dtype", ["uint8", "int32", "float64"])
def test_raw_files_of_1024_cubed(tmp_path: Path, dtype: str, way: str) -> None:
    """Files are as long as they must be, and hold little: no disk is filled."""
    ours, theirs = tmp_path / "ours", tmp_path / "theirs"
    cube = layout.noise((1, 40, 50, 60), dtype)
    array = wkw.create(ours, dtype=dtype)
    array[:, 1000:1040, 10:60, 900:960] = cube
    with wheel.Dataset.create(str(theirs), their_header(dtype, 1, 32, 32, "raw")) as dataset:
        dataset.write((1000, 10, 900), cube)
        np.testing.assert_array_equal(dataset.read((1000, 10, 900), (40, 50, 60)), cube)
    with wheel.Dataset.open(str(ours)) as dataset:
        np.testing.assert_array_equal(dataset.read((1000, 10, 900), (40, 50, 60)), cube)
    for root in (ours, theirs):
        files = [root / f"z0/y0/x{number}.wkw" for number in (0, 1)]
        assert {file.stat().st_size for file in files} == {16 + (np.dtype(dtype).itemsize << 30)}
        assert sum(file.stat().st_blocks for file in files) * 512 < 64 << 20
    reader = wkw.open(theirs, mode="r")
    assert reader.shape == (1, 2048, 1024, 1024)
    np.testing.assert_array_equal(reader[:, 1000:1040, 10:60, 900:960], cube)
    assert not reader[:, 500:520, 10:60, 900:960].any()


@pytest.mark.parametrize("block_type", ["raw", "lz4", "lz4hc"])
@pytest.mark.parametrize("block_len", [1, 2])
def test_files_of_32_768_blocks(tmp_path: Path, block_type: Any, block_len: int, way: str) -> None:
    edge = 32 * block_len
    cube = layout.noise((1, edge, edge, edge), "uint8")
    ours, theirs = tmp_path / "ours", tmp_path / "theirs"
    wkw.create(ours, dtype="u1", block_len=block_len, block_type=block_type)[:, :edge, :edge, :edge] = cube
    with wheel.Dataset.open(str(ours)) as dataset:
        np.testing.assert_array_equal(dataset.read((0, 0, 0), (edge,) * 3), cube)
    with wheel.Dataset.create(str(theirs), their_header("uint8", 1, block_len, 32, block_type)) as dataset:
        dataset.write((0, 0, 0), cube)
    np.testing.assert_array_equal(wkw.open(theirs)[...], cube)


@pytest.mark.parametrize("block_len", [64, 128, 256])
@pytest.mark.parametrize("block_type", layout.BLOCK_TYPES)
def test_long_blocks(tmp_path: Path, block_len: int, block_type: Any, way: str) -> None:
    """The wheel knows blocks up to 128; the format, up to 32768."""
    cube = np.zeros((1, block_len, block_len, block_len), "u1")
    cube[0, 1:50, 3:40, 5:60] = layout.noise((49, 37, 55), "uint8")
    root = tmp_path / "ours"
    array = wkw.create(root, dtype="u1", block_len=block_len, file_len=1, block_type=block_type)
    array[0, 1:50, 3:40, 5:60] = cube[0, 1:50, 3:40, 5:60]
    np.testing.assert_array_equal(layout.decode((root / "z0/y0/x0.wkw").read_bytes()), cube)
    np.testing.assert_array_equal(wkw.open(root)[...], cube)
    if block_len <= 128:
        with wheel.Dataset.open(str(root)) as dataset:
            np.testing.assert_array_equal(dataset.read((0, 0, 0), (block_len,) * 3), cube)


def test_datasets_that_the_wheel_compressed(tmp_path: Path, way: str) -> None:
    cube = layout.noise((2, 32, 16, 16), "int16")
    source = tmp_path / "raw"
    wkw.create(source, dtype="i2", channels=2, block_len=4, file_len=4)[:, :32, :16, :16] = cube
    with wheel.Dataset.open(str(source)) as dataset:
        dataset.compress(str(tmp_path / "packed"), compress_files=True).close()
    packed = wkw.open(tmp_path / "packed")
    assert packed.block_type == "lz4hc"
    np.testing.assert_array_equal(packed[...], cube)
    (tmp_path / "packed/z0/y0/x0.wkw").write_bytes((source / "z0/y0/x0.wkw").read_bytes())
    np.testing.assert_array_equal(packed[...], cube)
    np.testing.assert_array_equal(wkw.open(tmp_path / "packed", mode="r")[...], cube)


def test_raw_blocks_longer_than_lz4_takes(tmp_path: Path) -> None:
    """1024³ voxels of 2 bytes."""
    array = wkw.create(tmp_path / "a", dtype="u2", block_len=1024, file_len=1)
    assert wkw.open(tmp_path / "a").chunks == array.chunks == (1, 1024, 1024, 1024)
