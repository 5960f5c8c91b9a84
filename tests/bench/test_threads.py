"""The workload `threads`: its runner with processes that are made up, and one real process."""

import json
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from fake_regions import FakeRegions
from fakes import FakeClock

from fastzarr.bench import layouts, thread_process, thread_runner
from fastzarr.bench.backends.regions.base import RegionBackend
from fastzarr.bench.backends.regions.registry import REGION_BACKENDS, REGION_READERS
from fastzarr.bench.measurements import Bundle
from fastzarr.bench.thread_process import ProcessError, Reply, Request


@pytest.fixture(autouse=True)
def no_waiting_for_the_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "fsync", lambda file: None)


def reply(operation: str, request: Request, **changes: Any) -> Reply:
    fields: dict[str, Any] = {
        "operation": operation,
        "error": None,
        "seconds": 0 if request.check else 8 / request.threads,
        "cpu_seconds": 0 if request.check else 8,
        "load_average": 0.5,
        "verified_by": "judge" if request.check else None,
        "peak_memory_bytes": 100 if request.check else None,
        "stored_bytes": 1000 if request.check else 0,
        "stored_objects": 3 if request.check else 0,
        "affinity": (0, 2),
    }
    return Reply(**fields | changes)


def answer(backend: RegionBackend, request: Request) -> tuple[Reply, ...]:
    assert request.data.exists()
    assert request.shared.exists()
    return reply("write", request), reply("read", request)


Ask = Callable[[RegionBackend, Request], tuple[Reply, ...]]


def execute(tmp_path: Path, *names: str, ask: Ask = answer, **changes: Any) -> Bundle:
    clock, log = FakeClock(), list[str]()
    fakes = [FakeRegions(name, clock, log) for name in (*names, "judge", "other judge")]
    settings = layouts.Settings(codecs=(("none", 0),), repeats=3, quick=True)
    fields: dict[str, Any] = {
        "jobs": layouts.threads((4, 3, 2, 5), settings),
        "threads": (1, 2, 4),
        "backends": tuple(fakes[:-2]),
        "readers": tuple(fakes[-2:]),
        "directory": tmp_path,
        "seed": 1,
        "arguments": {},
    }
    save = changes.pop("save", lambda _: None)
    return thread_runner.run(thread_runner.ThreadPlan(**fields | changes), save, ask=ask)


def test_a_row_of_every_operation_backend_and_number(tmp_path: Path) -> None:
    bundle = execute(tmp_path, "a", "b")
    keys = [(row.operation, row.backend, row.threads) for row in bundle.rows]
    assert keys == [(o, b, t) for o in ("write", "read") for b in ("a", "b") for t in (1, 2, 4)]
    assert bundle.cases[0].shape == (5, 2, 3, 4)
    assert bundle.cases[0].chunks == (1, 2, 3, 4)
    for row in bundle.rows:
        assert row.threads is not None
        assert [sample.seconds for sample in row.samples] == [8 / row.threads] * 3
        assert (row.status, row.ranked, row.affinity) == ("ok", True, (0, 2))
        assert (row.stored_bytes, row.stored_objects, row.peak_memory_bytes) == (1000, 3, 100)
    assert (bundle.workload, bundle.complete) == ("threads", True)
    assert list(tmp_path.iterdir()) == []


def test_order_is_random_within_each_repeat(tmp_path: Path) -> None:
    asked: list[tuple[str, int]] = []

    def ask(backend: RegionBackend, request: Request) -> tuple[Reply, ...]:
        asked.append((backend.name, request.threads))
        return answer(backend, request)

    execute(tmp_path, "a", "b", ask=ask)
    orders = [asked[i : i + 6] for i in range(0, 24, 6)]
    assert all(len(set(order)) == 6 for order in orders)
    assert len({tuple(order) for order in orders}) > 2


def test_a_process_that_dies_and_an_operation_that_raises_are_rows(tmp_path: Path) -> None:
    def ask(backend: RegionBackend, request: Request) -> tuple[Reply, ...]:
        if backend.name == "dies" and request.threads == 2:
            raise ProcessError("the process ended with -11: no message")
        if backend.name == "raises":
            return reply("write", request, error="OSError: disk"), reply("read", request)
        return answer(backend, request)

    bundle = execute(tmp_path, "dies", "raises", ask=ask)
    failed = {(r.operation, r.backend, r.threads): r.reason for r in bundle.rows if r.status == "failed"}
    assert failed == {
        **{(o, "dies", 2): "ProcessError: the process ended with -11: no message" for o in ("write", "read")},
        **{("write", "raises", n): "OSError: disk" for n in (1, 2, 4)},
    }
    assert all(len(row.samples) == 3 for row in bundle.rows if row.status == "ok")


