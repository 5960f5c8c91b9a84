"""One uvicorn: a loop of uvloop, the parser of httptools, our protocol."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import socket

import uvicorn

from fastzarr.serve.app import Application
from fastzarr.serve.uvicorn_protocol import Protocol, Sweeper

BACKLOG = 2048
ACCEPTS = 16
"""Connections taken per turn of the loop. libuv takes one per listener, which is none too many while each
turn answers hundreds of requests: others would wait for seconds."""
GRACE = 5
"""Seconds for answers under way when the server ends."""


def run(application: Application, listener: socket.socket) -> None:
    """Serve in this process until SIGINT or SIGTERM."""
    settings = application.settings
    logging.getLogger("uvicorn.error").setLevel(logging.CRITICAL)
    Protocol.most_connections = settings.max_connections
    config = uvicorn.Config(
        application,
        http=Protocol,
        ws="none",
        interface="asgi3",
        lifespan="off",
        log_config=None,
        access_log=False,
        proxy_headers=False,
        server_header=False,
        backlog=BACKLOG,
        timeout_keep_alive=max(1, round(settings.idle_timeout)),
        timeout_graceful_shutdown=GRACE,
    )
    server = uvicorn.Server(config)

    async def serve() -> None:
        sweeper = asyncio.create_task(
            Sweeper(settings, application.budget).run(server.server_state.connections)
        )
        try:
            await server.serve([listener, *(listener.dup() for _ in range(ACCEPTS - 1))])
        finally:
            sweeper.cancel()

    with (
        contextlib.suppress(KeyboardInterrupt),
        asyncio.Runner(loop_factory=config.get_loop_factory()) as runner,
    ):
        runner.run(serve())
    application.close()
