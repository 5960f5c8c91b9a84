"""Answers on their way out through ASGI, in pieces that wait for the client."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, MutableMapping
from functools import lru_cache
from typing import Any

from fastzarr.serve.http import Body, FileRange, Headers, HttpError, Piece, Pieces, Response

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]

RawHeaders = tuple[tuple[bytes, bytes], ...]

PIECE = 1 << 18
"""Bytes of a file that are in memory at once, per answer."""
AT_ONCE = 1 << 20
"""Bytes of a body that are handed over in one piece, without waiting until they have left."""
WORTH_A_PIECE = 1 << 13
"""Bytes from which on sending a piece costs less than having it copied beside others."""
LAST: Message = {"type": "http.response.body", "body": b""}
WITHOUT_BODY = (204, 304)


@lru_cache(1024)
def encoded(headers: Headers) -> RawHeaders:
    """Headers as ASGI has them."""
    return tuple((name.lower().encode("latin-1"), value.encode("latin-1")) for name, value in headers)


class OpenFile:
    """A part of a file that is open and as long as it says."""

    def __init__(self, part: FileRange) -> None:
        try:
            self.descriptor = os.open(part.path, os.O_RDONLY | os.O_CLOEXEC)
        except FileNotFoundError:
            raise HttpError(404, "it is no longer there") from None
        size = os.fstat(self.descriptor).st_size
        if part.offset + part.length > size:
            self.close()
            raise HttpError(503, "the file has changed; try again", (("Retry-After", "1"),))
        self.offset = part.offset
        self.end = part.offset + part.length

    def close(self) -> None:
        os.close(self.descriptor)

    async def pieces(self) -> AsyncIterator[bytes]:
        """Its bytes; read in a thread where they are more than one piece."""
        loop = asyncio.get_running_loop()
        alone = self.end - self.offset <= PIECE
        while self.offset < self.end:
            wanted = (self.descriptor, min(PIECE, self.end - self.offset), self.offset)
            piece = os.pread(*wanted) if alone else await loop.run_in_executor(None, os.pread, *wanted)
            if not piece:
                raise OSError("the file ended while it was sent")
            self.offset += len(piece)
            yield piece


def length_of(body: Body) -> int:
    """Bytes of a body."""
    if isinstance(body, FileRange):
        return body.length
    return sum(map(_size, body)) if isinstance(body, tuple) else _size(body)


def _size(piece: Piece) -> int:
    return piece.nbytes if isinstance(piece, memoryview) else len(piece)


def head(response: Response, extra: RawHeaders) -> Message:
    """The message that begins an answer."""
    headers = [*extra, *encoded(response.headers)]
    if response.media_type:
        headers.append((b"content-type", response.media_type.encode("latin-1")))
    if response.status not in WITHOUT_BODY:
        headers.append((b"content-length", b"%d" % length_of(response.body)))
    return {"type": "http.response.start", "status": response.status, "headers": headers}


async def send_bytes(body: Pieces, send: Send) -> None:
    """Send a body. Where it is large, return when almost all of it has left: its memory counts until then."""
    for piece in _pieces(body):
        await send({"type": "http.response.body", "body": piece, "more_body": True})
    await send(LAST)


async def send_copies(body: Pieces, send: Send) -> None:
    """As `send_bytes`, through a server that keeps what it is given, takes `bytes` only, and then waits."""
    for piece in _pieces(body):
        for start in range(0, len(piece), PIECE):
            part = bytes(piece[start : start + PIECE])
            await send({"type": "http.response.body", "body": part, "more_body": True})
    await send(LAST)


def _pieces(body: Pieces) -> Iterable[Piece]:
    """What is sent one by one: nothing small, and all of it bytes."""
    if not isinstance(body, tuple):
        body = (body,)
    elif length_of(body) <= WORTH_A_PIECE * len(body):
        return (b"".join(body),)
    return [piece.cast("B") if isinstance(piece, memoryview) else piece for piece in body]


def within(seconds: float, send: Send) -> Send:
    """A `send` that fails where the client takes nothing for so long."""

    async def limited(message: Message) -> None:
        async with asyncio.timeout(seconds):
            await send(message)

    return limited


async def send_file(file: OpenFile, receive: Receive, send: Send) -> None:
    """Send part of a file, or what of it the client stays for."""
    gone = asyncio.ensure_future(_disconnected(receive))
    try:
        async for piece in file.pieces():
            if gone.done():
                return
            await send({"type": "http.response.body", "body": piece, "more_body": True})
        await send(LAST)
    finally:
        gone.cancel()


async def _disconnected(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
