"""The arrays of the workloads `whole-array`, `small-chunks` and `cutouts`, and what is done with each."""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from fastzarr.bench.backends.base import Layout
from fastzarr.bench.cases import CodecLevel
from fastzarr.bench.fields import synthetic, volume
from fastzarr.bench.inputs import Source
from fastzarr.bench.measurements import CaseRecord, OperationRecord
from fastzarr.bench.workloads.operations import (
    Cutouts,
    Element,
    Item,
    Open,
    Operation,
    Read,
    Write,
    WriteBySlabs,
)

CODECS: tuple[CodecLevel, ...] = (("none", 0), ("zstd", 3), ("blosc", 5))
PLAIN_AND_ZSTD: tuple[CodecLevel, ...] = (("none", 0), ("zstd", 3))
KEEPBITS = 10
SEED = 1
ELEMENTS = 8
"""Elements written by one sample of operation `element`."""
FEW, MANY = 10**4, 10**5
"""Chunks from which an array is measured three times at most, and once."""

Shape = tuple[int, ...]


@dataclass(frozen=True, kw_only=True)
class Job:
    """One case to run."""

    source: Source
    """Where its data come from."""
    layout: Layout
    """How they are stored."""
    operations: tuple[Operation, ...]
    """What is timed, in order."""
    record: CaseRecord
    """What the results keep of it."""


@dataclass(frozen=True, kw_only=True)
class Settings:
    """What a user chooses of a workload."""

    codecs: tuple[CodecLevel, ...]
    """Codecs with their levels."""
    repeats: int
    """Timed repeats, after one warm-up."""
    quick: bool
    """Small arrays, and fewer."""


def whole_array(settings: Settings) -> tuple[Job, ...]:
    """Chunks of 1 to 64 MiB of float32: as slabs, contiguous in memory, and as cubes; and shards."""
    return tuple(_whole_array(settings))


def small_chunks(settings: Settings) -> tuple[Job, ...]:
    """An image in chunks of 32 and 64 KiB; and arrays of 10² to 10⁶ chunks of 256 bytes."""
    return tuple(_small_chunks(settings))


def cutouts(settings: Settings) -> tuple[Job, ...]:
    """An image in one shard, and in plain chunks; cubes of it are read."""
    return tuple(_cutouts(settings))


JOBS: dict[str, Callable[[Settings], tuple[Job, ...]]] = {
    "whole-array": whole_array,
    "small-chunks": small_chunks,
    "cutouts": cutouts,
}
"""The cases of each workload."""


def threads(size: tuple[int, int, int, int], settings: Settings) -> tuple[Job, ...]:
    """The synthetic field of `size` (Nx, Ny, Nz, Nt), a chunk per step, with each codec."""
    source = field_source(size[::-1])
    chunks = (1, *source.shape[1:])
    return tuple(
        job("steps", source, [Write(), Read()], chunks=chunks, codec=codec, repeats=settings.repeats)
        for codec in settings.codecs
    )


def job(
    topic: str,
    source: Source,
    operations: Sequence[Operation],
    *,
    chunks: Shape,
    shards: Shape | None = None,
    codec: CodecLevel,
    repeats: int,
) -> Job:
    """One case; its name has topic, shape of chunks and shards, shape of the array, and codec."""
    layout = Layout(
        shape=source.shape,
        chunks=chunks,
        shards=shards,
        dtype=source.dtype,
        codec=codec[0],
        level=codec[1],
        zarr_format=3,
        fill_value=source.fill_value,
    )
    inner = f"{_times(chunks)} in {_times(shards)}" if shards else _times(chunks)
    coded = f"{codec[0]} {codec[1]}" if codec[1] else codec[0]
    record = CaseRecord(
        name=f"{topic} {inner} of {_times(source.shape)} {coded}",
        topic=topic,
        source=source.name,
        shape=layout.shape,
        chunks=layout.chunks,
        shards=layout.shards,
        dtype=layout.dtype.name,
        zarr_format=layout.zarr_format,
        codec=layout.codec,
        level=layout.level,
        total_bytes=source.nbytes,
        repeats=repeats,
        operations=tuple(_operation(operation, layout) for operation in operations),
    )
    return Job(source=source, layout=layout, operations=tuple(operations), record=record)


def field_source(shape: Shape) -> Source:
    """The synthetic field of float32."""
    return Source(
        name="synthetic",
        shape=shape,
        dtype=np.dtype(np.float32),
        fill_value=0,
        load=lambda: synthetic(shape, KEEPBITS),
    )


