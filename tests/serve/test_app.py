"""The application in front of its handlers."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from threading import Event
from typing import Any

import pytest

from fastzarr import errors
from fastzarr.serve.catalogue import Catalogue
from fastzarr.serve.http import FileRange, HttpError, Request, Response
from fastzarr.serve.routes import Route
from fastzarr.serve.site import Site


def echo(site: Site, request: Request) -> Response:
    return Response(
        body=repr((request.path, request.params, request.query)).encode(), media_type="text/plain"
    )


def of_file(site: Site, request: Request) -> Response:
    path = site.settings.source / "file"
    offset = int(request.query.get("offset", "0"))
    length = int(request.query.get("length", str(path.stat().st_size - offset)))
    return Response(body=FileRange(path=path, offset=offset, length=length))


def size(site: Site, request: Request) -> Response:
    return Response(body=str(len(request.body)).encode())


def failing(failure: Exception) -> Callable[[Site, Request], Response]:
    def fail(site: Site, request: Request) -> Response:
        raise failure

    return fail


@pytest.fixture
def in_process(in_process: Callable[..., Any]) -> Callable[..., Any]:
    """Without datasets."""
    return partial(in_process, catalogue=Catalogue(datasets={}))


EXTRA = (
    Route(method="GET", pattern="/t/{name}/end", handler=echo),
    Route(method="GET", pattern="/t/literal/end", handler=lambda site, request: Response(body=b"literal")),
    Route(method="GET", pattern="/rest/{key...}", handler=echo, heavy=True),
    Route(method="GET", pattern="/data/t/{name}", handler=echo),
    Route(method="GET", pattern="/file", handler=of_file),
    Route(method="POST", pattern="/size", handler=size),
    Route(method="GET", pattern="/later", handler=lambda site, request: lambda: Response(body=b"later")),
)


def test_names_rests_and_literals(in_process, tmp_path: Path) -> None:
    client = in_process(tmp_path, extra=EXTRA)
    assert client.get("/t/literal/end").body == b"literal"
    assert eval(client.get("/t/a%20b/end?x=1&x=2&y=").body) == (
        "/t/a b/end",
        {"name": "a b"},
        {"x": "1", "y": ""},
    )
    assert eval(client.get("/rest/a/b/").body)[1] == {"key": "a/b/"}
    assert eval(client.get("/rest/").body)[1] == {"key": ""}
    assert client.get("/later").body == b"later"
    assert client.get("/nowhere").status == 404
    assert client.get("/t/x/other").status == 404


def test_versions_of_the_data_api(in_process, tmp_path: Path) -> None:
    client = in_process(tmp_path, extra=EXTRA)
    assert eval(client.get("/data/v9/t/x").body)[:2] == ("/data/t/x", {"name": "x", "version": "9"})
    assert eval(client.get("/data/t/x").body)[:2] == ("/data/t/x", {"name": "x"})
    assert client.get("/data/v16/t/x").status == 404
    assert client.get("/data/v15/health").json() == {"status": "ok"}


@pytest.mark.parametrize(
    "path",
    [
        "/rest/../file",
        "/rest/%2e%2e/file",
        "/rest/%2E%2e",
        "/rest/.",
        "/rest/a//b",
        "/rest/a%2fb",
        "/rest/a%5cb",
        "/rest/a\\b",
        "/rest/a%00b",
        "/rest/%ff",
        "/rest/%c0%ae%c0%ae",
        "/rest/a%0ab",
        "//rest",
    ],
)
def test_paths_that_mean_something_else_are_refused(in_process, tmp_path: Path, path: str) -> None:
    reply = in_process(tmp_path, extra=EXTRA).get(path)
    assert reply.status == 400
    assert reply.json()["messages"][0]["error"].startswith("the path")


def test_methods(in_process, tmp_path: Path) -> None:
    client = in_process(tmp_path, extra=EXTRA)
    refused = client.request("PUT", "/t/x/end")
    assert (refused.status, refused.headers["allow"]) == (405, "GET, HEAD, OPTIONS")
    assert client.get("/size").headers["allow"] == "OPTIONS, POST"
    got, asked = client.get("/t/x/end"), client.head("/t/x/end")
    assert (asked.status, asked.body) == (200, b"")
    assert asked.headers["content-length"] == str(len(got.body))


def test_files_are_sent_in_part_and_whole(in_process, tmp_path: Path) -> None:
    content = bytes(range(256)) * 5000
    (tmp_path / "file").write_bytes(content)
    client = in_process(tmp_path, extra=EXTRA)
    assert client.get("/file").body == content
    assert client.get("/file?offset=1000&length=700000").body == content[1000:701000]
    assert client.get("/file?offset=7&length=0").body == b""
    assert client.head("/file").headers["content-length"] == str(len(content))
    changed = client.get("/file?offset=1280000&length=1")
    assert changed.status == 503 and b"changed" in changed.body


def test_a_file_that_is_gone_is_absent(in_process, tmp_path: Path) -> None:
    route = Route(
        method="GET",
        pattern="/gone",
        handler=lambda site, request: Response(body=FileRange(path=tmp_path / "gone", length=3)),
    )
    assert in_process(tmp_path, extra=(route,)).get("/gone").status == 404


@pytest.mark.parametrize(
    ("failure", "status", "words"),
    [
        (HttpError(418, "short and stout"), 418, "short and stout"),
        (errors.SelectionError("out of it"), 400, "out of it"),
        (errors.NodeNotFoundError("no array"), 404, "no array"),
        (errors.ChunkError("c/0", "is torn"), 500, "the stored data can't be read: chunk 'c/0': is torn"),
        (errors.MetadataError("zarr.json", ["no shape"]), 500, "no shape"),
        (errors.StoreError("broken"), 500, "broken"),
        (OSError(5, "Input/output error", "/secret/path"), 500, "Input/output error"),
        (OSError(24, "Too many open files"), 503, "try again"),
        (MemoryError(), 503, "try again"),
        (ZeroDivisionError("private words"), 500, "unexpected failure"),
    ],
)
def test_statuses_of_failures(
    in_process, tmp_path: Path, failure: Exception, status: int, words: str
) -> None:
    client = in_process(tmp_path, extra=(Route(method="GET", pattern="/fail", handler=failing(failure)),))
    reply = client.get("/fail")
    assert reply.status == status
    assert words in reply.json()["messages"][0]["error"]
    assert reply.json()["request_id"] == reply.headers["x-request-id"]
    for secret in (b"Traceback", b"/secret/path", b"private words", str(tmp_path).encode()):
        assert secret not in reply.body


def test_messages_leave_out_where_the_data_are(in_process, tmp_path: Path) -> None:
    failure = errors.ChunkError(f"{tmp_path}/color/1/z0/y0/x0.wkw", "is torn")
    client = in_process(tmp_path, extra=(Route(method="GET", pattern="/fail", handler=failing(failure)),))
    assert "chunk 'color/1/z0/y0/x0.wkw'" in client.get("/fail").json()["messages"][0]["error"]


def test_bodies_over_the_limit_are_refused(in_process, tmp_path: Path) -> None:
    client = in_process(tmp_path, extra=EXTRA, max_body_bytes=100)
    assert client.post("/size", b"x" * 100).body == b"100"
    assert client.post("/size", b"x" * 101).status == 413
    told_less = client.request("POST", "/size", headers={"content-length": "5"}, body=b"x" * 101)
    assert told_less.status == 413


def test_token(in_process, tmp_path: Path) -> None:
    client = in_process(tmp_path, extra=EXTRA, token="s3cret")
    assert client.get("/t/x/end").status == 401
    assert client.get("/t/x/end").headers["www-authenticate"] == "Bearer"
    assert client.get("/nowhere").status == 401
    assert client.get("/t/x/end?token=wrong").status == 403
    assert client.get("/t/x/end?token=%ff").status == 400
    assert client.get("/t/x/end", x_auth_token="s3cre").status == 403
    assert eval(client.get("/t/x/end?token=s3cret&a=1").body)[2] == {"a": "1"}
    assert client.get("/t/x/end", x_auth_token="s3cret").status == 200
    assert client.get("/t/x/end", authorization="Bearer s3cret").status == 200
    assert client.get("/t/x/end", authorization="Basic s3cret").status == 401
    assert client.get("/data/health").status == 200
    assert client.request("OPTIONS", "/t/x/end").status == 204


def test_pages_of_other_sites_may_read_only_where_told(in_process, tmp_path: Path) -> None:
    origin = "https://viewer.example"
    none = in_process(tmp_path, extra=EXTRA).get("/t/x/end", origin=origin)
    assert "access-control-allow-origin" not in none.headers
    some = in_process(tmp_path, extra=EXTRA, cors=(origin,))
    assert some.get("/t/x/end", origin=origin).headers["access-control-allow-origin"] == origin
    assert some.get("/t/x/end", origin=origin).headers["vary"] == "Origin"
    other = some.get("/t/x/end", origin="https://other.example")
    assert "access-control-allow-origin" not in other.headers
    assert other.headers["vary"] == "Origin"
    every = in_process(tmp_path, extra=EXTRA, cors=("*",))
    reply = every.get("/t/x/end", origin=origin)
    assert reply.headers["access-control-allow-origin"] == "*"
    assert "MISSING-BUCKETS" in reply.headers["access-control-expose-headers"]
    assert "access-control-allow-credentials" not in reply.headers
    assert every.get("/nowhere", origin=origin).headers["access-control-allow-origin"] == "*"
    asked = every.request("OPTIONS", "/size", headers={"origin": origin})
    assert asked.status == 204
    assert asked.headers["access-control-max-age"] == "600"
    assert "POST" in asked.headers["access-control-allow-methods"]
    assert "X-Auth-Token" in asked.headers["access-control-allow-headers"]


def test_names_that_are_not_this_servers_are_refused(in_process, tmp_path: Path) -> None:
    client = in_process(tmp_path, extra=EXTRA, hosts=("data.example",))
    for host in ("localhost", "localhost:8080", "127.0.0.1:80", "[::1]:80", "DATA.example:1", "x.localhost"):
        assert client.get("/t/x/end", host=host).status == 200, host
    assert client.get("/t/x/end", host="evil.example:8080").status == 421
    with_token = in_process(tmp_path, extra=EXTRA, token="s")
    assert with_token.get("/t/x/end?token=s", host="evil.example").status == 200


def test_answers_larger_than_allowed_are_refused_before_they_are_made(in_process, tmp_path: Path) -> None:
    def made(site: Site, request: Request) -> Response:
        request.reserve(int(request.query["n"]))
        return Response(body=bytes(int(request.query["n"])))

    route = Route(method="GET", pattern="/made", handler=made)
    client = in_process(
        tmp_path, extra=(route,), max_response_bytes=1 << 20, max_bytes_in_flight=(1 << 20) - 1
    )
    assert client.get("/made?n=1000000").status == 200
    assert client.get(f"/made?n={1 << 62}").status == 400
    never = client.get(f"/made?n={1 << 20}")
    assert (never.status, b"ask for less at a time" in never.body) == (400, True)
    assert client.app.budget.taken == 0
    client.app.budget.taken = 1 << 19
    busy = client.get("/made?n=1000000")
    assert (busy.status, busy.headers["retry-after"]) == (503, "1")
    assert client.app.budget.taken == 1 << 19
    client.app.budget.taken = 0
    assert client.get("/made?n=1000000").status == 200


def test_the_access_log_has_no_token_and_one_line_per_request(
    in_process, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    client = in_process(tmp_path, extra=EXTRA, token="s3cret", access_log=True)
    client.get("/t/x/end?a=1&token=s3cret&b=2")
    client.get("/t/x/end?t%6Fken=s3cret")
    client.get("/t/x/end?a\n%0aGET=1", x_auth_token="s3cret")
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 3
    assert "s3cret" not in "".join(lines)
    assert "127.0.0.1 GET /t/x/end?a=1&token=***&b=2 200 " in lines[0]


def test_metrics(in_process, tmp_path: Path) -> None:
    client = in_process(tmp_path, extra=EXTRA, token="s")
    assert client.get("/metrics").status == 401
    client.get("/t/x/end?token=s")
    client.get("/t/y/end?token=s")
    client.get("/nowhere?token=s")
    client.request("BREW", "/nowhere?token=s")
    text = client.get("/metrics?token=s").body.decode()
    assert 'fastzarr_requests_total{method="GET",route="/t/{name}/end",status="200"} 2.0' in text
    assert 'fastzarr_requests_total{method="GET",route="",status="404"} 1.0' in text
    assert 'fastzarr_requests_total{method="other",route="",status="404"} 1.0' in text
    assert 'fastzarr_request_seconds_count{route="/t/{name}/end"} 2.0' in text
    assert "fastzarr_cache_bytes 0.0" in text


def test_too_many_requests_at_once_are_refused(in_process, tmp_path: Path) -> None:
    client = in_process(tmp_path, extra=EXTRA, max_requests=3)
    client.app.under_way = 2
    assert client.get("/later").status == 200
    client.app.under_way = 3
    busy = client.get("/later")
    assert (busy.status, busy.headers["retry-after"]) == (503, "1")


def test_handlers_that_take_too_long_are_given_up(in_process, tmp_path: Path) -> None:
    waiting = Event()

    def wait(site: Site, request: Request) -> Response:
        assert waiting.wait(30)
        return Response()

    route = Route(method="GET", pattern="/wait", handler=wait, heavy=True)
    reply = in_process(tmp_path, extra=(route,), handler_timeout=0.05).get("/wait")
    waiting.set()
    assert (reply.status, reply.headers["retry-after"]) == (503, "1")
    assert b"took too long" in reply.body


def test_a_root_of_ones_own_for_links(in_process, tmp_path: Path) -> None:
    route = Route(
        method="GET",
        pattern="/root",
        handler=lambda site, request: Response(body=f"{request.root} {request.token}".encode()),
    )
    client = in_process(tmp_path, extra=(route,))
    assert client.get("/root", host="localhost:81").body == b"http://localhost:81 "
    behind = in_process(tmp_path, extra=(route,), public_url="https://data.example/v/", token="s")
    assert behind.get("/root?token=s", host="data.example").body == b"https://data.example/v s"
