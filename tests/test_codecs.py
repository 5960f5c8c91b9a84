"""Each codec against the contract, its members, and its peers' bytes."""

from typing import Any

import google_crc32c
import numcodecs
import numpy as np
import pytest
import zstandard
from numpy.typing import NDArray

import fastzarr
from fastzarr.codecs import (
    BloscCodec,
    BytesCodec,
    Crc32cCodec,
    GzipCodec,
    LZ4Codec,
    TransposeCodec,
    VLenUTF8Codec,
    ZlibCodec,
    ZstdCodec,
    registry,
)
from fastzarr.codecs import numcodecs as ours
from fastzarr.codecs.base import ChunkSpec
from fastzarr.errors import BufferMismatchError, CodecError, MetadataError
from fastzarr.testing.codec_contract import CodecContract


class TestZstd(CodecContract):
    def make(self) -> Any:
        return ZstdCodec(level=3)


class TestZstdWithChecksum(CodecContract):
    def make(self) -> Any:
        return ZstdCodec(level=-7, checksum=True)


class TestBlosc(CodecContract):
    def make(self) -> Any:
        return BloscCodec(cname="lz4", clevel=9)


class TestBloscBitshuffle(CodecContract):
    def make(self) -> Any:
        return BloscCodec(cname="zstd", clevel=1, shuffle="bitshuffle", blocksize=4096, typesize=2)


class TestGzip(CodecContract):
    def make(self) -> Any:
        return GzipCodec(level=1)


class TestZlib(CodecContract):
    def make(self) -> Any:
        return ZlibCodec(level=9)


class TestLZ4(CodecContract):
    def make(self) -> Any:
        return LZ4Codec(acceleration=3)


class TestCrc32c(CodecContract):
    def make(self) -> Any:
        return Crc32cCodec()


class TestNumcodecsBlosc(CodecContract):
    def make(self) -> Any:
        return ours.Blosc(cname="zstd", clevel=3, shuffle=-1)


class TestNumcodecsZstd(CodecContract):
    def make(self) -> Any:
        return ours.Zstd(level=2, checksum=True)


class TestNumcodecsGZip(CodecContract):
    def make(self) -> Any:
        return ours.GZip(level=3)


class TestBZ2(CodecContract):
    def make(self) -> Any:
        return ours.BZ2(level=9)


class TestLZMA(CodecContract):
    def make(self) -> Any:
        return ours.LZMA(preset=0, check_=4)


class TestShuffle(CodecContract):
    def make(self) -> Any:
        return ours.Shuffle(elementsize=4)


class TestCRC32(CodecContract):
    def make(self) -> Any:
        return ours.CRC32(location="end")


class TestNumcodecsCRC32C(CodecContract):
    def make(self) -> Any:
        return ours.CRC32C(location="start")


class TestAdler32(CodecContract):
    def make(self) -> Any:
        return ours.Adler32()


class TestFletcher32(CodecContract):
    def make(self) -> Any:
        return ours.Fletcher32()


class TestJenkinsLookup3(CodecContract):
    def make(self) -> Any:
        return ours.JenkinsLookup3(initval=1353, prefix=(1, 2, 3))


def test_every_bytes_codec_is_held_to_the_contract() -> None:
    held = {kind().make().name for kind in CodecContract.__subclasses__()}  # type: ignore[abstract]
    known = {name for name in registry.names() if registry.find(name).kind == "bytes_bytes"}
    assert held == known


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: ZstdCodec(level=23), r"codec 'zstd': level: got 23, expected an integer from -131072 to 22"),
        (lambda: ZstdCodec(level=True), r"codec 'zstd': level: got True"),
        (lambda: ZstdCodec(level=1.5), r"codec 'zstd': level: got 1.5"),
        (lambda: ZstdCodec(checksum=1), r"codec 'zstd': checksum: got 1, expected true or false"),
        (lambda: GzipCodec(level=10), r"codec 'gzip': level: got 10, expected an integer from 0 to 9"),
        (lambda: GzipCodec(level=-1), r"codec 'gzip': level: got -1"),
        (
            lambda: ZlibCodec(level="5"),
            r"codec 'numcodecs.zlib': level: got '5', expected an integer from 0 to 9",
        ),
        (
            lambda: LZ4Codec(acceleration=None),
            r"codec 'numcodecs.lz4': acceleration: got None, expected an integer",
        ),
        (
            lambda: BloscCodec(cname="lz5"),
            r"codec 'blosc': cname: got 'lz5', expected one of blosclz, lz4, lz4hc",
        ),
        (lambda: BloscCodec(clevel=10), r"codec 'blosc': clevel: got 10, expected an integer from 0 to 9"),
        (
            lambda: BloscCodec(shuffle="yes"),
            r"codec 'blosc': shuffle: got 'yes', expected one of noshuffle, shuf",
        ),
        (
            lambda: BloscCodec(typesize=0),
            r"codec 'blosc': typesize: got 0, expected an integer from 1 to 255",
        ),
        (lambda: BloscCodec(typesize=256), r"codec 'blosc': typesize: got 256"),
        (
            lambda: BloscCodec(blocksize=-1),
            r"codec 'blosc': blocksize: got -1, expected an integer of 0 or more",
        ),
        (
            lambda: BytesCodec(endian="middle"),
            r"codec 'bytes': endian: got 'middle', expected 'little' or 'big'",
        ),
        (
            lambda: TransposeCodec(order=(0, 2)),
            r"codec 'transpose': order: got \(0, 2\), expected a permutation",
        ),
        (lambda: TransposeCodec(order=(True, False)), r"codec 'transpose': order: got \(True, False\)"),
        (lambda: TransposeCodec(order="A"), r"codec 'transpose': order: got 'A'"),
        (lambda: TransposeCodec(order=5), r"codec 'transpose': order: got 5"),
        (lambda: TransposeCodec.from_config({}), r"codec 'transpose': got \{\}: .*missing .* 'order'"),
    ],
)
def test_wrong_members_are_named(make: Any, text: str) -> None:
    with pytest.raises(MetadataError, match=text):
        make()


