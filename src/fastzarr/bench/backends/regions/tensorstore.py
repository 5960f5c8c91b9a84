"""Contender `tensorstore`: TensorStore without its sync of every file."""

from collections import deque
from pathlib import Path
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

from fastzarr.bench.backends import tensorstore as sequential
from fastzarr.bench.backends.base import Layout, Region
from fastzarr.bench.backends.documents import array_document
from fastzarr.bench.backends.regions.base import Library, OpenArray, RegionBackend

if TYPE_CHECKING:
    import tensorstore

INDEX_CACHE = 2**20
"""Bytes of cache of a sharded array: for its index, and not for the chunks that were read before."""


class Opened(OpenArray):
    """The open array; what is written is stored when `flush` returns."""

    def __init__(self, store: "tensorstore.TensorStore") -> None:
        import tensorstore

        self._store = store
        self._wrap = tensorstore.array
        self._commits: deque[tensorstore.Future[None]] = deque()

    def write(self, region: Region, data: NDArray[Any]) -> None:
        written = self._store[region].write(data, can_reference_source_data_indefinitely=True)
        self._commits.append(written.commit)
        if len(self._commits) > sequential.IN_FLIGHT:
            self._commits.popleft().result()

    def flush(self) -> None:
        while self._commits:
            self._commits.popleft().result()

    def read(self, region: Region, out: NDArray[Any]) -> None:
        self._wrap(out, copy=False, write=True).write(self._store[region]).result()

    def item(self, index: int) -> NDArray[Any]:
        item: NDArray[Any] = self._store[index].read().result()
        return item


class TensorStore(Library):
    """Each array has a context of its own, so that none finds another's chunks in a cache.

    Files are mapped (`file_io_mode`): as fast as read calls for chunks of 32 and 256 KiB and shards (0.95 to
    1.1), faster for larger ones. Plain chunks are not cached, as is the default. Of a sharded array the index
    is, and it is not looked up again whether the file changed (`recheck_cached_data`): aligned cutouts 1.1 to
    1.2 times as fast, the rest 1.0. With a cache that holds the array's decoded chunks too, cutouts that
    overlap are 1.3 to 1.4 times as fast; that is not reading, so it isn't given one. Not used, because as
    fast: other limits of `file_io_concurrency` (0.8 to 1.0), no file locks (0.6 to 1.1).
    """

    def create(self, path: Path, layout: Layout, threads: int | None = None) -> Opened:
        import tensorstore

        spec = self._spec(path, layout, threads) | {"metadata": array_document(layout)}
        return Opened(tensorstore.open(spec, create=True).result())

    def open(self, path: Path, layout: Layout, threads: int | None = None) -> Opened:
        import tensorstore

        return Opened(tensorstore.open(self._spec(path, layout, threads), open=True).result())

    def _spec(self, path: Path, layout: Layout, threads: int | None) -> dict[str, Any]:
        context: dict[str, Any] = {
            "cache_pool": {"total_bytes_limit": INDEX_CACHE if layout.shards else 0},
            "file_io_mode": {"mode": "memmap"},
            "file_io_sync": False,
        }
        if threads is not None:
            context["data_copy_concurrency"] = context["file_io_concurrency"] = {"limit": threads}
        spec: dict[str, Any] = {
            "driver": "zarr" if layout.zarr_format == 2 else "zarr3",
            "kvstore": {"driver": "file", "path": f"{path}/"},
            "context": context,
        }
        return spec | {"recheck_cached_data": False} if layout.shards else spec


BACKEND: RegionBackend = TensorStore(sequential.BACKEND)
