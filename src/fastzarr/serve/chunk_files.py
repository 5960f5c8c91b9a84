"""Which files the voxels of a volume are from."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

MANY = 8
"""Files of one selection from which on they aren't looked at one by one."""


class ChunkFiles:
    """Which file each stored chunk of an array is."""

    def __init__(self, template: str, chunks: tuple[int, ...], shape: tuple[int, ...], axes: Sequence[int]):
        self._template = template
        self._chunks = chunks
        self._shape = shape
        self._axes = axes

    @classmethod
    def of(cls, array: Any) -> ChunkFiles | None:
        """None where chunks are no files, or differ in shape."""
        if hasattr(array, "header"):
            return cls(_escaped(str(array.path)) + "/z%d/y%d/x%d.wkw", array.shards, array.shape, (3, 2, 1))
        try:
            files = array.store.plain_files()
            chunks = array.shards or array.chunks
        except (AttributeError, NotImplementedError):
            return None
        if files is None:
            return None
        template = array.metadata.chunk_key_encoding.template(len(chunks))
        directory = _escaped(str(Path(files.root, array.path)))
        return cls(f"{directory}/{template}", chunks, array.shape, range(len(chunks)))

    def of_selection(self, selection: tuple[Any, ...]) -> tuple[str, ...] | None:
        """The files of a box of elements; None where they are many."""
        ranges = [
            range(first // size, -(-last // size))
            for (first, last), size in zip(self._bounds(selection), self._chunks, strict=True)
        ]
        if math.prod(map(len, ranges)) > MANY:
            return None
        return tuple(
            self._template % tuple([point[axis] for axis in self._axes])
            for point in itertools.product(*ranges)
        )

    def _bounds(self, selection: tuple[Any, ...]) -> Iterator[tuple[int, int]]:
        for item, length in zip(selection, self._shape, strict=True):
            if isinstance(item, slice):
                yield item.indices(length)[:2]
            else:
                yield item, item + 1


def _escaped(path: str) -> str:
    return path.replace("%", "%%")