def data() -> NDArray[Any]:
    return (np.arange(10_000, dtype="<f4") // 3).reshape(100, 100)


def test_encoded_bytes_are_read_by_the_peers() -> None:
    raw = data().tobytes()
    assert zstandard.decompress(bytes(ZstdCodec(level=3).encode(raw))) == raw
    assert numcodecs.Zstd().decode(ZstdCodec(level=3, checksum=True).encode(raw)) == raw
    assert numcodecs.GZip().decode(GzipCodec(level=5).encode(raw)) == raw
    assert numcodecs.Zlib().decode(ZlibCodec(level=5).encode(raw)) == raw
    assert numcodecs.LZ4().decode(LZ4Codec().encode(raw)) == raw
    blosc = BloscCodec(cname="zstd").resolve(ChunkSpec(shape=(100, 100), dtype=np.dtype("<f4"), fill_value=0))
    assert numcodecs.Blosc().decode(blosc.encode(raw)) == raw


# zarrs' correctness issues: a wrong CRC32C
@pytest.mark.parametrize("size", [0, 1, 7, 4096, 100_001])
def test_crc32c_is_the_checksum_of_others(size: int) -> None:
    content = np.random.default_rng(size).bytes(size)
    encoded = bytes(Crc32cCodec().encode(content))
    assert encoded == content + google_crc32c.value(content).to_bytes(4, "little")
    assert bytes(Crc32cCodec().encode(b"123456789"))[-4:] == (0xE3069283).to_bytes(4, "little")


@pytest.mark.parametrize("checksum", [False, True])
@pytest.mark.parametrize(
    ("level", "size"), [*[(level, 1000) for level in (-5, 0, 1, 3, 19)], (-5, 3 << 20), (3, 3 << 20)]
)
def test_zstd_frames_tell_size_and_checksum(level: int, size: int, checksum: bool) -> None:
    raw = (np.arange(size) // 5 % 251).astype("u1").tobytes()
    frame = zstandard.get_frame_parameters(bytes(ZstdCodec(level=level, checksum=checksum).encode(raw)))
    assert frame.content_size == size
    assert frame.has_checksum == checksum


def test_levels_compress_more_or_less() -> None:
    raw = np.random.default_rng(1).integers(0, 20, 200_000).astype("<i4").tobytes()
    for fast, small in (
        (ZstdCodec(level=-50), ZstdCodec(level=15)),
        (GzipCodec(level=1), GzipCodec(level=9)),
        (ZlibCodec(level=0), ZlibCodec(level=1)),
        (LZ4Codec(acceleration=100), LZ4Codec(acceleration=1)),
    ):
        assert len(small.encode(raw)) < len(fast.encode(raw))


def test_blosc_takes_open_members_from_the_data_type() -> None:
    for dtype, typesize, shuffle in (
        ("u1", 1, "bitshuffle"),
        ("bool", 1, "bitshuffle"),
        ("f8", 8, "shuffle"),
    ):
        codec = BloscCodec().resolve(ChunkSpec(shape=(5,), dtype=np.dtype(dtype), fill_value=0))
        assert (codec.typesize, codec.shuffle) == (typesize, shuffle)
    fixed = BloscCodec(typesize=3, shuffle="noshuffle")
    assert fixed.resolve(ChunkSpec(shape=(5,), dtype=np.dtype("f8"), fill_value=0)) == fixed


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0), (1, 2, 0), (2, 0, 1)])
def test_transpose_is_numpys(order: tuple[int, ...]) -> None:
    chunk = np.arange(24).reshape(2, 3, 4)
    codec = TransposeCodec(order=order)
    encoded = codec.encode_array(chunk)
    np.testing.assert_array_equal(encoded, chunk.transpose(order))
    assert np.shares_memory(encoded, chunk)
    spec = codec.encoded_spec(ChunkSpec(shape=chunk.shape, dtype=chunk.dtype, fill_value=0))
    assert spec.shape == encoded.shape
    assert codec.config() == {"order": list(order)}


