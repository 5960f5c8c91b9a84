"""chunkmirage, of Janelia: chunks of a virtual Zarr."""

from collections.abc import Sequence
from pathlib import Path

from fastzarr.bench.serving.peers import c_order, environment
from fastzarr.bench.serving.peers.base import Batch, HttpRequest, Server, ServerOptions, StoredLayer


class Chunkmirage:
    """Zarr v3 without compression, read by TensorStore, kept in its cache of chunks.

    Its default of 40 threads is 1.0 to 1.1 times as fast as 1 or 2 with its cache, 1.0 to 1.3 without. All of
    the budget is for its own cache: with TensorStore's instead it has 0.6 of the speed.
    """

    name = "chunkmirage"
    note = "a request for each bucket, answered with z fastest: turning is left to the client"

    def unable(self, stored: StoredLayer) -> str | None:
        if stored.format == "wkw":
            return "reads Zarr, N5, precomputed and HDF5, no WKW"
        if stored.coding == "lz4":
            return "reads by TensorStore, which does not know how its chunks are coded: lz4"
        return environment.missing("chunkmirage", "uvicorn", "uvloop", "httptools")

    def start(self, stored: StoredLayer, options: ServerOptions, port: int, log: Path) -> Server:
        told: dict[str, object] = {
            "path": str(stored.path),
            "cache_bytes": options.cache_bytes // options.workers,
        }
        return environment.serve(
            "chunkmirage_app:application", told, options, port, log, ready="/layer/zarr3/s0/zarr.json"
        )

    def requests(self, stored: StoredLayer, batch: Batch) -> tuple[HttpRequest, ...]:
        return c_order.requests(batch, "/layer/zarr3/s0/c/0/{x}/{y}/{z}")

    def content(self, stored: StoredLayer, batch: Batch, bodies: Sequence[bytes]) -> bytes:
        return b"".join(c_order.turned(stored, body) for body in bodies)


PEER = Chunkmirage()
