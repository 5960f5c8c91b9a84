"""Stored bytes are those that the `wkw` wheel 1.1.24 wrote, both ways; headers survive the round trip."""

import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import wkw_layout as layout

from fastzarr import wkw

RAW_U8 = bytes.fromhex("574b5701130101010000000000000000")
LZ4_U32 = bytes.fromhex("574b5701130203040000000000000000")
LZ4HC_U32 = bytes.fromhex("574b5701130303040000000000000000")
LZ4_U32_FILE = bytes.fromhex("574b5701130203045000000000000000")
NOISE = 0x1859 - 0x1050
"""Bytes of a block of noise in that file."""
RAMP_U16 = bytes.fromhex(
    "574b5701110102021000000000000000 0000400010005000 0100410011005100 8000c0009000d000 8100c1009100d100"
    "2000600030007000"
)
THREE_CHANNELS = bytes.fromhex("574b5701010101031000000000000000 000810 040c14 020a12 060e16")

CUBES: dict[str, tuple[Any, bytes, dict[str, Any]]] = {
    "ramp": (
        np.arange(256, dtype="u2").reshape(1, 4, 4, 16)[..., :4],
        RAMP_U16,
        {"dtype": "u2", "block_len": 2, "file_len": 2},
    ),
    "channels": (
        np.arange(24, dtype="u1").reshape(3, 2, 2, 2),
        THREE_CHANNELS,
        {"dtype": "u1", "channels": 3, "block_len": 2, "file_len": 1},
    ),
}


@pytest.mark.parametrize("name", CUBES)
def test_raw_files(tmp_path: Path, name: str, way: str) -> None:
    cube, start, arguments = CUBES[name]
    array = wkw.create(tmp_path / "made", **arguments)
    array[:, : cube.shape[1], : cube.shape[2], : cube.shape[3]] = cube
    data = (tmp_path / "made/z0/y0/x0.wkw").read_bytes()
    assert data[: len(start)] == start
    assert len(data) == 16 + cube.nbytes
    np.testing.assert_array_equal(wkw.open(tmp_path / "made", mode="r")[...], cube)


@pytest.mark.parametrize("name", CUBES)
def test_raw_files_that_were_stored(tmp_path: Path, name: str, way: str) -> None:
    """The bytes of the wheel, not those of ours: what is not in the golden start is put together apart."""
    cube, start, arguments = CUBES[name]
    data = layout.encode(cube, block_len=2, block_type="raw")
    assert data.startswith(start)
    path = tmp_path / "z0/y0/x1.wkw"
    path.parent.mkdir(parents=True)
    path.write_bytes(data)
    (tmp_path / "header.wkw").write_bytes(data[:8] + bytes(8))
    array = wkw.open(tmp_path, mode="r")
    assert array.dtype == arguments["dtype"]
    edge = cube.shape[1]
    assert array.shape == (cube.shape[0], 2 * edge, edge, edge)
    assert not array[:, :edge].any()
    np.testing.assert_array_equal(array[:, edge:], cube)


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ({"dtype": "u1", "block_type": "raw"}, RAW_U8),
        ({"dtype": "u4", "block_type": "lz4"}, LZ4_U32),
        ({"dtype": "u4", "block_type": "lz4hc"}, LZ4HC_U32),
    ],
)
def test_headers(tmp_path: Path, arguments: dict[str, Any], expected: bytes) -> None:
    wkw.create(tmp_path, block_len=8, file_len=2, **arguments)
    assert {path.name: path.read_bytes() for path in tmp_path.rglob("*")} == {"header.wkw": expected}
    array = wkw.open(tmp_path)
    assert array.dtype == arguments["dtype"]
    assert array.block_type == arguments["block_type"]
    assert (array.chunks, array.shards) == ((1, 8, 8, 8), (1, 16, 16, 16))


