"""Baseline `raw-chunks`: one file per chunk in the layout of Zarr, read and written by plain calls.

A thread per core opens a file, reads it, into place where the chunk is contiguous there and otherwise into
memory of the thread's own and from there with NumPy, and takes the next. It knows no codec, compares nothing
with the fill value and renames nothing.
"""

import json
import os
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fastzarr.bench.backends import raw_chunks as sequential
from fastzarr.bench.backends.base import Layout, Region
from fastzarr.bench.backends.documents import array_document
from fastzarr.bench.backends.raw import read_all, write_all
from fastzarr.bench.backends.regions import chunk_files
from fastzarr.bench.backends.regions.base import Ability, Library, OpenArray, RegionBackend

Part = tuple[str, Region]
"""File of a chunk, and where it is in the array."""


def cores() -> int:
    """Cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def in_threads(threads: int, act: Callable[[Sequence[Any]], None], items: Iterable[Any]) -> None:
    """Have `threads` threads call `act` with a share of `items` each: every nth."""
    listed = list(items)
    with ThreadPoolExecutor(threads) as pool:
        for done in [pool.submit(act, listed[n::threads]) for n in range(threads)]:
            done.result()


class Opened(OpenArray):
    """The chunk files."""

    def __init__(self, path: Path, layout: Layout, threads: int | None) -> None:
        self._path, self._layout = path, layout
        self._threads = threads or cores()
        self._parts = [
            (chunk_files.file(path, layout, index), region) for index, region in chunk_files.regions(layout)
        ]

    def write(self, region: Region, data: NDArray[Any]) -> None:
        for directory in chunk_files.directories(self._path, self._layout):
            os.makedirs(directory, exist_ok=True)  # noqa: PTH103 - plain calls are the point of this backend

        def act(parts: Sequence[Part]) -> None:
            scratch = np.empty(self._layout.chunks, data.dtype)
            for name, place in parts:
                chunk = data[place]
                if not chunk.flags.c_contiguous:
                    scratch[...] = chunk
                    chunk = scratch
                file = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o644)
                try:
                    write_all(file, chunk)
                finally:
                    os.close(file)

        in_threads(self._threads, act, self._parts)

    def read(self, region: Region, out: NDArray[Any]) -> None:
        def act(parts: Sequence[Part]) -> None:
            scratch = np.empty(self._layout.chunks, out.dtype)
            for name, place in parts:
                chunk = out[place]
                direct = chunk.flags.c_contiguous
                file = os.open(name, os.O_RDONLY | os.O_CLOEXEC)
                try:
                    read_all(file, chunk if direct else scratch)
                finally:
                    os.close(file)
                if not direct:
                    chunk[...] = scratch

        in_threads(self._threads, act, self._parts)

    def item(self, index: int) -> NDArray[Any]:
        name, _ = self._parts[index]
        item = np.empty(self._layout.shape[1:], self._layout.dtype)
        file = os.open(name, os.O_RDONLY | os.O_CLOEXEC)
        try:
            read_all(file, item)
        finally:
            os.close(file)
        return item

    def publish(self) -> None:
        name = "zarr.json" if self._layout.zarr_format == 3 else ".zarray"
        (self._path / name).write_text(json.dumps(array_document(self._layout)), encoding="utf-8")


class RawChunks(Library):
    """Neither metadata nor codec."""

    def unsupported(self, layout: Layout, ability: Ability) -> str | None:
        if layout.codec != "none":
            return "stores bytes as they are: codec none only"
        if layout.shards:
            return "has one file per chunk: no shards"
        if any(n % c for n, c in zip(layout.shape, layout.chunks, strict=True)):
            return "knows no chunks that reach beyond the array"
        if ability == "item" and layout.chunks != (1, *layout.shape[1:]):
            return "reads whole chunks: an item that is no chunk isn't one"
        if ability not in ("write", "read", "item"):
            return "writes and reads whole arrays, and items that are chunks"
        return None

    def create(self, path: Path, layout: Layout, threads: int | None = None) -> Opened:
        return Opened(path, layout, threads)

    def open(self, path: Path, layout: Layout, threads: int | None = None) -> Opened:
        return Opened(path, layout, threads)


BACKEND: RegionBackend = RawChunks(sequential.BACKEND)
