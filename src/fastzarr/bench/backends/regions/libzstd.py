"""Baseline `libzstd`: the codec alone, every chunk compressed and decompressed in memory, on all cores.

Each thread has one context and works through its share in batches of one call each. No file is read or
written, and no chunk is put in its place, in the time that is taken.
"""

import json
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fastzarr.bench.backends.base import Layout, Region
from fastzarr.bench.backends.distributions import missing
from fastzarr.bench.backends.documents import array_document
from fastzarr.bench.backends.regions import chunk_files
from fastzarr.bench.backends.regions.base import Ability, OpenArray, RegionBackend
from fastzarr.bench.backends.regions.raw_chunks import cores, in_threads

BATCH = 2**21
"""Uncompressed bytes of a batch, at least one chunk: much more than a call costs, little enough that the
memory of one serves the next."""


class Opened(OpenArray):
    """Chunks and their compressed frames, in memory."""

    def __init__(self, path: Path, layout: Layout, threads: int | None) -> None:
        self._path, self._layout = path, layout
        self._threads = threads or cores()
        self._places = list(chunk_files.regions(layout))
        self._chunk_bytes = int(np.prod(layout.chunks)) * layout.dtype.itemsize
        self._chunks: list[NDArray[Any]] = []
        self._frames: list[Any] = []

    def load(self) -> None:
        """Read the frames that another stored."""
        for index, _ in self._places:
            self._frames.append(Path(chunk_files.file(self._path, self._layout, index)).read_bytes())

    def prepare(self, data: NDArray[Any]) -> None:
        self._chunks = [np.ascontiguousarray(data[place]) for _, place in self._places]
        self._frames = [None] * len(self._chunks)

    def write(self, region: Region, data: NDArray[Any]) -> None:
        def act(share: Sequence[int]) -> None:
            from zstandard import ZstdCompressor

            context = ZstdCompressor(level=self._layout.level)
            for batch in self._batches(share):
                views: list[Any] = [self._chunks[number].reshape(-1).view(np.uint8).data for number in batch]
                frames = context.multi_compress_to_buffer(views)
                for number, at in zip(batch, range(len(batch)), strict=True):
                    self._frames[number] = frames[at]

        in_threads(self._threads, act, range(len(self._places)))

    def read(self, region: Region, out: NDArray[Any]) -> None:
        self._decode(None)

    def show(self, region: Region, out: NDArray[Any]) -> None:
        self._decode(out)

    def _decode(self, out: NDArray[Any] | None) -> None:
        def act(share: Sequence[int]) -> None:
            from zstandard import ZstdDecompressor

            context = ZstdDecompressor()
            for batch in self._batches(share):
                sizes = np.full(len(batch), self._chunk_bytes, np.uint64).tobytes()
                frames = [self._frames[number] for number in batch]
                found = context.multi_decompress_to_buffer(frames, decompressed_sizes=sizes)
                if out is not None:
                    for number, at in zip(batch, range(len(batch)), strict=True):
                        chunk = np.frombuffer(found[at].tobytes(), out.dtype).reshape(self._layout.chunks)
                        out[self._places[number][1]] = chunk

        in_threads(self._threads, act, range(len(self._places)))

    def _batches(self, share: Sequence[int]) -> Iterator[Sequence[int]]:
        count = max(1, BATCH // self._chunk_bytes)
        return (share[i : i + count] for i in range(0, len(share), count))

    def publish(self) -> None:
        for directory in chunk_files.directories(self._path, self._layout):
            os.makedirs(directory, exist_ok=True)  # noqa: PTH103 - many, and plain strings
        for (index, _), frame in zip(self._places, self._frames, strict=True):
            Path(chunk_files.file(self._path, self._layout, index)).write_bytes(frame)
        name = "zarr.json" if self._layout.zarr_format == 3 else ".zarray"
        (self._path / name).write_text(json.dumps(array_document(self._layout)), encoding="utf-8")


class Libzstd(RegionBackend):
    """The ceiling of codec zstd."""

    name = "libzstd"
    kind = "baseline"
    packages = ("zstandard",)

    def unavailable(self) -> str | None:
        return missing("zstandard", "0.23", "zstandard")

    def unsupported(self, layout: Layout, ability: Ability) -> str | None:
        if layout.codec != "zstd":
            return "is a codec: zstd only"
        if ability not in ("write", "read"):
            return "compresses and decompresses whole arrays only"
        if layout.shards:
            return "has its frames from files of chunks: no shards"
        if any(n % c for n, c in zip(layout.shape, layout.chunks, strict=True)):
            return "knows no chunks that reach beyond the array"
        return None

    def create(self, path: Path, layout: Layout, threads: int | None = None) -> Opened:
        return Opened(path, layout, threads)

    def open(self, path: Path, layout: Layout, threads: int | None = None) -> Opened:
        opened = Opened(path, layout, threads)
        opened.load()
        return opened


BACKEND: RegionBackend = Libzstd()
