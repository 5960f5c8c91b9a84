"""wrk: what it is called with, what is read of what it prints, and what makes a sample void."""

import shutil
from pathlib import Path
from typing import Any

import pytest
import serving

from fastzarr.bench.errors import BenchmarkError
from fastzarr.bench.serving import results, wrk
from fastzarr.bench.serving.peers.base import HttpRequest

PRINTED = """Running 2s test @ http://127.0.0.1:9001/
  2 threads and 32 connections
  Thread Stats   Avg      Stdev     Max   +/- Stdev
    Latency    72.34ms  206.46ms   4.49s    97.65%
  630421 requests in 1.00m, 115.67GB read

MEASURED {"duration_us": 60100000, "answers": 630421, "bytes": 124199715471, "connect": 1, "read": 2, \
"write": 3, "status": 4, "timeout": 5, "mean_us": 72340.5, "stdev_us": 206460.1, "p50_us": 11000, \
"p99_us": 900000, "max_us": 4490000}
"""


def test_what_wrk_prints_is_read() -> None:
    found = wrk.parse(PRINTED)
    assert (found.seconds, found.answers, found.received_bytes) == (60.1, 630421, 124199715471)
    errors = (found.connect_errors, found.read_errors, found.write_errors, found.status_errors)
    assert (errors, found.timeouts) == ((1, 2, 3, 4), 5)
    assert (found.latency_mean, found.latency_p50, found.latency_max) == (0.0723405, 0.011, 4.49)


@pytest.mark.parametrize(
    ("printed", "shown"), [("unable to connect\n", "unable to connect"), ("", "nothing")]
)
def test_output_without_a_result_is_shown(printed: str, shown: str) -> None:
    with pytest.raises(BenchmarkError, match=rf"wrk ended without a result: .*{shown}"):
        wrk.parse(printed)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({}, None),
        ({"status_errors": 1}, "1 answers other than 2xx in repeat 2"),
        ({"connect_errors": 3}, "3 connections that failed in repeat 2"),
        (
            {"read_errors": 2, "timeouts": 4},
            "2 answers that broke off, 4 answers that came too late in repeat 2",
        ),
        ({"write_errors": 1}, "1 requests that could not be sent in repeat 2"),
        ({"answers": 0}, "no answer at all in repeat 2"),
    ],
)  # fmt: skip
def test_any_bad_answer_makes_a_sample_void(changes: dict[str, Any], reason: str | None) -> None:
    assert results.void_reason(serving.sample(2, **changes)) == reason


def test_the_call(tmp_path: Path) -> None:
    load = results.Load(name="a", threads=32, connections=500, seconds=60, temperature="warm")
    called = wrk.command(Path("s.lua"), Path("r"), "http://127.0.0.1:1", load)
    assert called[:5] == ["wrk", "-t32", "-c500", "-d60s", "--timeout=30s"]
    assert called[-5:] == ["s.lua", "http://127.0.0.1:1/", "--", "r", "32"]


def test_requests_are_lines(tmp_path: Path) -> None:
    path = tmp_path / "r"
    headers = (("A", "1"), ("B", "2: 3"))
    wrk.write_requests(path, [HttpRequest(path="/é", headers=headers), HttpRequest(path="/", body="[1]")])
    assert path.read_text(encoding="utf-8") == "GET\t/é\tA: 1\x1fB: 2: 3\t\nGET\t/\t\t[1]\n"
    with pytest.raises(BenchmarkError, match="got a request with a tab or a line break"):
        wrk.write_requests(path, [HttpRequest(path="/", body="a\nb")])


def test_wrk_that_is_missing_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda name: None)
    with pytest.raises(BenchmarkError, match=r"wrk is not installed, .*apt-get install wrk"):
        wrk.version()
