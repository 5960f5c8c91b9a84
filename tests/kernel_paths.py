"""The two ways that chunks take, by the compiled kernel and without it, for tests that compare them."""

import contextlib
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fastzarr.chunk_io import THREADS_VARIABLE, kernel

needs_kernel = pytest.mark.skipif(kernel.TRANSFER is None, reason="the kernel is not compiled here")

SANITIZED = "libasan" in os.environ.get("LD_PRELOAD", "")
"""Whether the kernel runs under sanitizers, where time and memory are others."""


@contextlib.contextmanager
def without_kernel() -> Iterator[None]:
    """Arrays that are opened in this block go through Python alone."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(kernel, "TRANSFER", None)
        yield


class Noted:
    """What the kernel was given to do, and what it left."""

    def __init__(self) -> None:
        self.given: dict[str, int] = {"read": 0, "write": 0, "encode": 0}
        self.left: list[tuple[str, int]] = []

    def transfer(self, *arguments: Any) -> Any:
        assert TRANSFER is not None
        return _NotedTransfer(self, TRANSFER(*arguments))


TRANSFER = kernel.TRANSFER


class _NotedTransfer:
    def __init__(self, noted: Noted, transfer: Any) -> None:
        self._noted, self._transfer = noted, transfer

    def __len__(self) -> int:
        return len(self._transfer)

    def filled(self, begin: int, end: int) -> bytes:
        return self._transfer.filled(begin, end)  # type: ignore[no-any-return]

    def encode(self, begin: int, end: int) -> tuple[bytes, bytes] | None:
        self._noted.given["encode"] += end - begin
        return self._transfer.encode(begin, end)  # type: ignore[no-any-return]

    def read(self, begin: int, end: int) -> list[int]:
        return self._note("read", end - begin, self._transfer.read(begin, end))

    def write(self, begin: int, end: int, locks: tuple[Any, ...]) -> list[int]:
        return self._note("write", end - begin, self._transfer.write(begin, end, locks))

    def _note(self, verb: str, count: int, left: list[int]) -> list[int]:
        self._noted.given[verb] += count
        self._noted.left += [(verb, number) for number in left]
        return left


@contextlib.contextmanager
def noted() -> Iterator[Noted]:
    """What the kernel does in this block."""
    with pytest.MonkeyPatch.context() as patch:
        notes = Noted()
        patch.setattr(kernel, "TRANSFER", notes.transfer)
        yield notes


def run_script(script: str, *arguments: object, threads: int = 2, timeout: int = 60) -> str:
    """What a program prints that must end well and in time; where it hangs, stacks of threads are shown."""
    watched = f"import faulthandler; faulthandler.dump_traceback_later({timeout}, exit=True)\n{script}"
    run = subprocess.run(
        [sys.executable, "-W", "error", "-X", "faulthandler", "-c", watched, *map(str, arguments)],
        env={**os.environ, THREADS_VARIABLE: str(threads)},
        cwd=Path(__file__).parent,
        timeout=timeout + 30,
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stdout + run.stderr
    return run.stdout


def tree(root: Path) -> dict[str, str]:
    """All that is below a directory, links not followed: files by their bytes, the rest by its kind."""
    found = {}
    for directory, names, files in os.walk(root):
        for name in (*names, *files):
            path = Path(directory, name)
            kind = (
                f"link to {path.readlink()}"
                if path.is_symlink()
                else path.read_bytes().hex()
                if path.is_file()
                else "directory"
                if path.is_dir()
                else "other"
            )
            found[path.relative_to(root).as_posix()] = kind
    return found
