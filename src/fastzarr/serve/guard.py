"""Who may read: token, names of this server, and pages of other sites."""

from __future__ import annotations

import hmac
import ipaddress
from urllib.parse import urlsplit

from fastzarr.serve.http import Headers, HttpError
from fastzarr.serve.settings import Settings

METHODS = "GET, HEAD, POST, OPTIONS"
REQUEST_HEADERS = "Range, Content-Type, X-Auth-Token, Authorization, If-None-Match, If-Range"
EXPOSED = (
    "Content-Range, Content-Length, Content-Encoding, ETag, Accept-Ranges, MISSING-BUCKETS, "
    "Empty-Bucket-Indices, Failure-Bucket-Indices, X-Request-Id"
)


class Guard:
    """The checks that come before a request is looked at further."""

    def __init__(self, settings: Settings) -> None:
        self._token = settings.token.encode()
        self._origins = frozenset(origin.rstrip("/") for origin in settings.cors)
        self._names = frozenset(
            name.lower()
            for name in ("localhost", settings.bind, *settings.hosts, *_host(settings.public_url))
        )
        self._any_name = bool(settings.token) or not _is_loopback(settings.bind)
        self._for_any = _allowed("*") if "*" in self._origins else None

    def check_name(self, host: str) -> None:
        """Refuse a name that isn't this server's: a page whose own name leads here would read all."""
        if self._any_name or not host:
            return
        name = host.lower()
        if name in self._names:
            return
        name = name.rpartition(":")[0] if name.rpartition(":")[2].isdecimal() else name
        name = name.strip("[]")
        if name in self._names or name.endswith(".localhost") or _is_address(name):
            return
        raise HttpError(
            421, f"got the host {host[:80]!r}, which this server isn't known by; --allow-host names more"
        )

    def check_token(self, query: dict[str, str], headers: dict[str, str]) -> str:
        """The token shown, which is right where one is needed; 401 without one, 403 for a wrong one."""
        shown = query.pop("token", "")
        in_header = headers.pop("x-auth-token", "")
        bearer = headers.pop("authorization", "")
        if not self._token:
            return ""
        if not shown:
            scheme, _, credentials = bearer.partition(" ")
            shown = in_header or (credentials.strip() if scheme.lower() == "bearer" else "")
        if not shown:
            raise HttpError(
                401,
                "a token is needed: ?token=, X-Auth-Token or Authorization: Bearer",
                (("WWW-Authenticate", "Bearer"),),
            )
        if not hmac.compare_digest(shown.encode("utf-8", "surrogateescape"), self._token):
            raise HttpError(403, "the token is wrong")
        return shown

    def cors(self, origin: str) -> Headers:
        """What lets a page of `origin` read the answer; nothing where it may not."""
        if self._for_any is not None:
            return self._for_any
        if not self._origins:
            return ()
        if origin in self._origins:
            return (*_allowed(origin), ("Vary", "Origin"))
        return (("Vary", "Origin"),)

    def preflight(self, headers: dict[str, str]) -> Headers:
        """The answer to OPTIONS."""
        allowed = self.cors(headers.get("origin", ""))
        if not allowed or allowed[0][0] == "Vary":
            return (("Allow", METHODS), *allowed)
        more: Headers = (
            ("Allow", METHODS),
            ("Access-Control-Allow-Methods", METHODS),
            ("Access-Control-Allow-Headers", REQUEST_HEADERS),
            ("Access-Control-Max-Age", "600"),
        )
        if headers.get("access-control-request-private-network") == "true":
            more = (*more, ("Access-Control-Allow-Private-Network", "true"))
        return (*allowed, *more)


def _allowed(origin: str) -> Headers:
    return (("Access-Control-Allow-Origin", origin), ("Access-Control-Expose-Headers", EXPOSED))


def _host(url: str) -> tuple[str, ...]:
    name = urlsplit(url).hostname
    return (name,) if name else ()


def _is_loopback(bind: str) -> bool:
    try:
        return ipaddress.ip_address(bind).is_loopback
    except ValueError:
        return bind == "localhost"


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True
