"""Truncated, over-long, empty and undecodable chunks raise an error that names the key; none returns data."""

import struct
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import zstandard
from isal import isal_zlib
from numpy.typing import NDArray
from oracle import read_by_zarr

import fastzarr
from fastzarr.errors import ChunkError

V3_CODECS: dict[str, Any] = {
    "none": None,
    "blosc": {"name": "blosc", "configuration": {"cname": "lz4", "clevel": 5}},
    "blosc-zstd": {"name": "blosc", "configuration": {"cname": "zstd", "clevel": 5, "shuffle": "bitshuffle"}},
    "zstd": {"name": "zstd", "configuration": {"level": 3}},
    "zstd-checksum": {"name": "zstd", "configuration": {"level": 3, "checksum": True}},
    "gzip": {"name": "gzip", "configuration": {"level": 5}},
    "crc32c": {"name": "crc32c"},
    "zstd-crc32c": [{"name": "zstd", "configuration": {"level": 3}}, {"name": "crc32c"}],
}
V2_CODECS: dict[str, Any] = {
    "v2-none": None,
    "v2-blosc": {"id": "blosc", "cname": "blosclz", "shuffle": 1},
    "v2-zstd": {"id": "zstd", "level": 1},
    "v2-zlib": {"id": "zlib", "level": 5},
    "v2-gzip": {"id": "gzip", "level": 1},
    "v2-lz4": {"id": "lz4"},
}
CODECS = V3_CODECS | V2_CODECS
CHECKED = ("zstd-checksum", "gzip", "v2-zlib", "v2-gzip", "crc32c", "zstd-crc32c")
"""Codecs with a checksum over the content."""

each_codec = pytest.mark.parametrize("codec", CODECS)


def stored(codec: str, data: NDArray[Any]) -> tuple[dict[str, bytes], str]:
    """Objects of an array of one chunk, below `group/array`, and the chunk's key."""
    objects: dict[str, bytes] = {}
    version = 2 if codec.startswith("v2-") else 3
    fastzarr.create_array(
        *(objects,),
        name="group/array",
        data=data,
        chunks=data.shape,
        zarr_format=version,
        compressors=CODECS[codec],
        fill_value=None if version == 2 else 0,
    )
    dimensions = ["0"] * data.ndim
    return objects, "group/array/" + (".".join(dimensions) if version == 2 else "/".join(["c", *dimensions]))


