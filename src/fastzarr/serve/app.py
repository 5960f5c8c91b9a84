"""The application: a bare ASGI callable between a server and the handlers.

A request is checked from cheap to dear (number under way, host name, path, token, size of the body), its
route's handler is called on the event loop or in a thread (see `pace`), and the answer is sent with the
memory it takes counted until it has left.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Iterable, MutableMapping
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from itertools import count
from time import perf_counter
from typing import Any

from fastzarr.serve import api, health, heap, pages, stored_keys, virtual_zarr, webknossos
from fastzarr.serve.access_log import AccessLog
from fastzarr.serve.budget import Budget, Reservation
from fastzarr.serve.errors import answer_to
from fastzarr.serve.guard import Guard
from fastzarr.serve.http import Body, FileRange, Headers, HttpError, Request, Response
from fastzarr.serve.pace import Pace
from fastzarr.serve.paths import query_of, segments_of, without_version
from fastzarr.serve.routes import Route, Router
from fastzarr.serve.sending import (
    LAST,
    OpenFile,
    Receive,
    Send,
    encoded,
    head,
    length_of,
    send_bytes,
    send_copies,
    send_file,
    within,
)
from fastzarr.serve.settings import Settings
from fastzarr.serve.site import Site

Scope = MutableMapping[str, Any]

LONGEST_REMEMBERED_PATH = 512
METHODS = ("GET", "HEAD", "POST", "OPTIONS")


class Call:
    """One request on its way through the application."""

    __slots__ = ("cors", "id", "method", "nbytes", "reservation", "route", "started", "status")

    def __init__(self, method: str, identifier: str, budget: Budget) -> None:
        self.method = method
        self.id = identifier
        self.started = perf_counter()
        self.cors: Headers = ()
        self.route = ""
        self.status = 0
        self.nbytes = 0
        self.reservation = Reservation(budget)


class Application:
    """ASGI; made once per worker process."""

    def __init__(self, site: Site, routes: Iterable[Route]) -> None:
        settings = site.settings
        self.site = site
        self.settings = settings
        self.guard = Guard(settings)
        self.budget = Budget(
            most_in_one=settings.max_response_bytes, most_in_all=settings.max_bytes_in_flight
        )
        self.pace = Pace()
        self.under_way = 0
        self._find = lru_cache(4096)(self._found)
        self._router = Router(routes)
        self._threads = ThreadPoolExecutor(settings.threads, thread_name_prefix="fastzarr-serve")
        self._root = settings.public_url.rstrip("/")
        self._prefix = f"{os.getpid():x}-"
        self._numbers = count(1)
        self._bytes_only = settings.server == "granian"
        self._access_log = AccessLog() if settings.access_log else None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await _live(receive, send)
            return
        if scope["type"] != "http":
            raise ValueError(f"got a connection of type {scope['type']}, expected http")
        call = Call(scope["method"], f"{self._prefix}{next(self._numbers)}", self.budget)
        file: OpenFile | None = None
        self.under_way += 1
        try:
            try:
                response = await self._respond(call, scope, receive)
                if isinstance(response.body, FileRange) and call.method != "HEAD":
                    file = OpenFile(response.body)
            except Exception as failure:
                response = self._failed(failure, call, scope)
            call.status = response.status
            extra = (*encoded(call.cors), (b"x-request-id", call.id.encode()))
            await send(head(response, extra))
            await self._send_body(call, response.body, file, receive, send)
        finally:
            self.under_way -= 1
            self._count(call, scope)
            call.reservation.release()
            if file is not None:
                file.close()

    def _count(self, call: Call, scope: Scope) -> None:
        now = perf_counter()
        seconds = now - call.started
        self.site.metrics.observe(
            route=call.route,
            method=call.method if call.method in METHODS else "other",
            status=call.status,
            nbytes=call.nbytes,
            seconds=seconds,
            now=now,
            in_flight=self.budget.taken,
        )
        if self._access_log is not None:
            self._access_log.write(
                client=(scope.get("client") or ("-",))[0],
                method=call.method,
                path=scope["raw_path"],
                query=scope["query_string"],
                status=call.status,
                nbytes=call.nbytes,
                seconds=seconds,
                identifier=call.id,
            )

    async def _respond(self, call: Call, scope: Scope, receive: Receive) -> Response:
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        guard = self.guard
        call.cors = guard.cors(headers.get("origin", ""))
        if self.under_way > self.settings.max_requests:
            raise HttpError(503, "too many requests at once; try again", (("Retry-After", "1"),))
        host = headers.get("host", "")
        guard.check_name(host)
        method = call.method
        if method == "OPTIONS":
            return Response(status=204, media_type="", headers=guard.preflight(headers))
        raw_path: bytes = scope["raw_path"]
        find = self._find if len(raw_path) <= LONGEST_REMEMBERED_PATH else self._found
        query = query_of(scope["query_string"])
        try:
            route, segments, params = find(method, raw_path)
        except HttpError:
            guard.check_token(query, headers)
            raise
        call.route = route.name or route.pattern
        token = "" if route.public else guard.check_token(query, headers)
        request = Request(
            method=method,
            path="/" + "/".join(segments),
            segments=segments,
            query=query,
            headers=headers,
            body=await self._body(headers, receive) if method == "POST" else b"",
            params=params.copy(),
            root=self._root or f"{scope['scheme']}://{host}",
            token=token,
            reserve=call.reservation,
        )
        if route.heavy:
            return await self._in_thread(route.handler, self.site, request)
        answer = route.handler(self.site, request)
        if isinstance(answer, Response):
            return answer
        if self.pace.is_quick(call.reservation.nbytes):
            return self.pace.at_once(answer)
        return await self._in_thread(answer)

    def _found(self, method: str, raw_path: bytes) -> tuple[Route, tuple[str, ...], dict[str, str]]:
        segments, version = without_version(segments_of(raw_path))
        route, params = self._router.find(method, segments)
        if version:
            params["version"] = version
        return route, segments, params

    async def _body(self, headers: dict[str, str], receive: Receive) -> bytes:
        most = self.settings.max_body_bytes
        told = headers.get("content-length", "0")
        if told.isdecimal() and int(told[:20]) > most:
            raise HttpError(
                413, f"the body has {told[:20]} bytes, expected at most {most}", (("Connection", "close"),)
            )
        if not self._bytes_only:  # the protocol looks at the time
            return await _whole_body(receive, most)
        try:
            async with asyncio.timeout(self.settings.read_timeout):
                return await _whole_body(receive, most)
        except TimeoutError:
            raise HttpError(408, "the body didn't arrive in time", (("Connection", "close"),)) from None

    async def _in_thread(self, function: Callable[..., Any], *arguments: Any) -> Response:
        loop = asyncio.get_running_loop()
        try:
            async with asyncio.timeout(self.settings.handler_timeout):
                answer = await loop.run_in_executor(self._threads, function, *arguments)
                if not isinstance(answer, Response):
                    answer = await loop.run_in_executor(self._threads, answer)
        except TimeoutError:
            raise HttpError(503, "the answer took too long; try again", (("Retry-After", "1"),)) from None
        assert isinstance(answer, Response)
        return answer

    def close(self) -> None:
        """End its threads."""
        self._threads.shutdown(wait=False, cancel_futures=True)

    async def _send_body(
        self, call: Call, body: Body, file: OpenFile | None, receive: Receive, send: Send
    ) -> None:
        if call.method == "HEAD":
            await send(LAST)
            return
        call.nbytes = length_of(body)
        if isinstance(body, FileRange):
            assert file is not None
            await send_file(file, receive, self._in_time(send))
        elif self._bytes_only:
            await send_copies(body, self._in_time(send))
        else:
            await send_bytes(body, send)

    def _in_time(self, send: Send) -> Send:
        """With an end for clients that take nothing, where the server's protocol has none."""
        return within(self.settings.write_timeout, send) if self._bytes_only else send

    def _failed(self, failure: Exception, call: Call, scope: Scope) -> Response:
        what = f"{call.method} {scope['raw_path'].decode('latin-1')}"
        return answer_to(failure, request_id=call.id, what=what, root=str(self.settings.source))


async def _whole_body(receive: Receive, most: int) -> bytes:
    pieces: list[bytes] = []
    size = 0
    while True:
        message = await receive()
        if message["type"] != "http.request":
            raise HttpError(400, "the connection ended before the body did")
        piece: bytes = message.get("body", b"")
        size += len(piece)
        if size > most:
            raise HttpError(413, f"the body has more than {most} bytes", (("Connection", "close"),))
        if not message.get("more_body", False):
            return b"".join((*pieces, piece)) if pieces else piece
        pieces.append(piece)


async def _live(receive: Receive, send: Send) -> None:
    while True:
        message = await receive()
        await send({"type": f"{message['type']}.complete"})
        if message["type"] == "lifespan.shutdown":
            return


def routes() -> tuple[Route, ...]:
    """Every route there is."""
    return (
        *health.ROUTES,
        *api.ROUTES,
        *webknossos.ROUTES,
        *stored_keys.ROUTES,
        *virtual_zarr.ROUTES,
        *pages.ROUTES,
    )


def make_application(settings: Settings) -> Application:
    """The application with its site, in a worker process, which is made ready for it."""
    heap.keep()
    return Application(Site.of(settings), routes())
