"""Runs every operation of every case on every backend and keeps every sample.

The array that is read is written once per case, and all read that one; who writes writes an array of its own.
Within each repeat the operations follow each other, and the order of the backends is random in each, so that
what is compared ran within seconds. The first run is a warm-up whose bytes are verified and whose memory is
taken; it is the only sample of what takes longer than `PATIENCE`.
"""

import gc
import itertools
import random
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import psutil
from numpy.typing import NDArray

from fastzarr.bench import blank, gate, host, layout_room, outcomes, scratch, shared_array, verify
from fastzarr.bench.backends.base import Layout
from fastzarr.bench.backends.regions.base import RegionBackend
from fastzarr.bench.comparison import WrongBytesError
from fastzarr.bench.layouts import Job
from fastzarr.bench.measurements import Bundle, Row, Sample
from fastzarr.bench.runner import Progress
from fastzarr.bench.workloads.operations import Operation, Turn
from fastzarr.bench.workloads.sequential import Clock

PATIENCE = 30.0
"""Seconds of a warm-up after which it is the sample."""

Key = tuple[str, str]
"""Operation and backend."""


@dataclass(frozen=True, kw_only=True)
class LayoutPlan:
    """All that a run does."""

    workload: str
    """`whole-array`, `small-chunks` or `cutouts`."""
    jobs: tuple[Job, ...]
    """Cases to run, those of one source one after the other."""
    backends: tuple[RegionBackend, ...]
    """Contenders, in the order of the results."""
    readers: tuple[RegionBackend, ...]
    """Libraries that write what is read, and read back what others wrote; the preferred one first."""
    directory: Path
    """Where the arrays are written; everything written is removed again."""
    seed: int
    """Seed of the order of backends."""
    arguments: Mapping[str, Any]
    """Settings as the results keep them."""


def run(
    plan: LayoutPlan,
    save: Callable[[Bundle], None],
    progress: Callable[[Progress], None] = lambda _: None,
    clock: Clock = time.perf_counter,
    cpu_clock: Clock = time.process_time,
) -> Bundle:
    """Do `plan`; `save` gets the bundle so far after each sample, and complete at the end.

    A backend that raises becomes a row with the reason. KeyboardInterrupt passes, after `save`, with what
    there is.
    """
    return _Run(plan, save, progress, clock, cpu_clock).run()


