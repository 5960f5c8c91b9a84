"""Regular chunk grids, and the chunk shape chosen where a caller gives none."""

from __future__ import annotations

import math
import operator
from collections.abc import Mapping, Sequence, Set

from fastzarr.errors import MetadataError

_TARGET_AT_1_MIB = 256 * 1024
_MIN_BYTES = 128 * 1024
_MAX_BYTES = 64 * 1024 * 1024


def cdata_shape(shape: tuple[int, ...], chunk_shape: tuple[int, ...]) -> tuple[int, ...]:
    """Number of chunks along each dimension."""
    return tuple(-(-size // chunk) for size, chunk in zip(shape, chunk_shape, strict=True))


def normalize_shape(shape: object) -> tuple[int, ...]:
    """Shape as a tuple of non-negative ints; one int stands for one dimension. Raises `MetadataError`."""
    try:
        sizes = _integers(shape)
    except TypeError as error:
        raise MetadataError("shape", [f"got {shape!r}, expected an integer or a sequence of them"]) from error
    if any(size < 0 for size in sizes):
        raise MetadataError("shape", [f"got {sizes}, expected sizes of 0 or more"])
    return sizes


def normalize_chunks(
    chunks: object, shape: tuple[int, ...], itemsize: int, largest: int = _MAX_BYTES
) -> tuple[int, ...]:
    """Chunk shape from what a caller gives as `chunks`.

    `"auto"`, None and True choose one of up to `largest` bytes; False is one chunk for the whole array; one integer serves every
    dimension; -1 is the whole dimension. Raises `MetadataError`.
    """
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

    The target is 256 KiB for a 1 MiB array and doubles with each tenfold growth, within 128 KiB and `largest` (64 MiB);
    dimensions are halved in turn until the chunk is below the target or within half of it.
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


def normalize_shards(shards: object, chunks: tuple[int, ...], shape: tuple[int, ...]) -> tuple[int, ...]:
    """Shape of the shards in elements; `"auto"` is twice the chunk where more than 8 of them lie in a row.

    Raises `MetadataError` where chunks of shape `chunks` don't fill them.
    """
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


def _integers(values: object) -> tuple[int, ...]:
    if isinstance(values, bool | str | bytes | Mapping | Set):
        raise TypeError(values)
    try:
        return (operator.index(values),)  # type: ignore[arg-type]
    except TypeError:
        return tuple(operator.index(value) for value in values)  # type: ignore[attr-defined]
