"""Keys of Zarr hierarchies as they are stored: `/zarr/{dataset}/{key...}`."""

from __future__ import annotations

import html
import io
import os
import stat
import urllib.parse
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path

from fastzarr import LocalStore
from fastzarr.errors import KeyNameError
from fastzarr.serve import conditional
from fastzarr.serve.http import BINARY, HTML, JSON, Answer, Body, FileRange, HttpError, Request, Response
from fastzarr.serve.links import leads_nowhere
from fastzarr.serve.node_keys import DOCUMENTS, NodeKeys
from fastzarr.serve.routes import Route
from fastzarr.serve.site import Site
from fastzarr.serve.vanished import require_there

IN_MEMORY = 1 << 16
"""Bytes up to which a part of a file is read by the handler, from the file whose version it told."""
MOST_LISTED = 100_000
"""Names in a directory up to which it is listed."""
NAME_BYTES = 64
"""Of a name in a list, about; what a list may take makes it an answer for a thread."""
CHUNKS_KEPT = 60
"""Seconds for which a chunk may be used without asking again; a document is asked for each time."""

_LINK_OUT = "the stored data can't be read: a link leads out of what is served"
_PAGE = """<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>{title}</title>
<style>:root {{ color-scheme: light dark }} body {{ font: 1rem/1.6 ui-monospace, monospace; margin: 2rem }}
li {{ list-style: none }} ul {{ padding: 0 }}</style></head>
<body><h1>{title}</h1>
<ul>
{items}
</ul></body></html>
"""


def stored_key(site: Site, request: Request) -> Answer:
    """A document, a chunk or a part of it, or the list of a directory."""
    if not request.segments[-1]:
        request.reserve(min(MOST_LISTED * NAME_BYTES, site.settings.max_response_bytes))
    return lambda: _stored_key(site, request)


def _stored_key(site: Site, request: Request) -> Response:
    name, key = request.params["dataset"], request.params["key"]
    dataset = site.catalogue.datasets.get(name)
    if dataset is None:
        raise HttpError(404, f"there is no dataset {name[:80]!r}")
    keys, store, prefix = _opened(str(dataset.path), str(site.settings.source))
    path = key.rstrip("/")
    try:
        if keys.owns(key):
            with store.snapshot(prefix + key) as file:
                if isinstance(file, io.FileIO):
                    return _file(request, file, str(getattr(file, "path", "")))
    except KeyNameError:
        raise HttpError(500, _LINK_OUT) from None
    if keys.is_directory(path):
        if keys.owns(key):
            raise HttpError(500, "the stored data can't be read: a directory is in the place of a chunk")
        return listing(request, keys.list_directory(path, MOST_LISTED))
    if leads_nowhere(os.path.join(store.root, prefix + path)):  # noqa: PTH118
        raise HttpError(500, "the stored data can't be read: a link leads nowhere")
    require_there(dataset, path)
    hint = f"; it is WKW, see /data/zarr3_experimental/{name}/" if dataset.kind == "wkw" else ""
    raise HttpError(404, f"{name} has no key {key[:200]!r} of Zarr{hint}")


def listing(request: Request, names: Iterable[str]) -> Response:
    """A page of links, from which clients read what a directory holds; a redirect where its URL has no slash.

    Links are relative, and lead to names with a slash at their end where these are directories.
    """
    query = f"?token={urllib.parse.quote(request.token)}" if request.token else ""
    if request.segments[-1]:
        place = f"{urllib.parse.quote(request.segments[-1])}/{query}"
        return Response(status=301, media_type="", headers=(("Location", place),))
    try:
        shown = [(urllib.parse.quote(name) + query, html.escape(name)) for name in names]
    except OverflowError:
        raise HttpError(501, f"more than {MOST_LISTED} names are not listed") from None
    # Fiji takes as a name what follows `">`; fsspec leaves aside `../` exactly.
    above = [] if query else [("../", "../")]
    items = "\n".join(f'<li><a href="{place}">{text}</a></li>' for place, text in (*above, *shown))
    title = html.escape(request.path)
    body = _PAGE.format(title=title, items=items).encode()
    return Response(body=body, media_type=HTML, headers=conditional.cache_control(request, 0))


@lru_cache(4096)
def _opened(path: str, source: str) -> tuple[NodeKeys, LocalStore, str]:
    """Keys of a dataset's directory, the store that they are read from, and what stands before them there.

    Links may lead from one dataset of a directory that is served to another, but not out of it.
    """
    path, source = os.path.realpath(path), os.path.realpath(source)
    if Path(source).is_dir():
        if not f"{path}/".startswith(f"{source}/"):
            raise HttpError(500, _LINK_OUT)
        below = os.path.relpath(path, source)
        return NodeKeys(path, source), LocalStore(source, read_only=True), "" if below == "." else f"{below}/"
    return NodeKeys(path, path), LocalStore(path, read_only=True), ""


def _file(request: Request, file: io.FileIO, path: str) -> Response:
    status = os.fstat(file.fileno())
    if not stat.S_ISREG(status.st_mode):
        raise HttpError(500, "the stored data can't be read: it is no regular file")
    is_document = path.rpartition("/")[2] in DOCUMENTS

    def body(start: int, length: int) -> Body:
        if length > IN_MEMORY or request.method == "HEAD":
            return FileRange(path=Path(path), offset=start, length=length)
        request.reserve(length)
        data = os.pread(file.fileno(), length, start)
        if len(data) < length:
            raise HttpError(503, "the file has changed; try again", (("Retry-After", "1"),))
        return data

    return conditional.answer(
        request,
        conditional.of_file(status),
        status.st_size,
        body,
        media_type=_media_type(path),
        headers=conditional.cache_control(request, 0 if is_document else CHUNKS_KEPT),
    )


def _media_type(path: str) -> str:
    name = path.rpartition("/")[2]
    if name.endswith(".xml"):
        return "application/xml"
    return JSON if name in DOCUMENTS or name.endswith(".json") else BINARY


ROUTES = (Route(method="GET", pattern="/zarr/{dataset}/{key...}", handler=stored_key, name="stored keys"),)