class _Run:
    """One run of a plan: what was measured so far, and how far it is."""

    def __init__(
        self,
        plan: LayoutPlan,
        save: Callable[[Bundle], None],
        progress: Callable[[Progress], None],
        clock: Clock,
        cpu_clock: Clock,
    ) -> None:
        self._plan, self._save, self._progress = plan, save, progress
        self._clock, self._cpu_clock = clock, cpu_clock
        self._random = random.Random(plan.seed)
        self._peak = host.PeakMemory()
        self._read_back = verify.read_back_by(plan.readers)
        self._gate_results: dict[tuple[Any, ...], list[str]] = {}
        self._cases_done = 0
        self._bundle = blank.bundle(plan.workload, plan.arguments, plan.directory)

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
        loaded: tuple[NDArray[Any], NDArray[Any]] | None = None
        for job in jobs:
            self._bundle = replace(self._bundle, cases=(*self._bundle.cases, job.record))
            if reason := layout_room.lacking(job, self._plan.directory, loaded is not None):
                rows = {
                    key: replace(row, status="skipped", reason=reason) for key, row in _rows(self._plan, job)
                }
                self._put(self._bundle.rows, rows)
            else:
                if loaded is None:
                    data = source.load()
                    loaded = data, np.ones_like(data)
                self._run_job(job, *loaded)
            self._cases_done += 1

    def _run_job(self, job: Job, data: NDArray[Any], out: NDArray[Any]) -> None:
        earlier = self._bundle.rows
        with scratch.place(self._scratch / "shared") as shared:
            reasons = shared_array.write(
                job.operations,
                job.layout,
                self._plan.readers,
                shared,
                data,
                out,
                lambda text: self._tell(0, job.record.name, text),
            )
            rows = {
                key: self._admit(row, self._backend(row), self._operation(job, row), job.layout, reasons)
                for key, row in _rows(self._plan, job)
            }
            stored = None if reasons else verify.stored(shared) if shared.exists() else None
            # Every sample begins with a garbage collection; it need not look at what is loaded by now.
            gc.collect()
            gc.freeze()
            self._put(earlier, rows)
            ended: set[Key] = set()
            turns = [(repeat, op) for repeat in range(job.record.repeats + 1) for op in job.operations]
            for done, (repeat, operation) in enumerate(turns):
                order = [
                    b
                    for b in self._plan.backends
                    if (key := (operation.name, b.name)) in rows
                    and key not in ended
                    and rows[key].status in ("ok", "unequal")
                ]
                self._random.shuffle(order)
                for position, backend in enumerate(order):
                    share = (done + position / len(order)) / len(turns)
                    number = f"{repeat} of {job.record.repeats}" if repeat else "warm-up"
                    self._tell(share, job.record.name, f"{backend.name}, {operation.name}, {number}")
                    key = operation.name, backend.name
                    path = self._scratch / backend.name if operation.writes else shared
                    turn = Turn(
                        backend=backend,
                        path=path,
                        layout=job.layout,
                        threads=None,
                        data=data,
                        out=out,
                        clock=self._clock,
                        cpu_clock=self._cpu_clock,
                    )
                    try:
                        rows[key] = self._turn(rows[key], operation, turn, repeat, position, stored)
                    except BaseException as error:
                        rows[key] = outcomes.failed(rows[key], error)
                    if repeat == 0 and rows[key].samples:
                        ended.add(key)
                    self._put(earlier, rows)
        self._tell(1, job.record.name)

    def _turn(
        self,
        row: Row,
        operation: Operation,
        turn: Turn,
        repeat: int,
        position: int,
        stored: tuple[int, int] | None,
    ) -> Row:
        """`row` after one more run of `operation`."""
        load = psutil.getloadavg()[0]
        if not operation.writes:
            row = self._run_once(row, operation, turn, repeat, stored)
        else:
            with scratch.place(turn.path):
                row = self._run_once(row, operation, turn, repeat, None)
        if repeat == 0 and turn.seconds <= PATIENCE:
            return row
        sample = Sample(
            repeat=max(1, repeat),
            position=position,
            seconds=turn.seconds,
            cpu_seconds=turn.cpu_seconds,
            load_average=load,
        )
        if repeat == 0:
            remark = f"took {turn.seconds:.0f} s in the warm-up, which is the sample"
            row = replace(row, reason="; ".join(filter(None, [row.reason, remark])))
        return replace(row, samples=(*row.samples, sample))

    def _run_once(
        self, row: Row, operation: Operation, turn: Turn, repeat: int, stored: tuple[int, int] | None
    ) -> Row:
        try:
            if repeat:
                operation.run(turn)
                return row
            self._peak.restart()
            operation.run(turn)
            peak = self._peak.above_start()
            verified_by = operation.check(turn, self._read_back)
        finally:
            operation.put_back(turn)
        stored = verify.stored(turn.path) if operation.writes else stored
        row = replace(
            row,
            ranked=row.kind == "library" and row.status == "ok",
            stored_bytes=stored and stored[0],
            stored_objects=stored and stored[1],
            verified_by=verified_by,
            peak_memory_bytes=peak,
        )
        reasons = []
        if verified_by is None:
            reasons.append("no other library is installed that could read it back")
        asked = layout_room.files(turn.layout)
        if operation.writes and stored and stored[1] != asked:
            reasons.append(f"stores {stored[1]} files of chunks instead of {asked}")
        return outcomes.unequal(row, reasons) if reasons else row

    def _admit(
        self, row: Row, backend: RegionBackend, operation: Operation, layout: Layout, reasons: list[str]
    ) -> Row:
        """The row before the first run: skipped, failed at the gate, or with what the gate saw."""
        try:
            missing = backend.unavailable() or backend.unsupported(layout, operation.ability)
            if missing:
                return replace(row, status="skipped", reason=missing)
            if not operation.writes and reasons:
                raise WrongBytesError(f"there is no array to read: {'; '.join(reasons)}")
            found = self._pass_gate(backend, layout)
        except BaseException as error:
            return outcomes.failed(row, error)
        return outcomes.unequal(row, found) if found else row

    def _pass_gate(self, backend: RegionBackend, layout: Layout) -> list[str]:
        sharded = layout.shards is not None
        kind = (backend.name, layout.codec, layout.level, layout.dtype, len(layout.shape), sharded)
        if kind not in self._gate_results:
            with scratch.place(self._scratch / backend.name) as path:
                self._gate_results[kind] = gate.region_differences(backend, layout, path)
        return self._gate_results[kind]

    def _backend(self, row: Row) -> RegionBackend:
        return next(backend for backend in self._plan.backends if backend.name == row.backend)

    def _operation(self, job: Job, row: Row) -> Operation:
        return next(operation for operation in job.operations if operation.name == row.operation)

    def _put(self, earlier: tuple[Row, ...], rows: Mapping[Key, Row]) -> None:
        """Save the rows of earlier cases and those of `rows` that have something to say."""
        told = (row for row in rows.values() if row.samples or row.status in ("skipped", "failed"))
        self._bundle = replace(self._bundle, rows=(*earlier, *told))
        self._save(self._bundle)

    def _tell(self, share: float, case: str, turn: str = "") -> None:
        self._progress(Progress(cases_done=self._cases_done, share=share, case=case, turn=turn))


def _rows(plan: LayoutPlan, job: Job) -> list[tuple[Key, Row]]:
    """A row of each operation and backend, but for baselines that say nothing of it."""
    return [
        ((operation.name, backend.name), blank.row(job.record.name, operation.name, backend))
        for operation in job.operations
        for backend in plan.backends
        if backend.kind == "library" or backend.unsupported(job.layout, operation.ability) is None
    ]
