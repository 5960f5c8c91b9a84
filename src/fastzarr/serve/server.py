"""Worker processes and the socket they share: uvicorn's are watched here, granian watches its own."""

from __future__ import annotations

import errno
import logging
import multiprocessing
import os
import signal
import socket
import sys
from multiprocessing.connection import wait
from multiprocessing.process import BaseProcess
from tempfile import TemporaryDirectory
from time import monotonic
from typing import Any

from fastzarr.serve import granian_worker, metrics, uvicorn_worker
from fastzarr.serve.app import make_application
from fastzarr.serve.errors import ServerError
from fastzarr.serve.lifeline import hold
from fastzarr.serve.settings import Settings

log = logging.getLogger("fastzarr.serve")

EARLY = 3.0
"""Seconds; a worker that ends sooner has failed to start."""
FAILURES = 3
"""So many of these in a row end the server."""
PATIENCE = 8.0
"""Seconds that workers have to end before they are killed."""
THREADS_PER_CALL = "FASTZARR_THREADS"
"""Environment variable; requests share the processors among them, so that each is read by one thread."""


def listen(settings: Settings) -> socket.socket:
    """The socket of the address asked for; `ServerError` where it can't be had.

    It listens itself where processes share it, else it keeps the port for theirs.
    """
    try:
        # First alone, so that a port that others share isn't taken for free.
        listener = _bound((settings.bind, settings.port), shared=False)
        if _each_its_own(settings):
            address = listener.getsockname()
            listener.close()
            listener = _bound(address, shared=True)
        elif settings.server == "uvicorn":
            listener.listen(uvicorn_worker.BACKLOG)
    except (OSError, OverflowError) as failure:
        raise ServerError(_why_not(failure, settings)) from failure
    listener.set_inheritable(True)
    return listener


def _each_its_own(settings: Settings) -> bool:
    """Whether each worker has a socket, among which the system spreads connections evenly.

    With one for all, the worker that wakes first takes all connections there are.
    """
    return settings.server == "uvicorn" and settings.workers > 1 and sys.platform == "linux"


def of_worker(settings: Settings, listener: socket.socket) -> socket.socket:
    """The socket at which a worker of uvicorn answers, given the one of `listen`."""
    if not _each_its_own(settings):
        return listener
    with listener:
        own = _bound(listener.getsockname(), shared=True)
    own.listen(uvicorn_worker.BACKLOG)
    return own


def _bound(address: tuple[Any, ...], *, shared: bool) -> socket.socket:
    bound = socket.socket(socket.AF_INET6 if ":" in address[0] else socket.AF_INET)
    try:
        if sys.platform != "win32":
            bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if shared:
            bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        bound.bind(address)
    except BaseException:
        bound.close()
        raise
    return bound


def _why_not(failure: Exception, settings: Settings) -> str:
    where = f"--bind {settings.bind} --port {settings.port}"
    number = failure.errno if isinstance(failure, OSError) else None
    if number == errno.EADDRINUSE:
        return (
            f"{where}: the port is in use; end what uses it, choose another, or let --port 0 find a free one"
        )
    if number == errno.EACCES:
        return f"{where}: not allowed; ports below 1024 are the system's, choose one above"
    if isinstance(failure, socket.gaierror) or number == errno.EADDRNOTAVAIL:
        return (
            f"{where}: this machine has no such address; 127.0.0.1 is this machine alone, 0.0.0.0 all it has"
        )
    return f"{where}: {failure}"


def run(settings: Settings, listener: socket.socket) -> None:
    """Serve until SIGINT or SIGTERM; `ServerError` where workers fail again and again."""
    os.environ.setdefault(THREADS_PER_CALL, "1")
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.default_int_handler)
    if settings.server == "uvicorn" and settings.workers == 1:
        uvicorn_worker.run(make_application(settings), listener)
        return
    with TemporaryDirectory(prefix="fastzarr-serve-") as shared:
        os.environ[metrics.DIRECTORY] = shared
        if settings.server == "granian":
            granian_worker.run(settings, listener, os.getpid())
        else:
            _supervise(settings, listener)


def _work(settings: Settings, listener: socket.socket, parent: int) -> None:
    """What a worker process of uvicorn does. Ctrl-C reaches it too; its parent ends it with SIGTERM."""
    hold(parent)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        application = make_application(settings)
        uvicorn_worker.run(application, of_worker(settings, listener))
    except KeyboardInterrupt:
        return


def _supervise(settings: Settings, listener: socket.socket) -> None:
    """Keep as many workers as were asked for."""
    workers: dict[BaseProcess, float] = {}
    failures = 0
    try:
        while True:
            while len(workers) < settings.workers:
                workers[_start(settings, listener)] = monotonic()
            wait([worker.sentinel for worker in workers])
            for worker in [worker for worker in workers if not worker.is_alive()]:
                lived = monotonic() - workers.pop(worker)
                failures = failures + 1 if lived < EARLY else 0
                if failures >= FAILURES:
                    raise ServerError(
                        f"{failures} workers in a row ended within {EARLY:g} seconds, the last with status "
                        f"{worker.exitcode}; what they wrote above says why"
                    )
                log.error(
                    "worker %s ended with status %s; another takes its place", worker.pid, worker.exitcode
                )
    except KeyboardInterrupt:
        pass
    finally:
        _end(list(workers))


def _start(settings: Settings, listener: socket.socket) -> BaseProcess:
    worker = multiprocessing.get_context("spawn").Process(
        target=_work, args=(settings, listener, os.getpid()), name="fastzarr-serve"
    )
    worker.start()
    return worker


def _end(workers: list[BaseProcess]) -> None:
    for worker in workers:
        worker.terminate()
    until = monotonic() + PATIENCE
    try:
        for worker in workers:
            worker.join(max(0.0, until - monotonic()))
    except KeyboardInterrupt:
        pass
    for worker in workers:
        if worker.is_alive():
            worker.kill()
        worker.join()
