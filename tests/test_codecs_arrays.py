"""Each array→array and array→bytes codec against the contract, its peers and its members."""

import sys
from importlib.metadata import EntryPoint
from typing import Any

import ml_dtypes
import numcodecs
import numpy as np
import pytest
from numpy.typing import NDArray

import fastzarr
from fastzarr.codecs import registry
from fastzarr.codecs.base import ChunkSpec
from fastzarr.codecs.bitround import BitRoundCodec
from fastzarr.codecs.cast_value import CastValue
from fastzarr.codecs.numcodecs import filters, objects
from fastzarr.codecs.numcodecs.pcodec import PCodec
from fastzarr.codecs.numcodecs.v2 import FiltersCodec
from fastzarr.codecs.numcodecs.zfpy import ZFPY
from fastzarr.codecs.packbits import PackBitsCodec
from fastzarr.codecs.reshape import ReshapeCodec
from fastzarr.codecs.scale_offset import ScaleOffset
from fastzarr.codecs.transpose import TransposeCodec
from fastzarr.codecs.vlen import VLenBytesCodec, VLenUTF8Codec
from fastzarr.errors import CodecError, MetadataError, UnknownCodecError
from fastzarr.testing.codec_contract import ArrayCodecContract, spec_of

RANDOM = np.random.default_rng(3)
INTEGERS = tuple(f"{kind}{size}" for kind in "iu" for size in (1, 2, 4, 8))
TEXTS = np.array([["a", "", "é", "𐍈" * 9, "line\n"]] * 3, object)
BYTES = np.array([[b"a", b"", b"\0\0", bytes(range(256)), b"x" * 99]] * 3, object)


def numbers(dtype: Any, shape: tuple[int, ...] = (5, 7)) -> NDArray[Any]:
    """Elements of random bits, but no NaNs, since those are equal to none."""
    dtype = np.dtype(dtype)
    octets = np.frombuffer(RANDOM.bytes(int(np.prod(shape)) * dtype.itemsize), np.uint8)
    if dtype.kind == "b":
        return (octets > 127).reshape(shape)
    chunk = octets.view(dtype).reshape(shape).copy()
    if dtype.kind in "fc":
        chunk[~np.isfinite(chunk)] = 1.5
    return chunk


class TestVLenUTF8(ArrayCodecContract):
    def make(self) -> Any:
        return VLenUTF8Codec()

    def chunks(self) -> list[NDArray[Any]]:
        return [TEXTS, TEXTS.astype(np.dtypes.StringDType())]


class TestVLenBytes(ArrayCodecContract):
    def make(self) -> Any:
        return VLenBytesCodec()

    def chunks(self) -> list[NDArray[Any]]:
        return [BYTES]


class TestVLenArray(ArrayCodecContract):
    def make(self) -> Any:
        return objects.VLenArray(dtype="<i2")

    def chunks(self) -> list[NDArray[Any]]:
        chunk = np.empty((3, 4), object)
        for at in np.ndindex(chunk.shape):
            chunk[at] = np.arange(sum(at), dtype="<i2")
        return [chunk]


class TestJSON2(ArrayCodecContract):
    def make(self) -> Any:
        return objects.JSON2(ensure_ascii=False)

    def chunks(self) -> list[NDArray[Any]]:
        chunk = np.empty((2, 3), object)
        chunk[...] = [["a", 1, None], [True, 2.5, ""]]
        chunk[0, 1] = [1, [2, {"x": "é"}]]
        return [chunk, TEXTS]


class TestMsgPack2(ArrayCodecContract):
    def make(self) -> Any:
        return objects.MsgPack2()

    def chunks(self) -> list[NDArray[Any]]:
        return [TEXTS, BYTES]


