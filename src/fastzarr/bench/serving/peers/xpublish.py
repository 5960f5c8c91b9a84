"""xpublish with its plugin xpublish-zarr: chunks of a virtual Zarr, made by xarray, Dask and zarr-python."""

from collections.abc import Sequence
from pathlib import Path

from fastzarr.bench.serving.peers import c_order, environment
from fastzarr.bench.serving.peers.base import Batch, HttpRequest, Server, ServerOptions, StoredLayer

PREFIX = "/datasets/dataset/zarr/layer"


class Xpublish:
    """Zarr v3 without compression, Dask's chunks those of the shards inside, its cache of answers.

    Dask on the caller's thread: a chunk is one task. Without Dask it would hold the whole array in memory.
    """

    name = "xpublish"
    note = "a request for each bucket, answered with z fastest: turning is left to the client"

    def unable(self, stored: StoredLayer) -> str | None:
        if stored.format == "wkw":
            return "serves what xarray opens, no WKW"
        return environment.missing("xpublish", "xpublish-zarr", "dask", "uvicorn", "uvloop", "httptools")

    def start(self, stored: StoredLayer, options: ServerOptions, port: int, log: Path) -> Server:
        told: dict[str, object] = {
            "path": str(stored.path),
            "cache_bytes": options.cache_bytes // options.workers,
        }
        return environment.serve(
            "xpublish_app:application", told, options, port, log, ready=f"{PREFIX}/zarr.json"
        )

    def requests(self, stored: StoredLayer, batch: Batch) -> tuple[HttpRequest, ...]:
        return c_order.requests(batch, PREFIX + "/c/0/{x}/{y}/{z}")

    def content(self, stored: StoredLayer, batch: Batch, bodies: Sequence[bytes]) -> bytes:
        return b"".join(c_order.turned(stored, body) for body in bodies)


PEER = Xpublish()
