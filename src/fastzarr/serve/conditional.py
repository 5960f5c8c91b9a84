"""Answers that depend on what the client has already: entity tags, dates, ranges (RFC 9110, section 13)."""

from __future__ import annotations

import email.utils
import os
import re
from collections.abc import Callable
from dataclasses import dataclass

from fastzarr.serve import byte_range
from fastzarr.serve.http import BINARY, Body, Headers, HttpError, Request, Response

_TAG = re.compile(r'(?:W/)?("[^"]*")')


@dataclass(frozen=True, kw_only=True, slots=True)
class Version:
    """What tells one content of a URL from all others."""

    tag: str
    """The strong entity tag, in its quotes."""
    modified: float | None = None
    """When it was changed, in seconds since 1970; None where that isn't known."""

    def headers(self) -> Headers:
        """What every answer about this content says of it."""
        found: Headers = (("ETag", self.tag),)
        if self.modified is not None:
            found += (("Last-Modified", email.utils.formatdate(self.modified, usegmt=True)),)
        return found


def of_file(status: os.stat_result) -> Version:
    """The version of a file: files are replaced whole, so another content is another inode, time or size."""
    tag = f'"{status.st_ino:x}-{status.st_mtime_ns:x}-{status.st_size:x}"'
    return Version(tag=tag, modified=status.st_mtime)


def cache_control(request: Request, seconds: int) -> Headers:
    """How long the answer may be used without asking again; by one client only where it showed a token."""
    whose = "private" if request.token else "public"
    return (("Cache-Control", f"{whose}, max-age={seconds}" if seconds else f"{whose}, no-cache"),)


def answer(
    request: Request,
    version: Version,
    size: int,
    body: Callable[[int, int], Body],
    *,
    media_type: str = BINARY,
    headers: Headers = (),
) -> Response:
    """The content of `size` bytes whose part from a start of a length `body` gives; what is asked for of it.

    That is all of it, a range (206), or nothing where the client has it (304). Raises `HttpError` 412 where
    the client wants another version, and 416.
    """
    headers = (*version.headers(), *headers)
    asked = request.headers
    if (wanted := asked.get("if-match")) is not None and not _names(wanted, version.tag, weak=False):
        raise HttpError(412, f"If-Match: got {wanted!r:.80}, but what is here is {version.tag}", headers)
    if _unchanged(request, version):
        return Response(status=304, media_type="", headers=headers)
    headers = (*headers, *byte_range.ACCEPTED)
    # A range is defined for GET only, and one of another version is of no use (RFC 9110, 13.1.5). Dates are
    # too coarse to tell: what depends on one is sent whole.
    same = asked.get("if-range", version.tag) == version.tag
    found = byte_range.part(asked.get("range"), size) if request.method == "GET" and same else None
    if found is None:
        return Response(body=body(0, size), media_type=media_type, headers=headers)
    start, length = found
    content_range = ("Content-Range", f"bytes {start}-{start + length - 1}/{size}")
    return Response(
        status=206, body=body(start, length), media_type=media_type, headers=(*headers, content_range)
    )


def _unchanged(request: Request, version: Version) -> bool:
    tags = request.headers.get("if-none-match")
    if tags is not None:
        return _names(tags, version.tag, weak=True)
    since = request.headers.get("if-modified-since")
    if since is None or version.modified is None:
        return False
    try:
        return int(version.modified) <= email.utils.parsedate_to_datetime(since).timestamp()
    except (ValueError, OverflowError):  # a date that is none is left aside
        return False


def _names(tags: str, tag: str, *, weak: bool) -> bool:
    """Whether a list of entity tags has `tag`; one marked as weak counts only in a weak comparison."""
    if tags.strip() == "*":
        return True
    return any(found[1] == tag and (weak or found[0] == tag) for found in _TAG.finditer(tags))
