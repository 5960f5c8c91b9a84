"""The command protocol: a program that is asked a line of JSON and answers with one.

docs/external-backends.md is its description. Nothing a program does raises here: a crash, silence or
nonsense is an answer too, and the next question goes to a new process.
"""

import contextlib
import json
import queue
import signal
import subprocess
import tempfile
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from typing import IO, Any, Literal

AnswerStatus = Literal["ok", "unsupported", "failed", "not_available"]
STATUSES: tuple[AnswerStatus, ...] = ("ok", "unsupported", "failed", "not_available")
PATIENCE = 3
"""Questions in a row without an answer in time, after which a program is asked no more."""
LONGEST_MESSAGE = 400
"""Characters of a message that are kept."""


@dataclass(frozen=True, kw_only=True)
class Answer:
    """What a program said, or what became of it."""

    status: AnswerStatus
    message: str | None = None
    """Why the status is not `ok`, in one line."""
    content: dict[str, Any]
    """The whole JSON object; empty where there was none."""


class Program:
    """A command, run when it is first asked and again after it failed to answer. Use as a context manager."""

    def __init__(self, command: Sequence[str], timeout: float) -> None:
        self._command = tuple(command)
        self._timeout = timeout
        self._process: subprocess.Popen[str] | None = None
        self._lines: queue.Queue[str | None] = queue.Queue()
        self._stderr: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115
        self._silent = 0

    def __enter__(self) -> "Program":
        return self

    def __exit__(self, *exc: object) -> None:
        self._stop()
        self._stderr.close()

    def ask(self, **request: Any) -> Answer:
        """Send `request` and wait for the answer."""
        if self._silent >= PATIENCE:
            return _failed(f"not asked: {PATIENCE} questions before had no answer within {self._timeout:g} s")
        try:
            process = self._process or self._start()
        except OSError as error:
            return Answer(status="not_available", message=f"{self._command[0]}: {error.strerror}", content={})
        try:
            assert process.stdin is not None
            process.stdin.write(json.dumps(request) + "\n")
            process.stdin.flush()
            line = self._lines.get(timeout=self._timeout)
        except OSError:
            line = None
        except queue.Empty:
            self._silent += 1
            self._stop()
            return _failed(f"no answer within {self._timeout:g} s")
        self._silent = 0
        if line is None:
            return _failed(self._epitaph(process))
        found = _parse(line)
        if found.status == "failed" and not found.content:
            self._stop()
        return found

    def _start(self) -> subprocess.Popen[str]:
        self._stderr.seek(0)
        self._stderr.truncate()
        self._lines = queue.Queue()
        self._process = subprocess.Popen(
            self._command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._stderr,
            encoding="utf-8",
            errors="replace",
        )
        threading.Thread(target=_pump, args=(self._process, self._lines), daemon=True).start()
        return self._process

    def _stop(self) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        process.kill()
        process.wait()
        assert process.stdin is not None
        with contextlib.suppress(OSError):
            process.stdin.close()

    def _epitaph(self, process: subprocess.Popen[str]) -> str:
        """How a process ended that answered nothing, and the last it wrote to stderr."""
        code = process.wait()
        self._stop()
        how = f"ended with exit code {code}" if code >= 0 else f"ended by {signal.Signals(-code).name}"
        self._stderr.seek(0)
        said = self._stderr.read().decode(errors="replace").strip().splitlines()
        return f"{how}: {said[-1]}" if said else how


def _pump(process: subprocess.Popen[str], lines: "queue.Queue[str | None]") -> None:
    """Move each line of the process to the queue, and None at its end."""
    assert process.stdout is not None
    with process.stdout as stdout:
        for line in stdout:
            lines.put(line)
    lines.put(None)


def _parse(line: str) -> Answer:
    try:
        content = json.loads(line)
    except ValueError:
        content = None
    if not isinstance(content, dict) or content.get("status") not in STATUSES:
        allowed = ", ".join(STATUSES)
        return _failed(f"answered {line.strip()[:100]!r}, expected a JSON object with status {allowed}")
    message = content.get("message")
    text = None if message is None else " ".join(str(message).split())[:LONGEST_MESSAGE]
    return Answer(status=content["status"], message=text, content=content)


def _failed(message: str) -> Answer:
    return Answer(status="failed", message=message[:LONGEST_MESSAGE], content={})