def content(size: int = 600) -> NDArray[Any]:
    return (np.arange(size) // 7 + 1).astype("<i4").reshape(-1, 6)


def assert_refused(objects: dict[str, bytes], key: str) -> None:
    """Reading whole, in part, into given memory, and writing in part all raise, and name the key."""
    array = fastzarr.open_array(objects, path="group/array", mode="r+")
    out = np.empty(array.shape, array.dtype)
    before = dict(objects)
    reads: list[Any] = [
        lambda: array[...],
        lambda: array[1:3, ::2],
        lambda: array[0, 0],
        lambda: array.read_into(out),
        lambda: array.read_into(np.empty((*array.shape[::-1],), array.dtype).T),
        lambda: array.__setitem__((0, 0), 5),
    ]
    for read in reads:
        with pytest.raises(ChunkError, match=rf"^chunk '{key}': .+") as caught:
            read()
        assert caught.value.key == key
        assert caught.value.kind == "chunk"
        assert isinstance(caught.value, ValueError)
    assert objects == before
    array[...] = 3
    assert (array[...] == 3).all(), "a chunk written whole doesn't need the old one"


# zarr-python#3169, iohub#415
@each_codec
@pytest.mark.parametrize("cut", ["by one", "by half", "to four bytes", "to one byte", "to nothing"])
def test_truncated(codec: str, cut: str) -> None:
    objects, key = stored(codec, content())
    data = objects[key]
    sizes = {"by one": len(data) - 1, "by half": len(data) // 2, "to four bytes": 4, "to one byte": 1}
    objects[key] = data[: sizes.get(cut, 0)]
    assert_refused(objects, key)


@each_codec
@pytest.mark.parametrize("tail", [b"\0", b"x", b"\0" * 1000])
def test_over_long(codec: str, tail: bytes) -> None:
    objects, key = stored(codec, content())
    objects[key] += tail
    assert_refused(objects, key)


@each_codec
def test_of_another_size(codec: str) -> None:
    """A sound chunk, but of more or fewer elements than the metadata tells."""
    for size in (594, 606, 6):
        objects, key = stored(codec, content())
        other, _ = stored(codec, content(size))
        objects[key] = other[key]
        assert_refused(objects, key)


@each_codec
@pytest.mark.parametrize("junk", [b"\0" * 64, b"\xff" * 64, b"not a chunk at all", bytes(range(256)) * 9])
def test_junk(codec: str, junk: bytes) -> None:
    objects, key = stored(codec, content())
    objects[key] = junk
    assert_refused(objects, key)


@pytest.mark.parametrize("codec", CHECKED)
def test_a_flipped_bit_anywhere_in_the_content_is_found(codec: str) -> None:
    data = content(120)
    objects, key = stored(codec, data)
    sound = objects[key]
    array = fastzarr.open_array(objects, path="group/array")
    refused = 0
    for position in range(8 * len(sound)):
        damaged = bytearray(sound)
        damaged[position // 8] ^= 1 << position % 8
        objects[key] = bytes(damaged)
        try:
            found = array[...]
        except ChunkError:
            refused += 1
        else:  # a bit that says nothing about the content, such as the time in a gzip header
            np.testing.assert_array_equal(found, data)
    assert refused > 0.8 * 8 * len(sound)


@each_codec
def test_random_damage_raises_or_does_no_harm(codec: str) -> None:
    """Never a crash, never a wrong size; where the codec has no checksum the content may differ."""
    data = content()
    objects, key = stored(codec, data)
    sound = objects[key]
    array = fastzarr.open_array(objects, path="group/array")
    generator = np.random.default_rng(len(codec))
    refused = 0
    for _ in range(400):
        damaged = np.frombuffer(sound, "u1").copy()
        count = int(generator.integers(1, 6))
        damaged[generator.integers(0, damaged.size, count)] = generator.integers(0, 256, count)
        if generator.random() < 0.3:
            damaged = damaged[: generator.integers(0, damaged.size)]
        objects[key] = damaged.tobytes()
        around = np.full((data.shape[0] + 2, data.shape[1]), -7, data.dtype)
        try:
            array.read_into(around[1:-1])
        except ChunkError:
            refused += 1
        else:
            if codec in CHECKED:
                np.testing.assert_array_equal(around[1:-1], data)
        assert (around[[0, -1]] == -7).all(), "memory beside the output was written"
    assert refused > 80


@pytest.mark.parametrize("codec", ["blosc", "v2-blosc"])
@pytest.mark.parametrize("field", ["version", "nbytes", "blocksize", "cbytes"])
def test_blosc_headers_that_lie(codec: str, field: str) -> None:
    data = content()
    objects, key = stored(codec, data)
    sound = objects[key]
    array = fastzarr.open_array(objects, path="group/array")
    offset = {"version": 0, "nbytes": 4, "blocksize": 8, "cbytes": 12}[field]
    form = "<B" if field == "version" else "<I"
    for value in (0, 1, 3, 100, 255, 2**16, 2**31 - 1, 2**31, 2**32 - 1):
        if value >= 256 and field == "version":
            break
        damaged = bytearray(sound)
        struct.pack_into(form, damaged, offset, value)
        if bytes(damaged) == sound:
            continue
        objects[key] = bytes(damaged)
        try:
            found = array[...]
        except ChunkError:
            continue
        assert field == "blocksize"
        assert found.shape == data.shape


@pytest.mark.parametrize("value", [0, 1, 2399, 2401, 2**31 - 1, -1, -(2**31)])
def test_lz4_sizes_that_lie(value: int) -> None:
    objects, key = stored("v2-lz4", content())
    objects[key] = struct.pack("<i", value) + objects[key][4:]
    assert_refused(objects, key)


def test_a_small_chunk_that_decodes_to_gigabytes_is_refused_early() -> None:
    """What is decoded is bounded by the chunk's size, not by what the stream says."""
    data = content()
    for codec, bomb in (
        ("gzip", isal_zlib.compress(bytes(64 << 20), 1, 31)),
        ("v2-zlib", isal_zlib.compress(bytes(64 << 20), 1, 15)),
        ("zstd", zstandard.compress(bytes(64 << 20))),
    ):
        objects, key = stored(codec, data)
        objects[key] = bomb
        array = fastzarr.open_array(objects, path="group/array", mode="r")
        tracemalloc.start()
        with pytest.raises(ChunkError):
            array[...]
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < 1 << 20


# zarr-python#2056, numcodecs#707, numcodecs#757: frames of other writers
def zstd_frames(data: bytes) -> dict[str, bytes]:
    unsized = zstandard.ZstdCompressor(write_content_size=False)
    stream = unsized.compressobj()
    half = len(data) // 2
    return {
        "without content size": unsized.compress(data),
        "streamed": stream.compress(data) + stream.flush(),
        "two frames": zstandard.compress(data[:half]) + zstandard.compress(data[half:]),
        "two frames without size": unsized.compress(data[:half]) + unsized.compress(data[half:]),
        "an empty frame first": zstandard.compress(b"") + zstandard.compress(data),
        "an empty frame last": zstandard.compress(data) + zstandard.compress(b""),
        "skippable frame first": struct.pack("<II", 0x184D2A50, 3) + b"abc" + zstandard.compress(data),
    }


@pytest.mark.parametrize("form", zstd_frames(b""))
def test_zstd_frames_of_other_writers(form: str) -> None:
    data = content()
    for codec in ("zstd", "v2-zstd"):
        objects, key = stored(codec, data)
        objects[key] = zstd_frames(data.tobytes())[form]
        array = fastzarr.open_array(objects, path="group/array")
        np.testing.assert_array_equal(array[...], data)
        np.testing.assert_array_equal(array[3:5, 1::2], data[3:5, 1::2])
        objects[key] = zstd_frames(data.tobytes()[:-4])[form]
        with pytest.raises(ChunkError, match=key):
            array[...]


@pytest.mark.parametrize("parts", [1, 2, 5])
def test_gzip_of_several_members(parts: int, tmp_path: Path) -> None:
    data = content()
    for codec in ("gzip", "v2-gzip"):
        objects, key = stored(codec, data)
        pieces = np.array_split(data.reshape(-1), parts)
        objects[key] = b"".join(isal_zlib.compress(piece.tobytes(), 1, 31) for piece in pieces)
        np.testing.assert_array_equal(fastzarr.open_array(objects, path="group/array")[...], data)


def test_a_second_zlib_stream_is_refused() -> None:
    """A chunk has one; more could only be damage that happens to decode."""
    data = content()
    objects, key = stored("v2-zlib", data)
    half = data.nbytes // 2
    raw = data.tobytes()
    objects[key] = isal_zlib.compress(raw[:half]) + isal_zlib.compress(raw[half:])
    assert_refused(objects, key)


def test_a_damaged_chunk_among_many_is_named_and_the_others_are_whole(tmp_path: Path) -> None:
    data = np.arange(64, dtype="i4").reshape(8, 8)
    array = fastzarr.create_array(tmp_path, data=data, chunks=(2, 2), compressors=V3_CODECS["zstd"])
    (tmp_path / "c/2/3").write_bytes(b"")
    with pytest.raises(ChunkError, match=r"chunk 'c/2/3': ") as caught:
        array[...]
    assert caught.value.key == "c/2/3"
    np.testing.assert_array_equal(array[:4], data[:4])
    with pytest.raises(ChunkError, match=r"chunk 'c/2/3': "):
        array[4:, 7] = 1
    array[4:6, 6:] = data[4:6, 6:]
    assert read_by_zarr(tmp_path).shape == data.shape