def test_a_file_of_lz4(tmp_path: Path, way: str) -> None:
    """Noise is longer than its block, by what it was longer in the golden file."""
    cube = np.random.default_rng(1).integers(0, 2**32, (1, 16, 16, 16), "u4")
    wkw.create(tmp_path, dtype="u4", block_len=8, file_len=2, block_type="lz4")[:, 16:32, :16, :16] = cube
    data = (tmp_path / "z0/y0/x1.wkw").read_bytes()
    assert data[:16] == LZ4_U32_FILE
    assert struct.unpack_from("<8Q", data, 16) == tuple(0x50 + n * NOISE for n in range(1, 9))
    assert len(data) == 0x50 + 8 * NOISE
    np.testing.assert_array_equal(layout.decode(data), cube)


@pytest.mark.parametrize("block_type", layout.BLOCK_TYPES)
@pytest.mark.parametrize("dtype", layout.DATA_TYPES)
def test_every_header_comes_back(tmp_path: Path, dtype: str, block_type: Any) -> None:
    limit = 255 // np.dtype(dtype).itemsize
    for number, (channels, block_len, file_len) in enumerate(
        [(1, 32, 32), (limit, 1, 1), (3, 2, 512), (1, 64, 128), (1, 512, 1), (1, 1, 512), (2, 32, 512)]
    ):
        root = tmp_path / str(number)
        made = {"channels": channels, "block_len": block_len, "file_len": file_len, "block_type": block_type}
        first = wkw.create(root, dtype=dtype, **made)
        assert (root / "header.wkw").read_bytes() == layout.header(dtype, **made)
        for array in (first, wkw.open(root), wkw.open(root, mode="r")):
            edge = block_len * file_len
            assert array.dtype == dtype
            assert array.block_type == block_type
            assert array.chunks == (channels, block_len, block_len, block_len)
            assert array.shards == (channels, edge, edge, edge)
            assert array.shape == (channels, 0, 0, 0)
            assert (array.ndim, array.size, array.nbytes, array.fill_value) == (4, 0, 0, 0)
            assert array[...].shape == (channels, 0, 0, 0)


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"dtype": "f2"}, "float16"),
        ({"dtype": "c8"}, "complex64"),
        ({"dtype": "bool"}, "bool"),
        ({"dtype": "U4"}, "U4"),
        ({"dtype": ">u2"}, None),
        ({"channels": 0}, "channels.*0"),
        ({"channels": -1}, "channels.*-1"),
        ({"channels": 256}, "channels.*256"),
        ({"dtype": "u8", "channels": 32}, "channels.*32"),
        ({"channels": 1.5}, "channels.*1.5"),
        ({"channels": True}, "channels.*True"),
        ({"block_len": 0}, "block_len.*0"),
        ({"block_len": 3}, "block_len.*3"),
        ({"block_len": -2}, "block_len.*-2"),
        ({"block_len": 1 << 16}, "block_len.*65536"),
        ({"block_len": 32.0}, "block_len.*32"),
        ({"file_len": 0}, "file_len.*0"),
        ({"file_len": 12}, "file_len.*12"),
        ({"file_len": 1024}, "file_len.*1024"),
        ({"file_len": "32"}, "file_len.*32"),
        ({"block_type": "zstd"}, "block_type.*zstd"),
        ({"block_type": 1}, "block_type.*1"),
        ({"block_type": "LZ4"}, "block_type.*LZ4"),
        ({"block_type": None}, "block_type.*None"),
    ],
    ids=str,
)
def test_what_a_header_can_not_say_is_refused(tmp_path: Path, wrong: dict[str, Any], words: Any) -> None:
    root = tmp_path / "made"
    if words is None:  # byte orders are the library's to choose: the format has one
        assert wkw.create(root, **wrong).dtype.newbyteorder("=") == np.dtype("u2")
        return
    with pytest.raises((ValueError, TypeError), match=words):
        wkw.create(root, **{"dtype": "u1"} | wrong)
    assert not root.exists()
