"""How long a run will take, guessed from a small array written and read just before."""

import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from fastzarr.bench.backends.base import Backend, Case
from fastzarr.bench.cases import Job
from fastzarr.bench.fields import synthetic
from fastzarr.bench.workloads import sequential

PILOT = (4, 16, 128, 128)
"""Shape of the small array: four steps of 1 MiB."""
KEEPBITS = 10
PER_STEP = 0.0015
"""Seconds that a step takes beside those that depend on its size: mean over the libraries."""
OTHERS = 1.2
"""Time of the mean library over that of the one measured here."""
VERIFYING_READS = 2.5
"""What the verification of a case costs, in reads of its array."""
MAKING = 1 / (150 * 2**20)
"""Seconds per byte of making the data."""


def seconds(jobs: Sequence[Job], backends: Sequence[Backend], pilot: Backend, directory: Path) -> list[float]:
    """Seconds of each job with `backends`, from what `pilot` needs under `directory` for each codec."""
    usable = [backend for backend in backends if backend.unavailable() is None]
    found: dict[tuple[str, int], tuple[float, float]] = {}
    for job in jobs:
        codec = job.case.codec, job.case.level
        if codec not in found:
            found[codec] = _seconds_per_byte(pilot, job.case, directory)
    return [_job_seconds(job, usable, *found[job.case.codec, job.case.level]) for job in jobs]


def _job_seconds(job: Job, backends: Sequence[Backend], writing: float, reading: float) -> float:
    runs = job.repeats + 1
    size, steps = job.source.nbytes, job.source.shape[0]
    one = runs * (size * writing + steps * PER_STEP) + (runs + VERIFYING_READS) * size * reading
    contenders = sum(b.kind == "library" and b.unsupported(job.case) is None for b in backends)
    return one * OTHERS * contenders + size * MAKING


def _seconds_per_byte(pilot: Backend, like: Case, directory: Path) -> tuple[float, float]:
    """Seconds per byte of writing with sync, and of reading."""
    case = Case(
        shape=PILOT,
        dtype=np.dtype(np.float32),
        codec=like.codec,
        level=like.level,
        zarr_format=like.zarr_format,
        fill_value=0,
    )
    steps = synthetic(PILOT, KEEPBITS)
    out = np.ones_like(steps[0])
    with tempfile.TemporaryDirectory(prefix="fastzarr-bench-", dir=directory) as scratch:
        for warmed_up in (False, True):
            phases = sequential.run(pilot, case, Path(scratch) / str(warmed_up), steps, out)
    return (phases.steps + phases.sync) / steps.nbytes, (phases.read or 0) / steps.nbytes
