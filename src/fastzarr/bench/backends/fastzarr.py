"""Contender `fastzarr`: the public library, whole steps written and read into the caller's memory."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

from numpy.typing import NDArray

import fastzarr
from fastzarr.bench.backends.base import Backend, Case, Described


def compressors(case: Described) -> Any:
    """The `compressors` argument of `create_array`."""
    if case.codec == "none":
        return None
    if case.zarr_format == 2:
        return {
            "zstd": {"id": "zstd", "level": case.level},
            "blosc": {"id": "blosc", "cname": "lz4", "clevel": case.level, "shuffle": 1, "blocksize": 0},
            "zlib": {"id": "zlib", "level": case.level},
        }[case.codec]
    if case.codec == "zstd":
        return fastzarr.codecs.ZstdCodec(level=case.level)
    if case.codec == "blosc":
        return fastzarr.codecs.BloscCodec(cname="lz4", clevel=case.level, shuffle="shuffle")
    return fastzarr.codecs.GzipCodec(level=case.level)


class Steps:
    """The open array."""

    def __init__(self, array: fastzarr.Array) -> None:
        self._array = array

    def write(self, step: int, data: NDArray[Any]) -> None:
        self._array[step] = data

    def read(self, step: int, out: NDArray[Any]) -> None:
        self._array.read_into(out, selection=step)

    def close(self) -> None:
        """The array keeps nothing open: each write hands its chunk to the operating system."""


class Fastzarr:
    """Default settings."""

    name = "fastzarr"
    kind: Literal["baseline", "library"] = "library"
    packages: Sequence[str] = ("fastzarr",)

    def unavailable(self) -> str | None:
        return None

    def unsupported(self, case: Case) -> str | None:
        return None

    def create(self, path: Path, case: Case) -> Steps:
        return Steps(
            fastzarr.create_array(
                store=path,
                shape=case.shape,
                chunks=case.chunks,
                dtype=case.dtype,
                zarr_format=case.zarr_format,
                compressors=compressors(case),
                fill_value=case.fill_value,
            )
        )

    def open(self, path: Path, case: Case) -> Steps:
        return Steps(fastzarr.open_array(path, mode="r"))


BACKEND: Backend = Fastzarr()
