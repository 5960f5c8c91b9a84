"""Runs the workload `threads`: every backend with every number of threads, each time in a fresh process.

Within each repeat the order of backends and numbers is random. The first process of each writes and reads
once, verified by bytes; those of the repeats do each operation twice, and the second time is taken.
"""

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fastzarr.bench import blank, gate, layout_room, outcomes, scratch, shared_array, thread_process
from fastzarr.bench.backends.regions.base import RegionBackend
from fastzarr.bench.layouts import Job
from fastzarr.bench.measurements import Bundle, Row, Sample
from fastzarr.bench.runner import Progress
from fastzarr.bench.thread_process import Reply, Request

Ask = Callable[[RegionBackend, Request], tuple[Reply, ...]]
"""Starts a process and waits for what it measured."""
Key = tuple[str, str, int]
"""Operation, backend and number of threads."""


class OperationError(Exception):
    """What a process says that an operation raised."""


@dataclass(frozen=True, kw_only=True)
class ThreadPlan:
    """All that a run does."""

    jobs: tuple[Job, ...]
    """Arrays; their operations are those of `thread_process`."""
    threads: tuple[int, ...]
    """Numbers of threads, ascending."""
    backends: tuple[RegionBackend, ...]
    """Contenders, in the order of the results."""
    readers: tuple[RegionBackend, ...]
    """Libraries that write what is read, and read back what others wrote; the preferred one first."""
    directory: Path
    """Where the arrays are written; everything written is removed again."""
    seed: int
    """Seed of the order."""
    arguments: Mapping[str, Any]
    """Settings as the results keep them."""


def run(
    plan: ThreadPlan,
    save: Callable[[Bundle], None],
    progress: Callable[[Progress], None] = lambda _: None,
    ask: Ask = thread_process.ask,
) -> Bundle:
    """Do `plan`; `save` gets the bundle so far after each process, and complete at the end.

    A backend that raises, or whose process dies, becomes a row with the reason. KeyboardInterrupt passes,
    after `save`, with what there is.
    """
    return _Run(plan, save, progress, ask).run()


