"""What is written in one turn of the loop goes out in order, by one call, whatever the client takes."""

import asyncio
import os
import socket
from collections.abc import Callable

import pytest

from fastzarr.serve import gathering
from fastzarr.serve.gathering import Gathering

PIECES = (b"head", bytes(range(256)) * 400, b"", memoryview(b"tail" * 5000), bytearray(b"end"))
WHOLE = b"".join(PIECES)


def exchange(write: Callable[[Gathering], None], calls: list[int], *, slowly: bool = False) -> bytes:
    """What the other end of a connection gets, and in `calls` how many pieces each call of the system had."""

    async def run() -> bytes:
        loop = asyncio.get_running_loop()
        ours, theirs = socket.socketpair()
        with theirs:
            ours.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4096 if slowly else 1 << 20)
            theirs.setblocking(False)
            inner, _ = await loop.create_connection(asyncio.Protocol, sock=ours)
            write(Gathering(inner, loop))
            got = b""
            while part := await loop.sock_recv(theirs, 4096):
                got += part
            return got

    def counted(descriptor: int, pieces: list[bytes]) -> int:
        calls.append(len(pieces))
        return writev(descriptor, pieces)

    writev = os.writev
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(gathering.os, "writev", counted)
        return asyncio.run(run())


def write_all(transport: Gathering) -> None:
    for piece in PIECES:
        transport.write(piece)
    assert transport.get_write_buffer_size() == len(WHOLE)
    transport.close()
    assert transport.is_closing()


def test_one_call_for_all_pieces() -> None:
    calls: list[int] = []
    assert exchange(write_all, calls) == WHOLE
    assert calls == [len(PIECES)]


def test_what_the_socket_does_not_take_at_once_follows_in_order() -> None:
    def write(transport: Gathering) -> None:
        for _ in range(9):
            transport.write(bytes(gathering.AT_ONCE // 4))
            transport.write(WHOLE)
        transport.close()

    calls: list[int] = []
    assert exchange(write, calls, slowly=True) == (bytes(gathering.AT_ONCE // 4) + WHOLE) * 9
    assert len(calls) == 1  # the rest waits behind what the socket did not take


def test_at_the_end_of_a_turn() -> None:
    async def later(transport: Gathering) -> None:
        transport.write(b"one")
        transport.write(b"two")
        await asyncio.sleep(0)
        transport.write(b"three")
        transport.close()

    tasks = []
    calls: list[int] = []
    assert exchange(lambda t: tasks.append(asyncio.ensure_future(later(t))), calls) == b"onetwothree"
    assert calls == [2, 1]


def test_what_is_aborted_is_not_sent() -> None:
    def write(transport: Gathering) -> None:
        transport.write(b"secret")
        transport.abort()
        assert transport.get_write_buffer_size() == 0

    calls: list[int] = []
    assert exchange(write, calls) == b""
    assert calls == []


def test_what_is_written_while_the_connection_ends_is_dropped() -> None:
    def write(transport: Gathering) -> None:
        transport.write(b"too late")
        transport._transport.close()

    calls: list[int] = []
    assert exchange(write, calls) == b""
    assert calls == []


def test_a_client_that_has_gone() -> None:
    async def run() -> None:
        loop = asyncio.get_running_loop()
        ours, theirs = socket.socketpair()
        lost: asyncio.Future[Exception | None] = loop.create_future()

        class Watched(asyncio.Protocol):
            def connection_lost(self, exc: Exception | None) -> None:
                lost.set_result(exc)

        inner, _ = await loop.create_connection(Watched, sock=ours)
        theirs.close()
        transport = Gathering(inner, loop)
        transport.write(b"to nobody")
        await asyncio.wait_for(lost, 5)

    asyncio.run(run())
