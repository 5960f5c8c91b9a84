"""Whether a run fits into memory and onto the disk."""

from collections.abc import Iterable
from pathlib import Path

from fastzarr.bench import host
from fastzarr.bench.cases import Job
from fastzarr.bench.errors import BenchmarkError
from fastzarr.bench.inputs import Source

SPARE_SPACE = 64 * 2**20
"""Bytes of disk left over for directories and metadata."""
SPARE_MEMORY = 256 * 2**20
"""Bytes of memory left over for the libraries themselves."""
MOST_STEPS_HELD = 16
"""Steps, besides the array and the buffer, that a library holds at most: those in flight, and their codes."""


def check(jobs: Iterable[Job], directory: Path) -> None:
    """BenchmarkError where a source does not fit into memory or onto the disk under `directory`.

    One source is in memory at a time, and one backend's array on the disk; on a file system in memory,
    both are in memory.
    """
    sources = {id(job.source): job.source for job in jobs}.values()
    in_memory = host.describe(directory).file_system.kind in ("tmpfs", "ramfs")
    for source in sorted(sources, key=_stored, reverse=True):
        memory = source.nbytes + _held(source) + SPARE_MEMORY + (_stored(source) if in_memory else 0)
        what = f"{source.name} {source.shape} of {_gib(source.nbytes)}"
        if memory > (available := host.available_memory()):
            raise BenchmarkError(
                f"--sizes or --input: {what} needs {_gib(memory)} of memory, and {_gib(available)} are free; "
                f"use smaller sizes or fewer steps"
                + (", or a --dir that is not in memory" if in_memory else "")
            )
        if _stored(source) > (free := host.free_space(directory)):
            raise BenchmarkError(
                f"--dir: {what} needs {_gib(_stored(source))} in {directory}, and {_gib(free)} are free; "
                f"use another directory or smaller sizes"
            )


def _stored(source: Source) -> int:
    """Bytes on disk: incompressible data under a codec, and directories, are a little larger."""
    return source.nbytes + source.nbytes // 16 + SPARE_SPACE


def _held(source: Source) -> int:
    steps = source.shape[0]
    return min(MOST_STEPS_HELD, steps + 1) * (source.nbytes // steps)


def _gib(size: int) -> str:
    return f"{size / 2**30:.2f} GiB"
