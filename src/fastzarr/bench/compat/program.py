"""A Python implementation as a program of the command protocol: `python -m …program NAME`.

See docs/external-backends.md. Whatever a library prints goes to stderr, so that stdout has answers only.
"""

import json
import os
import sys
from pathlib import Path
from typing import Any, TextIO

from fastzarr.bench.compat import cases, values
from fastzarr.bench.compat.backends.base import CompatBackend, ReadsArrays, WritesArrays
from fastzarr.bench.compat.backends.registry import BACKENDS

TRY_ALL = "--try-all"
"""Flag: try what the implementation is said not to support, too. To check what is said."""


def answer(backend: CompatBackend, request: dict[str, Any], *, try_all: bool = False) -> dict[str, Any]:
    """What `backend` says to one request."""
    try:
        if request["operation"] == "describe":
            return _describe(backend)
        return _do(backend, request, try_all)
    except Exception as error:
        return {"status": "failed", "message": f"{type(error).__name__}: {error}"}


def _describe(backend: CompatBackend) -> dict[str, Any]:
    reason = backend.unavailable()
    if reason is not None:
        return {"status": "not_available", "message": reason}
    return {
        "status": "ok",
        "version": backend.version(),
        "writes": isinstance(backend, WritesArrays),
        "reads": isinstance(backend, ReadsArrays),
    }


def _do(backend: CompatBackend, request: dict[str, Any], try_all: bool) -> dict[str, Any]:
    operation, case = request["operation"], cases.from_json(request["case"])
    path, file = Path(request["directory"]), Path(request["file"])
    reason = backend.unsupported(operation, case)
    if reason is not None and not try_all:
        return {"status": "unsupported", "message": reason}
    if operation == "write" and isinstance(backend, WritesArrays):
        backend.write(path, case, values.decode(file.read_bytes(), case))
        return {"status": "ok"}
    if not isinstance(backend, ReadsArrays):
        return {"status": "unsupported", "message": f"{backend.name} does not {operation}"}
    found = backend.read(path, case)
    file.write_bytes(values.encode(found))
    return {"status": "ok", "shape": list(found.shape)}


def serve(backend: CompatBackend, requests: TextIO, answers: TextIO, *, try_all: bool) -> None:
    """Answer a line with a line until there are no more."""
    for line in requests:
        answers.write(json.dumps(answer(backend, json.loads(line), try_all=try_all)) + "\n")
        answers.flush()


def main(name: str, *flags: str) -> None:
    """Serve the implementation `name` on stdin and stdout."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    serve(BACKENDS[name], sys.stdin, answers, try_all=TRY_ALL in flags)


if __name__ == "__main__":
    main(*sys.argv[1:])
