"""Hostile and slow clients against real server processes: each gets its refusal, and costs nobody else."""

from __future__ import annotations

import json
import socket
import struct
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing

import psutil
import pytest
from conftest import Server, start_server
from served_data import BUCKETS, CUTOUT, bucket, bucket_bytes, make_volume

KINDS = ("uvicorn", "granian")
MEBIBYTE = 1 << 20
MOST_GROWTH = 64 * MEBIBYTE
"""Bytes; each of the attacks sends or asks for more than that in all."""


@pytest.fixture(scope="module", params=KINDS)
def served(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """One worker with short timeouts and a limit of 48 MiB for answers under way."""
    directory = tmp_path_factory.mktemp("hostile")
    values = make_volume(directory)
    options = (
        "--server",
        request.param,
        "--read-timeout",
        "2",
        "--idle-timeout",
        "3",
        "--write-timeout",
        "3",
    )
    server = start_server(
        directory, *options, "--max-in-flight", "48M", "--max-connections", "4000", log=directory / "log"
    )
    server.kind = request.param
    server.values = values
    try:
        server.expected = bucket_bytes(values, 32, 64, 96)
        check(server)
        yield server
        assert "Traceback" not in server.text(), server.text()[-5000:]
    finally:
        server.stop()


def check(server: Server) -> float:
    """Somebody else still gets the right bytes; the seconds it took."""
    began = time.monotonic()
    reply = server.post(BUCKETS, [bucket(32, 64, 96)])
    assert reply.status == 200
    assert reply.body == server.expected
    return time.monotonic() - began


def memory(server: Server) -> int:
    """Bytes that the server's processes have of their own."""
    processes = [psutil.Process(server.process.pid)]
    return sum(p.memory_info().rss for p in (*processes, *processes[0].children(recursive=True)))


def connect(server: Server, receive_buffer: int = 0) -> socket.socket:
    port = int(server.url.rpartition(":")[2])
    opened = socket.socket()
    if receive_buffer:
        opened.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
    opened.settimeout(20)
    opened.connect(("127.0.0.1", port))
    return opened


def ask(server: Server, sent: bytes) -> bytes:
    """What comes back until the connection ends; empty where it is cut."""
    with closing(connect(server)) as opened:
        pieces: list[bytes] = []
        try:
            opened.sendall(sent)
            while piece := opened.recv(65536):
                pieces.append(piece)
            return b"".join(pieces)
        except (ConnectionError, TimeoutError):
            return b"".join(pieces)


def status(answer: bytes) -> int:
    return int(answer.split(b" ", 2)[1]) if answer.startswith(b"HTTP/1.") else 0


def get(path: str, *headers: str) -> bytes:
    lines = (f"GET {path} HTTP/1.1", "Host: localhost", "Connection: close", *headers, "", "")
    return "\r\n".join(lines).encode("latin-1")


def post(body: bytes, *headers: str) -> bytes:
    lines = [f"POST {BUCKETS} HTTP/1.1", "Host: localhost", "Connection: close"]
    lines += [*(headers or (f"Content-Length: {len(body)}",)), "Content-Type: application/json", "", ""]
    return "\r\n".join(lines).encode("latin-1") + body


PATHS = [
    "/zarr/color.zarr/../../etc/passwd",
    "/zarr/../../../../etc/passwd",
    "/zarr/color.zarr/%2e%2e/%2e%2e/etc/passwd",
    "/zarr/color.zarr/..%2f..%2fetc%2fpasswd",
    "/zarr/color.zarr/%252e%252e/etc/passwd",
    "/zarr/color.zarr/..%5c..%5cetc",
    "/zarr/color.zarr/c\\0",
    "/zarr/color.zarr/%00",
    "/zarr/color.zarr/zarr.json%00.png",
    "/zarr/color.zarr/%c0%ae%c0%ae/x",
    "/zarr/color.zarr/%ff%fe",
    "/zarr/color.zarr//etc/passwd",
    "/zarr//etc/passwd",
    "/zarr/color.zarr/%0d%0aSet-Cookie:%20a=b",
    "/static/..%2fapp.py",
    "/static/../app.py",
    "/view/%3Cscript%3E/../..",
    "/" + "a/" * 5000,
    "/" + "a" * 30000,
    "/zarr/color.zarr/zarr.json?" + "a=1&" * 5000,
    "/zarr/color.zarr/zarr.json?token=%ff",
]


@pytest.mark.parametrize("path", PATHS, ids=range(len(PATHS)))
def test_paths(served: Server, path: str) -> None:
    answer = ask(served, get(path))
    assert 400 <= status(answer) < 500, answer[:200]
    assert b"root:" not in answer
    assert b"Set-Cookie: a" not in answer.partition(b"\r\n\r\n")[0]
    check(served)


RANGES = [
    ("bytes=0-0", 206),
    ("bytes=-5", 206),
    ("bytes=5-", 206),
    ("bytes=0-99999999999999999999999999", 206),
    ("bytes=-99999999999999999999999999", 206),
    ("bytes=99999999999999999999-", 416),
    ("bytes=-0", 416),
    ("bytes=0-1," * 2000 + "5-6", 200),
    ("bytes=5-1", 416),
    ("lines=0-5", 200),
    ("bytes=\u00b2-5", 200),
    ("bytes=" + "9" * 20000 + "-", 416),
]


@pytest.mark.parametrize(("given", "expected"), RANGES, ids=range(len(RANGES)))
def test_ranges(served: Server, given: str, expected: int) -> None:
    answer = ask(served, get("/zarr/color.zarr/c/0/0/0/0", f"Range: {given}"))
    assert status(answer) in (expected, 200 if expected == 416 else expected), answer[:200]
    assert len(answer) < 40_000
    check(served)


ONE = json.dumps(bucket(0, 0, 0))
BODIES = [
    b"",
    b"{",
    b"null",
    b"[null]",
    b"[1]",
    b"[[]]",
    b"\xff\xfe[",
    b"[" * 100_000,
    b"[" * 400_000 + b"]" * 400_000,
    b'{"a":' * 50_000,
    b'[{"position":[NaN,0,0],"mag":[1,1,1],"cubeSize":32}]',
    b'[{"position":[Infinity,0,0],"mag":[1,1,1],"cubeSize":32}]',
    b'[{"position":[1e400,0,0],"mag":[1,1,1],"cubeSize":32}]',
    b'[{"position":[true,0,0],"mag":[1,1,1],"cubeSize":32}]',
    b'[{"position":[0.5,0,0],"mag":[1,1,1],"cubeSize":32}]',
    b'[{"position":["0",0,0],"mag":[1,1,1],"cubeSize":32}]',
    b'[{"position":[0,0],"mag":[1,1,1],"cubeSize":32}]',
    b'[{"position":[0,0,0,0],"mag":[1,1,1],"cubeSize":32}]',
    b'[{"position":[9223372036854775808,0,0],"mag":[1,1,1],"cubeSize":32}]',
    b'[{"position":[' + b"9" * 5000 + b',0,0],"mag":[1,1,1],"cubeSize":32}]',
    b'[{"position":[0,0,0],"mag":[1,1,1],"cubeSize":0}]',
    b'[{"position":[0,0,0],"mag":[1,1,1],"cubeSize":-32}]',
    b'[{"position":[0,0,0],"mag":[1,1,1],"cubeSize":513}]',
    b'[{"position":[0,0,0],"mag":[1,1,1],"cubeSize":2147483648}]',
    b'[{"position":[0,0,0],"mag":[1,1,1],"cubeSize":true}]',
    b'[{"position":[0,0,0],"mag":[0,1,1],"cubeSize":32}]',
    b'[{"position":[0,0,0],"mag":"x","cubeSize":32}]',
    b'[{"position":[0,0,0],"zoomStep":100000,"cubeSize":32}]',
    f"[{','.join([ONE] * 513)}]".encode(),
    b"[" + b" " * (MEBIBYTE + 1) + b"]",
]


@pytest.mark.parametrize("body", BODIES, ids=range(len(BODIES)))
def test_bodies(served: Server, body: bytes) -> None:
    answer = ask(served, post(body))
    assert 400 <= status(answer) < 500 or (status(answer) == 0 and len(body) > MEBIBYTE), answer[:300]
    assert b"Traceback" not in answer
    check(served)


def test_volumes_of_buckets_are_refused_before_memory_is_taken(served: Server) -> None:
    large = json.dumps({"position": [0, 0, 0], "mag": [1, 1, 1], "cubeSize": 512})
    before = memory(served)
    for _ in range(20):
        answer = ask(served, post(f"[{','.join([large] * 500)}]".encode()))
        assert status(answer) in (400, 503), answer[:300]
    assert memory(served) - before < MOST_GROWTH
    check(served)


@pytest.mark.parametrize(
    "query",
    [
        "x=0&y=0&z=0&width=100000&height=100000&depth=100000&mag=1-1-1",
        "x=0&y=0&z=0&width=-1&height=1&depth=1&mag=1-1-1",
        "x=0&y=0&z=0&width=1e3&height=1&depth=1&mag=1-1-1",
        "x=nan&y=0&z=0&width=1&height=1&depth=1&mag=1-1-1",
        "x=99999999999999999999&y=0&z=0&width=1&height=1&depth=1&mag=1-1-1",
        "x=0&y=0&z=0&width=1&height=1&depth=1&mag=1-1-1-1",
        "x=0&y=0&z=0&width=%d9%a1&height=1&depth=1&mag=1-1-1",
        "width=1",
    ],
)
def test_cutouts(served: Server, query: str) -> None:
    answer = ask(served, get(f"{BUCKETS}?{query}"))
    assert status(answer) == 400, answer[:300]
    check(served)


RAW = [
    b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(300),
    b"GET\r\n\r\n",
    b"GET / HTTP/9.9\r\n\r\n",
    b"GARBAGE " * 1000,
    b"GET \xff\xfe HTTP/1.1\r\nHost: localhost\r\n\r\n",
    b"GET http:// HTTP/1.1\r\nHost: localhost\r\n\r\n",
    b"OPTIONS * HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n",
    b"CONNECT example.org:443 HTTP/1.1\r\nHost: localhost\r\n\r\n",
    get("/data/health", "Upgrade: websocket", "Connection: Upgrade", "Sec-WebSocket-Key: x"),
    get("/api/datasets", "Content-Length: 5", "Transfer-Encoding: chunked"),
    post(b"", "Content-Length: -5"),
    post(b"", "Content-Length: 99999999999999999999999"),
    post(b"zz\r\n", "Transfer-Encoding: chunked"),
    post(b"fffffffffffffffff\r\n", "Transfer-Encoding: chunked"),
    post(b"5\r\nabc", "Transfer-Encoding: chunked"),
    b"GET /data/health HTTP/1.1\r\n" + b"x: y\r\n" * 100_000 + b"\r\n",
    b"GET /data/health HTTP/1.1\r\nx: " + b"y" * (4 * MEBIBYTE),
    b"GET /" + b"y" * (4 * MEBIBYTE),
]


@pytest.mark.parametrize("sent", RAW, ids=range(len(RAW)))
def test_what_is_no_http(served: Server, sent: bytes) -> None:
    answer = ask(served, sent)
    assert status(answer) < 500 or status(answer) in (501, 505), answer[:200]
    check(served)


def test_a_foreign_name_is_refused(served: Server) -> None:
    answer = ask(served, b"GET /api/datasets HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n")
    assert status(answer) == 421


@pytest.mark.parametrize("number", [1, 50])
def test_headers_of_more_than_64_kib_are_refused(served: Server, number: int) -> None:
    def answer(nbytes: int) -> int:
        return status(
            ask(served, get("/data/health", *(f"x{n}: {'y' * (nbytes // number)}" for n in range(number))))
        )

    assert answer(60_000) == 200
    granian = "granian" in str(served.process.args)
    assert answer(200_000 if granian else 66_000) in (431, 0)
    check(served)


def test_endless_headers_and_bodies_take_no_memory(served: Server) -> None:
    before = memory(served)
    for sent in (
        b"GET /data/health HTTP/1.1\r\nHost: localhost\r\nx: ",
        post(b"", "Transfer-Encoding: chunked"),
    ):
        with closing(connect(served)) as opened:
            try:
                for _ in range(200):
                    piece = b"y" * MEBIBYTE
                    opened.sendall(b"100000\r\n" + piece + b"\r\n" if sent.startswith(b"POST") else piece)
            except (ConnectionError, TimeoutError):
                pass
            else:
                pytest.fail("took 200 MiB of a request")
    assert memory(served) - before < MOST_GROWTH
    check(served)


def wait_closed(opened: socket.socket, within: float) -> bool:
    """Whether the server ends the connection in time."""
    opened.settimeout(0.2)
    until = time.monotonic() + within
    while time.monotonic() < until:
        try:
            if not opened.recv(65536):
                return True
        except TimeoutError:
            continue
        except ConnectionError:
            return True
    return False


@pytest.mark.parametrize(
    "dribble",
    [b"", b"GET /data/health HTTP/1.1\r\nHost: localhost\r\n", post(b"[", "Content-Length: 1000"), b"\r\n"],
    ids=["nothing", "headers", "body", "empty lines"],
)
def test_connections_that_dribble_are_ended(served: Server, dribble: bytes) -> None:
    with closing(connect(served)) as opened:
        opened.sendall(dribble)
        opened.settimeout(0.2)
        for _ in range(60):
            try:
                if dribble:
                    opened.sendall(b"\r\n" if dribble == b"\r\n" else b"x")
                if not opened.recv(65536):
                    break
            except TimeoutError:
                continue
            except ConnectionError:
                break
        else:
            pytest.fail("still open after 12 s")
    check(served)


def test_a_thousand_idle_connections_cost_nobody_else(served: Server) -> None:
    before = memory(served)
    with ExitStack() as stack:
        opened = [stack.enter_context(closing(connect(served))) for _ in range(1000)]
        for one in opened[::2]:
            one.sendall(get("/data/health").replace(b"close", b"keep-alive"))
        assert max(check(served) for _ in range(20)) < 2
        assert memory(served) - before < MOST_GROWTH
        assert all(wait_closed(one, 15) for one in opened)
    check(served)


def test_slow_readers_cost_nobody_else(served: Server) -> None:
    """Each asks for 8 MiB and takes nothing: memory stays within the limit, others are answered."""
    before = memory(served)
    with ExitStack() as stack:
        opened = [stack.enter_context(closing(connect(served, 4096))) for _ in range(40)]
        for one in opened:
            one.sendall(get(CUTOUT))
        time.sleep(0.5)
        for _ in range(10):
            check(served)
        assert memory(served) - before < 48 * MEBIBYTE + MOST_GROWTH
        assert wait_for(lambda: served.request("GET", CUTOUT).status == 200)
        if served.kind == "uvicorn":  # granian gives up the answer, but keeps the connection
            assert all(wait_closed_unread(one, 15) for one in opened)
    assert served.request("GET", CUTOUT).body == served.values.tobytes(order="F")


def wait_closed_unread(opened: socket.socket, within: float) -> bool:
    """Whether the server ends the connection in time although nothing is read of it."""
    until = time.monotonic() + within
    while time.monotonic() < until:
        # Of tcp_info, the first byte is the state; 1 is ESTABLISHED.
        if struct.unpack("B", opened.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 1))[0] != 1:
            return True
        time.sleep(0.1)
    return False


