"""What is timed on an array in some layout: one class per operation, all done in turns.

The page cache is warm: what is read was written before, by the same backend for all who read.
"""

import math
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fastzarr.bench import comparison
from fastzarr.bench.backends.base import Layout, Region
from fastzarr.bench.backends.regions import chunk_files
from fastzarr.bench.backends.regions.base import Ability, OpenArray, RegionBackend
from fastzarr.bench.comparison import WrongBytesError
from fastzarr.bench.workloads.sequential import Clock, no_garbage_collection

OPENINGS = 10
"""Times that an array is opened in one sample: once is too short to time."""


@dataclass(frozen=True, kw_only=True)
class Count:
    """How much one sample of an operation is."""

    calls: int
    """Calls of the library."""
    chunks: int
    """Chunks touched, once per call that touches them."""
    nbytes: int
    """Uncompressed bytes moved; 0 where that is no measure."""


@dataclass(kw_only=True)
class Turn:
    """One backend's turn at one operation; what is timed is what runs inside `timed`."""

    backend: RegionBackend
    path: Path
    """Where the array is, or is to be."""
    layout: Layout
    threads: int | None
    """Threads to use, or None for the backend's own choice."""
    data: NDArray[Any]
    """What the array holds or is to hold."""
    out: NDArray[Any]
    """Memory for the whole array, touched before."""
    clock: Clock = time.perf_counter
    cpu_clock: Clock = time.process_time
    seconds: float = 0
    cpu_seconds: float = 0
    opened: OpenArray | None = field(default=None, repr=False)
    """The array that was written in this turn."""

    @contextmanager
    def timed(self) -> Iterator[None]:
        """Take the time."""
        with no_garbage_collection():
            begin, cpu_begin = self.clock(), self.cpu_clock()
            yield
            self.seconds = self.clock() - begin
            self.cpu_seconds = self.cpu_clock() - cpu_begin

    def open(self) -> OpenArray:
        """The array that is there."""
        return self.backend.open(self.path, self.layout, self.threads)

    def create(self) -> OpenArray:
        """A new array."""
        self.opened = self.backend.create(self.path, self.layout, self.threads)
        return self.opened


ReadBack = Callable[[Path, Layout, RegionBackend, NDArray[Any]], str | None]
"""Fill memory with the array at a path by a library that shares nothing with a backend; its name, or None."""


class Operation(ABC):
    """One thing to time; `run` does it, and `check` looks at what the last `run` did, by bytes."""

    name: str
    ability: Ability
    writes = False
    """Whether it makes an array of its own; else it is done on the one that is there."""

    @abstractmethod
    def count(self, layout: Layout) -> Count:
        """How much one sample is."""

    @abstractmethod
    def run(self, turn: Turn) -> None:
        """Do it, the essence of it timed."""

    @abstractmethod
    def check(self, turn: Turn, read_back: ReadBack) -> str | None:
        """Who found that all is right, or None where nobody could look; WrongBytesError where it is not."""

    def put_back(self, turn: Turn) -> None:  # noqa: B027 - nothing is the usual case
        """Undo what was done to an array that is not this operation's own."""


class Write(Operation):
    """The whole array in one call."""

    name = "write"
    ability: Ability = "write"
    writes = True

    def count(self, layout: Layout) -> Count:
        return Count(calls=1, chunks=_chunks(layout, layout.whole), nbytes=_nbytes(layout, layout.whole))

    def run(self, turn: Turn) -> None:
        array = turn.create()
        array.prepare(turn.data)
        with turn.timed():
            array.write(turn.layout.whole, turn.data)
            array.flush()

    def check(self, turn: Turn, read_back: ReadBack) -> str | None:
        if turn.opened is not None:
            turn.opened.publish()
        comparison.poison(turn.out)
        reader = read_back(turn.path, turn.layout, turn.backend, turn.out)
        if reader is not None:
            comparison.same_bytes(f"{reader}, what {turn.backend.name} wrote,", turn.out, turn.data)
        return reader