class TestFilters(ArrayCodecContract):
    def make(self) -> Any:
        delta = {"id": "delta", "dtype": "<i4", "astype": "<i8"}
        return FiltersCodec(filters=[delta, {"id": "shuffle"}], compressor={"id": "bz2"}, order="F")

    def chunks(self) -> list[NDArray[Any]]:
        return [numbers("<i4") // 1000]


class TestPackBits(ArrayCodecContract):
    def make(self) -> Any:
        return PackBitsCodec(padding_encoding="first_byte")

    def chunks(self) -> list[NDArray[Any]]:
        plain = [numbers(dtype) for dtype in ("?", *INTEGERS, "f2", "f4", "f8", "c8", "c16")]
        four = np.arange(35).reshape(5, 7) % 4
        small = [
            *((four - 2).astype(dtype) for dtype in (ml_dtypes.int2, ml_dtypes.int4)),
            *(four.astype(dtype) for dtype in (ml_dtypes.uint2, ml_dtypes.uint4, ml_dtypes.float4_e2m1fn)),
        ]
        return [*plain, *small, numbers("f4").astype(ml_dtypes.bfloat16)]


class TestPackBitsOfSome(ArrayCodecContract):
    def make(self) -> Any:
        return PackBitsCodec(padding_encoding="last_byte", first_bit=1, last_bit=5)

    def chunks(self) -> list[NDArray[Any]]:
        return [
            (np.arange(-17, 18) * 2 % 62 - 32).astype(dtype).reshape(5, 7) for dtype in ("i1", "i4", "i8")
        ]

    def decoded(self, chunk: NDArray[Any]) -> NDArray[Any]:
        return chunk


class TestPCodec(ArrayCodecContract):
    def make(self) -> Any:
        return PCodec(level=2)

    def chunks(self) -> list[NDArray[Any]]:
        return [numbers(dtype) for dtype in (*INTEGERS, "f2", "f4", "f8") if np.dtype(dtype).itemsize > 1]

    def test_truncated_and_over_long_bytes_are_refused(self) -> None:
        """Pcodec sees no bytes behind its end; the chunk is right then."""
        for chunk in self.chunks():
            codec = self.resolved(chunk)
            encoded = codec.encode_array(chunk)
            for data in (b"", encoded[:1], encoded[: len(encoded) // 2], encoded[:-1]):
                with pytest.raises(CodecError):
                    codec.decode_array(data)
            np.testing.assert_array_equal(codec.decode_array(encoded + b"x"), chunk)


class TestZFPY(ArrayCodecContract):
    def make(self) -> Any:
        return ZFPY(mode=4, tolerance=0.25)

    def chunks(self) -> list[NDArray[Any]]:
        return [(RANDOM.random((5, 7)) * 100).astype(dtype) for dtype in ("f4", "f8", "i4", "i8")]

    def decoded(self, chunk: NDArray[Any]) -> NDArray[Any]:
        codec = numcodecs.get_codec({"id": "zfpy", "mode": 4, "tolerance": 0.25})
        return codec.decode(codec.encode(np.ascontiguousarray(chunk))).reshape(chunk.shape)

    def test_truncated_and_over_long_bytes_are_refused(self) -> None:
        """zfp has no end: what can be known is the header, and the most that a chunk takes."""
        for chunk in self.chunks():
            codec = self.resolved(chunk)
            encoded = codec.encode_array(chunk)
            others = (chunk.T, chunk[:4], chunk.astype("f8" if chunk.dtype != "f8" else "f4"))
            foreign = [self.resolved(other).encode_array(other) for other in others]
            for data in (b"", encoded[:1], encoded[:8], encoded + bytes(10_000), *foreign):
                with pytest.raises(CodecError):
                    codec.decode_array(data)


class TestTranspose(ArrayCodecContract):
    def make(self) -> Any:
        return TransposeCodec(order=(1, 0))

    def chunks(self) -> list[NDArray[Any]]:
        return [numbers(dtype) for dtype in ("u1", ">f4")]


class TestReshape(ArrayCodecContract):
    def make(self) -> Any:
        return ReshapeCodec(shape=((0,), -1))

    def chunks(self) -> list[NDArray[Any]]:
        return [numbers("i4"), TEXTS]


class TestBitRound(ArrayCodecContract):
    def make(self) -> Any:
        return BitRoundCodec(keepbits=4)

    def chunks(self) -> list[NDArray[Any]]:
        return [numbers(dtype) for dtype in ("f2", "f4", "f8", "c8", *INTEGERS)]

    def decoded(self, chunk: NDArray[Any]) -> NDArray[Any]:
        return BitRoundCodec(keepbits=4).encode_array(chunk)


class TestNumcodecsBitRound(TestBitRound):
    def make(self) -> Any:
        return filters.BitRound(keepbits=4)

    def chunks(self) -> list[NDArray[Any]]:
        return [numbers(dtype) for dtype in ("f2", "f4", "f8")]


class TestCastValue(ArrayCodecContract):
    def make(self) -> Any:
        pairs = {"encode": [["NaN", -1]], "decode": [[-1, "NaN"]]}
        return CastValue(data_type="int16", rounding="towards-zero", scalar_map=pairs)

    def chunks(self) -> list[NDArray[Any]]:
        return [(RANDOM.random((5, 7)) * 1000).astype(dtype) for dtype in ("f4", "f8")]

    def decoded(self, chunk: NDArray[Any]) -> NDArray[Any]:
        return np.trunc(chunk)


class TestScaleOffset(ArrayCodecContract):
    def make(self) -> Any:
        return ScaleOffset(offset=5, scale=2)

    def chunks(self) -> list[NDArray[Any]]:
        return [np.arange(35).astype(dtype).reshape(5, 7) for dtype in ("i2", "i8", "f4", "f8")]


class TestDelta(ArrayCodecContract):
    def make(self) -> Any:
        return filters.Delta(dtype="<i4", astype="<i8")

    def chunks(self) -> list[NDArray[Any]]:
        return [numbers("<i4") // 4]


class TestFixedScaleOffset(ArrayCodecContract):
    def make(self) -> Any:
        return filters.FixedScaleOffset(offset=10, scale=4, dtype="<f4", astype="u1")

    def chunks(self) -> list[NDArray[Any]]:
        return [(10 + np.arange(35, dtype="<f4") / 4).reshape(5, 7)]


class TestQuantize(ArrayCodecContract):
    def make(self) -> Any:
        return filters.Quantize(digits=1, dtype="<f4")

    def chunks(self) -> list[NDArray[Any]]:
        return [(np.arange(35, dtype="<f4") / 8).reshape(5, 7)]


class TestAsType(ArrayCodecContract):
    def make(self) -> Any:
        return filters.AsType(encode_dtype="<i2", decode_dtype="<f4")

    def chunks(self) -> list[NDArray[Any]]:
        return [np.arange(35, dtype="<f4").reshape(5, 7)]


class TestNumcodecsPackBits(ArrayCodecContract):
    def make(self) -> Any:
        return filters.PackBits()

    def chunks(self) -> list[NDArray[Any]]:
        return [numbers("?"), numbers("?", (4, 8))]


OTHERS = {"bytes", "sharding_indexed"}
"""Held elsewhere: memory, and shards."""


def test_every_array_codec_is_held_to_the_contract() -> None:
    kinds = [*ArrayCodecContract.__subclasses__(), *TestBitRound.__subclasses__()]
    held = {kind().make().name for kind in kinds}  # type: ignore[abstract]
    known = {name for name in registry.names() if registry.find(name).kind != "bytes_bytes"}
    assert held | OTHERS == known


# Sources: zarr-extensions, "bitround", "packbits"; what zarrs 0.23 writes.
@pytest.mark.parametrize(
    ("keepbits", "values", "expected"),
    [
        (3, np.array([0, 1, 7, 8, 9, 15, 199, 2**32 - 1], "u4"), [0, 1, 7, 8, 8, 16, 192, 2**32 - 2**29]),
        (3, np.array([-1, -2, -200, 100], "i4"), None),
        (2, np.array([1.0, 1.124, 1.125, 1.375, -1.375, np.inf, -np.inf, -0.0], "f4"), None),
    ],
)
def test_bitround(keepbits: int, values: NDArray[Any], expected: list[int] | None) -> None:
    found = BitRoundCodec(keepbits=keepbits).resolve(spec_of(values)).encode_array(values)
    if values.dtype.kind == "f":
        np.testing.assert_array_equal(
            found.view("u4"), numcodecs.BitRound(keepbits).encode(values).view("u4")
        )
    elif expected is None:
        # Negative numbers have their highest bit set.
        bits = BitRoundCodec(keepbits=keepbits).resolve(spec_of(values.view("u4")))
        np.testing.assert_array_equal(found.view("u4"), bits.encode_array(values.view("u4")))
    else:
        assert found.tolist() == expected


def test_bitround_keeps_nans() -> None:
    values = np.array([0x7FC00000, 0x7FFFFFFF, 0xFFC00001], "u4").view("f4")
    found = filters.BitRound(keepbits=0).resolve(spec_of(values)).encode_array(values)
    assert found.view("u4").tolist() == values.view("u4").tolist()


def test_packbits_bytes() -> None:
    bits = np.array([1, 0, 0, 1, 1, 0, 1, 0, 1, 1], bool)
    for encoding, expected in (("none", "5903"), ("first_byte", "065903"), ("last_byte", "590306")):
        codec = PackBitsCodec(padding_encoding=encoding).resolve(spec_of(bits))  # type: ignore[arg-type]
        assert bytes(codec.encode_array(bits)).hex() == expected
    values = np.array([5, 9, 300], "<u2")
    codec = PackBitsCodec(last_bit=3).resolve(spec_of(values))
    assert bytes(codec.encode_array(values)).hex() == "950c"
    assert codec.decode_array(bytes.fromhex("950c")).tolist() == [5, 9, 300 % 16]


@pytest.mark.parametrize(
    ("shape", "chunk", "expected"),
    [
        ([[0, 1], [2], 3], (100, 50, 64, 3), (5000, 64, 3)),
        ([-1], (2, 3), (6,)),
        ([[0], 2, -1], (4, 6), (4, 2, 3)),
        ([1, [0], [1], 1], (4, 6), (1, 4, 6, 1)),
        ([], (1, 1), ()),
    ],
)
def test_reshape(shape: Any, chunk: tuple[int, ...], expected: tuple[int, ...]) -> None:
    codec = ReshapeCodec(shape=shape)
    spec = ChunkSpec(shape=chunk, dtype=np.dtype("i4"), fill_value=0)
    assert codec.resolve(spec).encoded_spec(spec).shape == expected
    assert codec.config() == {"shape": shape}


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: ReshapeCodec(shape=[[1], [0]]), "expected lists of dimensions that increase"),
        (lambda: ReshapeCodec(shape=[[1, 0]]), "expected lists of dimensions that increase"),
        (lambda: ReshapeCodec(shape=[-1, -1]), "expected a list of sizes, -1"),
        (lambda: ReshapeCodec(shape=[0]), "expected a list of sizes, -1"),
        (
            lambda: resolved(ReshapeCodec(shape=[4])),
            r"got \[4\] for chunks of shape \[2, 3\], expected 6 elements",
        ),
        (lambda: resolved(ReshapeCodec(shape=[[2]])), "expected dimensions below 2"),
        (lambda: resolved(ReshapeCodec(shape=[3, [0]])), r"expected dimensions \[0\] to stay where they are"),
        (lambda: PackBitsCodec(padding_encoding="start"), "expected one of first_byte, last_byte, none"),
        (lambda: resolved(PackBitsCodec(last_bit=32)), "last_bit: got 32"),
        (
            lambda: resolved(PackBitsCodec(first_bit=3, last_bit=2)),
            "first_bit: got 3, expected 2 at the most",
        ),
        (lambda: resolved(BitRoundCodec(keepbits=0)), "keepbits: got 0, expected an integer from 1 to 64"),
        (lambda: resolved(BitRoundCodec(keepbits=11), "f2"), "expected 10 at the most for float16"),
        (lambda: resolved(filters.BitRound(keepbits=1)), "got data type int32, expected floats"),
        (
            lambda: CastValue(data_type="int8", rounding="up"),
            "rounding: got 'up', expected one of nearest-even",
        ),
        (lambda: resolved(CastValue(data_type="bool")), "expected integers or floats"),
        (lambda: resolved(CastValue(data_type="nope")), "got 'nope', expected"),
        (lambda: resolved(CastValue(data_type="float32", out_of_range="wrap")), "out_of_range: got 'wrap'"),
        (
            lambda: resolved(CastValue(data_type="uint8", scalar_map={"encode": [[1.5, 0]]})),
            "scalar_map, encode: got 1.5",
        ),
        (
            lambda: CastValue(data_type="int8").resolve(of(300)).encoded_spec(of(300)),
            "fill value: cast_value: int8 can't hold 300",
        ),
        (lambda: resolved(ScaleOffset(offset="x")), "offset: got 'x'"),
        (lambda: resolved(ScaleOffset(), "c8"), "got data type complex64, expected integers or floats"),
        (lambda: filters.Delta(dtype="object"), "dtype: got 'object', expected a dtype of numbers"),
        (
            lambda: resolved(filters.Delta(dtype="<f8")),
            "decodes to float64, expected the chunk's data type int32",
        ),
        (lambda: resolved(filters.PackBits()), "got data type int32, expected bool"),
        (lambda: resolved(PCodec(), "u1"), "expected integers and floats of 2, 4 or 8 bytes"),
        (lambda: resolved(ZFPY(), "u4"), "got data type uint32 and 2 dimensions"),
        (lambda: resolved(FiltersCodec(filters=[{"id": "pickle"}])), "it would execute what is stored"),
        (
            lambda: resolved(FiltersCodec(filters=[{"id": "nope"}])),
            "not in numcodecs' registry; install the package",
        ),
        (lambda: FiltersCodec(filters=[{}]), "expected a list of objects with an id"),
    ],
)
def test_wrong_members_are_named(make: Any, text: str) -> None:
    with pytest.raises(MetadataError, match=text):
        make()


def of(fill: int) -> ChunkSpec:
    return ChunkSpec(shape=(2, 3), dtype=np.dtype("i4"), fill_value=np.int32(fill))


def resolved(codec: Any, dtype: str = "i4") -> Any:
    spec = ChunkSpec(shape=(2, 3), dtype=np.dtype(dtype), fill_value=np.zeros(1, dtype)[0])
    made = codec.resolve(spec)
    return made.encoded_spec(spec) if made.kind == "array_array" else made


def test_integers_that_scaling_would_change_are_refused() -> None:
    values = np.array([100, 1], "i1")
    codec = ScaleOffset(scale=2).resolve(spec_of(values))
    with pytest.raises(CodecError, match="integers leave the range of int8"):
        codec.encode_array(values)
    # Without a scale what leaves the range comes back.
    codec = ScaleOffset(offset=-100).resolve(spec_of(values))
    assert codec.decode_array(codec.encode_array(values)).tolist() == [100, 1]


def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    for codec, package in ((PCodec(), "pcodec"), (ZFPY(), "zfpy"), (objects.MsgPack2(), "msgpack")):
        monkeypatch.setitem(sys.modules, package, None)
        monkeypatch.setitem(sys.modules, f"{package}.standalone", None)
        with pytest.raises(
            MetadataError,
            match=rf"needs the package {package} .*; install it with: pip install 'fastzarr\[codecs\]'",
        ):
            codec.resolve(of(0))


class Doubling(ReshapeCodec):
    """A codec of another package."""


def test_codecs_of_other_packages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "_registered", {})
    registry.register("double", Doubling)
    assert registry.find("double") is Doubling
    assert "double" in registry.names()
    good = EntryPoint("tripled", f"{__name__}:Doubling", registry.GROUP)
    broken = EntryPoint("broken", "no_such_module:Codec", registry.GROUP)
    asked: list[Any] = []

    def found(**selected: str) -> list[EntryPoint]:
        asked.append(selected)
        return [entry for entry in (good, broken) if entry.name == selected["name"]]

    monkeypatch.setattr("importlib.metadata.entry_points", found)
    assert registry.find("zstd").name == "zstd"
    assert asked == [], "entry points are looked up for unknown names only"
    assert registry.find("tripled") is registry.find("tripled") is Doubling
    assert asked == [{"group": "fastzarr.codecs", "name": "tripled"}]
    with pytest.raises(
        UnknownCodecError, match=r"entry point 'broken' = 'no_such_module:Codec' .* can't be loaded"
    ):
        registry.find("broken")
    with pytest.raises(UnknownCodecError, match="got unknown codec 'none', expected one of transpose, "):
        registry.find("none")


