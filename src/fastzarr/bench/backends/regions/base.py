"""What a contender of the workloads over layouts is: one way to write and read regions of an array."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from numpy.typing import NDArray

from fastzarr.bench.backends.base import Backend, Layout, Region

Ability = Literal["write", "slabs", "read", "item", "element", "cutout", "open"]
"""What an operation asks of a backend: to write the whole array, or some slabs of it; to read the whole,
`array[i]`, write single elements, read small regions, and open it again and again."""


class OpenArray(ABC):
    """An array open for what it was opened for; `region`s and arrays given have the same shape."""

    @abstractmethod
    def write(self, region: Region, data: NDArray[Any]) -> None:
        """Write C-contiguous `data`; it stays unchanged until `flush` returns."""

    @abstractmethod
    def read(self, region: Region, out: NDArray[Any]) -> None:
        """Read `region` into C-contiguous `out`."""

    def item(self, index: int) -> NDArray[Any]:
        """`array[index]`, in memory of the library's own."""
        raise TypeError(f"{type(self).__name__} has no items")

    def flush(self) -> None:  # noqa: B027 - nothing is the usual case
        """Return when all bytes written are handed to the operating system."""

    def prepare(self, data: NDArray[Any]) -> None:  # noqa: B027 - nothing is the usual case
        """Do what is not timed before all of `data` is written."""

    def publish(self) -> None:  # noqa: B027 - nothing is the usual case
        """Make what was written an array that others read; not timed."""

    def show(self, region: Region, out: NDArray[Any]) -> None:
        """As `read`, and sure to fill `out`: to look at what was read."""
        self.read(region, out)


class RegionBackend(ABC):
    """One contender, in one file; the same library or baseline as a contender of `sequential` or not."""

    name: str
    kind: Literal["baseline", "library"] = "library"
    packages: Sequence[str]
    """Distributions that it is made of."""

    @abstractmethod
    def unavailable(self) -> str | None:
        """Why this backend cannot run in this interpreter (with the remedy), or None."""

    @abstractmethod
    def unsupported(self, layout: Layout, ability: Ability) -> str | None:
        """Why this backend cannot do that with such an array, or None."""

    @abstractmethod
    def create(self, path: Path, layout: Layout, threads: int | None = None) -> OpenArray:
        """Create the array at `path` (absent before), for writing with so many threads, or its own choice."""

    @abstractmethod
    def open(self, path: Path, layout: Layout, threads: int | None = None) -> OpenArray:
        """Open the array at `path` for reading and writing, with so many threads, or its own choice."""

    def environment(self, threads: int) -> Mapping[str, str]:
        """Environment variables that set the number of threads of a process which has not begun yet."""
        return {}


class Library(RegionBackend):
    """A contender that is also one of `sequential`: name and packages are those."""

    def __init__(self, sequential: Backend) -> None:
        self.name = sequential.name
        self.kind = sequential.kind
        self.packages = sequential.packages
        self._sequential = sequential

    def unavailable(self) -> str | None:
        return self._sequential.unavailable()

    def unsupported(self, layout: Layout, ability: Ability) -> str | None:
        return None
