"""Real server processes: how they start, run and end."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import psutil
import pytest
from served_data import BUCKETS, bucket, bucket_bytes, make_volume

KINDS = [("uvicorn", 1), ("uvicorn", 2), ("granian", 2)]


@pytest.fixture(scope="module")
def volume(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, np.ndarray]:
    directory = tmp_path_factory.mktemp("served")
    return directory, make_volume(directory)


def workers(pid: int) -> list[psutil.Process]:
    """Processes that have ended don't count, nor does multiprocessing's tracker of resources."""
    return [
        child
        for child in psutil.Process(pid).children()
        if child.status() != psutil.STATUS_ZOMBIE and "resource_tracker" not in " ".join(child.cmdline())
    ]


def wait_until(true: Callable[[], bool], within: float = 20) -> bool:
    until = time.monotonic() + within
    while time.monotonic() < until:
        if true():
            return True
        time.sleep(0.05)
    return False


@pytest.mark.parametrize(
    ("kind", "number", "ending"),
    [*((*kind, signal.SIGINT) for kind in KINDS), *((*kind, signal.SIGTERM) for kind in KINDS[:2])],
)
def test_serves_and_ends_quietly(serving, volume, kind: str, number: int, ending: int) -> None:
    directory, values = volume
    server = serving(directory, "--server", kind, "--workers", str(number))
    reply = server.post(BUCKETS, [bucket(32, 0, 64), bucket(96, 96, 480)])
    assert reply.status == 200
    assert reply.body == bucket_bytes(values, 32, 0, 64) + bucket_bytes(values, 96, 96, 480)
    assert reply.headers["missing-buckets"] == "[]"
    assert server.request("HEAD", "/zarr/color.zarr/zarr.json").status == 200
    assert "color.zarr" in server.text()
    assert "1 × 128" not in server.text() and "128 × 128 × 512" in server.text()
    assert server.stop(ending) == 0
    assert "Traceback" not in server.text()
    with socket.create_server(("127.0.0.1", int(server.url.rpartition(":")[2]))):
        pass


@pytest.mark.parametrize(("kind", "number"), [("uvicorn", 2), ("granian", 1)])
def test_a_worker_that_dies_is_replaced(serving, volume, kind: str, number: int) -> None:
    server = serving(volume[0], "--server", kind, "--workers", str(number))
    assert wait_until(lambda: len(workers(server.process.pid)) == number)
    time.sleep(3)  # sooner, it would count as one that couldn't start
    killed = workers(server.process.pid)[0].pid
    os.kill(killed, signal.SIGKILL)

    def replaced() -> bool:
        now = [worker.pid for worker in workers(server.process.pid)]
        return len(now) == number and killed not in now

    assert wait_until(replaced), server.text()

    def answers() -> bool:
        try:
            return server.get("/data/health").status == 200
        except OSError:
            return False

    assert wait_until(answers), server.text()
    assert server.stop() == 0


@pytest.mark.parametrize(("kind", "number"), [("uvicorn", 2), ("granian", 2)])
def test_workers_end_with_their_parent(
    serving, volume, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, number: int
) -> None:
    (tmp_path / "shared").mkdir()
    monkeypatch.setenv("TMPDIR", str(tmp_path / "shared"))
    server = serving(volume[0], "--server", kind, "--workers", str(number))
    assert wait_until(lambda: len(workers(server.process.pid)) == number)
    left = workers(server.process.pid)
    assert server.get("/metrics").status == 200
    assert list((tmp_path / "shared").glob("fastzarr-serve-*"))
    server.process.kill()
    server.process.wait()
    assert wait_until(lambda: not any(worker.is_running() for worker in left))
    assert not list((tmp_path / "shared").glob("fastzarr-serve-*"))


@pytest.mark.parametrize(("kind", "number"), KINDS)
def test_metrics_are_of_all_workers(serving, volume, kind: str, number: int) -> None:
    server = serving(volume[0], "--server", kind, "--workers", str(number))
    for _ in range(30):
        assert server.get("/api/datasets").status == 200
    expected = 'fastzarr_requests_total{method="GET",route="datasets",status="200"} 30.0'
    for _ in range(5):
        assert expected in server.get("/metrics").body.decode()


def test_the_access_log_is_on_stdout_without_the_token(serving, volume) -> None:
    server = serving(volume[0], "--access-log", "--token", "s3cret")
    assert server.get("/api/datasets?token=s3cret").status == 200
    assert server.get("/api/datasets").status == 401
    assert wait_until(lambda: "/api/datasets?token=*** 200" in server.text())
    assert "s3cret" not in server.text()


def run(*arguments: object, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "fastzarr", "serve", *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        env={**os.environ, **environment},
    )


@pytest.mark.parametrize("kind", ["uvicorn", "granian"])
def test_a_port_in_use_is_told(volume, kind: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        result = run(volume[0], "--port", port, "--server", kind)
    assert result.returncode == 1
    assert result.stderr == (
        f"fastzarr: --bind 127.0.0.1 --port {port}: the port is in use; end what uses it, choose another, "
        f"or let --port 0 find a free one\n"
    )


def test_nothing_to_serve_is_told(tmp_path: Path) -> None:
    empty = run(tmp_path, "--port", 0)
    assert empty.returncode == 1
    assert empty.stderr.startswith(f"fastzarr: {tmp_path}: no datasets found")
    (tmp_path / "c.toml").write_text("[[dataset]\n")
    wrong = run(tmp_path / "c.toml", "--port", 0)
    assert wrong.returncode == 1
    assert wrong.stderr.startswith(f"fastzarr: {tmp_path / 'c.toml'}: can't be read as TOML")
    absent = run(tmp_path / "absent", "--port", 0)
    assert absent.returncode == 1
    assert len(absent.stderr.splitlines()) == 1


def test_an_address_that_is_not_here_is_told(volume) -> None:
    result = run(volume[0], "--bind", "192.0.2.1", "--port", 0)
    assert result.returncode == 1
    assert "this machine has no such address" in result.stderr


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--cache", "much"), "got 'much', expected bytes, such as 1048576, 512M or 2GiB"),
        (("--token", "two words"), "expected printable ASCII without spaces"),
        (("--token-file", "absent"), "absent can't be read"),
        (("--workers", "0"), "0 is not in the range x>=1"),
    ],
)
def test_wrong_options_are_told(volume, options: tuple[str, ...], words: str) -> None:
    result = run(volume[0], *options)
    assert result.returncode == 2
    assert words in " ".join(result.stderr.replace("│", " ").split())


def test_token_of_a_file_and_of_the_environment(serving, volume, tmp_path: Path, monkeypatch) -> None:
    (tmp_path / "token").write_text("of-file\n")
    server = serving(volume[0], "--token-file", str(tmp_path / "token"))
    assert server.get("/api/datasets?token=of-file").status == 200
    monkeypatch.setenv("FASTZARR_TOKEN", "of-environment")
    server = serving(volume[0], "--json")
    told = json.loads(server.text().splitlines()[0])
    assert (told["url"], told["pid"], told["datasets"]) == (server.url, server.process.pid, ["color.zarr"])
    assert server.get("/api/datasets", authorization="Bearer of-environment").status == 200
    assert server.get("/api/datasets").status == 401
