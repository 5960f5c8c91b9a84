"""Backends of regions that take as long as they are told, on a clock of their own."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from fakes import FakeClock
from numpy.typing import NDArray

from fastzarr.bench.backends.base import Layout, Region
from fastzarr.bench.backends.documents import array_document
from fastzarr.bench.backends.regions import chunk_files
from fastzarr.bench.backends.regions.base import Ability, OpenArray, RegionBackend


class FakeRegions(RegionBackend):
    """Stores Zarr v3 without codec in plain chunks; every call takes a fixed time."""

    def __init__(
        self,
        name: str,
        clock: FakeClock,
        log: list[str],
        *,
        seconds: float = 1,
        missing: str | None = None,
        cannot: Sequence[Ability] = (),
        elides: bool = True,
        on_write: Callable[[NDArray[Any]], NDArray[Any]] = lambda data: data,
        on_read: Callable[[NDArray[Any]], None] = lambda out: None,
    ) -> None:
        self.name = name
        self.packages = (name,)
        self.clock, self.log, self.seconds, self.missing = clock, log, seconds, missing
        self.cannot, self.elides, self.on_write, self.on_read = cannot, elides, on_write, on_read

    def unavailable(self) -> str | None:
        return self.missing

    def unsupported(self, layout: Layout, ability: Ability) -> str | None:
        return f"{self.name} cannot {ability}" if ability in self.cannot else None

    def create(self, path: Path, layout: Layout, threads: int | None = None) -> "FakeOpen":
        path.mkdir()
        (path / "zarr.json").write_text(json.dumps(array_document(layout)))
        return FakeOpen(self, path, layout)

    def open(self, path: Path, layout: Layout, threads: int | None = None) -> "FakeOpen":
        return FakeOpen(self, path, layout)


class FakeOpen(OpenArray):
    """One open array; a write of a part of it rewrites all."""

    def __init__(self, backend: FakeRegions, path: Path, layout: Layout) -> None:
        self.backend, self.path, self.layout = backend, path, layout

    def _all(self) -> NDArray[Any]:
        whole = np.zeros(self.layout.shape, self.layout.dtype)
        for index, region in chunk_files.regions(self.layout):
            file = Path(chunk_files.file(self.path, self.layout, index))
            if file.exists():
                whole[region] = np.fromfile(file, self.layout.dtype).reshape(self.layout.chunks)
        return whole

    def write(self, region: Region, data: NDArray[Any]) -> None:
        self.backend.clock.now += self.backend.seconds
        self.backend.log.append(f"{self.backend.name} writes")
        whole = self._all()
        whole[region] = self.backend.on_write(data.copy())
        for index, place in chunk_files.regions(self.layout):
            if not self.backend.elides or whole[place].any():
                file = Path(chunk_files.file(self.path, self.layout, index))
                file.parent.mkdir(parents=True, exist_ok=True)
                whole[place].tofile(file)

    def read(self, region: Region, out: NDArray[Any]) -> None:
        self.backend.clock.now += self.backend.seconds
        self.backend.log.append(f"{self.backend.name} reads")
        out[...] = self._all()[region]
        self.backend.on_read(out)

    def item(self, index: int) -> NDArray[Any]:
        item = np.empty(self.layout.shape[1:], self.layout.dtype)
        self.read((slice(index, index + 1), *self.layout.whole[1:]), item[np.newaxis])
        return item
