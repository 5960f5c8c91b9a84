"""The `Range` of a request (RFC 9110, section 14)."""

from __future__ import annotations

import re

from fastzarr.ranges import Range
from fastzarr.serve.http import HttpError

_ONE_RANGE = re.compile(r"\s*bytes\s*=\s*(\d*)\s*-\s*(\d*)\s*", re.ASCII | re.IGNORECASE)
_DIGITS = 20
"""More than any file's size has; of longer numbers the first ones are enough."""


def part(header: str | None, size: int) -> Range | None:
    """Start and length of the one part of `size` bytes that is asked for; None where all are to be sent.

    Several ranges and other units are left aside, as RFC 9110 allows. A last byte beyond the end is the last
    one. Raises `HttpError` 416 for a part that isn't there.
    """
    match = None if header is None else _ONE_RANGE.fullmatch(header)
    if match is None or match.groups() == ("", ""):
        return None
    first, last = match.groups()
    if first == "":
        length = min(_number(last), size)
        if length == 0 and _number(last) > 0:  # any suffix of nothing is all of it
            return None
        start = size - length
    else:
        start = _number(first)
        length = (size if last == "" else min(_number(last) + 1, size)) - start
    if length <= 0:
        raise HttpError(
            416,
            f"Range: got {header!r:.80}, expected a part of {size} bytes",
            (("Content-Range", f"bytes */{size}"), *ACCEPTED),
        )
    return start, length


ACCEPTED = (("Accept-Ranges", "bytes"), ("Accept-Range", "bytes"))
"""Headers that say ranges are taken; the second one, which is in no standard, is what Fiji looks for."""


def _number(digits: str) -> int:
    return int(digits.lstrip("0")[:_DIGITS] or 0)
