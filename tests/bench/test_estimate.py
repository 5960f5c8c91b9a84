"""The guess of the duration grows with what there is to do."""

import os
from dataclasses import replace
from pathlib import Path

import pytest
from fakes import FakeBackend, FakeClock, source

from fastzarr.bench import estimate
from fastzarr.bench.cases import Job, Repeats, jobs
from fastzarr.bench.workloads import sequential


@pytest.fixture(autouse=True)
def no_waiting_for_the_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "fsync", lambda file: None)


def job(steps: int, repeats: int) -> Job:
    made = replace(source(), shape=(steps, 2**18))
    return next(jobs((made,), (2,), (("none", 0),), Repeats(usual=repeats, small=repeats)))


def seconds(tmp_path: Path, *to_do: Job, contenders: int = 1, **of_the_first: str) -> list[float]:
    clock, log = FakeClock(), list[str]()
    pilot = FakeBackend(name="pilot", clock=clock, log=log)
    backends = [FakeBackend(name=f"{n}", clock=clock, log=log) for n in range(contenders)]
    backends[0] = replace(backends[0], **of_the_first)  # type: ignore[arg-type]
    return estimate.seconds(to_do, backends, pilot, tmp_path)


def test_it_counts_repeats_size_and_contenders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    phases = sequential.Phases(create=0, steps=3, steps_cpu=3, sync=1, open=0, read=2, read_cpu=2)
    monkeypatch.setattr(sequential, "run", lambda *_: phases)
    of_one = 1.2 * (4 * (4 + 4 * 0.0015) + (4 + 2.5) * 2)
    making = 4 / 150
    assert seconds(tmp_path, job(4, 3)) == [pytest.approx(of_one + making)]
    assert seconds(tmp_path, job(4, 3), job(8, 3), contenders=3) == [
        pytest.approx(3 * of_one + making),
        pytest.approx(6 * of_one + 2 * making),
    ]
    assert seconds(tmp_path, job(4, 3), contenders=2, missing="gone") == [pytest.approx(of_one + making)]
    assert seconds(tmp_path, job(4, 3), kind="baseline") == [pytest.approx(making)]


def test_each_codec_is_tried_once_and_nothing_is_left_behind(tmp_path: Path) -> None:
    clock, log = FakeClock(), list[str]()
    pilot = FakeBackend(name="pilot", clock=clock, log=log)
    found = estimate.seconds([job(4, 3), job(8, 3)], [pilot], pilot, tmp_path)
    assert 0 < found[0] < found[1]
    assert log == ["pilot", "pilot"], "a warm-up and a try"
    assert list(tmp_path.iterdir()) == []
