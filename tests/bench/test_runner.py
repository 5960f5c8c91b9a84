"""The runner, with backends that take as long as they are told on a clock of their own."""

import os
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fakes import FakeBackend, FakeClock, source
from numpy.typing import NDArray

from fastzarr.bench import results, runner
from fastzarr.bench.backends.registry import BACKENDS
from fastzarr.bench.cases import SMALL, Repeats, jobs
from fastzarr.bench.results import Bundle, Row

MakeBackend = Callable[..., FakeBackend]
SOURCES = (source(),)


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
def fake(clock: FakeClock, log: list[str]) -> MakeBackend:
    return lambda name, **attributes: FakeBackend(
        name=name, clock=clock, log=log, packages=(name,), **attributes
    )


@pytest.fixture
def execute(tmp_path: Path, clock: FakeClock, fake: MakeBackend) -> Callable[..., Bundle]:
    def execute(
        *backends: Any,
        sources: Any = SOURCES,
        zarr_formats: Any = (2,),
        codecs: Any = (("none", 0),),
        repeats: int = 3,
        save: Callable[[Bundle], None] = lambda _: None,
        progress: Callable[[runner.Progress], None] = lambda _: None,
        **changes: Any,
    ) -> Bundle:
        settings: dict[str, Any] = {
            "jobs": tuple(jobs(sources, zarr_formats, codecs, Repeats(usual=1, small=repeats))),
            "before": None,
            "backends": backends,
            "readers": (fake("judge"),),
            "own_sync": {},
            "directory": tmp_path,
            "seed": 7,
            "arguments": {},
        }
        return runner.run(runner.Plan(**settings | changes), save, progress, clock, lambda: 2 * clock())

    return execute


def only_row(bundle: Bundle) -> Row:
    (row,) = bundle.rows
    return row


def test_phases_are_timed_and_the_warm_up_is_not_kept(
    execute: Any, fake: MakeBackend, log: list[str]
) -> None:
    bundle = execute(fake("a", write_seconds=2, read_seconds=0.25))
    row = only_row(bundle)
    assert [sample.repeat for sample in row.samples] == [1, 2, 3]
    assert log == ["a"] * 5, "gate, warm-up, three repeats"
    for sample in row.samples:
        assert (sample.create, sample.steps, sample.sync, sample.open, sample.read) == (0, 10, 0, 0, 1.25)
        assert sample.write == 10
        assert (sample.steps_cpu, sample.read_cpu) == (20, 2.5)
    assert (row.status, row.reason, row.ranked) == ("ok", None, True)
    assert row.stored_chunks == 5
    assert row.verified_by == "judge"
    assert bundle.complete


def test_order_is_random_within_each_repeat_and_recorded(
    execute: Any, fake: MakeBackend, log: list[str]
) -> None:
    names = ["a", "b", "c", "d", "e"]
    bundle = execute(*map(fake, names), repeats=6)
    timed = log[len(names) * 2 :]
    orders = [timed[i : i + len(names)] for i in range(0, len(timed), len(names))]
    assert all(sorted(order) == names for order in orders), "each repeat runs every backend once"
    assert len({tuple(order) for order in orders}) > 3
    for repeat, order in enumerate(orders, 1):
        positions = {row.backend: row.samples[repeat - 1].position for row in bundle.rows}
        assert positions == {name: order.index(name) for name in names}
    assert [row.backend for row in bundle.rows] == names


def test_the_same_seed_gives_the_same_order(execute: Any, fake: MakeBackend, log: list[str]) -> None:
    execute(*map(fake, "abcd"))
    first, log[:] = list(log), []
    execute(*map(fake, "abcd"))
    assert log == first
    log.clear()
    execute(*map(fake, "abcd"), seed=8)
    assert log != first


def test_a_failing_backend_is_a_row_and_the_others_go_on(execute: Any, fake: MakeBackend) -> None:
    def fail(step: int, data: NDArray[Any]) -> NDArray[Any]:
        raise OSError(28, "No space left")

    bundle = execute(fake("broken", on_write=fail), fake("sound"))
    broken, sound = bundle.rows
    assert (broken.status, broken.ranked, broken.samples) == ("failed", False, ())
    assert broken.reason == "OSError: [Errno 28] No space left"
    assert (sound.status, len(sound.samples)) == ("ok", 3)
    assert bundle.complete


def test_a_panic_that_is_no_exception_is_a_row(execute: Any, fake: MakeBackend) -> None:
    class PanicException(BaseException):
        pass

    def panic(step: int, data: NDArray[Any]) -> NDArray[Any]:
        raise PanicException("index out of bounds")

    assert only_row(execute(fake("broken", on_write=panic))).reason == "PanicException: index out of bounds"


