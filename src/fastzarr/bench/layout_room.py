"""Whether a case of the workloads over layouts fits into memory and onto the disk."""

import math
from pathlib import Path

from fastzarr.bench import host
from fastzarr.bench.backends.base import Layout
from fastzarr.bench.layouts import Job

BLOCK = 4096
"""Bytes that the smallest file takes."""
SPARE = 256 * 2**20
"""Bytes of memory and of disk left over."""


def files(layout: Layout) -> int:
    """Files of chunks or shards of an array of which no chunk equals the fill value."""
    return math.prod(-(-n // c) for n, c in zip(layout.shape, layout.objects, strict=True))


def lacking(job: Job, directory: Path, loaded: bool) -> str | None:
    """Why an array and what reads and writes it don't fit into memory or onto the disk, or None."""
    size, count = job.source.nbytes, files(job.layout)
    disk = 2 * (size + size // 16 + count * BLOCK) + SPARE
    in_memory = host.describe(directory).file_system.kind in ("tmpfs", "ramfs")
    memory = (2 if loaded else 4) * size + SPARE + (disk if in_memory else 0)
    if memory > (available := host.available_memory()):
        return f"needs {memory / 2**30:.2f} GiB of memory, and {available / 2**30:.2f} are free"
    if disk > (free := host.free_space(directory)):
        return f"needs {disk / 2**30:.2f} GiB in {directory}, and {free / 2**30:.2f} are free"
    inodes = host.free_inodes(directory)
    if inodes is not None and 3 * count > inodes:
        return f"needs {3 * count} inodes in {directory}, and {inodes} are free"
    return None
