"""Runs every case on every backend and keeps every sample.

For each case: backends that cannot run it are named with the reason; the others pass the gate, then run
once as a warm-up, where what they stored and read is verified, and then once per repeat. The order of the
backends is random within each repeat, so that a slow spell of the machine falls on all of them alike.
"""

import gc
import itertools
import random
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import psutil
from numpy.typing import NDArray

from fastzarr.bench import gate, host, outcomes, scratch, verify
from fastzarr.bench.backends.base import Backend, Case
from fastzarr.bench.cases import Job
from fastzarr.bench.results import SCHEMA_VERSION, Bundle, Row, Sample
from fastzarr.bench.workloads import sequential
from fastzarr.bench.workloads.sequential import Clock


@dataclass(frozen=True, kw_only=True)
class Plan:
    """All that a run does."""

    jobs: tuple[Job, ...]
    """Cases to run, those of one source one after the other."""
    before: Bundle | None
    """Earlier results whose cases are kept in front of the new ones, or None."""
    backends: tuple[Backend, ...]
    """Contenders, in the order of the results."""
    readers: tuple[Backend, ...]
    """Libraries that read back what others stored, the preferred one first."""
    own_sync: Mapping[str, str]
    """Backends that cannot but sync while they write, each with how."""
    directory: Path
    """Where the arrays are written; everything written is removed again."""
    seed: int
    """Seed of the order of backends."""
    arguments: Mapping[str, Any]
    """Settings as the results keep them."""


@dataclass(frozen=True, kw_only=True)
class Progress:
    """How far a run is."""

    cases_done: int
    """Cases done."""
    share: float
    """Share of the present case that is done, from 0 to 1."""
    case: str
    """Name of the case, or that its data are being made."""
    turn: str
    """Backend and repeat; empty between them."""


def run(
    plan: Plan,
    save: Callable[[Bundle], None],
    progress: Callable[[Progress], None] = lambda _: None,
    clock: Clock = time.perf_counter,
    cpu_clock: Clock = time.process_time,
) -> Bundle:
    """Do `plan`; `save` gets the bundle so far after each backend's run, and complete at the end.

    A backend that raises becomes a row with the reason. KeyboardInterrupt passes, after `save`, with what
    there is.
    """
    return _Run(plan, save, progress, clock, cpu_clock).run()