class WriteBySlabs(Write):
    """A row of shards (or chunks) along axis 0 in each call."""

    name = "write by slabs"
    ability: Ability = "slabs"

    def count(self, layout: Layout) -> Count:
        return Count(
            calls=-(-layout.shape[0] // layout.objects[0]),
            chunks=_chunks(layout, layout.whole),
            nbytes=_nbytes(layout, layout.whole),
        )

    def run(self, turn: Turn) -> None:
        array = turn.create()
        step = turn.layout.objects[0]
        rest = turn.layout.whole[1:]
        with turn.timed():
            for begin in range(0, turn.layout.shape[0], step):
                slab = slice(begin, min(begin + step, turn.layout.shape[0]))
                array.write((slab, *rest), turn.data[slab])
            array.flush()


class Read(Operation):
    """The whole array in one call, into the caller's memory."""

    name = "read"
    ability: Ability = "read"

    def count(self, layout: Layout) -> Count:
        return Count(calls=1, chunks=_chunks(layout, layout.whole), nbytes=_nbytes(layout, layout.whole))

    def run(self, turn: Turn) -> None:
        array = turn.open()
        with turn.timed():
            array.read(turn.layout.whole, turn.out)

    def check(self, turn: Turn, read_back: ReadBack) -> str | None:
        comparison.poison(turn.out)
        turn.open().show(turn.layout.whole, turn.out)
        comparison.same_bytes(turn.backend.name, turn.out, turn.data)
        return "source"


class Item(Operation):
    """`array[i]` for every i, in memory that the library allocates and that is released at once."""

    name = "item"
    ability: Ability = "item"

    def count(self, layout: Layout) -> Count:
        regions = [_row(layout, i) for i in range(layout.shape[0])]
        return Count(
            calls=len(regions),
            chunks=sum(_chunks(layout, region) for region in regions),
            nbytes=_nbytes(layout, layout.whole),
        )

    def run(self, turn: Turn) -> None:
        array = turn.open()
        with turn.timed():
            for index in range(turn.layout.shape[0]):
                array.item(index)

    def check(self, turn: Turn, read_back: ReadBack) -> str | None:
        array = turn.open()
        for index in range(turn.layout.shape[0]):
            comparison.same_bytes(
                turn.backend.name, np.ascontiguousarray(array.item(index)), turn.data[index]
            )
        return "source"


class Open(Operation):
    """Opening the array, by which nothing of its chunks is read."""

    name = "open"
    ability: Ability = "open"

    def count(self, layout: Layout) -> Count:
        return Count(calls=OPENINGS, chunks=0, nbytes=0)

    def run(self, turn: Turn) -> None:
        with turn.timed():
            for _ in range(OPENINGS):
                turn.open()

    def check(self, turn: Turn, read_back: ReadBack) -> str | None:
        corner = tuple(slice(0, c) for c in turn.layout.chunks)
        out = np.empty(turn.layout.chunks, turn.layout.dtype)
        comparison.poison(out)
        turn.open().read(corner, out)
        comparison.same_bytes(turn.backend.name, out, np.ascontiguousarray(turn.data[corner]))
        return "source"


class Element(Operation):
    """One element in each of some random places, of an array without a codec; put back after each sample."""

    name = "element"
    ability: Ability = "element"

    def __init__(self, places: int, seed: int) -> None:
        self._places, self._seed = places, seed

    def count(self, layout: Layout) -> Count:
        return Count(calls=self._places, chunks=self._places, nbytes=0)

    def run(self, turn: Turn) -> None:
        array = turn.open()
        writes = [
            (tuple(slice(i, i + 1) for i in place), np.full((1,) * len(place), value))
            for place, value in self._values(turn)
        ]
        with turn.timed():
            for region, value in writes:
                array.write(region, value)
                array.flush()

    def check(self, turn: Turn, read_back: ReadBack) -> str | None:
        comparison.poison(turn.out)
        reader = read_back(turn.path, turn.layout, turn.backend, turn.out)
        if reader is None:
            return None
        for place, value in self._values(turn):
            if turn.out[place] != value:
                raise WrongBytesError(
                    f"{reader} finds {turn.out[place]} where {turn.backend.name} wrote {value}"
                )
            turn.out[place] = turn.data[place]
        comparison.same_bytes(f"{reader}, beside what {turn.backend.name} wrote,", turn.out, turn.data)
        return reader

    def put_back(self, turn: Turn) -> None:
        """Write the elements that were there into the files."""
        layout = turn.layout
        for place, _ in self._values(turn):
            index = tuple(i // c for i, c in zip(place, layout.chunks, strict=True))
            inside = tuple(i % c for i, c in zip(place, layout.chunks, strict=True))
            with Path(chunk_files.file(turn.path, layout, index)).open("r+b") as file:
                file.seek(int(np.ravel_multi_index(inside, layout.chunks)) * layout.dtype.itemsize)
                file.write(turn.data[place].tobytes())

    def _values(self, turn: Turn) -> list[tuple[tuple[int, ...], Any]]:
        """Places, none twice, and what is written there, which is not what is there."""
        random = np.random.default_rng(self._seed)
        numbers = random.choice(math.prod(turn.layout.shape), self._places, replace=False)
        places = [tuple(map(int, np.unravel_index(number, turn.layout.shape))) for number in numbers]
        return [(place, turn.data[place] + turn.layout.dtype.type(1)) for place in places]


class Cutouts(Operation):
    """Cubes in random places, the same for all, read one after the other into the same memory."""

    ability: Ability = "cutout"

    def __init__(self, edge: int, *, aligned: bool, places: int, seed: int) -> None:
        self.name = f"{'aligned' if aligned else 'unaligned'} {edge}³"
        self._edge, self._aligned, self._places, self._seed = edge, aligned, places, seed

    def count(self, layout: Layout) -> Count:
        regions = self._regions(layout)
        return Count(
            calls=len(regions),
            chunks=sum(_chunks(layout, region) for region in regions),
            nbytes=sum(_nbytes(layout, region) for region in regions),
        )

    def run(self, turn: Turn) -> None:
        regions, out = self._regions(turn.layout), self._memory(turn.layout)
        array = turn.open()
        with turn.timed():
            for region in regions:
                array.read(region, out)

    def check(self, turn: Turn, read_back: ReadBack) -> str | None:
        out = self._memory(turn.layout)
        array = turn.open()
        for region in self._regions(turn.layout):
            comparison.poison(out)
            array.read(region, out)
            comparison.same_bytes(turn.backend.name, out, np.ascontiguousarray(turn.data[region]))
        return "source"

    def _memory(self, layout: Layout) -> NDArray[Any]:
        return np.ones((self._edge,) * len(layout.shape), layout.dtype)

    def _regions(self, layout: Layout) -> Sequence[Region]:
        """Aligned ones begin where a chunk does; of the others none does, along any axis."""
        random = np.random.default_rng(self._seed)
        regions = []
        for _ in range(self._places):
            begin = []
            for n, c in zip(layout.shape, layout.chunks, strict=True):
                last = n - self._edge
                if self._aligned:
                    begin.append(int(random.integers(last // c + 1)) * c)
                else:
                    starts = [i for i in range(last + 1) if i % c] or [0]
                    begin.append(int(random.choice(starts)))
            regions.append(tuple(slice(b, b + self._edge) for b in begin))
        return regions


def _row(layout: Layout, index: int) -> Region:
    return (slice(index, index + 1), *layout.whole[1:])


def _chunks(layout: Layout, region: Region) -> int:
    return math.prod((r.stop - 1) // c - r.start // c + 1 for r, c in zip(region, layout.chunks, strict=True))


def _nbytes(layout: Layout, region: Region) -> int:
    elements: int = math.prod(r.stop - r.start for r in region)
    return elements * layout.dtype.itemsize
