"""Damage to chunks of every golden codec: an error that names the key, or an array, and nothing else."""

import gzip
import subprocess
import sys
import time
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import zstandard

import fastzarr
from fastzarr.codecs import GzipCodec, ZstdCodec
from fastzarr.errors import ChunkError, CodecError

GOLDEN = Path(__file__).with_name("golden_codecs")
NAMES = np.load(GOLDEN / "expected.npz").files


@pytest.mark.parametrize("name", NAMES)
def test_damage_raises_or_does_no_harm(name: str) -> None:
    root = GOLDEN / name
    objects = {p.relative_to(root).as_posix(): p.read_bytes() for p in root.rglob("*") if p.is_file()}
    key = "c/0/0" if name.startswith("v3") else "0.0"
    whole = objects[key]
    random = np.random.default_rng(len(whole))
    damaged = [b"", whole[:1], whole[: len(whole) // 2], whole[:-1], whole + b"x", whole * 2]
    damaged += [random.bytes(len(whole)), bytes(len(whole)), b"\xff" * len(whole)]
    for place in {*range(min(256, len(whole) * 8)), *random.integers(0, len(whole) * 8, 200).tolist()}:
        flipped = bytearray(whole)
        flipped[place // 8] ^= 1 << place % 8
        damaged.append(bytes(flipped))
    array = fastzarr.open_array(objects, mode="r")
    raised = 0
    for data in damaged:
        objects[key] = data
        try:
            assert array[...].shape == array.shape
        except ChunkError as error:
            raised += 1
            assert error.key == key
    assert raised >= 2, "what is empty or of one byte can't be a chunk"


def many_frames(count: int) -> bytes:
    """That many Zstandard frames of one byte each."""
    return zstandard.ZstdCompressor(write_content_size=False).compress(b"x") * count


def many_members(count: int) -> bytes:
    """That many gzip members of one byte each."""
    return gzip.compress(b"x") * count


@pytest.mark.parametrize(("codec", "make"), [(ZstdCodec(), many_frames), (GzipCodec(), many_members)])
@pytest.mark.parametrize("known", [True, False])
def test_many_small_frames_take_linear_time(codec: Any, make: Any, known: bool) -> None:
    count = 60_000  # tens of seconds where each frame costs what all others do
    data = make(count)
    start = time.process_time()
    decoded = codec.decode(data, memoryview(bytearray(count)) if known else None)
    assert time.process_time() - start < 5
    assert bytes(decoded) == b"x" * count
    with pytest.raises(CodecError):
        codec.decode(data[:-1], None)
    with pytest.raises(CodecError):
        codec.decode(data, memoryview(bytearray(count - 1)))


@pytest.mark.parametrize("size", [0, 1, 1023, 1024, 1025, 100_000])
def test_gzip_members_of_any_sizes(size: int) -> None:
    first, second = (np.random.default_rng(size).bytes(size) for _ in range(2))
    data = gzip.compress(first) + gzip.compress(second) + gzip.compress(b"end")
    assert GzipCodec().decode(data, None) == first + second + b"end"
    for cut in {1, 8, len(gzip.compress(b"end")) - 1}:
        with pytest.raises(CodecError, match="truncated"):
            GzipCodec().decode(data[:-cut], None)


def forged_frame(block: bytes, count: int) -> bytes:
    """A Zstandard frame of unknown content size, of `count` blocks and an empty last one."""
    return b"\x28\xb5\x2f\xfd\x00\x58" + block * count + b"\x01\x00\x00"


EMPTY = b"\x00\x00\x00"
ONE_LITERAL = b"\x1c\x00\x00\x08x\x00"
"""A compressed block, which could hold 128 KiB, of one literal and no sequence."""


@pytest.mark.parametrize(("block", "content"), [(EMPTY, b""), (ONE_LITERAL, b"x")])
def test_blocks_take_the_memory_of_what_they_hold(block: bytes, content: bytes) -> None:
    data = forged_frame(block, 20_000)  # 2.6 GB, were all blocks full
    tracemalloc.start()
    try:
        assert ZstdCodec().decode(data, None) == content * 20_000
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 50e6


@pytest.mark.parametrize("size", [0, 1, (1 << 20) - 1, 1 << 20, (1 << 20) + 1, 9 << 20])
def test_zstd_content_of_any_size(size: int) -> None:
    content = b"x" * size
    data = zstandard.ZstdCompressor(write_content_size=False, write_checksum=True).compress(content)
    assert ZstdCodec().decode(data, None) == content
    assert ZstdCodec().decode(data, memoryview(bytearray(size))) == content
    for damaged in (data[:-1], data[:-1] + bytes([data[-1] ^ 1])):
        with pytest.raises(CodecError):
            ZstdCodec().decode(damaged, None)


def test_what_memory_does_not_hold_is_said(tmp_path: Path) -> None:
    pytest.importorskip("resource")
    repeated = ((128 << 10) << 3 | 1 << 1).to_bytes(3, "little") + b"x"
    (tmp_path / "small").write_bytes(forged_frame(repeated, 1))
    (tmp_path / "large").write_bytes(forged_frame(repeated, 20_000))
    program = """
import pathlib, resource
from fastzarr.codecs import ZstdCodec
from fastzarr.errors import CodecError
print(len(ZstdCodec().decode(pathlib.Path("small").read_bytes(), None)))
resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30))
try:
    ZstdCodec().decode(pathlib.Path("large").read_bytes(), None)
except CodecError as error:
    print(error)
"""
    command = [sys.executable, "-c", program]
    run = subprocess.run(command, capture_output=True, text=True, timeout=60, cwd=tmp_path)
    expected = ["131072", "80009 bytes decode to more than memory holds"]
    assert run.stdout.splitlines() == expected, run.stderr
