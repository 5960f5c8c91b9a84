"""A transport that sends what is written in one turn of the event loop by one call of the system.

uvloop makes a call for each piece, and wakes the client each time.
"""

from __future__ import annotations

import asyncio
import os
from typing import Any

from fastzarr.serve.http import Piece
from fastzarr.serve.sending import AT_ONCE


class Gathering(asyncio.Transport):
    """In the place of another transport of a socket, which sends what the socket does not take at once."""

    def __init__(self, transport: asyncio.Transport, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__()
        self._transport = transport
        self._loop = loop
        self._socket: int = transport.get_extra_info("socket").fileno()
        self._pieces: list[Piece] = []
        self._size = 0

    def write(self, data: Piece) -> None:
        """Have bytes sent at the end of this turn; sooner where they are many."""
        if not self._pieces:
            self._loop.call_soon(self._send)
        self._pieces.append(data)
        self._size += len(data)
        if self._size > AT_ONCE:
            self._send()

    def _send(self) -> None:
        pieces, size = self._pieces, self._size
        self._pieces, self._size = [], 0
        if not pieces or self._transport.is_closing():
            return
        sent = 0
        if not self._transport.get_write_buffer_size():
            try:
                sent = os.writev(self._socket, pieces)
            except OSError:
                sent = 0  # it is full or broken; the transport finds out which
            if sent == size:
                return
        for piece in pieces:
            if sent < len(piece):
                self._transport.write(memoryview(piece)[sent:] if sent else piece)
            sent = max(0, sent - len(piece))

    def get_write_buffer_size(self) -> int:
        return self._size + self._transport.get_write_buffer_size()

    def close(self) -> None:
        self._send()
        self._transport.close()

    def abort(self) -> None:
        self._pieces, self._size = [], 0
        self._transport.abort()

    def is_closing(self) -> bool:
        return self._transport.is_closing()

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        return self._transport.get_extra_info(name, default)

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        self._transport.set_write_buffer_limits(high, low)

    def pause_reading(self) -> None:
        self._transport.pause_reading()

    def resume_reading(self) -> None:
        self._transport.resume_reading()
