"""The application in this process, and real servers."""

from __future__ import annotations

import asyncio
import http.client
import json
import os
import re
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from fastzarr.serve.app import Application, routes
from fastzarr.serve.catalogue import Catalogue
from fastzarr.serve.routes import Route
from fastzarr.serve.settings import Settings
from fastzarr.serve.site import Site


@dataclass(frozen=True)
class Reply:
    """An answer; header names in lower case."""

    status: int
    headers: dict[str, str]
    body: bytes

    def json(self) -> Any:
        return json.loads(self.body)


class Client:
    """Asks an application in this process. Targets are sent as given: `/path?query`, already encoded."""

    def __init__(self, app: Application) -> None:
        self.app = app
        self.site = app.site

    def request(
        self, method: str, target: str, *, headers: dict[str, str] | None = None, body: bytes = b""
    ) -> Reply:
        raw_path, _, query = target.partition("?")
        given = {"host": "localhost", **{name.lower(): value for name, value in (headers or {}).items()}}
        if body or method == "POST":
            given.setdefault("content-length", str(len(body)))
        scope = {
            "type": "http",
            "method": method,
            "scheme": "http",
            "path": raw_path,
            "raw_path": raw_path.encode("latin-1"),
            "query_string": query.encode("latin-1"),
            "headers": [(name.encode("latin-1"), value.encode("latin-1")) for name, value in given.items()],
            "client": ("127.0.0.1", 50000),
            "server": ("127.0.0.1", 8080),
        }
        sent: list[dict[str, Any]] = []
        incoming = [{"type": "http.request", "body": body, "more_body": False}]

        async def receive() -> dict[str, Any]:
            if incoming:
                return incoming.pop()
            await asyncio.Event().wait()
            raise AssertionError("unreachable")

        async def send(message: Any) -> None:
            sent.append(dict(message))

        asyncio.run(self.app(scope, receive, send))
        start, *bodies = sent
        assert start["type"] == "http.response.start"
        assert not bodies[-1].get("more_body", False)
        answer = b"".join(bytes(message.get("body", b"")) for message in bodies)
        names = {name.decode(): value.decode("latin-1") for name, value in start["headers"]}
        if "content-length" in names and method != "HEAD":
            assert int(names["content-length"]) == len(answer)
        return Reply(start["status"], names, answer)

    def get(self, target: str, **headers: str) -> Reply:
        return self.request("GET", target, headers={k.replace("_", "-"): v for k, v in headers.items()})

    def head(self, target: str, **headers: str) -> Reply:
        return self.request("HEAD", target, headers={k.replace("_", "-"): v for k, v in headers.items()})

    def post(self, target: str, content: Any, **headers: str) -> Reply:
        """Send `content` as JSON, or as it is where it is bytes."""
        body = content if isinstance(content, bytes) else json.dumps(content).encode()
        given = {"content-type": "application/json", **{k.replace("_", "-"): v for k, v in headers.items()}}
        return self.request("POST", target, headers=given, body=body)


@pytest.fixture
def in_process() -> Iterator[Callable[..., Client]]:
    """A function of the directory or TOML file to serve and `Settings`; `extra` routes are added to all."""
    made: list[Application] = []

    def make(
        source: Path, *, extra: tuple[Route, ...] = (), catalogue: Catalogue | None = None, **settings: Any
    ) -> Client:
        site = Site.of(Settings(source=source, **settings), catalogue)
        made.append(Application(site, (*routes(), *extra)))
        return Client(made[-1])

    yield make
    for app in made:
        app.close()


@dataclass
class Server:
    """A `fastzarr serve` process."""

    url: str
    """Without a slash at its end."""
    process: subprocess.Popen[bytes]
    log: Path
    """What it wrote to stdout and stderr."""

    def get(self, path: str, **headers: str) -> Reply:
        return self.request("GET", path, headers={k.replace("_", "-"): v for k, v in headers.items()})

    def post(self, path: str, content: Any, **headers: str) -> Reply:
        body = content if isinstance(content, bytes) else json.dumps(content).encode()
        given = {"content-type": "application/json", **{k.replace("_", "-"): v for k, v in headers.items()}}
        return self.request("POST", path, headers=given, body=body)

    def request(
        self, method: str, path: str, *, headers: dict[str, str] | None = None, body: bytes | None = None
    ) -> Reply:
        asked = urllib.request.Request(self.url + path, data=body, headers=headers or {}, method=method)
        try:
            with urllib.request.urlopen(asked, timeout=30) as answer:
                return Reply(answer.status, _lower(answer.headers), answer.read())
        except urllib.error.HTTPError as refused:
            with refused:
                return Reply(refused.code, _lower(refused.headers), refused.read())

    def text(self) -> str:
        return self.log.read_text(errors="replace")

    def stop(self, number: int = signal.SIGINT, within: float = 15) -> int:
        """End it as Ctrl-C does; the exit status."""
        if self.process.poll() is None:
            self.process.send_signal(number)
        try:
            return self.process.wait(within)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            raise


def _lower(headers: Any) -> dict[str, str]:
    return {name.lower(): value for name, value in headers.items()}


def start_server(source: Path, *options: str, log: Path, within: float = 20) -> Server:
    """Start `fastzarr serve` on a free port and wait until it answers."""
    command = [sys.executable, "-m", "fastzarr", "serve", str(source), "--port", "0", *options]
    with log.open("wb") as out:
        process = subprocess.Popen(
            command, stdout=out, stderr=subprocess.STDOUT, env={**os.environ, "COLUMNS": "200"}
        )
    started = False
    try:
        until = time.monotonic() + within
        while time.monotonic() < until and process.poll() is None:
            found = re.search(r"http://[^\s/]+:\d+", log.read_text(errors="replace"))
            if found:
                server = Server(found[0], process, log)
                with suppress(OSError, http.client.HTTPException):
                    started = server.get("/data/health").status == 200
                if started:
                    return server
            time.sleep(0.05)
        raise AssertionError(f"the server did not start:\n{log.read_text(errors='replace')}")
    finally:
        if not started:
            process.kill()
            process.wait()


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    """A browser without a GPU."""
    from looked_at import NO_GPU, browser

    with browser(NO_GPU) as running:
        yield running


@pytest.fixture
def serving(tmp_path: Path) -> Iterator[Callable[..., Server]]:
    """A function of the directory or TOML file to serve and options of the command; ended with the test."""
    with ExitStack() as stack:
        number = 0

        def start(source: Path, *options: str) -> Server:
            nonlocal number
            number += 1
            server = start_server(source, *options, log=tmp_path / f"server-{number}.log")
            stack.callback(server.stop)
            return server

        yield start
