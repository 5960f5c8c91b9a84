"""A process that measures one backend with one number of threads: a request on stdin, a reply on stdout.

Libraries make their pools of threads once in a process, so every number needs a process of its own.
"""

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import psutil

from fastzarr.bench import host, scratch, verify
from fastzarr.bench.backends.base import Layout
from fastzarr.bench.backends.regions.base import RegionBackend
from fastzarr.bench.backends.regions.registry import REGION_BACKENDS, REGION_READERS
from fastzarr.bench.saved import record
from fastzarr.bench.workloads.operations import Operation, Read, Turn, Write

OPERATIONS: tuple[Operation, ...] = (Write(), Read())
"""What is measured, in order."""

CODEC_THREADS = {"BLOSC_NTHREADS": "1", "OMP_NUM_THREADS": "1"}
"""Threads inside a codec, which are not what is measured."""
TIMEOUT = 900
"""Seconds after which a process is given up."""


class ProcessError(Exception):
    """A process that ended without a reply."""


@dataclass(frozen=True, kw_only=True)
class Request:
    """What a process is to do: each operation once without, and once with taking the time."""

    backend: str
    """Name in the registry."""
    threads: int
    """Threads that it is told to use."""
    layout: Layout
    """The array."""
    data: Path
    """A `.npy` file with what the array holds."""
    shared: Path
    """The array to read."""
    own: Path
    """Where to write one; removed after."""
    check: bool
    """Whether to verify by bytes and take the memory; then nothing is timed."""


@dataclass(frozen=True, kw_only=True)
class Reply:
    """What came of one operation."""

    operation: str
    """Its name."""
    error: str | None
    """What was raised, or None; what follows is then without meaning."""
    seconds: float
    """Wall time; 0 in a check."""
    cpu_seconds: float
    """CPU time of the process."""
    load_average: float
    """Load average over one minute before."""
    verified_by: str | None
    """As in `measurements.Row`."""
    peak_memory_bytes: int | None
    """As in `measurements.Row`."""
    stored_bytes: int
    """Bytes of the array written or read; 0 unless in a check."""
    stored_objects: int
    """Files of chunks or shards of it."""
    affinity: tuple[int, ...]
    """Cores the process might use."""


def ask(backend: RegionBackend, request: Request) -> tuple[Reply, ...]:
    """Have a process do `request`, in the environment that `backend` wants; ProcessError where it dies."""
    fields = asdict(request) | {
        "layout": asdict(request.layout) | {"dtype": request.layout.dtype.str},
        "data": str(request.data),
        "shared": str(request.shared),
        "own": str(request.own),
    }
    environment = {**os.environ, **CODEC_THREADS, **backend.environment(request.threads)}
    done = subprocess.run(
        [sys.executable, "-m", "fastzarr.bench.thread_process"],
        input=json.dumps(fields),
        capture_output=True,
        text=True,
        env=environment,
        timeout=TIMEOUT,
    )
    if done.returncode:
        last = done.stderr.strip().splitlines()[-1:] or ["no message"]
        raise ProcessError(f"the process ended with {done.returncode}: {last[0]}")
    where = f"reply of {request.backend}"
    return tuple(record(Reply, reply, where) for reply in json.loads(done.stdout))


def measure(request: Request) -> list[Reply]:
    """Do what is asked, in this process."""
    data = np.load(request.data)
    out = np.ones_like(data)
    backend = REGION_BACKENDS[request.backend]
    return [_reply(request, operation, backend, data, out) for operation in OPERATIONS]


def _reply(request: Request, operation: Operation, backend: RegionBackend, data: Any, out: Any) -> Reply:
    turn = Turn(
        backend=backend,
        path=request.own if operation.writes else request.shared,
        layout=request.layout,
        threads=request.threads,
        data=data,
        out=out,
    )
    error = verified_by = peak = None
    stored = (0, 0)
    load = psutil.getloadavg()[0]
    memory = host.PeakMemory()
    try:
        memory.restart()
        operation.run(turn)
        if request.check:
            peak = memory.above_start()
            stored = verify.stored(turn.path)
            readers = [REGION_BACKENDS[name] for name in REGION_READERS]
            verified_by = operation.check(turn, verify.read_back_by(readers))
            turn.seconds = turn.cpu_seconds = 0
        else:
            scratch.remove(request.own)
            operation.run(turn)
    except Exception as raised:
        error = f"{type(raised).__name__}: {raised}"
    scratch.remove(request.own, ignore_errors=True)
    return Reply(
        operation=operation.name,
        error=error,
        seconds=turn.seconds,
        cpu_seconds=turn.cpu_seconds,
        load_average=load,
        verified_by=verified_by,
        peak_memory_bytes=peak,
        stored_bytes=stored[0],
        stored_objects=stored[1],
        affinity=host.allowed_cores(),
    )


def parsed(fields: Mapping[str, Any]) -> Request:
    """The request of its JSON."""
    layout = dict(fields["layout"])
    for key in ("shape", "chunks", "shards"):
        layout[key] = layout[key] and tuple(layout[key])
    layout["dtype"] = np.dtype(layout["dtype"])
    paths = {key: Path(fields[key]) for key in ("data", "shared", "own")}
    return Request(**{**fields, **paths, "layout": Layout(**layout)})


def main() -> None:
    """Answer one request."""
    replies = measure(parsed(json.load(sys.stdin)))
    json.dump([asdict(reply) for reply in replies], sys.stdout)


if __name__ == "__main__":
    main()
