"""Which handler answers which path."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from fastzarr.serve.http import Handler, HttpError


@dataclass(frozen=True, kw_only=True, slots=True)
class Route:
    """One path pattern and method, and what answers.

    A segment of the pattern is a literal, `{name}` for any one segment that isn't empty, or, at the end,
    `{name...}` for whatever follows, which may be nothing. Literals win over names, names over rests.
    Routes below `/data` are served below `/data/v0` to `/data/v15` as well.
    """

    method: str
    """GET (HEAD too) or POST."""
    pattern: str
    handler: Handler
    heavy: bool = False
    """Whether it is run in a thread: it may wait for a disk or work for more than about a millisecond."""
    public: bool = False
    """Whether it is answered without the token."""
    name: str = ""
    """What metrics call it; the pattern where empty."""


@dataclass(slots=True)
class _Node:
    literals: dict[str, _Node] = field(default_factory=dict)
    variable: _Node | None = None
    routes: dict[str, tuple[Route, tuple[str, ...]]] = field(default_factory=dict)
    """By method; each with the names of its variables in order."""
    rest: dict[str, tuple[Route, tuple[str, ...]]] = field(default_factory=dict)


class Router:
    """Routes in a tree of segments; a look-up costs no more than the path is long."""

    def __init__(self, routes: Iterable[Route]) -> None:
        self._root = _Node()
        for route in routes:
            self._add(route)

    def _add(self, route: Route) -> None:
        node = self._root
        names: list[str] = []
        for segment in route.pattern.removeprefix("/").split("/"):
            if segment.endswith("...}"):
                names.append(segment[1:-4])
                _put(node.rest, route, names)
                return
            if segment.startswith("{"):
                names.append(segment[1:-1])
                node.variable = node.variable or _Node()
                node = node.variable
            else:
                node = node.literals.setdefault(segment, _Node())
        _put(node.routes, route, names)

    def find(self, method: str, segments: tuple[str, ...]) -> tuple[Route, dict[str, str]]:
        """The route for `segments` and the values of its variables; 404 or 405 where there is none."""
        method = "GET" if method == "HEAD" else method
        allowed: set[str] = set()
        found = _match(self._root, method, segments, 0, (), allowed)
        if found is not None:
            route, names, values = found
            return route, dict(zip(names, values, strict=True))
        if not allowed:
            raise HttpError(404, f"there is nothing at /{'/'.join(segments)}")
        if "GET" in allowed:
            allowed.add("HEAD")
        allow = ", ".join(sorted(allowed | {"OPTIONS"}))
        raise HttpError(405, f"got {method}, expected one of {allow}", (("Allow", allow),))


def _put(routes: dict[str, tuple[Route, tuple[str, ...]]], route: Route, names: list[str]) -> None:
    if route.method in routes:
        raise ValueError(f"two routes for {route.method} {route.pattern}")
    routes[route.method] = (route, tuple(names))


Found = tuple[Route, tuple[str, ...], tuple[str, ...]]


def _match(
    node: _Node, method: str, segments: tuple[str, ...], at: int, values: tuple[str, ...], allowed: set[str]
) -> Found | None:
    if at == len(segments):
        here = node.routes.get(method)
        if here is not None:
            return *here, values
        allowed.update(node.routes)
    else:
        segment = segments[at]
        below = node.literals.get(segment)
        if below is not None and (found := _match(below, method, segments, at + 1, values, allowed)):
            return found
        if node.variable is not None and segment:
            found = _match(node.variable, method, segments, at + 1, (*values, segment), allowed)
            if found:
                return found
    rest = node.rest.get(method)
    if rest is not None:
        return *rest, (*values, "/".join(segments[at:]))
    allowed.update(node.rest)
    return None