def test_transpose_takes_numpy_integers() -> None:
    codec = TransposeCodec(order=tuple(np.argsort([2, 1])))
    assert codec == TransposeCodec(order=(1, 0))
    array = fastzarr.create_array(None, shape=(2, 3), dtype="i4", filters=codec)
    assert array.filters == (codec,)


@pytest.mark.parametrize("endian", ["little", "big"])
@pytest.mark.parametrize("dtype", ["i2", "u8", "f4", "c8", "c16"])
def test_bytes_stores_in_its_byte_order(dtype: str, endian: Any) -> None:
    content = np.arange(6).astype(dtype).reshape(2, 3)
    objects: dict[str, bytes] = {}
    fastzarr.create_array(
        objects, data=content, chunks=(2, 3), serializer=BytesCodec(endian=endian), compressors=None
    )
    swapped = content.astype(content.dtype.newbyteorder("<" if endian == "little" else ">"))
    assert objects["c/0/0"] == swapped.tobytes()
    np.testing.assert_array_equal(fastzarr.open_array(objects)[...], content)


def test_chains_of_several_codecs() -> None:
    chain = [BloscCodec(cname="lz4"), Crc32cCodec(), GzipCodec(level=1), Crc32cCodec()]
    filters = [TransposeCodec(order=(1, 0)), TransposeCodec(order=(1, 0)), TransposeCodec(order=(1, 0))]
    for given in ({"compressors": chain}, {"compressors": chain, "filters": filters}):
        array = fastzarr.create_array(None, data=data(), chunks=(30, 70), **given)
        np.testing.assert_array_equal(array[...], data())
        array[5:40, 60:80] = 7
        expected = data()
        expected[5:40, 60:80] = 7
        np.testing.assert_array_equal(fastzarr.open_array(array.store)[...], expected)


@pytest.mark.parametrize("zarr_format", [2, 3])
@pytest.mark.parametrize(
    ("selection", "value"),
    [(0, "ab\ud800c"), (..., ["", "ab\ud800c", ""]), (..., np.array(["", "", "ab\ud800c"], object))],
)
def test_lone_surrogates_are_refused(zarr_format: Any, selection: Any, value: Any) -> None:
    objects: dict[str, bytes] = {}
    array = fastzarr.create_array(objects, shape=3, chunks=2, dtype=str, zarr_format=zarr_format)
    documents = dict(objects)
    match = r"got the text 'ab\\ud800c', expected one that UTF-8 can say .*; replace such characters"
    with pytest.raises(BufferMismatchError, match=match):
        array[selection] = value
    assert objects == documents


def test_lone_surrogates_are_refused_by_the_codec() -> None:
    spec = ChunkSpec(shape=(1,), dtype=np.dtype(object), fill_value="")
    with pytest.raises(CodecError, match="surrogates not allowed"):
        VLenUTF8Codec().resolve(spec).encode_array(np.array(["\ud800"], object))


BUILT = "expected what Blosc was built with here: blosclz, lz4, lz4hc, zlib, zstd"


@pytest.mark.skipif("snappy" in numcodecs.blosc.list_compressors(), reason="Blosc has snappy")
@pytest.mark.parametrize(
    "arguments",
    [
        {"compressors": BloscCodec(cname="snappy")},
        {"compressors": {"name": "blosc", "configuration": {"cname": "snappy"}}, "shards": 4},
        {"compressors": ours.Blosc(cname="snappy")},
        {"compressors": numcodecs.Blosc(cname="snappy"), "zarr_format": 2},
        {
            "compressors": numcodecs.Blosc(cname="snappy"),
            "filters": numcodecs.Delta(dtype="<i4"),
            "zarr_format": 2,
        },
    ],
)
def test_a_compressor_that_blosc_lacks_is_refused_at_creation(arguments: dict[str, Any]) -> None:
    objects: dict[str, bytes] = {}
    with pytest.raises(MetadataError, match=f"cname: got 'snappy', {BUILT}"):
        fastzarr.create_array(objects, shape=4, chunks=2, dtype="<i4", **arguments)
    assert not objects


@pytest.mark.skipif("snappy" in numcodecs.blosc.list_compressors(), reason="Blosc has snappy")
def test_documents_with_a_compressor_that_blosc_lacks_are_opened() -> None:
    objects: dict[str, bytes] = {}
    fastzarr.create_array(objects, shape=4, dtype="<i4", compressors=BloscCodec(cname="zlib"))
    objects["zarr.json"] = objects["zarr.json"].replace(b'"zlib"', b'"snappy"')
    array = fastzarr.open_array(objects)
    assert array.compressors[0].config()["cname"] == "snappy"
    assert array[...].tolist() == [0] * 4
    with pytest.raises(MetadataError, match=BUILT):
        array[0] = 1
