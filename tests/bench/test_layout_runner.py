"""The runner over layouts, with backends that take as long as they are told on a clock of their own."""

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fake_regions import FakeRegions
from fakes import FakeClock
from numpy.typing import NDArray

from fastzarr.bench import layout_room, layout_runner, layouts
from fastzarr.bench.inputs import Source
from fastzarr.bench.layouts import Job
from fastzarr.bench.measurements import Bundle, Row
from fastzarr.bench.runner import Progress
from fastzarr.bench.workloads.operations import Cutouts, Element, Item, Open, Operation, Read, Write

Fake = Callable[..., FakeRegions]
VALUES = np.arange(1, 97, dtype=np.float32).reshape(4, 4, 6)
SOURCE = Source(
    name="one to 96", shape=VALUES.shape, dtype=VALUES.dtype, fill_value=0, load=lambda: VALUES.copy()
)


@pytest.fixture(autouse=True)
def no_waiting_for_the_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "fsync", lambda file: None)


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def log() -> list[str]:
    return []


@pytest.fixture
def fake(clock: FakeClock, log: list[str]) -> Fake:
    return lambda name, **attributes: FakeRegions(name, clock, log, **attributes)


def job(*operations: Operation, repeats: int = 3, chunks: tuple[int, ...] = (1, 4, 6)) -> Job:
    return layouts.job("fake", SOURCE, operations, chunks=chunks, codec=("none", 0), repeats=repeats)


@pytest.fixture
def execute(tmp_path: Path, clock: FakeClock, fake: Fake) -> Callable[..., Bundle]:
    def execute(
        *backends: Any,
        jobs: tuple[Job, ...] = (),
        save: Callable[[Bundle], None] = lambda _: None,
        progress: Callable[[Progress], None] = lambda _: None,
        **changes: Any,
    ) -> Bundle:
        settings: dict[str, Any] = {
            "workload": "whole-array",
            "jobs": jobs or (job(Write(), Read()),),
            "backends": backends,
            "readers": (fake("judge"), fake("other judge")),
            "directory": tmp_path,
            "seed": 7,
            "arguments": {},
        }
        plan = layout_runner.LayoutPlan(**settings | changes)
        return layout_runner.run(plan, save, progress, clock, lambda: 2 * clock())

    return execute


def row_of(bundle: Bundle, operation: str, backend: str) -> Row:
    (row,) = (row for row in bundle.rows if (row.operation, row.backend) == (operation, backend))
    return row


def test_each_operation_is_timed_and_the_warm_up_is_not_kept(execute: Any, fake: Fake) -> None:
    bundle = execute(fake("a", seconds=2))
    for operation, verified_by in (("write", "judge"), ("read", "source")):
        row = row_of(bundle, operation, "a")
        assert [(s.repeat, s.seconds, s.cpu_seconds) for s in row.samples] == [(n, 2, 4) for n in (1, 2, 3)]
        assert (row.status, row.reason, row.ranked, row.verified_by) == ("ok", None, True, verified_by)
        assert (row.stored_objects, row.threads, row.affinity) == (4, None, None)
        assert row.stored_bytes is not None
        assert row.stored_bytes > VALUES.nbytes
    assert bundle.complete
    assert bundle.cases[0].chunk_count == 4


@pytest.mark.parametrize(
    ("operation", "calls", "chunks", "nbytes"),
    [
        (Item(), 4, 4, VALUES.nbytes),
        (Element(3, seed=1), 3, 3, 0),
        (Cutouts(2, aligned=False, places=5, seed=1), 5, 10, 5 * 8 * 4),
        (Open(), 10, 0, 0),
    ],
)
def test_calls_of_an_operation(
    operation: Operation, calls: int, chunks: int, nbytes: int, execute: Any, fake: Fake
) -> None:
    bundle = execute(fake("a", seconds=2), jobs=(job(operation),))
    record = bundle.cases[0].operation(operation.name)
    assert (record.calls, record.chunks, record.nbytes) == (calls, chunks, nbytes)
    row = row_of(bundle, operation.name, "a")
    assert (row.status, row.reason) == ("ok", None)
    per_call = 0 if isinstance(operation, Open) else 2
    assert [sample.seconds for sample in row.samples] == [per_call * calls] * 3


def test_order_is_random_within_each_operation_and_recorded(execute: Any, fake: Fake, log: list[str]) -> None:
    names = ["a", "b", "c", "d", "e"]
    bundle = execute(*map(fake, names), jobs=(job(Write(), repeats=6),))
    timed = [entry.split()[0] for entry in log if entry.endswith("writes")][-30:]
    orders = [timed[i : i + 5] for i in range(0, 30, 5)]
    assert all(sorted(order) == names for order in orders)
    assert len({tuple(order) for order in orders}) > 3
    for repeat, order in enumerate(orders, 1):
        positions = {row.backend: row.samples[repeat - 1].position for row in bundle.rows}
        assert positions == {name: order.index(name) for name in names}


def test_all_read_one_array_that_is_written_once(execute: Any, fake: Fake, log: list[str]) -> None:
    execute(fake("a", elides=True), fake("b"), jobs=(job(Read()),))
    writes = [entry for entry in log if entry.endswith("writes")]
    assert writes == ["judge writes", "a writes", "b writes"], "the array, and the gate of each"


def wrong(data: NDArray[Any]) -> NDArray[Any]:
    data[-1, -1, -1] = 5.5
    return data


