"""The gate sees every way in which a library may do other work than the case asks for."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import zarr
from numpy.typing import NDArray
from zarr.codecs import BloscCodec, BytesCodec, ZstdCodec

from fastzarr.bench.backends.base import Case, CodecName
from fastzarr.bench.gate import differences


class Library:
    """zarr-python with whatever is asked of it."""

    name = "library"
    kind: Any = "library"
    packages = ("zarr",)

    def __init__(self, **arguments: Any) -> None:
        self.arguments = arguments

    def unavailable(self) -> None:
        return None

    def unsupported(self, case: Case) -> None:
        return None

    def create(self, path: Path, case: Case) -> Any:
        arguments = {
            "shape": case.shape,
            "chunks": case.chunks,
            "dtype": case.dtype,
            "zarr_format": case.zarr_format,
            "fill_value": case.fill_value,
            "compressors": None,
        }
        return Steps(zarr.create_array(path, **arguments | self.arguments))

    def open(self, path: Path, case: Case) -> None:
        return None


class Steps:
    def __init__(self, array: Any) -> None:
        self.array = array

    def write(self, step: int, data: NDArray[Any]) -> None:
        self.array[step] = data

    def close(self) -> None:
        """Nothing is open."""


CASE = Case(shape=(50, 16, 64, 64), dtype=np.dtype("f4"), codec="none", level=0, zarr_format=3, fill_value=0)
BLOSC = BloscCodec(cname="lz4", clevel=5, shuffle="shuffle")
V2_BLOSC = {"id": "blosc", "cname": "lz4", "clevel": 5, "shuffle": 1, "blocksize": 0}


@pytest.mark.parametrize(
    ("zarr_format", "codec", "level", "compressors"),
    [
        (3, "none", 0, None),
        (3, "zstd", 3, ZstdCodec(level=3)),
        (3, "blosc", 5, BLOSC),
        (3, "zlib", 5, {"name": "gzip", "configuration": {"level": 5}}),
        (2, "none", 0, None),
        (2, "zstd", 3, {"id": "zstd", "level": 3}),
        (2, "blosc", 5, V2_BLOSC),
        (2, "zlib", 5, {"id": "zlib", "level": 5}),
    ],
)
@pytest.mark.parametrize("fill_value", [0, 1, np.nan])
def test_equal_work(
    zarr_format: Any, codec: CodecName, level: int, compressors: Any, fill_value: float, tmp_path: Path
) -> None:
    case = replace(CASE, zarr_format=zarr_format, codec=codec, level=level, fill_value=fill_value)
    assert differences(Library(compressors=compressors), case, tmp_path / "a") == []


@pytest.mark.parametrize(
    ("arguments", "changes", "expected"),
    [
        ({"config": {"write_empty_chunks": True}}, {}, ["stores chunks that equal the fill value"]),
        ({"compressors": ZstdCodec(level=0)}, {}, ["codecs zstd instead of none"]),
        ({}, {"codec": "zstd", "level": 3}, ["codecs none instead of zstd"]),
        (
            {"compressors": ZstdCodec(level=1, checksum=True)},
            {"codec": "zstd", "level": 3},
            ["zstd level 1 instead of 3", "zstd checksum True instead of False"],
        ),
        (
            {"compressors": BloscCodec(cname="zstd", clevel=5, shuffle="bitshuffle")},
            {"codec": "blosc", "level": 5},
            ["blosc cname zstd instead of lz4", "blosc shuffle bitshuffle instead of shuffle"],
        ),
        (
            {"compressors": V2_BLOSC | {"shuffle": 0}},
            {"codec": "blosc", "level": 5, "zarr_format": 2},
            ["blosc shuffle noshuffle instead of shuffle"],
        ),
        (
            {"dtype": ">f4"},
            {"zarr_format": 2},
            ["data type >f4 instead of float32"],
        ),
        ({"serializer": BytesCodec(endian="big")}, {}, ["codecs bytes instead of none"]),
        (
            {"chunk_key_encoding": {"name": "default", "configuration": {"separator": "."}}},
            {},
            ["chunk keys c.0.0.0.0, c.2.0.0.0 instead of c/0/0/0/0, c/2/0/0/0"],
        ),
        ({"chunks": (1, 4, 8, 8), "shards": (1, 8, 8, 8)}, {}, ["codecs sharding_indexed instead of none"]),
    ],
)
def test_unequal_work(
    arguments: dict[str, Any], changes: dict[str, Any], expected: list[str], tmp_path: Path
) -> None:
    assert differences(Library(**arguments), replace(CASE, **changes), tmp_path / "a") == expected


def test_an_array_that_is_not_there(tmp_path: Path) -> None:
    class Forgets(Library):
        def create(self, path: Path, case: Case) -> Any:
            return Steps({})

    assert differences(Forgets(), CASE, tmp_path / "a") == ["0 array metadata documents instead of one"]
