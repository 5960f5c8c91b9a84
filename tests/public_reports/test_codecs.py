"""Codecs of other writers, unchecked checksums, changed data types: as reported elsewhere."""

import json
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import zarr
import zstandard
from oracle import assert_same, read_by_zarr
from zarr.codecs import numcodecs as theirs

import fastzarr
from fastzarr.codecs import CastValue, Crc32cCodec, ScaleOffset, ZstdCodec
from fastzarr.codecs import numcodecs as ours
from fastzarr.errors import ChunkError, MetadataError, UnknownCodecError


def frame(content: bytes, *, sized: bool = True) -> bytes:
    if sized:
        return zstandard.ZstdCompressor(write_checksum=True).compress(content)
    stream = zstandard.ZstdCompressor(write_content_size=False).compressobj()
    return stream.compress(content) + stream.flush()


SKIPPABLE = struct.pack("<II", 0x184D2A57, 3) + b"abc"
A, B = bytes(range(100)), b"b" * 5000
FRAMES = {
    "empty": (frame(b""), b""),
    "empty without size": (frame(b"", sized=False), b""),
    "two": (frame(A) + frame(B), A + B),
    "an empty one between": (frame(A) + frame(b"") + frame(B), A + B),
    "the first without size": (frame(A, sized=False) + frame(B), A + B),
    "the last without size": (frame(A) + frame(B, sized=False), A + B),
    "both without size": (frame(A, sized=False) + frame(B, sized=False), A + B),
    "a skippable one first": (SKIPPABLE + frame(A), A),
    "a skippable one last": (frame(A) + SKIPPABLE, A),
}


# zarr-python#2056, numcodecs#707, numcodecs#757, zarrs PR#121
@pytest.mark.parametrize("name", FRAMES)
def test_zstd_frames_of_every_form(name: str) -> None:
    data, content = FRAMES[name]
    codec = ZstdCodec()
    assert bytes(codec.decode(data, None)) == content
    assert bytes(codec.decode(data, np.empty(len(content), "u1").data)) == content
    for damaged in (data[:-1], data + b"x", data[:5], data + frame(A)[:-1]):
        with pytest.raises(fastzarr.errors.CodecError):
            codec.decode(damaged, np.empty(len(content), "u1").data)


# zarrs, correctness_issues.md
@pytest.mark.parametrize("sharded", [False, True])
@pytest.mark.parametrize("codec", [Crc32cCodec(), ours.CRC32(), ours.Adler32(), ours.Fletcher32()])
def test_checksums_may_be_left_unchecked(codec: Any, sharded: bool) -> None:
    objects: dict[str, bytes] = {}
    values = np.arange(20, dtype="<i4")
    options: dict[str, Any] = {"chunks": (20,), "shards": (20,)} if sharded else {"chunks": (20,)}
    fastzarr.create_array(objects, data=values, compressors=codec, **options)
    wrong = bytearray(objects["c/0"])
    wrong[0 if codec.config().get("location") == "start" else 80] ^= 1
    objects["c/0"] = bytes(wrong)
    with pytest.raises(ChunkError, match=r"chunk 'c/0': .*mismatch: stored"):
        fastzarr.open_array(objects)[...]
    unchecked = fastzarr.open_array(objects, config={"validate_checksums": False})
    assert_same(unchecked[...], values)
    objects["c/0"] = objects["c/0"][:-1]
    with pytest.raises(ChunkError):
        unchecked[...]


# zarr-python#3937, zarr-python#3941
@pytest.mark.parametrize("sharded", [False, True])
@pytest.mark.parametrize(
    ("filters", "stored"),
    [
        ([CastValue(data_type="int16")], lambda values: values.astype("<i2")),
        ([ours.AsType(encode_dtype="<i2", decode_dtype="int8")], lambda values: values.astype("<i2")),
        (
            [CastValue(data_type="int16"), ScaleOffset(offset=3, scale=100)],
            lambda values: (values.astype("<i2") - 3) * 100,
        ),
    ],
)
def test_codecs_that_change_the_data_type(filters: Any, stored: Any, sharded: bool) -> None:
    values = (np.arange(20, dtype="i1") - 10).reshape(4, 5)
    objects: dict[str, bytes] = {}
    options: dict[str, Any] = {"chunks": (2, 5), "shards": (4, 5)} if sharded else {"chunks": (4, 5)}
    array = fastzarr.create_array(
        objects, data=values, filters=filters, compressors=None, fill_value=-7, **options
    )
    assert objects["c/0/0"][:40] == stored(values).tobytes()
    assert_same(fastzarr.open_array(objects)[...], values)
    array[:2] = -7
    assert_same(fastzarr.open_array(objects)[:3], np.concatenate([np.full((2, 5), -7, "i1"), values[2:3]]))
    array[...] = -7
    assert list(objects) == ["zarr.json"]
    assert_same(fastzarr.open_array(objects)[...], np.full((4, 5), -7, "i1"))


# zarr-python#4279
@pytest.mark.parametrize("scale", [0, 0.0, "0x00000000", "0", -0.0])
def test_a_scale_of_zero_is_refused(scale: Any) -> None:
    with pytest.raises(MetadataError, match="codec 'scale_offset': scale: got"):
        fastzarr.create_array(None, shape=3, dtype="f4", filters=ScaleOffset(offset=1, scale=scale))


# pyramids#560
@pytest.mark.parametrize("member", ["filters", "compressor"])
def test_an_unknown_v2_codec_is_named_when_opened(member: str) -> None:
    objects: dict[str, bytes] = {}
    fastzarr.create_array(objects, data=np.arange(3), zarr_format=2, compressors=None)
    document = json.loads(objects[".zarray"])
    document[member] = {"id": "zipper"} if member == "compressor" else [{"id": "zipper"}]
    objects[".zarray"] = json.dumps(document).encode()
    with pytest.raises(UnknownCodecError, match="zipper"):
        fastzarr.open_array(objects)


# gdal#14917
@pytest.mark.filterwarnings("ignore:Numcodecs codecs are not in the Zarr version 3 specification")
def test_shuffle_and_zlib_of_numcodecs_are_read(tmp_path: Path) -> None:
    values = np.arange(60, dtype="<f8").reshape(6, 10) / 7
    array = zarr.create_array(
        tmp_path / "theirs",
        shape=values.shape,
        chunks=(4, 4),
        dtype=values.dtype,
        compressors=[theirs.Shuffle(elementsize=8), theirs.Zlib(level=9)],
    )
    array[...] = values
    assert_same(fastzarr.open_array(tmp_path / "theirs")[...], values)
    fastzarr.create_array(
        tmp_path / "ours", data=values, chunks=(4, 4), compressors=[ours.Shuffle(), ours.Zlib(level=9)]
    )
    assert_same(read_by_zarr(tmp_path / "ours"), values)
