"""Contender `zarrista`: the Python binding of the Rust library zarrs that does not go through zarr-python."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

from fastzarr.bench.backends import zarrista as sequential
from fastzarr.bench.backends.base import Layout, Region
from fastzarr.bench.backends.documents import array_document
from fastzarr.bench.backends.regions.base import Library, OpenArray, RegionBackend

if TYPE_CHECKING:
    import zarrista


class Opened(OpenArray):
    """The open array; a region that is one inner chunk of a shard is read as such, with the index cached."""

    def __init__(self, array: "zarrista.Array", layout: Layout) -> None:
        self._array = array
        self._rest = [0] * (array.ndim - 1)
        self._inner = layout.chunks if layout.shards else None
        self._cache = array.shard_cache() if layout.shards else None

    def write(self, region: Region, data: NDArray[Any]) -> None:
        self._array.store_array_subset(region, data)

    def read(self, region: Region, out: NDArray[Any]) -> None:
        found: Any
        if self._inner == out.shape and all(r.start % n == 0 for r, n in zip(region, out.shape, strict=True)):
            index = [r.start // n for r, n in zip(region, out.shape, strict=True)]
            found = self._array.retrieve_subchunk(index, shard_cache=self._cache)
        else:
            found = self._array.retrieve_array_subset(region)
        out[...] = found.to_numpy()

    def item(self, index: int) -> NDArray[Any]:
        chunk: Any = self._array.retrieve_chunk([index, *self._rest])
        return chunk.to_numpy()[0]  # type: ignore[no-any-return]


class Zarrista(Library):
    """Nothing fills the caller's memory, so reads are copied into it.

    Its codec options stay at their defaults, which are for all cores. As fast: other limits of chunk
    concurrency (0.9 to 1.0), a `concurrent_target` of 8 (0.8 to 1.0), checksums not validated (1.0), and
    `experimental_partial_encoding` for single elements (1.0).
    """

    def create(self, path: Path, layout: Layout, threads: int | None = None) -> Opened:
        import zarrista
        from zarrista.store import FilesystemStore

        document: Any = array_document(layout)
        array = zarrista.Array.from_metadata(document, FilesystemStore(path))
        array.store_metadata()
        return Opened(array, layout)

    def open(self, path: Path, layout: Layout, threads: int | None = None) -> Opened:
        import zarrista
        from zarrista.store import FilesystemStore

        return Opened(zarrista.Array.open(FilesystemStore(path)), layout)

    def environment(self, threads: int) -> Mapping[str, str]:
        return {"RAYON_NUM_THREADS": str(threads)}


BACKEND: RegionBackend = Zarrista(sequential.BACKEND)
