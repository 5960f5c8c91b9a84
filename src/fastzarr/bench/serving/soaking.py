"""A long load, during which the memory of the server is looked at."""

import time
from collections.abc import Callable
from importlib.resources import as_file, files
from pathlib import Path

import psutil

from fastzarr.bench.errors import BenchmarkError
from fastzarr.bench.serving import wrk
from fastzarr.bench.serving.peers.base import Server
from fastzarr.bench.serving.results import Load, Soak, SoakPoint

EVERY = 1.0
"""Seconds between two looks."""

Named = Callable[[str, str, int], Soak]
"""Makes the record of server, layer and budget of the cache."""


def memory(server: Server) -> tuple[int, int]:
    """Number of the server's processes and bytes resident in all of them."""
    count = total = 0
    for process in server.processes():
        try:
            total += process.memory_info().rss
        except psutil.NoSuchProcess:
            continue
        count += 1
    return count, total


def soak(
    server: Server,
    prepared: Path,
    load: Load,
    progress: Callable[[float], None],
    clock: Callable[[], float] = time.monotonic,
) -> Named:
    """Drive `server` for the seconds of `load`, looking at its memory all the while."""
    points: list[SoakPoint] = []
    reason, answers = None, 0
    with as_file(files("fastzarr.bench.serving") / wrk.SCRIPT) as script:
        process = wrk.start(prepared, server.url, load, script)
        start = clock()
        try:
            while process.poll() is None and (passed := clock() - start) < load.seconds:
                count, total = memory(server)
                points.append(SoakPoint(seconds=passed, processes=count, memory_bytes=total))
                progress(min(1.0, passed / load.seconds))
                time.sleep(EVERY)
            measured = wrk.finish(process, wrk.GRACE)
            answers = measured.answers
            bad = measured.status_errors + measured.connect_errors + measured.read_errors
            if bad or not answers:
                reason = f"{bad} of {answers} answers were not good"
        except BenchmarkError as error:
            reason = str(error)
        finally:
            if process.poll() is None:
                process.kill()
                process.wait()

    def named(name: str, layer: str, cache_bytes: int) -> Soak:
        return Soak(
            server=name,
            layer=layer,
            threads=load.threads,
            connections=load.connections,
            cache_bytes=cache_bytes,
            reason=reason,
            answers=answers,
            points=tuple(points),
        )

    return named
