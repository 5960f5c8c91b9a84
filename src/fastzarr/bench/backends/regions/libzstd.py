"""Baseline `libzstd`: the codec alone, every chunk compressed and decompressed in memory, on all cores.

A thread per core has one context for its share of the chunks, and decompresses into the same memory again and
again. No file is read or written, and no chunk is put in its place, in the time that is taken.
"""

import itertools
import json
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import crc32c
import numpy as np
from numpy.typing import NDArray

from fastzarr.bench.backends.base import Layout, Region
from fastzarr.bench.backends.distributions import missing
from fastzarr.bench.backends.documents import array_document
from fastzarr.bench.backends.regions import chunk_files
from fastzarr.bench.backends.regions.base import Ability, OpenArray, RegionBackend
from fastzarr.bench.backends.regions.raw_chunks import cores, in_threads

CHECKSUM_BYTES = 4
"""Bytes of the checksum behind the index of a shard."""


class Opened(OpenArray):
    """Chunks and their compressed frames, in memory."""

    def __init__(self, path: Path, layout: Layout, threads: int | None) -> None:
        self._path, self._layout = path, layout
        self._threads = threads or cores()
        self._places = dict(chunk_files.regions(layout))
        self._indices = list(self._places)
        self._chunks: list[NDArray[Any]] = []
        self._frames: dict[tuple[int, ...], bytes] = {}

    def load(self) -> None:
        """Read the frames that another stored, in C order of the files."""
        for file, indices in self._files():
            data = file.read_bytes()
            if self._layout.shards is None:
                self._frames[indices[0]] = data
                continue
            end = len(data) - CHECKSUM_BYTES
            index = np.frombuffer(data[end - 16 * len(indices) : end], "<u8").reshape(-1, 2)
            for inner, (offset, size) in zip(indices, index.tolist(), strict=True):
                self._frames[inner] = data[offset : offset + size]

    def prepare(self, data: NDArray[Any]) -> None:
        self._chunks = [np.ascontiguousarray(data[self._places[index]]) for index in self._indices]
        self._frames = dict.fromkeys(self._indices, b"")

    def write(self, region: Region, data: NDArray[Any]) -> None:
        def act(share: Sequence[int]) -> None:
            from zstandard import ZstdCompressor

            context = ZstdCompressor(level=self._layout.level)
            for number in share:
                chunk = self._chunks[number].reshape(-1).view(np.uint8).data
                self._frames[self._indices[number]] = context.compress(chunk)

        in_threads(self._threads, act, range(len(self._indices)))

    def read(self, region: Region, out: NDArray[Any]) -> None:
        self._decode(None)

    def show(self, region: Region, out: NDArray[Any]) -> None:
        self._decode(out)

    def _decode(self, out: NDArray[Any] | None) -> None:
        def act(share: Sequence[int]) -> None:
            from zstandard import ZstdDecompressor

            context = ZstdDecompressor()
            scratch = np.empty(self._layout.chunks, self._layout.dtype)
            into = scratch.reshape(-1).view(np.uint8).data
            for number in share:
                index = self._indices[number]
                # With room for the whole frame this is one call of libzstd, without a buffer of its own.
                if context.stream_reader(self._frames[index]).readinto(into) != len(into):
                    raise EOFError(f"the frame of chunk {index} is shorter than the chunk")
                if out is not None:
                    out[self._places[index]] = scratch

        in_threads(self._threads, act, range(len(self._indices)))

    def _files(self) -> Iterator[tuple[Path, list[tuple[int, ...]]]]:
        """Every file, with the indices of its chunks in C order."""
        per_file = [o // c for o, c in zip(self._layout.objects, self._layout.chunks, strict=True)]
        counts = [n // o for n, o in zip(self._layout.shape, self._layout.objects, strict=True)]
        for index in itertools.product(*map(range, counts)):
            begins = [i * n for i, n in zip(index, per_file, strict=True)]
            inner = itertools.product(*(range(b, b + n) for b, n in zip(begins, per_file, strict=True)))
            yield Path(chunk_files.file(self._path, self._layout, index)), list(inner)

    def publish(self) -> None:
        for directory in chunk_files.directories(self._path, self._layout):
            os.makedirs(directory, exist_ok=True)  # noqa: PTH103 - many, and plain strings
        for file, indices in self._files():
            frames = [self._frames[index] for index in indices]
            if self._layout.shards is not None:
                sizes = [len(frame) for frame in frames]
                offsets = itertools.accumulate(sizes[:-1], initial=0)
                index = np.array(list(zip(offsets, sizes, strict=True)), "<u8").tobytes()
                frames += [index, crc32c.crc32c(index).to_bytes(CHECKSUM_BYTES, "little")]
            file.write_bytes(b"".join(frames))
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
        grids = (layout.shape, layout.objects), (layout.objects, layout.chunks)
        if any(n % c for sizes, parts in grids for n, c in zip(sizes, parts, strict=True)):
            return "knows no chunks that reach beyond the array"
        return None

    def create(self, path: Path, layout: Layout, threads: int | None = None) -> Opened:
        return Opened(path, layout, threads)

    def open(self, path: Path, layout: Layout, threads: int | None = None) -> Opened:
        opened = Opened(path, layout, threads)
        opened.load()
        return opened


BACKEND: RegionBackend = Libzstd()
