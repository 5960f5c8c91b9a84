"""What a handler is given and what it answers with, whichever server runs it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

Headers = tuple[tuple[str, str], ...]

BINARY = "application/octet-stream"
JSON = "application/json"
TEXT = "text/plain; charset=utf-8"
HTML = "text/html; charset=utf-8"


class HttpError(Exception):
    """An answer other than the one that was asked for; its message is shown to the client."""

    def __init__(self, status: int, message: str, headers: Headers = ()) -> None:
        self.status = status
        self.message = message
        self.headers = headers
        super().__init__(f"{status} {message}")


@dataclass(frozen=True, kw_only=True, slots=True)
class FileRange:
    """A part of a file, sent in pieces and never held whole."""

    path: Path
    """The file; whoever makes the range has made sure that it may be served."""
    offset: int = 0
    """Where the part begins, in bytes."""
    length: int
    """Bytes of the part."""


Piece = bytes | bytearray | memoryview
Pieces = Piece | tuple[Piece, ...]

Body = Pieces | FileRange


@dataclass(frozen=True, kw_only=True, slots=True)
class Response:
    """The answer to a request. Content-Length, CORS and the request's id are added by the application."""

    status: int = 200
    body: Body = b""
    """Bytes, a contiguous memoryview, pieces that follow each other, or part of a file."""
    media_type: str = BINARY
    """The Content-Type; none is sent where it is empty."""
    headers: Headers = ()


class Reserve(Protocol):
    """Told the memory that an answer needs, before it is taken."""

    def __call__(self, nbytes: int, *, scratch: int = 0) -> None:
        """`nbytes` of the answer, and `scratch` beside them until it is sent.

        Raises `HttpError` where they are too many for one answer, or for all those under way.
        """


def _unlimited(nbytes: int, *, scratch: int = 0) -> None:
    """What `Request.reserve` does where nothing counts."""


@dataclass(kw_only=True, slots=True, eq=False)
class Request:
    """A request whose path is safe to look at: no empty, `.` or `..` segment, no backslash, no NUL."""

    method: str
    """GET, HEAD, POST; a HEAD request is answered by the handler of GET, and its body is left out."""
    path: str
    """The path, percent-decoded, without the version of webknossos's API."""
    segments: tuple[str, ...]
    """The path between its slashes; the last one is empty where the path ends in a slash."""
    query: dict[str, str] = field(default_factory=dict)
    """The first value of each name; without the token."""
    headers: dict[str, str] = field(default_factory=dict)
    """Values by names in lower case; without the token's."""
    body: bytes = b""
    params: dict[str, str] = field(default_factory=dict)
    """What the names in the route's pattern stand for; `version` where the path has one."""
    root: str = ""
    """Scheme, host and prefix that this server is reached by, such as http://127.0.0.1:8080, for links."""
    token: str = ""
    """The token given by the client, for links that carry it on."""
    reserve: Reserve = _unlimited
    """What is reserved is given back when the answer is sent."""


Answer = Response | Callable[[], Response]
"""A handler's answer, or what gives it by reading: in a thread, or at once where that is quick."""

Handler = Callable[[Any, Request], Answer]
"""A plain function of the `Site` and the `Request`."""