def test_entry_points_of_numcodecs(monkeypatch: pytest.MonkeyPatch) -> None:
    value = f"{__name__}:Reversed"
    entries = {"reversed": EntryPoint("reversed", value, "numcodecs.codecs")}
    entries["broken"] = EntryPoint("broken", "no_such_module:Codec", "numcodecs.codecs")
    monkeypatch.setattr(numcodecs.registry, "entries", entries)
    codec = resolved(FiltersCodec(filters=[{"id": "reversed"}]))
    chunk = np.arange(6, dtype="i4").reshape(2, 3)
    assert bytes(codec.encode_array(chunk)) == chunk.tobytes()[::-1]
    np.testing.assert_array_equal(codec.decode_array(codec.encode_array(chunk)), chunk)
    with pytest.raises(UnknownCodecError, match="'broken': its entry point can't be loaded: No module named"):
        resolved(FiltersCodec(filters=[{"id": "broken"}]))


class Reversed(numcodecs.abc.Codec):
    """A numcodecs codec of another package."""

    codec_id = "reversed"

    def encode(self, buf: Any) -> bytes:
        return bytes(memoryview(buf).cast("B"))[::-1]

    def decode(self, buf: Any, out: Any = None) -> bytes:
        return bytes(buf)[::-1]


def test_codecs_are_given_by_name() -> None:
    values = np.arange(20) % 3 == 0
    named = fastzarr.create_array(None, data=values, serializer=["packbits"], compressors=["crc32c"])
    assert [codec.name for codec in named.metadata.codecs] == ["packbits", "crc32c"]
    np.testing.assert_array_equal(fastzarr.open_array(named.store)[...], values)


def test_codec_objects_are_taken_as_they_are() -> None:
    values = np.arange(20).reshape(4, 5)
    array = fastzarr.create_array(None, data=values, filters=ReshapeCodec(shape=[-1]), compressors=None)
    assert array.filters == (ReshapeCodec(shape=[-1]),)
    np.testing.assert_array_equal(fastzarr.open_array(array.store)[...], values)
