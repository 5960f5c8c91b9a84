"""A line per request, without what nobody else should see."""

from __future__ import annotations

import re
import sys
import time
from typing import TextIO

_TOKEN = re.compile(rb"(^|&)(token|t%6fken|[^=&]*%[^=&]*)=[^&]*", re.IGNORECASE)
"""A token, or a name with escapes, which may be one."""
LONGEST = 2000


class AccessLog:
    """Lines of time, client, method, target, status, bytes, milliseconds and the request's id."""

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = stream

    def write(
        self,
        *,
        client: str,
        method: str,
        path: bytes,
        query: bytes,
        status: int,
        nbytes: int,
        seconds: float,
        identifier: str,
    ) -> None:
        """Write a line."""
        target = path + b"?" + _TOKEN.sub(rb"\1\2=***", query) if query else path
        when = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        shown = target[:LONGEST].decode("ascii", "backslashreplace")
        shown = "".join(c if c.isprintable() and c != " " else f"\\x{ord(c):02x}" for c in shown)
        stream = self._stream or sys.stdout
        stream.write(
            f"{when} {client} {method} {shown} {status} {nbytes} {1000 * seconds:.2f}ms {identifier}\n"
        )
        stream.flush()
