"""wrk: prepared requests are handed to it in a file, and what it measured is read from what it prints."""

import json
import re
import shutil
import subprocess
from collections.abc import Iterable
from dataclasses import dataclass
from importlib.resources import as_file, files
from pathlib import Path

from fastzarr.bench.errors import BenchmarkError
from fastzarr.bench.serving.peers.base import HttpRequest
from fastzarr.bench.serving.results import Load

SCRIPT = "buckets.lua"
PATIENCE = 30
"""Seconds that wrk waits for an answer; its own 2 are fewer than the reference's longest answers."""
GRACE = 60.0
"""Seconds after the end of the load until wrk is taken to hang."""
FIELDS = "\x1f"
MARK = "MEASURED "


@dataclass(frozen=True, kw_only=True)
class Measured:
    """What wrk told of one run; seconds and bytes."""

    seconds: float
    answers: int
    received_bytes: int
    connect_errors: int
    read_errors: int
    write_errors: int
    status_errors: int
    timeouts: int
    latency_mean: float
    latency_stdev: float
    latency_p50: float
    latency_p99: float
    latency_max: float


def version() -> str:
    """What wrk calls itself; BenchmarkError where it is not installed."""
    if shutil.which("wrk") is None:
        raise BenchmarkError("wrk is not installed, which sends the requests: apt-get install wrk")
    printed = subprocess.run(["wrk", "-v"], capture_output=True, text=True, check=False).stdout
    return printed.partition("Copyright")[0].strip()


def write_requests(path: Path, requests: Iterable[HttpRequest]) -> None:
    """Write `requests` as the script reads them; BenchmarkError where one has a tab or a line break."""
    with path.open("w", encoding="utf-8") as file:
        for request in requests:
            headers = FIELDS.join(f"{name}: {value}" for name, value in request.headers)
            fields = (request.method, request.path, headers, request.body)
            if re.search(r"[\t\r\n]", "".join(fields)):
                raise BenchmarkError(f"got a request with a tab or a line break, expected none: {fields}")
            file.write("\t".join(fields) + "\n")


def command(script: Path, requests: Path, url: str, load: Load) -> list[str]:
    """The call of wrk. It has no more threads than connections, and its seconds are whole."""
    threads = min(load.threads, load.connections)
    options = [f"-t{threads}", f"-c{load.connections}", f"-d{max(1, round(load.seconds))}s"]
    place = [f"--timeout={PATIENCE}s", "-s", str(script), f"{url}/", "--", str(requests), str(threads)]
    return ["wrk", *options, *place]


def start(requests: Path, url: str, load: Load, script: Path) -> "subprocess.Popen[str]":
    """wrk, running."""
    return subprocess.Popen(
        command(script, requests, url, load), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )


def run(requests: Path, url: str, load: Load) -> Measured:
    """Drive the server at `url` with the requests in the file, and wait."""
    with as_file(files("fastzarr.bench.serving") / SCRIPT) as script:
        process = start(requests, url, load, script)
        return finish(process, load.seconds + GRACE)


def finish(process: "subprocess.Popen[str]", seconds: float) -> Measured:
    """What `process` measured; it is ended after `seconds`, or where waiting is interrupted."""
    try:
        printed, _ = process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired as error:
        raise BenchmarkError(f"wrk did not end within {seconds:.0f} s") from error
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()
    return parse(printed)


def parse(printed: str) -> Measured:
    """Read what the script printed; BenchmarkError with the output where it printed no result."""
    line = next((line for line in printed.splitlines() if line.startswith(MARK)), None)
    if line is None:
        shown = " | ".join(printed.strip().splitlines()[-5:])
        raise BenchmarkError(f"wrk ended without a result: {shown or 'it printed nothing'}")
    found = json.loads(line.removeprefix(MARK))
    return Measured(
        seconds=found["duration_us"] / 1e6,
        answers=found["answers"],
        received_bytes=found["bytes"],
        connect_errors=found["connect"],
        read_errors=found["read"],
        write_errors=found["write"],
        status_errors=found["status"],
        timeouts=found["timeout"],
        latency_mean=found["mean_us"] / 1e6,
        latency_stdev=found["stdev_us"] / 1e6,
        latency_p50=found["p50_us"] / 1e6,
        latency_p99=found["p99_us"] / 1e6,
        latency_max=found["max_us"] / 1e6,
    )
