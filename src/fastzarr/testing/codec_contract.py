"""What every codec does. A bytes→bytes codec passes by subclassing `CodecContract` and giving `make`, another
one by subclassing `ArrayCodecContract` and giving `make` and `chunks`."""

from __future__ import annotations

import contextlib
import copy
import dataclasses
import json
import pickle
import threading
from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from fastzarr.codecs import registry
from fastzarr.codecs.base import BytesBytesCodec, ChunkSpec
from fastzarr.errors import CodecError, MetadataError, UnknownCodecError

CONTENTS = {
    "nothing": b"",
    "few bytes": b"few byte",
    "zeros": bytes(10_000),
    "repeated": b"0123456789abcdef" * 1000,
    "random": np.random.default_rng(1).bytes(10_008),
    "numbers": np.arange(300_000, dtype="<f4").tobytes(),
}
_SPEC = ChunkSpec(shape=(100,), dtype=np.dtype("<f4"), fill_value=np.float32(0))


class CodecContract(ABC):
    """Tests of one bytes→bytes codec: subclass it as `TestMyCodec` and write `make`."""

    @abstractmethod
    def make(self) -> BytesBytesCodec:
        """The codec, with members that are not its defaults where it has any."""

    @pytest.fixture
    def codec(self) -> Any:
        """The codec as a chain of float32 chunks has it."""
        return self.make().resolve(_SPEC)

    def test_is_known_by_its_name(self, codec: Any) -> None:
        assert codec.kind == "bytes_bytes"
        assert registry.get(codec.name, codec.config()) == codec

    def test_configuration_round_trips(self, codec: Any) -> None:
        assert type(codec).from_config(codec.config()) == codec
        assert codec.to_dict()["name"] == codec.name
        assert codec.resolve(_SPEC) == codec

    def test_is_an_immutable_value(self, codec: Any) -> None:
        same = type(codec).from_config(codec.config())
        assert hash(same) == hash(codec)
        assert pickle.loads(pickle.dumps(codec)) == codec
        assert copy.deepcopy(codec) == codec
        for member in dataclasses.fields(codec):
            with pytest.raises(dataclasses.FrozenInstanceError):
                setattr(codec, member.name, getattr(codec, member.name))

    def test_unknown_members_are_refused(self, codec: Any) -> None:
        with pytest.raises(
            MetadataError, match=rf"codec '{codec.name}': got members \['x'\], expected only: "
        ):
            type(codec).from_config({**codec.config(), "x": 1})
        with pytest.raises(UnknownCodecError):
            registry.get(f"no-{codec.name}", codec.config())

    @pytest.mark.parametrize("content", CONTENTS)
    def test_round_trip(self, codec: Any, content: str) -> None:
        data = CONTENTS[content]
        for given in (data, bytearray(data), memoryview(data), np.frombuffer(data, "u1").copy().data):
            encoded = codec.encode(given)
            assert bytes(given) == data, "what is encoded must not change"
            assert bytes(codec.decode(encoded, None)) == data
            assert bytes(codec.decode(memoryview(encoded), None)) == data
            assert bytes(codec.decode(bytearray(encoded), None)) == data

    @pytest.mark.parametrize("content", CONTENTS)
    def test_decoding_into_memory(self, codec: Any, content: str) -> None:
        data = CONTENTS[content]
        around = np.full(len(data) + 32, 0xA5, "u1")
        out = around[16:-16].data
        decoded = codec.decode(codec.encode(data), out)
        assert bytes(decoded) == data
        assert decoded is out or len(decoded) == len(data)
        assert (around[:16] == 0xA5).all()
        assert (around[-16:] == 0xA5).all()

    @pytest.mark.parametrize("content", ["few bytes", "repeated", "random"])
    def test_flipped_bits_never_crash(self, codec: Any, content: str) -> None:
        data = CONTENTS[content]
        encoded = bytes(codec.encode(data))
        places = np.random.default_rng(len(encoded)).integers(0, len(encoded) * 8, 200)
        for place in {*range(min(160, len(encoded) * 8)), *places.tolist()}:
            damaged = bytearray(encoded)
            damaged[place // 8] ^= 1 << place % 8
            around = np.full(len(data) + 32, 0xA5, "u1")
            out = around[16:-16].data
            with contextlib.suppress(CodecError):
                assert len(codec.decode(bytes(damaged), out)) == len(data)
            assert (around[:16] == 0xA5).all()
            assert (around[-16:] == 0xA5).all()

    @pytest.mark.parametrize("difference", [-100, -1, 1, 100])
    def test_any_other_size_is_refused(self, codec: Any, difference: int) -> None:
        data = CONTENTS["repeated"]
        around = np.full(len(data) + 300, 0xA5, "u1")
        with pytest.raises(CodecError):
            codec.decode(codec.encode(data), around[100 : 100 + len(data) + difference].data)
        assert (around[:100] == 0xA5).all()
        assert (around[100 + len(data) + difference :] == 0xA5).all()

    @pytest.mark.parametrize("content", ["repeated", "random", "numbers"])
    def test_truncated_and_over_long_data_is_refused(self, codec: Any, content: str) -> None:
        data = CONTENTS[content]
        encoded = bytes(codec.encode(data))
        for damaged in (encoded[:-1], encoded[: len(encoded) // 2], encoded[:1], b"", encoded + b"x"):
            with pytest.raises(CodecError) as caught:
                codec.decode(damaged, np.empty(len(data), "u1").data)
            assert caught.value.kind == "codec"

    def test_many_threads(self, codec: Any) -> None:
        contents = [bytes([n]) * (5000 + 8 * n) + CONTENTS["random"] for n in range(6)]
        failures: list[BaseException] = []

        def work(data: bytes) -> None:
            try:
                for _ in range(20):
                    out = np.empty(len(data), "u1").data
                    assert bytes(codec.decode(codec.encode(data), out)) == data
            except BaseException as error:
                failures.append(error)

        threads = [threading.Thread(target=work, args=(data,)) for data in contents]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert not failures


class ArrayCodecContract(ABC):
    """Tests of one array→array or array→bytes codec: subclass it and write `make` and `chunks`."""

    @abstractmethod
    def make(self) -> Any:
        """The codec, with members that are not its defaults where it has any."""

    @abstractmethod
    def chunks(self) -> list[NDArray[Any]]:
        """Chunks of two dimensions or more, of every data type that the codec takes."""

    def decoded(self, chunk: NDArray[Any]) -> NDArray[Any]:
        """What is read after `chunk` was written; the same, unless the codec loses something."""
        return chunk

    def resolved(self, chunk: NDArray[Any]) -> Any:
        """The codec as a chain of such chunks has it."""
        return self.make().resolve(spec_of(chunk))

    def test_is_known_by_its_name(self) -> None:
        codec = self.make()
        assert codec.kind in ("array_array", "array_bytes")
        assert registry.get(codec.name, codec.config()) == codec
        assert registry.get(codec.name, json.loads(json.dumps(codec.config()))) == codec
        assert codec.to_dict()["name"] == codec.name

    def test_is_an_immutable_value(self) -> None:
        codec = self.make()
        same = type(codec).from_config(codec.config())
        assert hash(same) == hash(codec)
        assert pickle.loads(pickle.dumps(codec)) == codec
        assert copy.deepcopy(codec) == codec
        for member in dataclasses.fields(codec):
            with pytest.raises(dataclasses.FrozenInstanceError):
                setattr(codec, member.name, getattr(codec, member.name))

    def test_unknown_members_are_refused(self) -> None:
        codec = self.make()
        with pytest.raises(MetadataError, match=rf"codec '{codec.name}': got members \['x'\], expected only"):
            type(codec).from_config({**codec.config(), "x": 1})

    def test_round_trip_of_any_strides(self) -> None:
        for whole in self.chunks():
            for chunk in laid_out(whole):
                before = chunk.copy()
                codec = self.resolved(chunk)
                encoded = codec.encode_array(chunk)
                assert same_elements(chunk, before), "what is encoded must not change"
                if codec.kind == "array_array":
                    spec = codec.encoded_spec(spec_of(chunk))
                    assert (encoded.shape, encoded.dtype) == (spec.shape, spec.dtype)
                else:
                    assert len(memoryview(encoded).cast("B")) == len(encoded)
                assert same_elements(codec.decode_array(encoded), self.decoded(before))

    def test_strides_make_no_difference(self) -> None:
        for whole in self.chunks():
            encoded = [self.resolved(whole).encode_array(chunk) for chunk in laid_out(whole, equal=True)]
            if isinstance(encoded[0], np.ndarray):
                assert all(same_elements(other, encoded[0]) for other in encoded)
            else:
                assert len({bytes(other) for other in encoded}) == 1

    def test_chunks_of_one_element(self) -> None:
        for whole in self.chunks():
            chunk = whole[:1, :1]
            codec = self.resolved(chunk)
            assert same_elements(codec.decode_array(codec.encode_array(chunk)), self.decoded(chunk))

    def test_damaged_bytes_never_crash(self) -> None:
        for chunk in self.chunks():
            codec = self.resolved(chunk)
            if codec.kind == "array_array":
                return
            encoded = bytes(codec.encode_array(chunk))
            damaged = [encoded[:n] for n in {0, 1, 4, len(encoded) // 2, len(encoded) - 1}]
            damaged += [encoded + b"x", encoded * 2]
            places = np.random.default_rng(7).integers(0, len(encoded) * 8, 300)
            for place in {*range(min(320, len(encoded) * 8)), *places.tolist()}:
                flipped = bytearray(encoded)
                flipped[place // 8] ^= 1 << place % 8
                damaged.append(bytes(flipped))
            for data in damaged:
                with contextlib.suppress(CodecError):
                    assert codec.decode_array(data).shape == chunk.shape

    def test_truncated_and_over_long_bytes_are_refused(self) -> None:
        for chunk in self.chunks():
            codec = self.resolved(chunk)
            if codec.kind == "array_array":
                return
            encoded = bytes(codec.encode_array(chunk))
            for data in (b"", encoded[:1], encoded[: len(encoded) // 2], encoded[:-1], encoded + b"x"):
                with pytest.raises(CodecError) as caught:
                    codec.decode_array(data)
                assert caught.value.kind == "codec"

    def test_many_threads(self) -> None:
        chunk = self.chunks()[0]
        codec = self.resolved(chunk)
        failures: list[BaseException] = []

        def work() -> None:
            try:
                for _ in range(20):
                    decoded = codec.decode_array(codec.encode_array(chunk))
                    assert same_elements(decoded, self.decoded(chunk))
            except BaseException as error:
                failures.append(error)

        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert not failures


def spec_of(chunk: NDArray[Any]) -> ChunkSpec:
    """Spec of a chunk, with the fill value zero."""
    fill: Any = "" if chunk.dtype.kind in "OT" else np.zeros(1, chunk.dtype)[0]
    return ChunkSpec(shape=chunk.shape, dtype=chunk.dtype, fill_value=fill)


def laid_out(chunk: NDArray[Any], *, equal: bool = False) -> Iterator[NDArray[Any]]:
    """The chunk in several memory layouts, and, unless `equal`, with its elements elsewhere."""
    yield np.ascontiguousarray(chunk)
    yield np.asfortranarray(chunk)
    spread = np.empty((chunk.shape[0] * 2, *chunk.shape[1:]), chunk.dtype)
    spread[::2] = chunk
    yield spread[::2]
    backward = np.ascontiguousarray(chunk[::-1])
    yield backward[::-1]
    if not equal:
        yield chunk[::-1]
        yield chunk.T


def same_elements(found: NDArray[Any], expected: NDArray[Any]) -> bool:
    """Whether shape and all elements are equal, numbers by their bits."""
    if found.shape != expected.shape:
        return False
    if expected.dtype.kind in "OT":
        pairs = zip(found.reshape(-1).tolist(), expected.reshape(-1).tolist(), strict=True)
        return all(
            np.array_equal(one, other) if isinstance(other, np.ndarray) else one == other
            for one, other in pairs
        )
    native = expected.dtype.newbyteorder("=")
    return found.dtype.newbyteorder("=") == native and bool(
        found.astype(native).tobytes() == expected.astype(native).tobytes()
    )
