"""Who can take part, and the program that speaks for each."""

import contextlib
import json
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from fastzarr.bench.compat.backends.registry import BACKENDS
from fastzarr.bench.errors import BenchmarkError
from fastzarr.bench.saved import write_whole

PROGRAMS = Path(__file__).parent / "programs"
INSTALL_SECONDS = 300


class NotAvailableError(Exception):
    """An implementation cannot run here; the text says why, and the remedy."""


@dataclass(frozen=True, kw_only=True)
class Source:
    """One implementation, before it is known whether it runs here."""

    name: str
    shown: tuple[str, ...]
    """Its command as it is saved: without this machine's paths."""
    command: Callable[[], tuple[str, ...]]
    """The command; raises `NotAvailableError`. May install what it needs, once."""


def _python(name: str) -> Source:
    module = ("-m", "fastzarr.bench.compat.program", name)
    return Source(name=name, shown=("python", *module), command=lambda: (sys.executable, *module))


def _interpreter(name: str) -> str:
    path = shutil.which(name)
    if path is None:
        raise NotAvailableError(f"{name} is not installed, or not on the PATH")
    return path


def _julia(name: str, program: str) -> Source:
    def command() -> tuple[str, ...]:
        return (_interpreter("julia"), "--startup-file=no", str(PROGRAMS / program))

    return Source(name=name, shown=("julia", program), command=command)


def zarrita_command() -> tuple[str, ...]:
    """Node and the program beside zarrita.js, which npm installs into the user's cache the first time."""
    node = _interpreter("node")
    version = json.loads((PROGRAMS / "package.json").read_text())["dependencies"]["zarrita"]
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    directory = cache / "fastzarr" / f"zarrita-{version}"
    if not (directory / "node_modules" / "zarrita").is_dir():
        _npm_install(directory)
    program = directory / "zarrita.mjs"
    write_whole(program, (PROGRAMS / program.name).read_text(encoding="utf-8"))
    return (node, str(program))


def _npm_install(directory: Path) -> None:
    """Install into `directory`, whole or not at all, whoever else does the same."""
    npm = _interpreter("npm")
    directory.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=directory.parent) as temporary:
        made = Path(temporary) / directory.name
        made.mkdir()
        for name in ("package.json", "package-lock.json"):
            shutil.copyfile(PROGRAMS / name, made / name)
        command = (npm, "ci", "--ignore-scripts", "--no-audit", "--no-fund")
        try:
            subprocess.run(
                command, check=True, capture_output=True, text=True, timeout=INSTALL_SECONDS, cwd=made
            )
        except subprocess.TimeoutExpired as error:
            raise NotAvailableError(f"{shlex.join(command)} took more than {INSTALL_SECONDS} s") from error
        except subprocess.CalledProcessError as error:
            said = (error.stderr.strip().splitlines() or ["nothing"])[0]
            raise NotAvailableError(f"{shlex.join(command)} failed and said: {said}") from error
        with contextlib.suppress(OSError):  # another process was first
            made.rename(directory)


SOURCES: dict[str, Source] = {
    source.name: source
    for source in (
        *(_python(name) for name in BACKENDS),
        Source(name="zarrita.js", shown=("node", "zarrita.mjs"), command=zarrita_command),
        _julia("Zarr.jl", "zarr_jl.jl"),
        _julia("Zarrs.jl", "zarrs_jl.jl"),
    )
}
"""What the package ships, in the order of the matrix."""


def given(argument: str) -> Source:
    """The implementation of `--backend NAME=COMMAND`."""
    name, equals, text = argument.partition("=")
    command = tuple(shlex.split(text))
    if not (name and equals and command):
        raise BenchmarkError(f"--backend: got {argument!r}, expected NAME=COMMAND")
    shown = (Path(command[0]).name, *command[1:])
    return Source(name=name, shown=shown, command=lambda: command)
