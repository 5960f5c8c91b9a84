"""Which files the voxels of a volume are from."""

from __future__ import annotations

import itertools
import math
import os
import stat
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from fastzarr.errors import ChunkError
from fastzarr.serve.links import leads_nowhere

MANY = 64
"""Files of one selection from which on they aren't looked at one by one."""


class ChunkFiles:
    """Which file each stored chunk of an array is."""

    def __init__(self, template: str, chunks: tuple[int, ...], shape: tuple[int, ...], axes: Sequence[int]):
        self._template = template
        self.chunks = chunks
        """Shape of what is in a file."""
        self._shape = shape
        self._axes = axes

    @classmethod
    def of(cls, array: Any) -> ChunkFiles | None:
        """None where chunks are no files, or differ in shape."""
        place = directory_of(array)
        if place is None:
            return None
        directory = str(place).replace("%", "%%")
        if hasattr(array, "header"):
            return cls(f"{directory}/z%d/y%d/x%d.wkw", array.shards, array.shape, (3, 2, 1))
        try:
            chunks = array.shards or array.chunks
        except NotImplementedError:
            return None
        template = array.metadata.chunk_key_encoding.template(len(chunks))
        return cls(f"{directory}/{template}", chunks, array.shape, range(len(chunks)))

    def of_selection(self, selection: tuple[Any, ...]) -> tuple[str, ...] | None:
        """The files of a box of elements; None where they are many."""
        grid = self.chunks_of(selection)
        return None if math.prod(map(len, grid)) > MANY else tuple(self._paths(grid))

    def chunks_of(self, selection: tuple[Any, ...]) -> list[range]:
        """Coordinates of the chunks of a box of elements, along each dimension."""
        grid = []
        for item, size, length in zip(selection, self.chunks, self._shape, strict=True):
            if type(item) is slice:
                start, stop, _ = item.indices(length)
                grid.append(range(start // size, -(-stop // size)))
            else:
                grid.append(range(item // size, item // size + 1))
        return grid

    def require(self, grid: Iterable[Sequence[int]]) -> None:
        """Raise `ChunkError` where something else than a file is in the place of one of these chunks."""
        for path in self._paths(grid):
            status_of(path)

    def _paths(self, grid: Iterable[Sequence[int]]) -> Iterator[str]:
        for point in itertools.product(*grid):
            yield self._template % tuple([point[axis] for axis in self._axes])


def directory_of(array: Any) -> Path | None:
    """Where the document and the chunks of an array are; None where they are not in files."""
    if hasattr(array, "header"):
        return Path(array.path)
    try:
        files = array.store.plain_files()
    except (AttributeError, NotImplementedError):
        return None
    return None if files is None else Path(files.root, array.path)


def status_of(path: str) -> os.stat_result | None:
    """What a look at a chunk's file tells; None where there is none.

    Raises `ChunkError` for what is there and is no file: it would be taken for a chunk that isn't stored.
    """
    try:
        found = os.stat(path)  # noqa: PTH116 - a Path object would cost more than the call
    except (FileNotFoundError, NotADirectoryError):
        if leads_nowhere(path):
            where = "is" if os.path.islink(path) else "is behind"  # noqa: PTH114
            raise ChunkError(path, f"{where} a link that leads nowhere, expected a file or nothing") from None
        return None
    if stat.S_ISDIR(found.st_mode):
        raise ChunkError(path, "is a directory, expected a file or nothing")
    return found