class _Run:
    """One run of a plan: what was measured so far, and how far it is."""

    def __init__(
        self,
        plan: ThreadPlan,
        save: Callable[[Bundle], None],
        progress: Callable[[Progress], None],
        ask: Ask,
    ) -> None:
        self._plan, self._save, self._progress, self._ask = plan, save, progress, ask
        self._random = random.Random(plan.seed)
        self._cases_done = 0
        self._bundle = blank.bundle("threads", plan.arguments, plan.directory)

    def run(self) -> Bundle:
        try:
            with scratch.directory(self._plan.directory) as made:
                self._scratch = made
                for job in self._plan.jobs:
                    self._bundle = replace(self._bundle, cases=(*self._bundle.cases, job.record))
                    self._run_job(job)
                    self._cases_done += 1
            self._bundle = replace(self._bundle, complete=True)
        finally:
            self._save(self._bundle)
        return self._bundle

    def _run_job(self, job: Job) -> None:
        earlier = self._bundle.rows
        rows = self._rows(job)
        if reason := layout_room.lacking(job, self._plan.directory, loaded=False):
            skipped = {k: replace(row, status="skipped", reason=reason) for k, row in rows.items()}
            self._put(earlier, skipped)
            return
        self._tell(0, job, f"making {job.source.name}")
        with (
            scratch.place(self._scratch / "shared") as shared,
            scratch.place(self._scratch / "data.npy") as file,
        ):
            reasons = self._prepare(job, shared, file)
            for backend in self._plan.backends:
                self._admit(rows, backend, job, reasons)
            self._put(earlier, rows)
            for repeat in range(job.record.repeats + 1):
                self._repeat(job, repeat, rows, earlier, Paths(data=file, shared=shared))

    def _prepare(self, job: Job, shared: Path, file: Path) -> list[str]:
        """Save the data, and write the array that is read; why that could not be done."""
        data: NDArray[Any] = job.source.load()
        np.save(file, data)
        out = np.ones_like(data)
        return shared_array.write(
            thread_process.OPERATIONS,
            job.layout,
            self._plan.readers,
            shared,
            data,
            out,
            lambda text: self._tell(0, job, text),
        )

    def _repeat(
        self, job: Job, repeat: int, rows: dict[Key, Row], earlier: tuple[Row, ...], paths: "Paths"
    ) -> None:
        order = [
            (backend, threads)
            for backend in self._plan.backends
            for threads in self._plan.threads
            if any(
                row.status in ("ok", "unequal")
                for (_, name, count), row in rows.items()
                if (name, count) == (backend.name, threads)
            )
        ]
        self._random.shuffle(order)
        for position, (backend, threads) in enumerate(order):
            share = (repeat + position / len(order)) / (job.record.repeats + 1)
            number = f"{repeat} of {job.record.repeats}" if repeat else "warm-up"
            self._tell(share, job, f"{backend.name}, {threads} threads, {number}")
            request = Request(
                backend=backend.name,
                threads=threads,
                layout=job.layout,
                data=paths.data,
                shared=paths.shared,
                own=self._scratch / backend.name,
                check=repeat == 0,
            )
            keys = [key for key in rows if key[1:] == (backend.name, threads)]
            try:
                replies = self._ask(backend, request)
            except BaseException as error:
                for key in keys:
                    rows[key] = outcomes.failed(rows[key], error)
            else:
                for reply in replies:
                    key = reply.operation, backend.name, threads
                    if key in keys:
                        rows[key] = _after(rows[key], reply, repeat, position)
            self._put(earlier, rows)

    def _admit(self, rows: dict[Key, Row], backend: RegionBackend, job: Job, reasons: list[str]) -> None:
        """Mark the rows of `backend` that are skipped, failed at the gate, or unequal."""
        found: list[str] = []
        missing = error = None
        try:
            missing = backend.unavailable()
            if missing is None and backend.unsupported(job.layout, "write") is None:
                with scratch.place(self._scratch / backend.name) as path:
                    found = gate.region_differences(backend, job.layout, path)
        except BaseException as raised:
            error = raised
        for operation in thread_process.OPERATIONS:
            for key in [key for key in rows if key[:2] == (operation.name, backend.name)]:
                reason = missing or backend.unsupported(job.layout, operation.ability)
                if error is not None:
                    rows[key] = outcomes.failed(rows[key], error)
                elif reason:
                    rows[key] = replace(rows[key], status="skipped", reason=reason)
                elif reasons and not operation.writes:
                    nothing = OperationError(f"there is no array to read: {'; '.join(reasons)}")
                    rows[key] = outcomes.failed(rows[key], nothing)
                elif found:
                    rows[key] = outcomes.unequal(rows[key], found)

    def _rows(self, job: Job) -> dict[Key, Row]:
        return {
            (operation.name, backend.name, threads): blank.row(
                job.record.name, operation.name, backend, threads
            )
            for operation in thread_process.OPERATIONS
            for backend in self._plan.backends
            for threads in self._plan.threads
            if backend.kind == "library" or backend.unsupported(job.layout, operation.ability) is None
        }

    def _put(self, earlier: tuple[Row, ...], rows: Mapping[Key, Row]) -> None:
        """Save the rows of earlier cases and those of `rows` that have something to say."""
        told = (row for row in rows.values() if row.samples or row.status in ("skipped", "failed"))
        self._bundle = replace(self._bundle, rows=(*earlier, *told))
        self._save(self._bundle)

    def _tell(self, share: float, job: Job, turn: str) -> None:
        self._progress(Progress(cases_done=self._cases_done, share=share, case=job.record.name, turn=turn))


@dataclass(frozen=True, kw_only=True)
class Paths:
    """Where the processes find what they share."""

    data: Path
    """The data, a `.npy` file."""
    shared: Path
    """The array to read."""


def _after(row: Row, reply: Reply, repeat: int, position: int) -> Row:
    """`row` with what one more process found."""
    if row.status not in ("ok", "unequal"):
        return row
    if reply.error is not None:
        return replace(row, status="failed", ranked=False, reason=reply.error)
    if repeat == 0:
        row = replace(
            row,
            ranked=row.kind == "library" and row.status == "ok",
            stored_bytes=reply.stored_bytes,
            stored_objects=reply.stored_objects,
            verified_by=reply.verified_by,
            peak_memory_bytes=reply.peak_memory_bytes,
            affinity=reply.affinity,
        )
        if reply.verified_by is None:
            return outcomes.unequal(row, ["no other library is installed that could read it back"])
        return row
    sample = Sample(
        repeat=repeat,
        position=position,
        seconds=reply.seconds,
        cpu_seconds=reply.cpu_seconds,
        load_average=reply.load_average,
    )
    return replace(row, samples=(*row.samples, sample))
