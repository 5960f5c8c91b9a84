"""Arrays served by nginx, a real HTTP server, read through obstore and fsspec."""

import os
import shutil
import socket
import subprocess
import threading
import time
from collections.abc import Iterator, Mapping
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fastzarr
from fastzarr.errors import NodeNotFoundError, ReadOnlyError, StoreError
from fastzarr.storage import FsspecStore, ObjectStore
from fastzarr.stores.base import ReadableStore
from fastzarr.stores.registry import open_store
from fastzarr.testing.store_contract import ReadableStoreContract

NGINX = shutil.which("nginx", path=f"{os.environ.get('PATH', '')}:/usr/sbin")

pytestmark = pytest.mark.skipif(NGINX is None, reason="nginx is not installed: apt-get install nginx")

CONFIGURATION = """
daemon off; master_process off; pid {root}/nginx.pid; error_log {root}/error.log;
events {{}}
http {{
  access_log {root}/access.log; default_type application/octet-stream;
  client_body_temp_path {root}/t; proxy_temp_path {root}/t; fastcgi_temp_path {root}/t;
  uwsgi_temp_path {root}/t; scgi_temp_path {root}/t;
  server {{
    listen 127.0.0.1:{port}; root {root}/served; charset utf-8;
    location /denied/ {{ return 403; }}
    location /broken/ {{ return 500; }}
  }}
}}
"""


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Path]]:
    """URL of a server, and the directory that it serves."""
    root = tmp_path_factory.mktemp("nginx")
    (root / "served").mkdir()
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    (root / "nginx.conf").write_text(CONFIGURATION.format(root=root, port=port))
    command = [str(NGINX), "-p", str(root), "-c", str(root / "nginx.conf"), "-e", str(root / "error.log")]
    with subprocess.Popen(command) as server:
        try:
            for _ in range(200):
                with socket.socket() as probe:
                    if probe.connect_ex(("127.0.0.1", port)) == 0:
                        break
                time.sleep(0.02)
            yield f"http://127.0.0.1:{port}", root / "served"
        finally:
            server.terminate()


class HttpContract(ReadableStoreContract):
    kind: Any

    @pytest.fixture(autouse=True)
    def _served(self, served: tuple[str, Path]) -> None:
        self.url, self.root = served

    def filled(self, tmp_path: Path, objects: Mapping[str, bytes]) -> ReadableStore:
        local = fastzarr.LocalStore(self.root / tmp_path.name)
        for key, data in objects.items():
            local.set(key, data)
        return self.kind.from_url(f"{self.url}/{tmp_path.name}")  # type: ignore[no-any-return]


class WithoutRangesContract(HttpContract):
    """As Python's own server, which sends the whole file where a range is asked for."""

    @pytest.fixture(autouse=True)
    def _served(self, served: tuple[str, Path]) -> Iterator[None]:
        self.root = served[1]

        class Handler(SimpleHTTPRequestHandler):
            def log_message(self, *_: Any) -> None:
                pass

        with ThreadingHTTPServer(("127.0.0.1", 0), partial(Handler, directory=str(self.root))) as server:
            self.url = f"http://127.0.0.1:{server.server_port}"
            thread = threading.Thread(target=server.serve_forever, args=(0.01,))
            thread.start()
            yield
            server.shutdown()
            thread.join()


class TestObjectStoreWithoutRanges(WithoutRangesContract):
    kind = ObjectStore


class TestFsspecStoreWithoutRanges(WithoutRangesContract):
    kind = FsspecStore


class TestObjectStore(HttpContract):
    kind = ObjectStore


class TestFsspecStore(HttpContract):
    kind = FsspecStore


@pytest.mark.parametrize("kind", [ObjectStore, FsspecStore])
@pytest.mark.parametrize(
    "layout", [{"zarr_format": 2}, {}, {"compressors": None}, {"shards": (32, 32)}], ids=str
)
def test_arrays_over_http_equal_those_on_disk(
    served: tuple[str, Path], kind: Any, layout: dict[str, Any], tmp_path: Path
) -> None:
    url, root = served
    data = np.random.default_rng(0).normal(size=(50, 70)).astype("f4")
    data[16:32, 16:40] = 0
    fastzarr.create_array(root / tmp_path.name, data=data, chunks=(16, 16), fill_value=0, **layout)
    array = fastzarr.open_array(kind.from_url(f"{url}/{tmp_path.name}"), mode="r")
    np.testing.assert_array_equal(array[...], data)
    np.testing.assert_array_equal(array[10:20, -7], data[10:20, -7])


def test_urls_are_opened_read_only(served: tuple[str, Path]) -> None:
    url, root = served
    fastzarr.create_array(root / "a", data=np.arange(5), chunks=2)
    array = fastzarr.open(f"{url}/a")
    np.testing.assert_array_equal(array[...], np.arange(5))
    with pytest.raises(ReadOnlyError):
        array[0] = 1
    with pytest.raises(NodeNotFoundError, match="found in store"):
        fastzarr.open(f"{url}/nothing")
    np.testing.assert_array_equal(fastzarr.open_array(url, path="a", mode="r")[2:], [2, 3, 4])


def test_a_suffix_is_one_request(served: tuple[str, Path]) -> None:
    url, root = served
    fastzarr.LocalStore(root).set("suffix", bytes(range(200)))
    log = root.parent / "access.log"
    before = len(log.read_text().splitlines())
    store = open_store(url)
    assert bytes(store.get_range("suffix", -20, 5) or b"") == bytes(range(180, 185))
    assert [bytes(part) for part in store.get_ranges("suffix", [(100, 3), (10, 2)]) or []] == [
        b"def",
        b"\n\x0b",
    ]
    assert store.get("absent") is None
    while len(requests := log.read_text().splitlines()[before:]) < 3:
        time.sleep(0.01)
    assert [line.split('"')[1:3] for line in requests] == [
        ["GET /suffix HTTP/1.1", " 206 20 "],
        ["GET /suffix HTTP/1.1", " 206 93 "],
        ["GET /absent HTTP/1.1", " 404 153 "],
    ]


@pytest.mark.parametrize(("place", "status"), [("denied", "403"), ("broken", "500")])
@pytest.mark.parametrize("kind", [ObjectStore, FsspecStore])
def test_other_answers_than_absent_raise(
    served: tuple[str, Path], place: str, status: str, kind: Any
) -> None:
    options = {"retry_config": {"max_retries": 0}} if kind is ObjectStore else None
    store = kind.from_url(f"{served[0]}/{place}", storage_options=options)
    for verb in (
        lambda: store.get("c/0"),
        lambda: store.get_into("c/0", memoryview(bytearray(3))),
        lambda: store.get_range("c/0", 0, 1),
        lambda: store.get_range("c/0", -4, 4),
        lambda: store.get_ranges("c/0", [(0, 1), (9_000_000, 1)]),
    ):
        with pytest.raises(StoreError, match=rf"^'c/0' in .*{place}") as caught:
            verb()
        assert status in str(caught.value)
    with pytest.raises(StoreError, match=r"^'(zarr\.json|\.zarray)' in "):
        fastzarr.open_array(store, mode="r")


def test_listing_says_why_it_cannot_be(served: tuple[str, Path]) -> None:
    store = open_store(served[0])
    for verb in (store.list_dir, store.list_prefix):
        with pytest.raises(StoreError, match=r"prefix 'g/' in object_store://.*: HTTP servers can't list"):
            list(verb("g/"))
