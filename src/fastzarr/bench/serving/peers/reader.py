"""The same server as fastzarr's on another library: only the reader differs."""

import json
import sys
from collections.abc import Sequence
from pathlib import Path

from fastzarr.bench.errors import BenchmarkError
from fastzarr.bench.serving.peers import reader_server
from fastzarr.bench.serving.peers.base import (
    Batch,
    HttpRequest,
    Server,
    ServerOptions,
    StoredLayer,
    launch,
)
from fastzarr.bench.serving.peers.fastzarr import PEER as FASTZARR
from fastzarr.bench.serving.peers.readers.base import Reader, missing
from fastzarr.bench.serving.peers.readers.registry import READERS
from fastzarr.bench.serving.peers.waiting import until_all_say

PROGRAM = reader_server.__name__


class ReaderServer:
    """fastzarr's application on uvicorn with a library that reads; it is asked as `fastzarr serve` is."""

    def __init__(self, reader: Reader, *, cached: bool) -> None:
        """`cached`: the budget is for buckets that the server keeps, as `fastzarr serve` does. Else it keeps
        none, and the budget is for the library's own cache, if it has one.
        """
        self.name = f"{reader.name} with cache" if cached else reader.name
        budget = "fastzarr's cache of buckets" if cached else "its own cache" if reader.keeps else ""
        of = f"the budget is for {budget}" if budget else "no cache"
        self.note = f"the server of fastzarr on another reader; {of}"
        self._reader = reader
        self._cached = cached

    def unable(self, stored: StoredLayer) -> str | None:
        if stored.format != self._reader.format:
            return f"reads {'WKW' if self._reader.format == 'wkw' else 'Zarr'} only"
        if stored.coding not in self._reader.codings:
            return f"does not know how its chunks are coded: {stored.coding}"
        return missing(self._reader)

    def start(self, stored: StoredLayer, options: ServerOptions, port: int, log: Path) -> Server:
        if options.server != "uvicorn":
            raise BenchmarkError(f"server: got {options.server}, expected uvicorn for another reader")
        budget = options.cache_bytes // options.workers
        told = {
            "reader": self._reader.name,
            "root": str(stored.root.absolute()),
            "dataset": stored.dataset,
            "layer": stored.layer,
            "port": port,
            "workers": options.workers,
            "cache_bytes": budget if self._cached else 0,
            "reader_cache_bytes": budget if self._reader.keeps and not self._cached else 0,
        }
        command = [sys.executable, "-m", PROGRAM, json.dumps(told)]
        server = launch(command, port, log, ready="/data/health")
        return until_all_say(server, reader_server.READY, options.workers)

    def requests(self, stored: StoredLayer, batch: Batch) -> tuple[HttpRequest, ...]:
        return FASTZARR.requests(stored, batch)

    def content(self, stored: StoredLayer, batch: Batch, bodies: Sequence[bytes]) -> bytes:
        return FASTZARR.content(stored, batch, bodies)


READER_PEERS = tuple(
    ReaderServer(reader, cached=cached) for cached in (False, True) for reader in READERS.values()
)
