"""Which cases an earlier run leaves to do, and when it is no part of this run."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from fakes import FakeBackend, FakeClock, source

from fastzarr.bench import host, runner
from fastzarr.bench.cases import Repeats, jobs
from fastzarr.bench.errors import BenchmarkError
from fastzarr.bench.results import Bundle, SourceCommit
from fastzarr.bench.resume import finished

ARGUMENTS = {
    "backends": ["a", "b"],
    "repeats": 1,
    "small_repeats": 2,
    "keepbits": 10,
    "seed": 1,
    "dir": ".",
    "codecs": ["none"],
}


@pytest.fixture
def before(tmp_path: Path) -> Bundle:
    """Two cases on `a`, which works, and `b`, which is not installed."""
    clock, log = FakeClock(), list[str]()
    backends = (
        FakeBackend(name="a", clock=clock, log=log, packages=("a",)),
        FakeBackend(name="b", clock=clock, log=log, packages=("b",), missing="gone"),
    )
    sources = (source("one"), source("two"))
    plan = runner.Plan(
        jobs=tuple(jobs(sources, (2,), (("none", 0),), Repeats(usual=1, small=2))),
        before=None,
        backends=backends,
        readers=(FakeBackend(name="judge", clock=clock, log=log, packages=("judge",)),),
        own_sync={},
        directory=tmp_path,
        seed=1,
        arguments=ARGUMENTS,
    )
    return runner.run(plan, lambda bundle: None)


def test_finished_cases_are_kept(before: Bundle, tmp_path: Path) -> None:
    assert finished(before, ARGUMENTS | {"codecs": ["zstd"]}, tmp_path) == before


@pytest.mark.parametrize(
    "cut",
    [
        lambda rows: rows[:-1],
        lambda rows: (*rows[:2], replace(rows[2], samples=rows[2].samples[:1]), *rows[3:]),
        lambda rows: rows[:2],
    ],
    ids=["a backend is missing", "a repeat is missing", "nothing of it is there"],
)
def test_the_case_that_was_interrupted_is_not(
    cut: Callable[[Any], Any], before: Bundle, tmp_path: Path
) -> None:
    found = finished(replace(before, rows=cut(before.rows)), ARGUMENTS, tmp_path)
    assert [case.source for case in found.cases] == ["one"]
    assert found.rows == before.rows[:2]


def test_a_backend_that_failed_late_is_done(before: Bundle, tmp_path: Path) -> None:
    row = replace(before.rows[0], samples=before.rows[0].samples[:1], status="failed", reason="worn out")
    changed = replace(before, rows=(row, *before.rows[1:]))
    assert finished(changed, ARGUMENTS, tmp_path) == changed


@pytest.mark.parametrize(
    ("change", "text"),
    [
        (
            lambda b: {"arguments": ARGUMENTS | {"repeats": 9}},
            "of repeats 9, this run of 1; make it the same",
        ),
        (
            lambda b: {"arguments": ARGUMENTS | {"backends": ["a"]}},
            "of backends ['a'], this run of ['a', 'b']",
        ),
        (lambda b: {"packages": {**b.packages, "numpy": "1.0"}}, "are of numpy 1.0, this run of"),
        (lambda b: {"packages": {**b.packages, "zarr-next": "9"}}, "are of zarr-next 9, this run of None"),
        (lambda b: {"host": replace(b.host, cpu="another")}, "are of cpu another, this run of"),
        (lambda b: {"source_commit": SourceCommit(commit="abc", dirty=False)}, "are of commit"),
    ],
)
def test_what_is_no_part_of_the_same_run_is_named(
    change: Callable[[Bundle], Any], text: str, before: Bundle, tmp_path: Path
) -> None:
    with pytest.raises(BenchmarkError) as error:
        finished(replace(before, **change(before)), ARGUMENTS, tmp_path)
    assert str(error.value).startswith("--resume: the earlier results are")
    assert text in str(error.value)
    assert str(error.value).endswith("start anew with another --out")


def test_another_mount_point_is_no_part(
    before: Bundle, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    elsewhere = replace(before.host.file_system, mount_point="/elsewhere")
    monkeypatch.setattr(host, "describe", lambda directory: replace(before.host, file_system=elsewhere))
    with pytest.raises(BenchmarkError, match=r"of mount point .*, this run of /elsewhere"):
        finished(before, ARGUMENTS, tmp_path)
