"""Cutouts of WKW in this process: fastzarr against the `wkw` wheel, and the same from sharded Zarr.

An image is stored as WKW and as sharded Zarr v3 with a codec of equal cost. In each repeat all contenders
read the same cubes, each into memory that is allocated for each, x fastest, as the wheel has it; what they
read in the warm-up is compared with the image.
"""

import gc
import importlib.util
import itertools
import random
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
import psutil
from numpy.typing import NDArray

import fastzarr
from fastzarr import wkw
from fastzarr.bench import blank, scratch
from fastzarr.bench.fields import volume
from fastzarr.bench.measurements import Bundle, CaseRecord, OperationRecord, Row, Sample

WORKLOAD = "wkw"
BLOCK, PER_FILE = 32, 32
CODINGS: dict[str, Mapping[str, Any] | None] = {
    "raw": None,
    "lz4": {"name": "numcodecs.lz4", "configuration": {"acceleration": 1}},
}
"""Block types of WKW, and the compressors that make the same of a chunk of Zarr."""
DTYPES = ("uint8", "uint32")
SUBJECT, WHEEL, ZARR = "fastzarr", "wkw", "fastzarr-zarr"
SEED = 1

Offset = tuple[int, int, int]
Read = Callable[[Offset, int], NDArray[Any]]
"""Reads the cube at an offset (x, y, z), with an edge, as (1, x, y, z)."""


@dataclass(frozen=True, kw_only=True)
class Settings:
    """What a user chooses."""

    edge: int
    """Voxels of the image along each axis."""
    places: Mapping[int, int]
    """Cutouts in one sample by their edge; those of 32 are blocks, the others begin in none."""
    repeats: int
    """Timed repeats, after one warm-up."""
    directory: Path
    """Where the arrays are written, and removed again."""
    arguments: Mapping[str, Any]
    """Settings as the results keep them."""