def test_a_late_failure_keeps_the_samples_before(execute: Any, fake: MakeBackend, log: list[str]) -> None:
    def fail_late(step: int, data: NDArray[Any]) -> NDArray[Any]:
        if len(log) == 4:
            raise RuntimeError("worn out")
        return data

    row = only_row(execute(fake("a", on_write=fail_late)))
    assert (row.status, row.ranked, row.reason) == ("failed", False, "RuntimeError: worn out")
    assert [sample.repeat for sample in row.samples] == [1]


def test_wrong_bytes_stored_fail(execute: Any, fake: MakeBackend) -> None:
    row = only_row(
        execute(fake("a", on_write=lambda step, data: data + (step == 3), on_read=lambda data: data))
    )
    assert row.status == "failed"
    assert row.reason is not None
    assert row.reason.startswith("WrongBytesError: a reads")
    assert row.reason.endswith("of step 3 otherwise")


@pytest.mark.parametrize("place", range(11))
def test_every_byte_is_compared(place: int, execute: Any, fake: MakeBackend) -> None:
    def damage(step: int, data: NDArray[Any]) -> NDArray[Any]:
        damaged = data.copy()
        if data.size == 11 and step == 1:
            damaged[place] ^= 1
        return damaged

    values = np.arange(1, 23, dtype=np.uint8).reshape(2, 11)
    eleven = replace(source(), shape=values.shape, dtype=values.dtype, load=lambda: values)
    row = only_row(execute(fake("a", on_write=damage), sources=(eleven,)))
    assert row.reason == "WrongBytesError: a reads 1 of 11 bytes of step 1 otherwise"


def test_wrong_bytes_stored_fail_even_if_the_backend_undoes_them(execute: Any, fake: MakeBackend) -> None:
    row = only_row(execute(fake("a", on_write=lambda step, data: -data, on_read=lambda data: -data)))
    assert row.status == "failed"
    assert row.reason is not None
    assert row.reason.startswith("WrongBytesError: judge reads")


def test_a_backend_that_leaves_the_buffer_alone_fails(execute: Any, fake: MakeBackend) -> None:
    constant = source()
    values = np.ones((5, 3, 4), np.float32)
    constant = replace(constant, load=lambda: values)

    class Lazy(FakeBackend):
        def open(self, path: Path, case: Any) -> Any:
            array = super().open(path, case)
            assert array is not None
            array.read = lambda step, out: None  # type: ignore[method-assign]
            return array

    lazy = Lazy(name="lazy", clock=FakeClock(), log=[], packages=("lazy",))
    assert only_row(execute(lazy, sources=(constant,))).status == "failed"


def test_unequal_work_is_timed_and_not_ranked(execute: Any, fake: MakeBackend) -> None:
    row = only_row(execute(fake("a", elides=False)))
    assert (row.status, row.ranked, len(row.samples)) == ("unequal", False, 3)
    assert row.reason == "stores chunks that equal the fill value"


def test_own_sync_is_unequal(execute: Any, fake: MakeBackend) -> None:
    row = only_row(execute(fake("a"), own_sync={"a": "syncs every file"}))
    assert (row.status, row.ranked, row.reason) == ("unequal", False, "syncs every file")


def test_another_format_than_asked_is_unequal(execute: Any, fake: MakeBackend) -> None:
    row = only_row(execute(fake("a"), zarr_formats=(3,), codecs=(("zstd", 3),)))
    assert row.status == "unequal"
    assert row.reason == (
        "Zarr format 2 instead of 3; codecs none instead of zstd; "
        "chunk keys 0.0.0, 2.0.0 instead of c/0/0/0, c/2/0/0"
    )


def test_without_another_reader_nothing_is_ranked(execute: Any, fake: MakeBackend) -> None:
    alone = fake("a")
    row = only_row(execute(alone, readers=(alone,)))
    assert (row.status, row.ranked, row.verified_by) == ("unequal", False, None)
    assert row.reason == "no other library is installed that could read it back"


def test_a_reader_that_cannot_read_gives_way_to_the_next(execute: Any, fake: MakeBackend) -> None:
    def refuse(data: NDArray[Any]) -> NDArray[Any]:
        raise ValueError("unknown codec")

    helpless, judge = fake("helpless", on_read=refuse), fake("judge")
    assert only_row(execute(fake("a"), readers=(helpless, judge))).verified_by == "judge"
    row = only_row(execute(fake("a"), readers=(helpless,)))
    assert (row.status, row.reason) == ("failed", "UnreadableError: helpless: ValueError: unknown codec")


def test_a_missing_backend_is_skipped_with_its_reason(execute: Any, fake: MakeBackend) -> None:
    row = only_row(execute(fake("a", missing="a is not installed: pip install a")))
    assert (row.status, row.reason, row.samples) == ("skipped", "a is not installed: pip install a", ())


