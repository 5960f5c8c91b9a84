"""Paths of URLs: decoded once, and refused where they could mean something else to a file system."""

from __future__ import annotations

from urllib.parse import parse_qsl, unquote_to_bytes

from fastzarr.serve.http import HttpError

MAX_FIELDS = 64


def segments_of(raw: bytes) -> tuple[str, ...]:
    """The segments of a path as it was sent; 400 for one that isn't plain."""
    if not raw.startswith(b"/"):
        raise HttpError(400, f"got the path {raw[:80]!r}, expected one that begins with /")
    try:
        segments = tuple(
            [(unquote_to_bytes(part) if b"%" in part else part).decode() for part in raw[1:].split(b"/")]
        )
    except UnicodeDecodeError:
        raise HttpError(400, "the path isn't UTF-8 once its %-escapes are decoded") from None
    for segment in segments[:-1]:
        if not segment:
            raise HttpError(400, "the path has an empty segment; write one / between names")
    for segment in segments:
        if segment in (".", "..") or not segment.isprintable() or "/" in segment or "\\" in segment:
            raise HttpError(400, f"the path has the segment {segment[:80]!r}, which is no name here")
    return segments


def without_version(segments: tuple[str, ...]) -> tuple[tuple[str, ...], str]:
    """`/data/v7/...` as `/data/...`, and the version, empty where there is none; 404 for one unknown."""
    if len(segments) < 3 or segments[0] != "data" or segments[1][0] != "v":
        return segments, ""
    version = segments[1][1:]
    if not (version.isascii() and version.isdecimal()):
        return segments, ""
    if len(version) > 2 or not 0 <= int(version) <= 15:
        raise HttpError(404, f"got version {version[:20]} of the data API, expected v0 to v15")
    return ("data", *segments[2:]), version


def query_of(raw: bytes) -> dict[str, str]:
    """The first value of each name."""
    if not raw:
        return {}
    try:
        pairs = parse_qsl(
            raw.decode("ascii"), keep_blank_values=True, errors="strict", max_num_fields=MAX_FIELDS
        )
    except UnicodeDecodeError:
        raise HttpError(400, "the query isn't UTF-8 once its %-escapes are decoded") from None
    except ValueError:
        raise HttpError(400, f"the query has more than {MAX_FIELDS} fields") from None
    query: dict[str, str] = {}
    for name, value in pairs:
        query.setdefault(name, value)
    return query
