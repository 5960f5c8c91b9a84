"""Tiled, of Bluesky: blocks of arrays, read by zarr-python."""

import json
import tempfile
from collections.abc import Sequence
from pathlib import Path

import numcodecs

from fastzarr.bench.serving.peers import c_order, environment
from fastzarr.bench.serving.peers.base import Batch, HttpRequest, Server, ServerOptions, StoredLayer


class Tiled:
    """Its virtual Zarr v2, 1.2 times as fast for uint8 as its route `/array/full`, 0.9 to 1.2 for uint32;
    `/array/block` has 0.8 of that route's speed.

    In a group, because 0.2.20 answers chunks of an array without one by 500. Open to all, so that no key is
    checked. zarr-python's fused codec pipeline, and one thread, are no faster (0.9 to 1.1).
    """

    name = "tiled"
    note = (
        "a request for each bucket, answered as Zarr v2: coded with Blosc and z fastest, decoding and "
        "turning are left to the client; has no cache"
    )

    def unable(self, stored: StoredLayer) -> str | None:
        if stored.format == "wkw":
            return "has no adapter for WKW"
        return environment.missing("tiled", "zarr", "uvicorn", "uvloop", "httptools")

    def start(self, stored: StoredLayer, options: ServerOptions, port: int, log: Path) -> Server:
        group = Path(tempfile.mkdtemp(prefix="tiled-", dir=log.parent))
        (group / "zarr.json").write_text('{"zarr_format": 3, "node_type": "group", "attributes": {}}')
        (group / "layer").symlink_to(stored.path.absolute())
        tree = {
            "path": "/",
            "tree": "tiled.adapters.zarr:ZarrAdapter.from_uris",
            "args": {"data_uri": group.absolute().as_uri()},
        }
        configuration = log.with_suffix(".tiled.yml")  # JSON is YAML
        configuration.write_text(
            json.dumps({"authentication": {"allow_anonymous_access": True}, "trees": [tree]})
        )
        return environment.serve(
            "tiled.server.app:app_factory",
            {},
            options,
            port,
            log,
            ready="/zarr/v2/layer/.zarray",
            environment={"TILED_CONFIG": str(configuration)},
        )

    def requests(self, stored: StoredLayer, batch: Batch) -> tuple[HttpRequest, ...]:
        return c_order.requests(batch, "/zarr/v2/layer/0.{x}.{y}.{z}")

    def content(self, stored: StoredLayer, batch: Batch, bodies: Sequence[bytes]) -> bytes:
        blosc = numcodecs.Blosc()
        return b"".join(c_order.turned(stored, bytes(blosc.decode(body))) for body in bodies)


PEER = Tiled()
