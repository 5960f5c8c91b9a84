"""uvicorn's HTTP protocol, with an end for connections that hold on to what they don't use."""

from __future__ import annotations

import asyncio
import logging
import os
import socket
import struct
from collections.abc import Iterable
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from fastzarr.serve.budget import Budget
from fastzarr.serve.gathering import Gathering
from fastzarr.serve.sending import AT_ONCE
from fastzarr.serve.settings import Settings

log = logging.getLogger("fastzarr.serve")

INTERVAL = 1.0
"""Seconds between two looks at all connections."""
SLOWEST = 1024
"""Bytes per second that a client must take of an answer, on average over the write timeout."""

LONGEST_HEAD = 1 << 16
"""Bytes of a request's line and headers; of one that is not complete roughly: all that has come counts."""
TOO_LONG = b"HTTP/1.1 431 Request Header Fields Too Large\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"

TCP_INFO_ACKNOWLEDGED = slice(120, 128)
"""Where `struct tcp_info` of Linux has `tcpi_bytes_acked`."""


class HeadError(Exception):
    """Ends the parsing of a request that is refused."""


class Protocol(HttpToolsProtocol):
    """One connection. `Sweeper` ends it where its client doesn't send or take."""

    most_connections = 1 << 30

    head_bytes = 0
    """What has come of a request whose headers are not complete."""
    in_body = False
    ended = False
    """Whether the client sends no more; it still gets what it has asked for."""
    awaited: Any = None
    """What the client is sending: the exchange before it, or the one whose body is on its way."""
    awaited_since = 0.0
    taking_since = 0.0
    """When the present window of taking began; 0 where the client has taken all."""
    taken = 0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        if hasattr(os, "writev"):
            transport = Gathering(transport, self.loop)
        super().connection_made(transport)
        transport.set_write_buffer_limits(high=AT_ONCE)
        if len(self.connections) > self.most_connections:
            transport.abort()

    def data_received(self, data: bytes) -> None:
        if self.in_body:
            super().data_received(data)
            return
        self.head_bytes += len(data)
        super().data_received(data)
        if self.head_bytes > LONGEST_HEAD and not self.in_body and not self.transport.is_closing():
            self._refuse_head()

    def on_headers_complete(self) -> None:
        self.in_body = True
        if len(self.url) + sum([len(name) + len(value) for name, value in self.headers]) > LONGEST_HEAD:
            self._refuse_head()
            raise HeadError
        super().on_headers_complete()

    def _refuse_head(self) -> None:
        self.transport.write(TOO_LONG)
        self.transport.close()

    def send_400_response(self, msg: str) -> None:
        if not self.transport.is_closing():
            super().send_400_response(msg)

    def on_message_complete(self) -> None:
        self.in_body = False
        self.head_bytes = 0
        super().on_message_complete()

    def eof_received(self) -> bool:  # type: ignore[override]
        self.ended = True
        if self.in_body:
            return False
        self._close_if_all_is_answered()
        return True

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if self.ended:
            self._close_if_all_is_answered()

    def _close_if_all_is_answered(self) -> None:
        if self.cycle is None or self.cycle.response_complete:
            self.transport.close()


class Sweeper:
    """Looks at all connections, again and again: no request needs a timer of its own."""

    def __init__(self, settings: Settings, budget: Budget) -> None:
        self._settings = settings
        self._budget = budget

    async def run(self, connections: Iterable[Any]) -> None:
        """Until cancelled."""
        loop = asyncio.get_running_loop()
        while True:
            await asyncio.sleep(INTERVAL)
            try:
                self.sweep([c for c in connections if isinstance(c, Protocol)], loop.time())
            except Exception:
                log.exception("connections could not be looked at")

    def sweep(self, connections: Iterable[Protocol], now: float) -> None:
        """End those that are over time, and count what all hold that has not left."""
        unsent = 0
        for connection in connections:
            if connection.cycle is not None and connection.cycle.response_complete:
                unsent += connection.transport.get_write_buffer_size()
            if self._sends_too_slowly(connection, now) or self._takes_too_slowly(connection, now):
                _cut(connection.transport)
        self._budget.unsent = unsent

    def _sends_too_slowly(self, connection: Protocol, now: float) -> bool:
        cycle = connection.cycle
        answered = cycle is None or cycle.response_complete
        if connection.timeout_keep_alive_task is not None or not (answered or cycle.more_body):
            connection.awaited_since = 0.0
            return False
        if not connection.awaited_since or connection.awaited is not cycle:
            connection.awaited, connection.awaited_since = cycle, now
        return now - connection.awaited_since > self._settings.read_timeout

    def _takes_too_slowly(self, connection: Protocol, now: float) -> bool:
        transport = connection.transport
        if not transport.get_write_buffer_size():
            connection.taking_since = 0.0
            return False
        within = self._settings.write_timeout
        if connection.taking_since and now - connection.taking_since < within:
            return False
        taken = _acknowledged(transport)
        slow = bool(connection.taking_since) and taken - connection.taken < SLOWEST * within
        connection.taking_since, connection.taken = now, taken
        return slow


def _cut(transport: asyncio.Transport) -> None:
    """End a connection at once: what the system still holds for the client is given up as well."""
    connected = transport.get_extra_info("socket")
    if connected is not None and not transport.is_closing():
        connected.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    transport.abort()


def _acknowledged(transport: asyncio.Transport) -> int:
    """Bytes that the client's system has taken so far; without Linux, as few as are still to be sent."""
    connected = transport.get_extra_info("socket")
    if hasattr(socket, "TCP_INFO") and connected is not None and connected.family != socket.AF_UNIX:
        information = connected.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 192)
        if len(information) >= TCP_INFO_ACKNOWLEDGED.stop:
            (number,) = struct.unpack("=Q", information[TCP_INFO_ACKNOWLEDGED])
            return int(number)
    return -transport.get_write_buffer_size()
