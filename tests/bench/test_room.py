"""Whether a run fits is said before anything runs."""

from dataclasses import replace
from pathlib import Path

import pytest
from fakes import source

from fastzarr.bench import host, room
from fastzarr.bench.cases import Job, Repeats, jobs
from fastzarr.bench.errors import BenchmarkError

GIB = 2**30


def of_size(name: str, steps: int, step: int) -> Job:
    made = replace(source(name), shape=(steps, step // 4))
    return next(jobs((made,), (3,), (("none", 0),), Repeats(usual=1, small=1)))


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """8 GiB of memory and 4 GiB of disk."""
    monkeypatch.setattr(host, "available_memory", lambda: 8 * GIB)
    monkeypatch.setattr(host, "free_space", lambda directory: 4 * GIB)


@pytest.mark.usefixtures("machine")
def test_what_fits_passes(tmp_path: Path) -> None:
    room.check([of_size("a", 50, GIB // 16), of_size("b", 50, GIB // 32)], tmp_path)
    room.check([], tmp_path)


@pytest.mark.usefixtures("machine")
@pytest.mark.parametrize(
    ("steps", "step", "text"),
    [
        (64, GIB // 8, r"--sizes or --input: big .* of 8.00 GiB needs 10.25 GiB of memory, and 8.00 GiB are"),
        (2, 3 * GIB, r"--sizes or --input: big .* of 6.00 GiB needs 15.25 GiB of memory"),
        (
            64,
            GIB // 16,
            r"--dir: big .* of 4.00 GiB needs 4.31 GiB in .*, and 4.00 GiB are free; use another",
        ),
    ],
)
def test_what_does_not_fit_is_named(steps: int, step: int, text: str, tmp_path: Path) -> None:
    with pytest.raises(BenchmarkError, match=text):
        room.check([of_size("small", 2, 8), of_size("big", steps, step)], tmp_path)


@pytest.mark.usefixtures("machine")
def test_a_directory_in_memory_counts_twice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = host.describe(tmp_path)
    in_memory = replace(found, file_system=replace(found.file_system, kind="tmpfs"))
    monkeypatch.setattr(host, "describe", lambda directory: in_memory)
    monkeypatch.setattr(host, "free_space", lambda directory: 32 * GIB)
    room.check([of_size("a", 50, GIB // 16)], tmp_path)
    with pytest.raises(BenchmarkError, match="a --dir that is not in memory"):
        room.check([of_size("a", 64, GIB // 16)], tmp_path)
