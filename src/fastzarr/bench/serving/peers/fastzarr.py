"""`fastzarr serve`: a POST of six buckets, as the frontend of webknossos sends it."""

import json
import sys
from collections.abc import Sequence
from pathlib import Path

from fastzarr.bench.serving.peers.base import (
    BUCKET,
    Batch,
    HttpRequest,
    Server,
    ServerOptions,
    StoredLayer,
    launch,
)


class Fastzarr:
    """The subject."""

    name = "fastzarr"
    note = ""

    def unable(self, stored: StoredLayer) -> str | None:
        return None

    def start(self, stored: StoredLayer, options: ServerOptions, port: int, log: Path) -> Server:
        command: list[str | Path] = [
            sys.executable,
            "-m",
            "fastzarr",
            "serve",
            stored.root,
            "--port",
            str(port),
            "--workers",
            str(options.workers),
            "--server",
            options.server,
            "--cache",
            str(options.cache_bytes // options.workers),
        ]
        return launch(command, port, log, ready="/data/health")

    def requests(self, stored: StoredLayer, batch: Batch) -> tuple[HttpRequest, ...]:
        asked = [{"position": list(bucket), "mag": [1, 1, 1], "cubeSize": BUCKET} for bucket in batch]
        request = HttpRequest(
            method="POST",
            path=f"/data/datasets/{stored.dataset}/layers/{stored.layer}/data",
            headers=(("Content-Type", "application/json"),),
            body=json.dumps(asked, separators=(",", ":")),
        )
        return (request,)

    def content(self, stored: StoredLayer, batch: Batch, bodies: Sequence[bytes]) -> bytes:
        return b"".join(bodies)


PEER = Fastzarr()
