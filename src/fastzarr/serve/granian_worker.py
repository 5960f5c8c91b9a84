"""granian, which starts and watches worker processes itself."""

from __future__ import annotations

import socket
from functools import partial

from granian.constants import HTTPModes, Interfaces
from granian.errors import ConfigurationError
from granian.http import HTTP1Settings
from granian.log import LogLevels
from granian.server import Server

from fastzarr.serve.app import Application, make_application
from fastzarr.serve.errors import ServerError
from fastzarr.serve.lifeline import hold
from fastzarr.serve.settings import Settings

BACKLOG = 2048
GRACE = 5
"""Seconds for answers under way when the server ends."""
HEAD_BYTES = 1 << 16
"""Of a request's line and headers."""


def load(settings: Settings, parent: int) -> Application:
    """The application, in a worker process."""
    hold(parent)
    return make_application(settings)


def run(settings: Settings, listener: socket.socket, parent: int) -> None:
    """Serve with worker processes until SIGINT or SIGTERM."""
    address, port = listener.getsockname()[:2]
    server = Server(
        "fastzarr",
        address=address,
        port=port,
        interface=Interfaces.ASGINL,
        workers=settings.workers,
        http=HTTPModes.http1,
        websockets=False,
        backlog=BACKLOG,
        backpressure=max(settings.max_requests, 500),
        http1_settings=HTTP1Settings(
            header_read_timeout=round(1000 * settings.idle_timeout), max_buffer_size=HEAD_BYTES
        ),
        log_enabled=False,
        log_level=LogLevels.error,
        respawn_failed_workers=True,
        workers_kill_timeout=GRACE,
    )
    try:
        server.serve(target_loader=partial(load, settings, parent), wrap_loader=False)
    except ConfigurationError as failure:
        raise ServerError(f"granian: {failure}") from failure