def test_wrong_bytes_are_a_row_and_the_others_go_on(execute: Any, fake: Fake) -> None:
    def misread(out: NDArray[Any]) -> None:
        out.flat[0] += 1

    element, cutouts = Element(2, seed=3), Cutouts(2, aligned=True, places=2, seed=3)
    bundle = execute(
        fake("writer", on_write=wrong),
        fake("reader", on_read=misread),
        fake("right"),
        jobs=(job(Write(), Read(), Item(), element, cutouts, Open()),),
    )
    failed = {(row.operation, row.backend) for row in bundle.rows if row.status == "failed"}
    assert failed == {
        ("write", "writer"),
        ("element", "writer"),
        ("read", "reader"),
        ("item", "reader"),
        ("aligned 2³", "reader"),
        ("open", "reader"),
    }
    reason = row_of(bundle, "write", "writer").reason
    assert reason is not None
    assert reason.startswith("WrongBytesError: judge, what writer wrote, reads ")
    assert "of 384 bytes otherwise" in reason
    assert "where writer wrote" in str(row_of(bundle, "element", "writer").reason)
    assert all(len(row.samples) == 3 for row in bundle.rows if row.status == "ok")
    assert not any(row.samples or row.ranked for row in bundle.rows if row.status == "failed")


def test_elements_are_put_back(execute: Any, fake: Fake) -> None:
    bundle = execute(fake("a"), fake("b"), jobs=(job(Element(4, seed=1), Read(), repeats=2),))
    assert {row.status for row in bundle.rows} == {"ok"}


def test_what_cannot_run_is_a_row_with_its_reason(execute: Any, fake: Fake) -> None:
    bundle = execute(fake("a", missing="pip install a"), fake("b", cannot=("read",)))
    assert row_of(bundle, "read", "a").reason == "pip install a"
    assert row_of(bundle, "read", "b").reason == "b cannot read"
    assert row_of(bundle, "read", "b").status == "skipped"
    assert row_of(bundle, "write", "b").status == "ok"


def test_a_baseline_that_says_nothing_of_a_case_is_no_row(execute: Any, fake: Fake) -> None:
    baseline = fake("files", cannot=("read",))
    baseline.kind = "baseline"
    bundle = execute(baseline, fake("a"))
    assert [(row.operation, row.backend) for row in bundle.rows] == [
        ("write", "files"),
        ("write", "a"),
        ("read", "a"),
    ]
    assert not row_of(bundle, "write", "files").ranked


def test_other_work_is_shown_and_not_ranked(execute: Any, fake: Fake) -> None:
    row = row_of(execute(fake("a", elides=False)), "write", "a")
    assert (row.status, row.ranked) == ("unequal", False)
    assert row.reason == "stores chunks that equal the fill value"
    assert len(row.samples) == 3


def test_what_nobody_read_back_is_not_ranked(execute: Any, fake: Fake) -> None:
    bundle = execute(fake("judge"), readers=(fake("judge"),), jobs=(job(Write()),))
    row = row_of(bundle, "write", "judge")
    assert (row.status, row.ranked) == ("unequal", False)
    assert row.reason == "no other library is installed that could read it back"


def test_without_an_array_nobody_reads(execute: Any, fake: Fake) -> None:
    readers = (fake("judge", on_write=wrong), fake("other judge", missing="not here"))
    bundle = execute(fake("a"), readers=readers)
    row = row_of(bundle, "read", "a")
    assert row.status == "failed"
    assert "there is no array to read: judge: no other library" in str(row.reason)


def test_a_long_warm_up_is_the_only_sample(execute: Any, fake: Fake) -> None:
    bundle = execute(fake("slow", seconds=31), fake("a"))
    row = row_of(bundle, "read", "slow")
    assert [(sample.repeat, sample.seconds) for sample in row.samples] == [(1, 31)]
    assert row.reason == "took 31 s in the warm-up, which is the sample"
    assert (row.status, row.ranked) == ("ok", True)
    assert len(row_of(bundle, "read", "a").samples) == 3


def test_every_sample_is_saved_and_an_interrupt_keeps_them(execute: Any, fake: Fake, tmp_path: Path) -> None:
    saved: list[Bundle] = []

    def count(out: NDArray[Any]) -> None:
        if sum(len(row.samples) for row in saved[-1].rows) == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        execute(fake("a", on_read=count), save=saved.append)
    assert [len(row.samples) for row in saved[-1].rows] == [2, 1]
    assert not saved[-1].complete
    assert list(tmp_path.iterdir()) == []
    sizes = [sum(len(row.samples) for row in bundle.rows) for bundle in saved]
    assert sizes == sorted(sizes)
    assert set(sizes) == {0, 1, 2, 3}


def test_progress_grows(execute: Any, fake: Fake) -> None:
    told: list[Progress] = []
    execute(fake("a"), fake("b"), jobs=(job(Write()), job(Read())), progress=told.append)
    places = [(p.cases_done, p.share) for p in told]
    assert places == sorted(places)
    assert places[-1] == (1, 1)
    assert "b, read, 2 of 3" in {p.turn for p in told}


def test_what_does_not_fit_is_skipped(execute: Any, fake: Fake, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(layout_room.host, "free_inodes", lambda directory: 11)
    bundle = execute(fake("a"), jobs=(job(Read()), job(Read(), chunks=(4, 4, 6))))
    first, second = bundle.rows
    assert first.status == "skipped"
    assert str(first.reason).startswith("needs 12 inodes in")
    assert second.status == "ok"
    monkeypatch.setattr(layout_room.host, "free_space", lambda directory: 1000)
    assert "GiB in" in str(execute(fake("a")).rows[0].reason)
    monkeypatch.setattr(layout_room.host, "available_memory", lambda: 1000)
    assert "GiB of memory" in str(execute(fake("a")).rows[0].reason)


def test_files_of_a_sharded_array() -> None:
    layout = replace(job(Read()).layout, chunks=(1, 2, 3), shards=(2, 4, 3))
    assert layout_room.files(layout) == 2 * 1 * 2
