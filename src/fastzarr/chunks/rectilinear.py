"""The chunk grid `rectilinear`: chunks in a grid whose rows and columns differ in size.

Source: zarr-extensions, "Rectilinear chunk grid".
"""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence
from typing import Any

from fastzarr.chunks.axis import ChunkSizes, Runs, runs_of
from fastzarr.errors import MetadataError

NAME = "rectilinear"


def to_json(sizes: ChunkSizes) -> int | list[Any]:
    """Chunk edge lengths along one dimension as they are written: runs as `[size, count]`."""
    if isinstance(sizes, int):
        return sizes
    return [size if count == 1 else [size, count] for size, count in sizes]


def parse(configuration: Mapping[str, Any], shape: tuple[int, ...] | None) -> tuple[ChunkSizes, ...]:
    """Chunk sizes along each dimension; raises `MetadataError` with all that is wrong.

    They may add up to more than the array's shape, as they do once an array was made smaller.
    """
    problems = []
    if configuration.get("kind") != "inline":
        problems.append(f"kind: got {configuration.get('kind')!r}, expected 'inline'")
    given = configuration.get("chunk_shapes")
    if not isinstance(given, list) or (shape is not None and len(given) != len(shape)):
        count = "one for each dimension" if shape is None else f"{len(shape)} of them"
        problems.append(f"chunk_shapes: got {given!r}, expected a list of edge lengths, {count}")
        raise MetadataError("chunk_grid", problems)
    parsed = []
    for dimension, entry in enumerate(given):
        sizes = _parse_entry(entry)
        if sizes is None:
            problems.append(
                f"chunk_shapes[{dimension}]: got {entry!r}, expected an integer from 1 to 2**63 - 1, "
                "or a list of them and of pairs [size, count]"
            )
            continue
        total = None if isinstance(sizes, int) else total_of(sizes)
        if total is not None and shape is not None and total < shape[dimension]:
            problems.append(
                f"chunk_shapes[{dimension}]: got sizes that add up to {total}, expected {shape[dimension]}, "
                "the size of the dimension"
            )
        parsed.append(sizes)
    if problems:
        raise MetadataError("chunk_grid", problems)
    return tuple(parsed)


def normalize(given: Sequence[Any], shape: tuple[int, ...], where: str) -> tuple[ChunkSizes, ...]:
    """Chunk sizes from what a caller gives: for each dimension one integer or a list of all sizes.

    -1 is the whole dimension; lists add up to it. Raises `MetadataError`.
    """
    if len(given) != len(shape):
        raise MetadataError(where, [f"got sizes for {len(given)} dimensions, expected {len(shape)}"])
    return tuple(
        _normalize_entry(entry, size, f"{where}[{dimension}]")
        for dimension, (entry, size) in enumerate(zip(given, shape, strict=True))
    )


def resized(
    sizes: tuple[ChunkSizes, ...], shape: tuple[int, ...], multiples: tuple[int, ...]
) -> tuple[ChunkSizes, ...]:
    """Chunk sizes for an array of a new shape: where they don't reach its end, one more chunk that does.

    Its size is a multiple of what `multiples` says for the dimension.
    """
    return tuple(
        runs_of((*entry, (-(-(size - total_of(entry)) // multiple) * multiple, 1)))
        if not isinstance(entry, int) and total_of(entry) < size
        else entry
        for entry, size, multiple in zip(sizes, shape, multiples, strict=True)
    )


def total_of(runs: Runs) -> int:
    """Elements of all chunks together."""
    return sum(size * count for size, count in runs)


def is_given(chunks: object) -> bool:
    """Whether what a caller gives as chunks has a list of sizes for some dimension."""
    return isinstance(chunks, list | tuple) and any(
        isinstance(entry, Sequence) and not isinstance(entry, str) for entry in chunks
    )


def _parse_entry(entry: object) -> ChunkSizes | None:
    if _is_size(entry):
        return entry  # type: ignore[return-value]
    if not isinstance(entry, list) or not entry:
        return None
    runs: list[int | tuple[int, int]] = []
    for part in entry:
        if _is_size(part):
            runs.append(part)
        elif isinstance(part, list) and len(part) == 2 and all(map(_is_size, part)):
            runs.append((part[0], part[1]))
        else:
            return None
    return runs_of(runs)


def _is_size(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 1 <= value < 2**63


def _normalize_entry(entry: Any, size: int, where: str) -> ChunkSizes:
    try:
        whole = operator.index(entry)
        sizes = [whole]
    except TypeError:
        whole = None
        try:
            sizes = [operator.index(chunk) for chunk in entry]
        except TypeError as error:
            raise MetadataError(
                where, [f"got {entry!r}, expected an integer or a list of integers"]
            ) from error
    if whole == -1:
        return max(1, size)
    if not sizes or any(chunk < 1 for chunk in sizes):
        raise MetadataError(where, [f"got {entry!r}, expected sizes of 1 or more"])
    if whole is not None:
        return whole
    if sum(sizes) != size:
        raise MetadataError(
            where, [f"got sizes that add up to {sum(sizes)}, expected {size}, the size of the dimension"]
        )
    return runs_of(sizes)
