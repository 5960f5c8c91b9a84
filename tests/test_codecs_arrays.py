"""Each array→array and array→bytes codec against the contract, its peers and its members."""

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from numpy.typing import NDArray

from fastzarr.codecs import registry
from fastzarr.codecs.bitround import BitRoundCodec
from fastzarr.codecs.cast_value import CastValue
from fastzarr.codecs.numcodecs import filters, objects
from fastzarr.codecs.numcodecs.pcodec import PCodec
from fastzarr.codecs.numcodecs.v2 import FiltersCodec
from fastzarr.codecs.packbits import PackBitsCodec
from fastzarr.codecs.reshape import ReshapeCodec
from fastzarr.codecs.scale_offset import ScaleOffset
from fastzarr.codecs.transpose import TransposeCodec
from fastzarr.codecs.vlen import VLenBytesCodec, VLenUTF8Codec
from fastzarr.errors import CodecError
from fastzarr.testing.codec_contract import ArrayCodecContract

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


OTHERS = {"bytes", "sharding_indexed", "numcodecs.zfpy"}
"""Held elsewhere: memory, shards, and what is not installed with the tests."""


def test_every_array_codec_is_held_to_the_contract() -> None:
    kinds = [*ArrayCodecContract.__subclasses__(), *TestBitRound.__subclasses__()]
    held = {kind().make().name for kind in kinds}  # type: ignore[abstract]
    known = {name for name in registry.names() if registry.find(name).kind != "bytes_bytes"}
    assert held | OTHERS == known
