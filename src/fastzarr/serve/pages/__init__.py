"""Pages for people: the datasets at `/`, each in a viewer at `/view/{dataset}`.

They hold no data, so they are answered without the token: their scripts ask for it, and show it to the
rest of the server.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from fastzarr.serve.http import HTML, HttpError, Request, Response
from fastzarr.serve.routes import Route
from fastzarr.serve.site import Site

DIRECTORY = Path(__file__).parent / "static"

MEDIA_TYPES = {
    ".css": "text/css; charset=utf-8",
    ".html": HTML,
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}

# Nothing from elsewhere is loaded, and an address with a token isn't told to the sites that are linked to.
POLICY = (
    (
        "Content-Security-Policy",
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'self'",
    ),
    ("Referrer-Policy", "no-referrer"),
    ("X-Content-Type-Options", "nosniff"),
    ("Cache-Control", "no-cache"),
)


@dataclass(frozen=True, kw_only=True, slots=True)
class File:
    """A file of the pages, in memory."""

    body: bytes
    media_type: str
    etag: str


@cache
def _files() -> dict[str, File]:
    return {path.name: _file(path) for path in DIRECTORY.iterdir() if path.suffix in MEDIA_TYPES}


def _file(path: Path) -> File:
    body = path.read_bytes()
    digest = hashlib.sha256(body).hexdigest()[:32]
    return File(body=body, media_type=MEDIA_TYPES[path.suffix], etag=f'"{digest}"')


def _answer(name: str, request: Request) -> Response:
    file = _files().get(name)
    if file is None:
        raise HttpError(404, f"there is nothing at {request.path}")
    headers = (*POLICY, ("ETag", file.etag))
    if request.headers.get("if-none-match") == file.etag:
        return Response(status=304, media_type="", headers=headers)
    return Response(body=file.body, media_type=file.media_type, headers=headers)


def index(site: Site, request: Request) -> Response:
    """The list of datasets."""
    return _answer("index.html", request)


def viewer(site: Site, request: Request) -> Response:
    """The viewer; its script finds the dataset's name in the address."""
    return _answer("view.html", request)


def static(site: Site, request: Request) -> Response:
    """A script, style sheet or picture of the pages."""
    return _answer(request.params["file"], request)


ROUTES = (
    Route(method="GET", pattern="/", handler=index, public=True),
    Route(method="GET", pattern="/view/{dataset}", handler=viewer, public=True),
    Route(method="GET", pattern="/static/{file}", handler=static, public=True),
)
