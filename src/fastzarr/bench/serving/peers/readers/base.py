"""What a reader is: it opens a stored layer and gives decoded buckets."""

import functools
import importlib.util
import json
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from fastzarr.bench.serving.peers.base import BUCKET, Coding, Format

Place = tuple[int, int, int]
"""Coordinates (x, y, z) of a bucket, in buckets."""
ReadBuckets = Callable[[Sequence[Place]], list[NDArray[np.uint8]]]
"""Gives the bytes of buckets, each with x fastest; called by several threads at once."""


class Reader(Protocol):
    """One library."""

    name: str
    """What its server is called."""
    module: str
    """What is imported."""
    format: Format
    """What it reads."""
    codings: tuple[Coding, ...]
    """Which codings it knows."""
    keeps: bool
    """Whether it has a cache of its own."""

    def open(self, path: Path, cache_bytes: int) -> ReadBuckets:
        """Open the layer in directory `path`, with `cache_bytes` for a cache of its own, if it has one."""


def missing(reader: Reader) -> str | None:
    """Why the library can't be used, and what to do; None where it can."""
    if importlib.util.find_spec(reader.module) is not None:
        return None
    return f"{reader.module} is not installed: pip install {reader.module}"


def box(place: Place) -> tuple[slice, ...]:
    """The voxels of a bucket, in an array (c, x, y, z)."""
    return (slice(0, 1), *(slice(BUCKET * n, BUCKET * (n + 1)) for n in place))


def stored_order(directory: Path) -> Path:
    """The same array of Zarr without its codec `transpose`, in a directory for the life of this process.

    Its inner chunks are cubes with x fastest, as buckets are. Read as if z were fastest, a chunk is the
    bucket as it is sent, and is not turned twice: some libraries spend most of their time on that (zarrista
    400 of 440 µs, zarrs 400 of 600 µs for a bucket of uint8).
    """
    document = json.loads((directory / "zarr.json").read_text(encoding="utf-8"))
    inner: dict[str, Any] = document["codecs"][0]["configuration"]
    inner["codecs"] = [codec for codec in inner["codecs"] if codec["name"] != "transpose"]
    made = Path(_scratch().name, directory.parent.name)
    made.mkdir()
    (made / "zarr.json").write_text(json.dumps(document), encoding="utf-8")
    (made / "c").symlink_to((directory / "c").resolve())
    return made


@functools.cache
def _scratch() -> "tempfile.TemporaryDirectory[str]":
    return tempfile.TemporaryDirectory(prefix="fastzarr-reader-")


def flat(array: NDArray[Any]) -> NDArray[np.uint8]:
    """The bytes of an array, in C order."""
    return array.reshape(-1).view(np.uint8)
