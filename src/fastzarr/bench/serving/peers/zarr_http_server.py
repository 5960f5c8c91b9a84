"""zarr-http-server, of zarr-developers: stored keys of Zarr, with ranges."""

from collections.abc import Sequence
from pathlib import Path

from fastzarr.bench.serving.peers import environment, stored_bytes
from fastzarr.bench.serving.peers.base import Batch, HttpRequest, Server, ServerOptions, StoredLayer

MINIMUM = (3, 12)


class ZarrHttpServer:
    """`store_app`, which looks at no node, so that no key is checked against metadata: its fastest. Its own
    `serve` is uvicorn with one process; here it has a process for each worker.
    """

    name = "zarr-http-server"
    note = (
        "sends stored bytes, nothing is decoded; a range request for each bucket, offsets known to the client"
    )

    def unable(self, stored: StoredLayer) -> str | None:
        if stored.format == "wkw":
            return "serves keys of Zarr hierarchies, no WKW"
        reason = environment.missing("zarr-http-server", "uvicorn", "uvloop", "httptools")
        version = environment.python()
        if reason and version and tuple(map(int, version.split(".")))[:2] < MINIMUM:
            return f"needs Python 3.12 or newer; {reason}"
        return reason

    def start(self, stored: StoredLayer, options: ServerOptions, port: int, log: Path) -> Server:
        told: dict[str, object] = {"path": str(stored.path)}
        return environment.serve(
            "zarr_http_server_app:application", told, options, port, log, ready="/zarr.json"
        )

    def requests(self, stored: StoredLayer, batch: Batch) -> tuple[HttpRequest, ...]:
        return stored_bytes.requests(stored, batch, "/")

    def content(self, stored: StoredLayer, batch: Batch, bodies: Sequence[bytes]) -> bytes:
        return b"".join(stored_bytes.decode(stored, body) for body in bodies)


PEER = ZarrHttpServer()
