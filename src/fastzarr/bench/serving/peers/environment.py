"""The Python environment of servers that are not among the dependencies of the benchmark.

`make serve-peers` makes it; `FASTZARR_SERVE_PEERS` names the interpreter of another.
"""

import functools
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from fastzarr.bench.serving.peers.base import Server, ServerOptions, launch
from fastzarr.bench.serving.peers.waiting import until_all_say

VARIABLE = "FASTZARR_SERVE_PEERS"
PLACE = ".venv/serve-peers/bin/python"
PROGRAMS = Path(__file__).parent / "programs"
SECONDS = 60
STARTED = "Application startup complete"
ASK = """
import importlib.metadata as m, json, sys
found = {d.name.lower().replace("_", "-"): d.version for d in m.distributions()}
print(json.dumps({"python": ".".join(map(str, sys.version_info[:3])), "packages": found}))
"""


def interpreter() -> Path:
    """The one that is named, or made by `make serve-peers`, or this one."""
    if given := os.environ.get(VARIABLE):
        return Path(given)
    made = (Path(PLACE), Path(sys.prefix).parent / "serve-peers" / "bin" / "python")
    return next((path.absolute() for path in made if path.exists()), Path(sys.executable))


def python() -> str:
    """Version of the interpreter; empty where it doesn't run."""
    return _described(interpreter())[0]


def packages() -> dict[str, str]:
    """Every distribution in the environment and its version; none where its interpreter doesn't run."""
    return dict(_described(interpreter())[1])


def missing(*distributions: str) -> str | None:
    """Why servers made of `distributions` can't run, and what to do; None where they can."""
    at = interpreter()
    if not python():
        return f"{at} does not run; {VARIABLE} is the Python of an environment with {distributions[0]}"
    lacking = [name for name in distributions if name not in packages()]
    if not lacking:
        return None
    return (
        f"{', '.join(lacking)} not installed in {at} (Python {python()}): make serve-peers, or name the "
        f"interpreter of an environment that has it by {VARIABLE}"
    )


def serve(
    application: str,
    arguments: dict[str, object],
    options: ServerOptions,
    port: int,
    log: Path,
    *,
    ready: str,
    environment: dict[str, str] | None = None,
) -> Server:
    """An ASGI application of the environment, made by the function `application` (`module:function`, in
    `programs/` or installed), on uvicorn with uvloop and httptools; it finds `arguments` as JSON in
    FASTZARR_PEER.
    """
    command: Sequence[str | Path] = [
        interpreter(),
        *("-m", "uvicorn", "--app-dir", PROGRAMS, "--factory", application),
        *("--host", "127.0.0.1", "--port", str(port), "--workers", str(options.workers)),
        *("--loop", "uvloop", "--http", "httptools", "--ws", "none", "--backlog", "2048"),
        *("--no-access-log", "--no-proxy-headers", "--log-level", "info"),
    ]
    told = {"FASTZARR_PEER": json.dumps(arguments), **(environment or {})}
    server = launch(command, port, log, ready=ready, environment=told)
    return until_all_say(server, STARTED, options.workers)


@functools.lru_cache
def _described(at: Path) -> tuple[str, dict[str, str]]:
    try:
        done = subprocess.run([at, "-c", ASK], capture_output=True, text=True, timeout=SECONDS, check=True)
    except (OSError, subprocess.SubprocessError):
        return "", {}
    found = json.loads(done.stdout)
    return found["python"], found["packages"]
