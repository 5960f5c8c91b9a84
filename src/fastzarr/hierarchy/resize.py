"""Change of an array's shape: the metadata first, then the chunks that lie outside are removed."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterator, Sequence

from fastzarr.chunks.axis import Axis
from fastzarr.chunks.key_encoding import ChunkKeyEncoding
from fastzarr.hierarchy import nodes
from fastzarr.stores.base import Store

_FEW = 1000
"""Chunks up to which their keys are erased one by one, stored or not, without listing."""

Coords = tuple[int, ...]
"""Coordinates of a chunk, or the number of chunks along each dimension."""


def stored_chunks(store: Store, path: str, encoding: ChunkKeyEncoding, counts: Coords) -> Iterator[Coords]:
    """Coordinates of the stored chunks of an array that has `counts` of them along each dimension."""
    for coords, _ in _stored(store, path, encoding, len(counts)):
        if all(coord < count for coord, count in zip(coords, counts, strict=True)):
            yield coords


def erase_outside(store: Store, path: str, encoding: ChunkKeyEncoding, before: Coords, after: Coords) -> None:
    """Erase chunks that were among `before` chunks along each dimension, and are not among `after`.

    Nothing is done for each chunk where the array only grows.
    """
    kept = tuple(map(min, before, after))
    outside = math.prod(before) - math.prod(kept)
    if outside == 0:
        return
    if outside <= _FEW:
        template = nodes.key(path.replace("%", "%%"), encoding.template(len(before)))
        for coords in _outside(before, kept):
            store.erase(template % coords)
        return
    erase_leftovers(store, path, encoding, kept)


def erase_leftovers(store: Store, path: str, encoding: ChunkKeyEncoding, counts: Coords) -> None:
    """Erase every stored chunk that is not among `counts` chunks along each dimension; lists the store."""
    for coords, key in list(_stored(store, path, encoding, len(counts))):
        if any(coord >= count for coord, count in zip(coords, counts, strict=True)):
            store.erase(key)


def erase_chunks(store: Store, path: str, encoding: ChunkKeyEncoding, ndim: int) -> None:
    """Erase every stored chunk; lists the store."""
    for _, key in list(_stored(store, path, encoding, ndim)):
        store.erase(key)


def parts(axes: Sequence[Axis]) -> Iterator[tuple[slice, ...]]:
    """The part of an array in each of its chunks, in C order; made as they are asked for."""
    return _parts([(axis, range(axis.count)) for axis in axes])


def edges(axes: Sequence[Axis], before: Coords) -> Iterator[tuple[slice, ...]]:
    """The part of the array in each chunk that reaches beyond it along a dimension that was larger before."""
    for number, (axis, size) in enumerate(zip(axes, before, strict=True)):
        if not 0 < axis.size < size or sum(axis.place(axis.count - 1)) == axis.size:
            continue
        chunks = [(other, range(other.count)) for other in axes]
        chunks[number] = (axis, range(axis.count - 1, axis.count))
        yield from _parts(chunks)


def _parts(chunks: Sequence[tuple[Axis, range]]) -> Iterator[tuple[slice, ...]]:
    """The part of an array in each chunk of which the coordinates are given for each axis."""
    if not chunks:
        yield ()
        return
    (axis, coords), *rest = chunks
    for coord in coords:
        start, length = axis.place(coord)
        head = slice(start, min(start + length, axis.size))
        for tail in _parts(rest):
            yield (head, *tail)


def _outside(before: Coords, kept: Coords) -> Iterator[Coords]:
    """Coordinates below `before` and not below `kept`, each once."""
    for axis, (count, limit) in enumerate(zip(before, kept, strict=True)):
        sides = [range(n) for n in kept[:axis]]
        yield from itertools.product(*sides, range(limit, count), *map(range, before[axis + 1 :]))


def _stored(store: Store, path: str, encoding: ChunkKeyEncoding, ndim: int) -> Iterator[tuple[Coords, str]]:
    """Coordinates and key of every stored object that has the key of a chunk."""
    prefix = nodes.key(path, "") if path else ""
    number = "(0|[1-9][0-9]*)"
    pattern = re.compile(re.escape(encoding.template(ndim)).replace("%d", number))
    for key in store.list_prefix(prefix):
        match = pattern.fullmatch(key[len(prefix) :])
        if match is not None:
            yield tuple(map(int, match.groups())), key
