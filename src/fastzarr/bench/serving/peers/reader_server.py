"""fastzarr's server with another library below it: application, routes, cache and uvicorn are the same, only
what decodes the buckets of the layer is not.

Run as a program with the arguments as JSON.
"""

import json
import logging
import multiprocessing
import os
import signal
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from socket import socket
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fastzarr.bench.errors import BenchmarkError
from fastzarr.bench.serving.peers.readers.base import ReadBuckets
from fastzarr.bench.serving.peers.readers.registry import READERS
from fastzarr.serve import heap, uvicorn_worker
from fastzarr.serve.app import Application, routes
from fastzarr.serve.lifeline import hold
from fastzarr.serve.server import listen, of_worker
from fastzarr.serve.settings import Settings
from fastzarr.serve.site import Site

READY = "a worker is ready"


@dataclass(frozen=True, kw_only=True)
class Arguments:
    """What the program is given."""

    reader: str
    """Name of the library."""
    root: str
    """As in `StoredLayer`."""
    dataset: str
    layer: str
    port: int
    workers: int
    cache_bytes: int
    """For buckets that the server keeps, in each worker."""
    reader_cache_bytes: int
    """For a cache of the library's own, in each worker."""

    @property
    def settings(self) -> Settings:
        """Those of `fastzarr serve`."""
        return Settings(
            source=Path(self.root), port=self.port, workers=self.workers, cache_bytes=self.cache_bytes
        )


class Chunks:
    """Takes the place of the array of a `Volume`: chunks are read by another library."""

    def __init__(self, array: Any, read: ReadBuckets) -> None:
        self.shape: tuple[int, ...] = array.shape
        self.dtype: np.dtype[Any] = array.dtype
        self._read = read

    def read_chunks(self, coords: NDArray[np.intp]) -> tuple[list[NDArray[np.uint8]], list[bool]]:
        """As of an `Array` (c, x, y, z); all are taken to be stored."""
        places = [(x, y, z) for _, x, y, z in coords.tolist()]
        return self._read(places), [True] * len(places)

    def read_into(self, out: NDArray[Any], *, selection: Any = ...) -> None:
        """Not what the benchmark asks for."""
        raise BenchmarkError(f"got a request for {selection}, expected whole buckets on their grid")


def application(arguments: Arguments) -> Application:
    """The application of `fastzarr serve`, with the layer's voxels read by the library."""
    heap.keep()
    reader = READERS[arguments.reader]
    site = Site.of(arguments.settings)
    volume = site.catalogue.datasets[arguments.dataset].layers[arguments.layer].finest
    path = Path(arguments.root, arguments.dataset, arguments.layer, "1")
    volume.array = Chunks(volume.array, reader.open(path, arguments.reader_cache_bytes))
    return Application(site, routes())


def work(arguments: Arguments, listener: socket, parent: int) -> None:
    """What a worker process does."""
    hold(parent)
    logging.basicConfig(level=logging.WARNING)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    made = application(arguments)
    listener = of_worker(arguments.settings, listener)
    print(READY, flush=True)
    uvicorn_worker.run(made, listener)


def main(given: Mapping[str, Any]) -> None:
    """Serve until SIGINT."""
    arguments = Arguments(**given)
    listener = listen(arguments.settings)
    context = multiprocessing.get_context("spawn")
    workers = [
        context.Process(target=work, args=(arguments, listener, os.getpid()))
        for _ in range(arguments.workers)
    ]
    for worker in workers:
        worker.start()
    try:
        for worker in workers:
            worker.join()
        sys.exit("the workers ended")
    except KeyboardInterrupt:
        for worker in workers:
            worker.terminate()


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