@dataclass(frozen=True, kw_only=True)
class _Operation:
    """Cubes of one size."""

    edge: int
    offsets: tuple[Offset, ...]

    @property
    def name(self) -> str:
        return f"{'aligned' if self.edge == BLOCK else 'unaligned'} {self.edge}³"

    def record(self, itemsize: int) -> OperationRecord:
        blocks = sum(
            int(np.prod([(at + self.edge - 1) // BLOCK - at // BLOCK + 1 for at in offset]))
            for offset in self.offsets
        )
        nbytes = len(self.offsets) * self.edge**3 * itemsize
        return OperationRecord(name=self.name, calls=len(self.offsets), chunks=blocks, nbytes=nbytes)


def run(
    settings: Settings,
    save: Callable[[Bundle], None],
    progress: Callable[[float, str], None] = lambda share, case: None,
    clock: Callable[[], float] = time.perf_counter,
) -> Bundle:
    """Do it; `save` gets the bundle so far after each case, and complete at the end."""
    bundle = blank.bundle(WORKLOAD, settings.arguments, settings.directory)
    operations = [
        _Operation(edge=edge, offsets=tuple(_offsets(settings.edge, edge, count)))
        for edge, count in settings.places.items()
    ]
    cases = list(itertools.product(DTYPES, CODINGS))
    try:
        with scratch.directory(settings.directory) as made:
            for number, (dtype, coding) in enumerate(cases):
                case = _case(settings, dtype, coding, operations)
                progress(number / len(cases), case.name)
                image = volume((settings.edge,) * 3).astype(dtype)
                readers = dict(_stored(made / f"{dtype}-{coding}", image, coding))
                rows = _measure(case, operations, readers, image, settings.repeats, clock)
                bundle = replace(bundle, cases=(*bundle.cases, case), rows=(*bundle.rows, *rows))
                save(bundle)
                scratch.remove(made / f"{dtype}-{coding}")
        bundle = replace(bundle, complete=True)
    finally:
        save(bundle)
    return bundle


def _stored(path: Path, image: NDArray[Any], coding: str) -> Iterator[tuple[str, Read]]:
    """Store `image` in both formats; the contenders that are installed, open."""
    x, y, z = image.shape
    block_type: Literal["raw", "lz4"] = "lz4" if coding == "lz4" else "raw"
    ours = wkw.create(
        path / "wkw", dtype=image.dtype, block_len=BLOCK, file_len=PER_FILE, block_type=block_type
    )
    ours[0:1, 0:x, 0:y, 0:z] = image[None]
    yield SUBJECT, lambda at, edge: ours.read(at, (edge, edge, edge))
    if importlib.util.find_spec("wkw") is not None:
        import wkw as wheel

        theirs = wheel.Dataset.open(str(path / "wkw"))
        yield WHEEL, lambda at, edge: theirs.read(at, (edge, edge, edge))
    array = fastzarr.create_array(
        path / "zarr",
        shape=(1, *image.shape),
        chunks=(1, BLOCK, BLOCK, BLOCK),
        shards=(1, *3 * (BLOCK * PER_FILE,)),
        dtype=image.dtype,
        filters=[{"name": "transpose", "configuration": {"order": [3, 2, 1, 0]}}],
        compressors=CODINGS[coding],
    )
    array[...] = image[None]

    def read(at: Offset, edge: int) -> NDArray[Any]:
        x, y, z = (slice(first, first + edge) for first in at)
        out = np.empty((1, edge, edge, edge), image.dtype, order="F")
        array.read_into(out, selection=(slice(0, 1), x, y, z))
        return out

    yield ZARR, read


def _measure(
    case: CaseRecord,
    operations: list[_Operation],
    readers: Mapping[str, Read],
    image: NDArray[Any],
    repeats: int,
    clock: Callable[[], float],
) -> list[Row]:
    rows = {
        (operation.name, name): _row(case, operation, name, readers)
        for operation in operations
        for name in (SUBJECT, WHEEL, ZARR)
    }
    shuffler = random.Random(SEED)
    for repeat in range(repeats + 1):
        for operation in operations:
            order = [name for name in readers if repeat == 0 or rows[operation.name, name].status == "ok"]
            shuffler.shuffle(order)
            for position, name in enumerate(order):
                key = operation.name, name
                if repeat == 0:
                    wrong = _wrong(operation, readers[name], image)
                    if wrong:
                        rows[key] = replace(rows[key], status="failed", ranked=False, reason=wrong)
                    continue
                sample = _sample(operation, readers[name], repeat, position, clock)
                rows[key] = replace(rows[key], samples=(*rows[key].samples, sample))
    return list(rows.values())


def _sample(
    operation: _Operation, read: Read, repeat: int, position: int, clock: Callable[[], float]
) -> Sample:
    load = psutil.getloadavg()[0]
    gc.collect()
    gc.disable()
    try:
        begin, cpu_begin = clock(), time.process_time()
        for offset in operation.offsets:
            read(offset, operation.edge)
        seconds, cpu_seconds = clock() - begin, time.process_time() - cpu_begin
    finally:
        gc.enable()
    return Sample(
        repeat=repeat, position=position, seconds=seconds, cpu_seconds=cpu_seconds, load_average=load
    )


def _wrong(operation: _Operation, read: Read, image: NDArray[Any]) -> str | None:
    """What differs from the image, or None."""
    for offset in operation.offsets:
        found = read(offset, operation.edge)
        expected = image[tuple(slice(at, at + operation.edge) for at in offset)]
        if not np.array_equal(found, expected[None]):
            return f"read other voxels than the image has at {offset}"
    return None


def _offsets(edge: int, cube: int, count: int) -> Iterator[Offset]:
    """Random places: of blocks, or for larger cubes of none of them along any axis."""
    chosen = np.random.default_rng((SEED, cube))
    starts = np.arange(edge - cube + 1)
    starts = starts[starts % BLOCK == 0] if cube == BLOCK else starts[starts % BLOCK != 0]
    yield from map(tuple, chosen.choice(starts, (count, 3)).tolist())


def _case(settings: Settings, dtype: str, coding: str, operations: list[_Operation]) -> CaseRecord:
    itemsize = np.dtype(dtype).itemsize
    return CaseRecord(
        name=f"WKW {dtype} {coding}",
        topic="cutouts of WKW",
        source="synthetic image",
        shape=(1, *3 * (settings.edge,)),
        chunks=(1, BLOCK, BLOCK, BLOCK),
        shards=(1, *3 * (BLOCK * PER_FILE,)),
        dtype=dtype,
        zarr_format=3,
        codec="none" if coding == "raw" else coding,
        level=0,
        total_bytes=settings.edge**3 * itemsize,
        repeats=settings.repeats,
        operations=tuple(operation.record(itemsize) for operation in operations),
    )


def _row(case: CaseRecord, operation: _Operation, name: str, readers: Mapping[str, Read]) -> Row:
    there = name in readers
    reasons = {
        WHEEL: None if there else "wkw is not installed: pip install wkw",
        ZARR: "the same cubes from sharded Zarr v3 whose chunks are coded as the blocks are",
    }
    return Row(
        case=case.name,
        operation=operation.name,
        backend=name,
        threads=None,
        kind="baseline" if name == ZARR else "library",
        status="ok" if there else "skipped",
        reason=reasons.get(name),
        ranked=there and name != ZARR,
        stored_bytes=None,
        stored_objects=None,
        verified_by="source" if there else None,
        peak_memory_bytes=None,
        affinity=None,
        samples=(),
    )
