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


def normalize_chunks(chunks: object, shape: tuple[int, ...], itemsize: int) -> tuple[int, ...]:
    """Chunk shape from what a caller gives as `chunks`.

    `"auto"`, None and True choose one; False is one chunk for the whole array; one integer serves every
    dimension; -1 is the whole dimension. Raises `MetadataError`.
    """
    if chunks is None or chunks is True or (isinstance(chunks, str) and chunks == "auto"):
        return guess_chunks(shape, itemsize)
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


def guess_chunks(shape: tuple[int, ...], itemsize: int) -> tuple[int, ...]:
    """Chunk shape that zarr-python would choose (the rule h5py took from PyTables).

    The target is 256 KiB for a 1 MiB array and doubles with each tenfold growth, within 128 KiB and 64 MiB;
    dimensions are halved in turn until the chunk is below the target or within half of it.
    """
    chunks = [max(1, size) for size in shape]
    nbytes = math.prod(chunks) * itemsize
    target = _TARGET_AT_1_MIB * 2 ** math.log10(nbytes / 2**20)
    target = min(max(target, _MIN_BYTES), _MAX_BYTES)
    dimension = 0
    while math.prod(chunks) > 1:
        nbytes = math.prod(chunks) * itemsize
        if nbytes < _MAX_BYTES and (nbytes < target or abs(nbytes - target) / target < 0.5):
            break
        chunks[dimension] = -(-chunks[dimension] // 2)
        dimension = (dimension + 1) % len(chunks)
    return tuple(chunks)


def _integers(values: object) -> tuple[int, ...]:
    if isinstance(values, bool | str | bytes | Mapping | Set):
        raise TypeError(values)
    try:
        return (operator.index(values),)  # type: ignore[arg-type]
    except TypeError:
        return tuple(operator.index(value) for value in values)  # type: ignore[attr-defined]
