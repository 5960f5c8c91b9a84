"""What a server that is compared does: start on a stored layer, and answer for six buckets.

The runner asks a peer for the HTTP requests of a batch, checks that the content of the answers is the batch's
voxels, and has wrk send the same requests. What a peer takes several requests for counts as one.
"""

import contextlib
import http.client
import os
import signal
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, Protocol

import psutil

from fastzarr.bench.errors import BenchmarkError

LayerName = Literal["color", "segmentation"]
Format = Literal["wkw", "zarr3"]
Coding = Literal["lz4hc", "lz4", "zstd", "raw"]

BUCKET = 32
"""Voxels along each edge of a bucket."""

Bucket = tuple[int, int, int]
"""First voxel (x, y, z) of a bucket, multiples of 32."""
Batch = tuple[Bucket, ...]
"""The buckets of one request; six of them, as the frontend of webknossos asks for."""

READY_SECONDS = 60.0
STOP_SECONDS = 15.0


@dataclass(frozen=True, kw_only=True)
class StoredLayer:
    """One layer of the dataset in one format, at magnification 1."""

    root: Path
    """The directory a server is given; it holds the dataset's directory and nothing else."""
    dataset: str
    """Name of the dataset's directory below `root`."""
    layer: LayerName
    """Name of the layer's directory: `color` is uint8, `segmentation` is uint32."""
    format: Format
    """`wkw`, or `zarr3`: sharded, shape (1, x, y, z), shards of (1, 1024, 1024, 1024), inner chunks of
    (1, 32, 32, 32) with x fastest."""
    coding: Coding
    """How blocks and inner chunks are coded: `zstd` is level 5 with checksum."""
    shape: tuple[int, int, int]
    """Extent in voxels (x, y, z); the bounding box begins at 0."""
    dtype: str
    """`uint8` or `uint32`."""
    source: Path
    """The same voxels as a plain file, little endian, x fastest."""

    @property
    def name(self) -> str:
        """How rows name it, such as `color wkw lz4hc`."""
        return f"{self.layer} {self.format} {self.coding}"

    @property
    def path(self) -> Path:
        """The directory with `header.wkw`, or with the array's `zarr.json`."""
        return self.root / self.dataset / self.layer / "1"


@dataclass(frozen=True, kw_only=True)
class HttpRequest:
    """One request as wrk sends it."""

    path: str
    """Path and query, from the slash."""
    method: Literal["GET", "POST"] = "GET"
    headers: tuple[tuple[str, str], ...] = ()
    """Pairs besides Host and Content-Length."""
    body: str = ""
    """Text of a POST, without line breaks."""


@dataclass(frozen=True, kw_only=True)
class ServerOptions:
    """What all peers are given alike, as far as they take it."""

    workers: int
    """Processes, or threads where a peer has no processes."""
    cache_bytes: int
    """Budget of decoded buckets or chunks, of all processes together; 0 is no cache."""
    server: Literal["uvicorn", "granian"] = "uvicorn"
    """HTTP stack of `fastzarr serve` and of the peers that are built on it."""


class Peer(Protocol):
    """One server."""

    name: str
    """How rows name it, such as `nginx` or `tensorstore reader`."""
    note: str
    """What it does otherwise than the rest, in a sentence for the report; empty where nothing."""

    def unable(self, stored: StoredLayer) -> str | None:
        """Why it cannot serve this layer, or is not installed; None where it can."""

    def start(self, stored: StoredLayer, options: ServerOptions, port: int, log: Path) -> "Server":
        """The server, ready, on 127.0.0.1; `launch` does the most of it. What it prints goes to `log`."""

    def requests(self, stored: StoredLayer, batch: Batch) -> tuple[HttpRequest, ...]:
        """What is sent for one batch: one POST, or a GET for each bucket. Called before `start` too."""

    def content(self, stored: StoredLayer, batch: Batch, bodies: Sequence[bytes]) -> bytes:
        """The voxels in the answers to `requests(stored, batch)`: bucket after bucket, x fastest, little
        endian. Where an answer is coded or in another order, it is decoded here, after it was received."""


@dataclass(kw_only=True)
class Server:
    """A running server."""

    url: str
    """Such as http://127.0.0.1:9001, without a slash at the end."""
    process: "subprocess.Popen[bytes]"
    """The process that was started, in a session of its own; its children belong to the server."""
    log: Path
    """What it printed."""
    _stopped: bool = field(default=False, repr=False)

    def processes(self) -> list[psutil.Process]:
        """The process and all below it."""
        try:
            first = psutil.Process(self.process.pid)
            return [first, *first.children(recursive=True)]
        except psutil.NoSuchProcess:
            return []

    def stop(self) -> None:
        """End it: politely, then not."""
        if self._stopped:
            return
        self._stopped = True
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
            try:
                self.process.wait(STOP_SECONDS)
            except subprocess.TimeoutExpired:
                os.killpg(self.process.pid, signal.SIGTERM)
        try:
            self.process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)  # workers that outlived it

    def __enter__(self) -> "Server":
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()


def launch(
    command: Sequence[str | Path],
    port: int,
    log: Path,
    *,
    ready: str = "/",
    environment: Mapping[str, str] | None = None,
    seconds: float = READY_SECONDS,
) -> Server:
    """Start `command` and wait until path `ready` is answered, whatever the status below 500.

    BenchmarkError with the end of the log where it ends first or takes longer than `seconds`.
    """
    url = f"http://127.0.0.1:{port}"
    with log.open("wb") as output:
        process = subprocess.Popen(
            [str(part) for part in command],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            env={**os.environ, **(environment or {})},
            start_new_session=True,
        )
    server = Server(url=url, process=process, log=log)
    end = time.monotonic() + seconds
    try:
        while not _answers(url + ready):
            if process.poll() is not None:
                raise BenchmarkError(f"{command[0]} ended with {process.returncode}: {_tail(log)}")
            if time.monotonic() > end:
                raise BenchmarkError(f"{command[0]} did not answer in {seconds:.0f} s: {_tail(log)}")
            time.sleep(0.05)
    except BaseException:
        server.stop()
        raise
    return server


def _answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=5) as answer:
            answer.read()
    except urllib.error.HTTPError as error:
        return error.code < 500
    except (OSError, http.client.HTTPException):
        return False
    return True


def _tail(log: Path, lines: int = 5) -> str:
    found = log.read_text(encoding="utf-8", errors="replace").strip().splitlines()
    return " | ".join(found[-lines:]) or "it printed nothing"
