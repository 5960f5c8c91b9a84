"""Chunk grids: what a caller gives, what is written, and what is chosen where nothing is given."""

from __future__ import annotations

import math
import operator
from collections.abc import Mapping, Sequence, Set
from typing import Any, TypeGuard

from fastzarr.chunks import rectilinear
from fastzarr.chunks.axis import Axis, ChunkSizes
from fastzarr.errors import MetadataError

_TARGET_AT_1_MIB = 256 * 1024
_MIN_BYTES = 128 * 1024
_MAX_BYTES = 64 * 1024 * 1024

SIZE_LIMIT = 2**63
"""Of elements along a dimension, and of bytes of a chunk: both are less."""


def cdata_shape(shape: tuple[int, ...], chunks: Sequence[ChunkSizes]) -> tuple[int, ...]:
    """Number of chunks along each dimension."""
    return tuple(Axis(size, sizes).count for size, sizes in zip(shape, chunks, strict=True))


def to_json(chunks: Sequence[ChunkSizes]) -> dict[str, Any]:
    """The member `chunk_grid` of a v3 document."""
    if is_regular(tuple(chunks)):
        return {"name": "regular", "configuration": {"chunk_shape": list(chunks)}}
    edges = [rectilinear.to_json(sizes) for sizes in chunks]
    return {"name": rectilinear.NAME, "configuration": {"kind": "inline", "chunk_shapes": edges}}


def normalize_shape(shape: object) -> tuple[int, ...]:
    """Shape as ints from 0 to 2**63 - 1; one int stands for one dimension. Raises `MetadataError`."""
    try:
        sizes = _integers(shape)
    except TypeError as error:
        raise MetadataError("shape", [f"got {shape!r}, expected an integer or a sequence of them"]) from error
    if any(size < 0 for size in sizes):
        raise MetadataError("shape", [f"got {sizes}, expected sizes of 0 or more"])
    if any(size >= SIZE_LIMIT for size in sizes):
        raise MetadataError("shape", [f"got {sizes}, expected sizes of less than 2**63"])
    return sizes


def normalize_chunks(
    chunks: object, shape: tuple[int, ...], itemsize: int, largest: int = _MAX_BYTES
) -> tuple[ChunkSizes, ...]:
    """Chunk sizes along each dimension from what a caller gives as `chunks`.

    `"auto"`, None and True choose a shape of up to `largest` bytes; False is one chunk for the whole array;
    one integer serves every dimension; -1 is the whole dimension; lists give the size of each chunk along a
    dimension. Raises `MetadataError`.
    """
    if rectilinear.is_given(chunks):
        return rectilinear.normalize(chunks, shape, "chunks")  # type: ignore[arg-type]
    if chunks is None or chunks is True or (isinstance(chunks, str) and chunks == "auto"):
        return guess_chunks(shape, itemsize, largest)
    if chunks is False:
        chunks = -1
    try:
        sizes = _integers(chunks)
    except TypeError as error:
        raise MetadataError(
            "chunks", [f"got {chunks!r}, expected 'auto', an integer or {len(shape)} integers"]
        ) from error
    if not isinstance(chunks, Sequence) and len(sizes) == 1:
        sizes *= len(shape)
    if len(sizes) != len(shape):
        raise MetadataError("chunks", [f"got {len(sizes)} sizes {sizes} for {len(shape)} dimensions {shape}"])
    if any(size < -1 or size == 0 for size in sizes):
        raise MetadataError(
            "chunks", [f"got {sizes}, expected sizes of 1 or more, or -1 for a whole dimension"]
        )
    return tuple(max(1, size) if chunk == -1 else chunk for chunk, size in zip(sizes, shape, strict=True))


def guess_chunks(shape: tuple[int, ...], itemsize: int, largest: int = _MAX_BYTES) -> tuple[int, ...]:
    """Chunk shape that zarr-python would choose (the rule h5py took from PyTables).

    The target is 256 KiB for a 1 MiB array and doubles with each tenfold growth, within 128 KiB and `largest`
    (64 MiB); dimensions are halved in turn until the chunk is below the target or within half of it.
    """
    chunks = [max(1, size) for size in shape]
    nbytes = math.prod(chunks) * itemsize
    target = _TARGET_AT_1_MIB * 2 ** math.log10(nbytes / 2**20)
    target = min(max(target, _MIN_BYTES), largest)
    dimension = 0
    while math.prod(chunks) > 1:
        nbytes = math.prod(chunks) * itemsize
        if nbytes < largest and (nbytes < target or abs(nbytes - target) / target < 0.5):
            break
        chunks[dimension] = -(-chunks[dimension] // 2)
        dimension = (dimension + 1) % len(chunks)
    return tuple(chunks)


def normalize_shards(
    shards: object, chunks: tuple[ChunkSizes, ...], shape: tuple[int, ...]
) -> tuple[ChunkSizes, ...]:
    """Sizes of the shards in elements, also as lists of the size of each along a dimension.

    `"auto"` is twice the chunk where more than 8 of them lie in a row. Raises `MetadataError` where chunks of
    shape `chunks` don't fill them.
    """
    if not is_regular(chunks):
        raise MetadataError("chunks", ["got lists of sizes, expected one size for each dimension in shards"])
    if rectilinear.is_given(shards):
        sizes = rectilinear.normalize(shards, shape, "shards")  # type: ignore[arg-type]
        if not divides(chunks, sizes):
            raise MetadataError("shards", [f"got {shards!r}, expected multiples of the chunk shape {chunks}"])
        return sizes
    if isinstance(shards, str) and shards == "auto":
        pairs = zip(shape, chunks, strict=True)
        return tuple(chunk * 2 if size // chunk > 8 else chunk for size, chunk in pairs)
    try:
        sizes = _integers(shards)
    except TypeError as error:
        raise MetadataError(
            "shards", [f"got {shards!r}, expected 'auto' or {len(chunks)} integers"]
        ) from error
    fits = len(sizes) == len(chunks) and all(
        size > 0 and size % chunk == 0 for size, chunk in zip(sizes, chunks, strict=True)
    )
    if not fits:
        raise MetadataError("shards", [f"got {sizes}, expected multiples of the chunk shape {chunks}"])
    return sizes


def is_regular(chunks: tuple[ChunkSizes, ...]) -> TypeGuard[tuple[int, ...]]:
    """Whether all chunks have one shape."""
    return all(isinstance(sizes, int) for sizes in chunks)


def divides(inner: tuple[int, ...], chunks: tuple[ChunkSizes, ...]) -> bool:
    """Whether inner chunks of a shape fill chunks of every size."""
    return len(inner) == len(chunks) and all(
        size % part == 0
        for part, sizes in zip(inner, chunks, strict=True)
        for size in ((sizes,) if isinstance(sizes, int) else (run[0] for run in sizes))
    )


def _integers(values: object) -> tuple[int, ...]:
    if isinstance(values, bool | str | bytes | Mapping | Set):
        raise TypeError(values)
    try:
        return (operator.index(values),)  # type: ignore[arg-type]
    except TypeError:
        return tuple(operator.index(value) for value in values)  # type: ignore[attr-defined]
