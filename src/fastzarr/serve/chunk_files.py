"""Which files the voxels of a volume are from."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

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
        first, counts = [], []
        for item, size, length in zip(selection, self.chunks, self._shape, strict=True):
            if type(item) is slice:
                start, stop, _ = item.indices(length)
                first.append(start // size)
                counts.append(-(-stop // size) - start // size)
            else:
                first.append(item // size)
                counts.append(1)
        if max(counts) == 1:
            return (self._template % tuple([first[axis] for axis in self._axes]),) if min(counts) else ()
        if math.prod(counts) > MANY:
            return None
        ranges = [range(start, start + count) for start, count in zip(first, counts, strict=True)]
        return tuple(
            self._template % tuple([point[axis] for axis in self._axes])
            for point in itertools.product(*ranges)
        )


def _escaped(path: str) -> str:
    return path.replace("%", "%%")