def image_source(shape: Shape) -> Source:
    """The synthetic field as an image of uint8."""
    return Source(
        name="synthetic image",
        shape=shape,
        dtype=np.dtype(np.uint8),
        fill_value=0,
        load=lambda: volume(shape),
    )


def _whole_array(settings: Settings) -> Iterator[Job]:
    depth = 64 if settings.quick else 256
    cubes = [(64, 64, 64), (64, 256, 256)]
    slabs = [(depth, 512, 512), (depth // 16, 2048, 2048)]
    shards = [((32, 32, 32), (32, 512, 512))]
    if not settings.quick:
        slabs = [(256, 512, 512), (64, 1024, 1024), (16, 2048, 2048), (4, 4096, 4096)]
        cubes = [(64, 64, 64), (64, 128, 128), (128, 128, 256), (256, 256, 256)]
        shards = [
            ((64, 64, 64), (64, 512, 512)),
            ((32, 32, 32), (64, 512, 512)),
            ((64, 64, 64), (256, 512, 512)),
        ]
    whole: list[Operation] = [Write(), Read()]
    for shape in slabs:
        source = field_source(shape)
        last = shape == slabs[-1]
        for codec in settings.codecs:
            plain = codec[0] == "none"
            more = [Item(), Element(ELEMENTS, SEED)] if plain and last else [Item()] if plain else []
            yield job(
                "slabs",
                source,
                [*whole, *more],
                chunks=(1, *shape[1:]),
                codec=codec,
                repeats=settings.repeats,
            )
    source = field_source((depth, 512, 512))
    for chunks in cubes:
        for codec in settings.codecs:
            yield job("cubes", source, whole, chunks=chunks, codec=codec, repeats=settings.repeats)
    for chunks, shard in shards:
        by_slabs = [] if shard == source.shape else [WriteBySlabs()]
        for codec in (codec for codec in settings.codecs if codec[0] != "blosc"):
            yield job(
                "shards",
                source,
                [Write(), *by_slabs, Read()],
                chunks=chunks,
                shards=shard,
                codec=codec,
                repeats=settings.repeats,
            )


def _small_chunks(settings: Settings) -> Iterator[Job]:
    edge = 256 if settings.quick else 512
    source = image_source((edge,) * 3)
    for chunks in ((32, 32, 32), (64, 64, 64)):
        for codec in settings.codecs:
            yield job(
                "small chunks",
                source,
                [Write(), Read()],
                chunks=chunks,
                codec=codec,
                repeats=settings.repeats,
            )
    grids = [(10, 10), (25, 40), (100, 100)]
    if not settings.quick:
        grids += [(250, 400), (1000, 1000)]
    for grid in grids:
        source = image_source((16 * grid[0], 16 * grid[1]))
        repeats = _repeats(settings.repeats, math.prod(grid))
        operations = [Write(), Read(), Open()]
        plain: CodecLevel = ("none", 0)
        yield job("growth", source, operations, chunks=(16, 16), codec=plain, repeats=repeats)
        if math.prod(grid) >= FEW:
            shards = (16 * grid[0] // 10, 16 * grid[1] // 10)
            yield job(
                "growth in shards",
                source,
                operations,
                chunks=(16, 16),
                shards=shards,
                codec=plain,
                repeats=repeats,
            )


def _cutouts(settings: Settings) -> Iterator[Job]:
    edge, places = (256, 100) if settings.quick else (512, 400)
    source = image_source((edge,) * 3)
    arrays: list[tuple[int, Shape | None]] = [(32, source.shape), (32, None), (64, None)]
    for chunk, shards in arrays:
        for codec in settings.codecs:
            operations = [
                Cutouts(chunk, aligned=True, places=places, seed=SEED),
                Cutouts(64, aligned=False, places=places // 4, seed=SEED),
                Cutouts(128, aligned=False, places=places // 16, seed=SEED),
            ]
            yield job(
                "cutouts of a shard" if shards else "cutouts of chunks",
                source,
                operations,
                chunks=(chunk,) * 3,
                shards=shards,
                codec=codec,
                repeats=settings.repeats,
            )


def _repeats(usual: int, chunks: int) -> int:
    return 1 if chunks >= MANY else min(3, usual) if chunks >= FEW else usual


def _operation(operation: Operation, layout: Layout) -> OperationRecord:
    count = operation.count(layout)
    return OperationRecord(name=operation.name, calls=count.calls, chunks=count.chunks, nbytes=count.nbytes)


def _times(shape: Shape) -> str:
    return "x".join(map(str, shape))