def test_what_cannot_run_is_skipped_and_other_work_not_ranked(tmp_path: Path) -> None:
    clock, log = FakeClock(), list[str]()
    backends = (
        FakeRegions("absent", clock, log, missing="pip install absent"),
        FakeRegions("writer", clock, log, cannot=("read",)),
        FakeRegions("other", clock, log, elides=False),
    )
    rows = execute(tmp_path, backends=backends, threads=(1,)).rows
    found = {(row.operation, row.backend): (row.status, row.reason) for row in rows}
    assert found == {
        ("write", "absent"): ("skipped", "pip install absent"),
        ("read", "absent"): ("skipped", "pip install absent"),
        ("write", "writer"): ("ok", None),
        ("read", "writer"): ("skipped", "writer cannot read"),
        ("write", "other"): ("unequal", "stores chunks that equal the fill value"),
        ("read", "other"): ("unequal", "stores chunks that equal the fill value"),
    }


def test_an_interrupt_keeps_what_there_is(tmp_path: Path) -> None:
    saved: list[Bundle] = []

    def ask(backend: RegionBackend, request: Request) -> tuple[Reply, ...]:
        if sum(len(row.samples) for row in saved[-1].rows) == 6:
            raise KeyboardInterrupt
        return answer(backend, request)

    with pytest.raises(KeyboardInterrupt):
        execute(tmp_path, "a", ask=ask, save=saved.append)
    assert sum(len(row.samples) for row in saved[-1].rows) == 6
    assert not saved[-1].complete
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("check", [True, False])
def test_a_process_measures_a_backend(check: bool, tmp_path: Path) -> None:
    asked: list[Request] = []

    def ask(backend: RegionBackend, request: Request) -> tuple[Reply, ...]:
        asked.append(request)
        replies = thread_process.ask(backend, replace(request, check=check))
        write, read = replies
        assert [write.error, read.error] == [None, None]
        assert (write.operation, read.operation) == ("write", "read")
        assert write.affinity == tuple(sorted(os.sched_getaffinity(0)))
        if check:
            assert (write.verified_by, read.verified_by) == ("tensorstore", "source")
            assert (write.stored_objects, read.stored_objects) == (5, 5)
            assert write.seconds == 0
        else:
            assert min(write.seconds, read.seconds) > 0
        assert not request.own.exists()
        raise KeyboardInterrupt

    readers = tuple(REGION_BACKENDS[name] for name in REGION_READERS)
    with pytest.raises(KeyboardInterrupt):
        execute(tmp_path, backends=(REGION_BACKENDS["fastzarr"],), readers=readers, threads=(2,), ask=ask)
    assert len(asked) == 1


def test_a_process_that_cannot_begin_says_why(tmp_path: Path) -> None:
    request = Request(
        backend="fastzarr",
        threads=1,
        layout=layouts.threads((4, 3, 2, 5), layouts.Settings(codecs=(("none", 0),), repeats=1, quick=True))[
            0
        ].layout,
        data=tmp_path / "nothing.npy",
        shared=tmp_path / "shared",
        own=tmp_path / "own",
        check=True,
    )
    with pytest.raises(ProcessError, match=r"ended with 1: FileNotFoundError: .*nothing.npy"):
        thread_process.ask(REGION_BACKENDS["fastzarr"], request)


def test_a_request_survives_its_json(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Any] = []

    class Done:
        returncode, stdout, stderr = 0, "[]", ""

    def run(command: list[str], **settings: Any) -> Done:
        seen.append(settings)
        return Done()

    monkeypatch.setattr(thread_process.subprocess, "run", run)
    (job,) = layouts.threads((4, 3, 2, 5), layouts.Settings(codecs=(("zstd", 3),), repeats=1, quick=True))
    request = Request(
        backend="zarrista",
        threads=3,
        layout=replace(job.layout, shards=(2, 2, 3, 4)),
        data=tmp_path / "data.npy",
        shared=tmp_path / "shared",
        own=tmp_path / "own",
        check=False,
    )
    assert thread_process.ask(REGION_BACKENDS["zarrista"], request) == ()
    assert thread_process.parsed(json.loads(seen[0]["input"])) == request
    assert seen[0]["env"]["RAYON_NUM_THREADS"] == "3"
    assert seen[0]["env"]["BLOSC_NTHREADS"] == "1"
