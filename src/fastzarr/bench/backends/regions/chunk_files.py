"""Chunks of an array and the files that hold them, for the baselines."""

import itertools
from collections.abc import Iterator
from pathlib import Path

from fastzarr.bench.backends.base import Layout, Region


def regions(layout: Layout) -> Iterator[tuple[tuple[int, ...], Region]]:
    """Index and region of every chunk, in C order; at the edge the region ends with the array."""
    counts = [-(-n // c) for n, c in zip(layout.shape, layout.chunks, strict=True)]
    for index in itertools.product(*map(range, counts)):
        yield (
            index,
            tuple(
                slice(i * c, min((i + 1) * c, n))
                for i, c, n in zip(index, layout.chunks, layout.shape, strict=True)
            ),
        )


def file(path: Path, layout: Layout, index: tuple[int, ...]) -> str:
    """The file of a chunk or shard below `path`."""
    if layout.zarr_format == 3:
        return f"{path}/c/{'/'.join(map(str, index))}"
    return f"{path}/{'.'.join(map(str, index))}"


def directories(path: Path, layout: Layout) -> Iterator[str]:
    """The directories of all chunk files, parents first."""
    yield str(path)
    if layout.zarr_format == 3:
        yield f"{path}/c"
        counts = [-(-n // c) for n, c in zip(layout.shape[:-1], layout.objects, strict=False)]
        for depth in range(1, len(counts) + 1):
            for index in itertools.product(*map(range, counts[:depth])):
                yield f"{path}/c/{'/'.join(map(str, index))}"