class _Run:
    """One run of a plan: what was measured so far, and how far it is."""

    def __init__(
        self,
        plan: Plan,
        save: Callable[[Bundle], None],
        progress: Callable[[Progress], None],
        clock: Clock,
        cpu_clock: Clock,
    ) -> None:
        self._plan = plan
        self._save = save
        self._progress = progress
        self._clocks = clock, cpu_clock
        self._random = random.Random(plan.seed)
        self._peak = host.PeakMemory()
        self._gate_results: dict[tuple[Any, ...], list[str]] = {}
        self._cases_done = 0
        fresh = Bundle(
            schema_version=SCHEMA_VERSION,
            workload="sequential",
            created=datetime.now(UTC).isoformat(timespec="seconds"),
            arguments=plan.arguments,
            complete=False,
            host=host.describe(plan.directory),
            packages=host.packages(),
            source_commit=host.source_commit(),
            cases=(),
            rows=(),
        )
        self._bundle = replace(plan.before or fresh, arguments=plan.arguments, complete=False)

    def run(self) -> Bundle:
        try:
            with scratch.directory(self._plan.directory) as made:
                self._scratch = made
                for _, jobs in itertools.groupby(self._plan.jobs, key=lambda job: id(job.source)):
                    self._run_jobs(tuple(jobs))
            self._bundle = replace(self._bundle, complete=True)
        finally:
            gc.unfreeze()
            self._save(self._bundle)
        return self._bundle

    def _run_jobs(self, jobs: Sequence[Job]) -> None:
        """Make the data of the one source of `jobs`, and run them."""
        source = jobs[0].source
        self._tell(0, f"making {source.name} {source.shape}")
        steps = source.load()
        out = np.ones_like(steps[0])
        for job in jobs:
            self._bundle = replace(self._bundle, cases=(*self._bundle.cases, job.record))
            self._run_job(job, steps, out)
            self._cases_done += 1

    def _run_job(self, job: Job, steps: NDArray[Any], out: NDArray[Any]) -> None:
        case, name = job.case, job.record.name
        rows = {b.name: self._admit(b, case, name) for b in self._plan.backends}
        # Every run begins with a garbage collection; it need not look at the modules loaded by now.
        gc.collect()
        gc.freeze()
        earlier = self._bundle.rows
        self._put(earlier, rows)
        for repeat in range(job.repeats + 1):
            order = [b for b in self._plan.backends if rows[b.name].status in ("ok", "unequal")]
            self._random.shuffle(order)
            for position, backend in enumerate(order):
                share = (repeat + position / len(order)) / (job.repeats + 1)
                turn = f"{repeat} of {job.repeats}" if repeat else "warm-up"
                self._tell(share, name, f"{backend.name}, {turn}")
                row = rows[backend.name]
                try:
                    if repeat == 0:
                        row = self._warm_up(row, backend, case, steps, out)
                    else:
                        sample = self._sample(backend, case, steps, out, repeat, position)
                        row = replace(row, samples=(*row.samples, sample))
                except BaseException as error:
                    row = outcomes.failed(row, error)
                rows[backend.name] = row
                self._put(earlier, rows)
        self._tell(1, name)

    def _put(self, earlier: tuple[Row, ...], rows: Mapping[str, Row]) -> None:
        """Save the rows of earlier cases and those of `rows` that have something to say."""
        told = (row for row in rows.values() if row.samples or row.status in ("skipped", "failed"))
        self._bundle = replace(self._bundle, rows=(*earlier, *told))
        self._save(self._bundle)

    def _admit(self, backend: Backend, case: Case, name: str) -> Row:
        """The row before the first run: skipped, failed at the gate, or with what the gate saw."""
        row = Row(
            case=name,
            backend=backend.name,
            kind=backend.kind,
            status="ok",
            reason=None,
            ranked=False,
            stored_bytes=None,
            stored_chunks=None,
            verified_by=None,
            peak_memory_bytes=None,
            samples=(),
        )
        try:
            missing = backend.unavailable() or backend.unsupported(case)
            if missing:
                return replace(row, status="skipped", reason=missing)
            reasons = self._pass_gate(backend, case)
        except BaseException as error:
            return outcomes.failed(row, error)
        return outcomes.unequal(row, reasons) if reasons else row

    def _pass_gate(self, backend: Backend, case: Case) -> list[str]:
        layout = (case.codec, case.level, case.zarr_format, case.dtype, len(case.shape))
        kind = (backend.name, *layout, repr(case.fill_value))
        if kind not in self._gate_results:
            with scratch.place(self._scratch / backend.name) as path:
                found = gate.differences(backend, case, path)
            own_sync = self._plan.own_sync.get(backend.name)
            self._gate_results[kind] = [*found, own_sync] if own_sync else found
        return self._gate_results[kind]

    def _warm_up(self, row: Row, backend: Backend, case: Case, steps: NDArray[Any], out: NDArray[Any]) -> Row:
        with scratch.place(self._scratch / backend.name) as path:
            self._peak.restart()
            sequential.run(backend, case, path, steps, out, *self._clocks)
            peak = self._peak.above_start()
            stored_bytes, stored_chunks = verify.stored(path)
            verify.reading(backend, case, path, steps, out)
            verified_by = verify.other_reading(backend, case, path, steps, out, self._plan.readers)
        row = replace(
            row,
            ranked=row.kind == "library" and row.status == "ok",
            stored_bytes=stored_bytes,
            stored_chunks=stored_chunks,
            verified_by=verified_by,
            peak_memory_bytes=peak,
        )
        if verified_by is None:
            return outcomes.unequal(row, ["no other library is installed that could read it back"])
        return row

    def _sample(
        self,
        backend: Backend,
        case: Case,
        steps: NDArray[Any],
        out: NDArray[Any],
        repeat: int,
        position: int,
    ) -> Sample:
        load = psutil.getloadavg()[0]
        with scratch.place(self._scratch / backend.name) as path:
            phases = sequential.run(backend, case, path, steps, out, *self._clocks)
        return Sample(repeat=repeat, position=position, load_average=load, **asdict(phases))

    def _tell(self, share: float, case: str, turn: str = "") -> None:
        self._progress(Progress(cases_done=self._cases_done, share=share, case=case, turn=turn))
