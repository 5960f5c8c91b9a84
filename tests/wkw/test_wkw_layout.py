"""The second description of the format, on which the other tests lean, agrees with the `wkw` wheel."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import wkw_layout as layout

RAW_U8 = bytes.fromhex("574b5701130101010000000000000000")
LZ4_U32 = bytes.fromhex("574b5701130203040000000000000000")
LZ4HC_U32 = bytes.fromhex("574b5701130303040000000000000000")
RAMP_U16 = bytes.fromhex(
    "574b5701110102021000000000000000 0000400010005000 0100410011005100 8000c0009000d000 8100c1009100d100"
    "2000600030007000"
)
THREE_CHANNELS = bytes.fromhex("574b5701010101031000000000000000 000810 040c14 020a12 060e16")


def test_headers() -> None:
    assert layout.header("uint8", block_len=8, file_len=2) == RAW_U8
    assert layout.header("uint32", block_len=8, file_len=2, block_type="lz4") == LZ4_U32
    assert layout.header("uint32", block_len=8, file_len=2, block_type="lz4hc") == LZ4HC_U32
    assert layout.header("uint8")[4] == 0x55


@pytest.mark.parametrize(
    ("position", "number"),
    [
        *[((1, 0, 0), 1), ((0, 1, 0), 2), ((0, 0, 1), 4), ((2, 0, 0), 8)],
        *[((29, 20, 3), 13029), ((23, 20, 3), 12525)],
    ],
)
def test_numbers_of_blocks(position: tuple[int, int, int], number: int) -> None:
    assert layout.morton(*position) == number
    assert layout.positions(32)[number] == position


def ramp() -> layout.Volume:
    return np.arange(256, dtype="u2").reshape(1, 4, 4, 16)[..., :4]


def channels() -> layout.Volume:
    return np.arange(24, dtype="u1").reshape(3, 2, 2, 2)


def test_files() -> None:
    for cube, start in ((ramp(), RAMP_U16), (channels(), THREE_CHANNELS)):
        data = layout.encode(cube, block_len=2, block_type="raw")
        assert data.startswith(start)
        assert len(data) == 16 + cube.nbytes
        np.testing.assert_array_equal(layout.decode(data), cube)


@pytest.mark.parametrize("block_type", layout.BLOCK_TYPES)
@pytest.mark.parametrize("dtype", layout.VOXEL_TYPES)
def test_the_wheel_reads_it_and_it_reads_the_wheel(tmp_path: Path, dtype: Any, block_type: str) -> None:
    wkw = pytest.importorskip("wkw")
    volume = layout.noise((2, 8, 16, 8), dtype)
    stored = layout.write(
        tmp_path / "ours", volume, block_len=2, file_len=4, block_type=block_type, missing=[(0, 1, 0)]
    )
    with wkw.Dataset.open(str(tmp_path / "ours")) as ours:
        np.testing.assert_array_equal(ours.read((0, 0, 0), (8, 16, 8)), stored)
    head = wkw.Header(
        np.dtype(dtype).type, 2, block_len=2, file_len=4, block_type=layout.BLOCK_TYPES[block_type]
    )
    with wkw.Dataset.create(str(tmp_path / "theirs"), head) as theirs:
        theirs.write((0, 0, 0), volume)
    np.testing.assert_array_equal(layout.read(tmp_path / "theirs", volume.shape), volume)
    layout.write(tmp_path / "whole", volume, block_len=2, file_len=4, block_type=block_type)
    same = ["header.wkw"]
    if block_type != "lz4":  # whose small blocks differ from release to release of LZ4
        same += ["z0/y0/x0.wkw", "z0/y1/x0.wkw"]
    for name in same:
        assert (tmp_path / "whole" / name).read_bytes() == (tmp_path / "theirs" / name).read_bytes()
