"""What every bytes→bytes codec does. A codec passes by subclassing `CodecContract` and giving `make`."""

import contextlib
import copy
import dataclasses
import pickle
import threading
from abc import ABC, abstractmethod
from typing import Any

import numpy as np
import pytest

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
