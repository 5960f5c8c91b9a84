"""How the chunks of an array lie in space."""

from __future__ import annotations

import math
from typing import Any

from fastzarr.volumes.axes import SPATIAL

ALL = ("c", *SPATIAL)
"""The axes of a volume; an array may have others besides."""


def chunk_along(array: Any, axes: tuple[str, ...]) -> tuple[int, int, int] | None:
    """Voxels of a chunk along x, y and z; None where chunks differ in shape."""
    try:
        sizes = dict(zip(axes, array.chunks, strict=True))
    except NotImplementedError:
        return None
    return sizes["x"], sizes["y"], sizes.get("z", 1)


def largest_chunk(array: Any) -> int:
    """Bytes of the largest chunk, decoded; 0 where that isn't told."""
    try:
        sizes = [max(along, default=0) for along in array.read_chunk_sizes]
    except AttributeError:
        sizes = array.chunks
    return math.prod(sizes) * int(array.dtype.itemsize)


def edge_of_chunks(
    array: Any, axes: tuple[str, ...], channels: int, voxel_bytes: int, swapped: bool
) -> int | None:
    """Edge of the cubes that the chunks of `array` are, with elements as on the wire; None for others."""
    try:
        chunks, strides = array.chunks, array.chunk_strides
    except (AttributeError, NotImplementedError):
        return None
    if strides is None or swapped or "z" not in axes:
        return None
    size = dict(zip(axes, chunks, strict=True))
    stride = dict(zip(axes, strides, strict=True))
    edge = size["x"]
    if not size["y"] == size["z"] == edge or any(size[axis] > 1 for axis in axes if axis not in ALL):
        return None
    wire = {"c": voxel_bytes // channels} | {a: voxel_bytes * edge**n for n, a in enumerate(SPATIAL)}
    same = all(stride[axis] == wire[axis] for axis in axes if size[axis] > 1)
    return edge if size.get("c", 1) == channels and same else None