def test_clients_that_send_no_more_get_what_they_asked_for(served: Server) -> None:
    with connect(served) as opened:
        opened.sendall(get(CUTOUT).replace(b"Connection: close\r\n", b"") * 4)
        opened.shutdown(socket.SHUT_WR)
        opened.settimeout(20)
        got = bytearray()
        while part := opened.recv(1 << 20):
            got += part
            time.sleep(0.001)
    check(served)
    if served.kind == "granian":
        return  # it answers them or not
    heads = [head for head in bytes(got).split(b"HTTP/1.1 ") if head]
    assert [head[:3] for head in heads] == [b"200"] * 4
    assert all(len(head.partition(b"\r\n\r\n")[2]) == 128 * 128 * 512 for head in heads)


def test_clients_that_leave_in_the_middle_cost_nothing(served: Server) -> None:
    before = memory(served)
    for _ in range(100):
        with closing(connect(served, 4096)) as opened:
            opened.sendall(get(CUTOUT))
            opened.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    assert memory(served) - before < 48 * MEBIBYTE + MOST_GROWTH
    assert wait_for(lambda: served.request("GET", CUTOUT).status == 200)
    check(served)


def wait_for(true: Callable[[], bool], within: float = 15) -> bool:
    until = time.monotonic() + within
    while time.monotonic() < until:
        if true():
            return True
        time.sleep(0.1)
    return False