def test_a_backend_that_cannot_even_be_asked_is_a_row(execute: Any, fake: MakeBackend) -> None:
    class Broken(FakeBackend):
        def unavailable(self) -> str | None:
            raise ImportError("undefined symbol")

    row = only_row(execute(Broken(name="broken", clock=FakeClock(), log=[])))
    assert (row.status, row.reason) == ("failed", "ImportError: undefined symbol")


def test_write_only(execute: Any, fake: MakeBackend) -> None:
    row = only_row(execute(fake("a", writes_only=True)))
    assert (row.status, row.verified_by) == ("ok", "judge")
    assert [(sample.open, sample.read) for sample in row.samples] == [(None, None)] * 3


def test_an_interrupt_saves_what_there_is(
    execute: Any, fake: MakeBackend, log: list[str], tmp_path: Path
) -> None:
    def interrupt(step: int, data: NDArray[Any]) -> NDArray[Any]:
        if log.count("b") == 4:
            raise KeyboardInterrupt
        return data

    saved = tmp_path / "out" / "s.json"
    with pytest.raises(KeyboardInterrupt):
        execute(fake("a"), fake("b", on_write=interrupt), save=lambda bundle: results.save(bundle, saved))
    bundle = results.load(saved)
    assert not bundle.complete
    assert [len(row.samples) for row in bundle.rows if row.backend == "b"] == [1]
    assert [path.name for path in tmp_path.iterdir()] == ["out"], "nothing is left behind"


def test_an_interrupt_passes_while_a_library_writes_on(
    execute: Any, fake: MakeBackend, log: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its directory cannot be removed then: rmtree finds it empty, and not empty a moment later."""

    def interrupt(step: int, data: NDArray[Any]) -> NDArray[Any]:
        raise KeyboardInterrupt

    def not_empty(path: Path, ignore_errors: bool = False, **handler: Any) -> None:
        if not (ignore_errors or handler):
            raise OSError(39, "Directory not empty")

    backend = fake("a", on_write=interrupt)
    with monkeypatch.context() as patch:
        patch.setattr(shutil, "rmtree", not_empty)
        with pytest.raises(KeyboardInterrupt):
            execute(backend)


def test_it_saves_after_each_run(execute: Any, fake: MakeBackend) -> None:
    saved: list[Bundle] = []
    execute(fake("a"), fake("b"), save=saved.append)
    samples = [sum(len(row.samples) for row in bundle.rows) for bundle in saved]
    assert samples == [0, 0, 0, 1, 2, 3, 4, 5, 6, 6]
    assert [bundle.complete for bundle in saved] == [False] * 9 + [True]


def test_progress_reaches_its_end(execute: Any, fake: MakeBackend) -> None:
    seen: list[runner.Progress] = []
    execute(
        fake("a"),
        fake("b", missing="gone"),
        fake("c", on_write=lambda step, data: 1 / 0),
        sources=(source("one"), source("two")),
        progress=seen.append,
    )
    places = [(state.cases_done, state.share) for state in seen]
    assert places == sorted(places)
    assert {number for number, _ in places} == {0, 1}
    assert places[-1] == (1, 1)


def test_small_arrays_have_repeats_of_their_own(execute: Any, fake: MakeBackend) -> None:
    small = source()
    usual = replace(small, name="usual", shape=(SMALL // 48 + 1, 3, 4))
    bundle = execute(fake("a"), sources=(small, usual), repeats=4)
    assert [len(row.samples) for row in bundle.rows] == [4, 1]


def test_earlier_cases_are_kept_in_front(execute: Any, fake: MakeBackend) -> None:
    before = execute(fake("a"), sources=(source("one"),))
    bundle = execute(fake("a"), sources=(source("two"),), before=before, arguments={"new": True})
    assert [case.source for case in bundle.cases] == ["one", "two"]
    assert bundle.rows[0] == before.rows[0]
    assert (bundle.created, bundle.arguments) == (before.created, {"new": True})
    assert bundle.complete


@pytest.mark.parametrize("zarr_format", [2, 3])
@pytest.mark.parametrize("steps", [1, 12])
def test_baselines(zarr_format: int, steps: int, execute: Any) -> None:
    baselines = [BACKENDS[name] for name in ("raw", "raw-chunks", "mmap")]
    bundle = execute(*baselines, sources=(source(steps=steps),), zarr_formats=(zarr_format,))
    assert [(row.status, row.reason, row.ranked, row.verified_by) for row in bundle.rows] == [
        ("ok", None, False, "numpy")
    ] * 3
    assert [row.stored_chunks for row in bundle.rows] == [1, steps, 1]
    assert {row.stored_bytes for row in bundle.rows} == {steps * 48}
