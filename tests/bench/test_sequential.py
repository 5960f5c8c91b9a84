"""The sequential workload on real files."""

import gc
import os
from pathlib import Path

import numpy as np
import pytest

from fastzarr.bench.backends.base import Case
from fastzarr.bench.backends.registry import BACKENDS
from fastzarr.bench.workloads import sequential


def case(zarr_format: int = 3) -> Case:
    return Case(
        shape=(3, 2, 4),
        dtype=np.dtype("c8"),
        codec="none",
        level=0,
        zarr_format=3 if zarr_format == 3 else 2,
        fill_value=0,
    )


STEPS = np.arange(24, dtype="c8").reshape(3, 2, 4)


@pytest.mark.parametrize("name", ["raw", "raw-chunks", "mmap"])
@pytest.mark.parametrize("zarr_format", [2, 3])
def test_round_trip(name: str, zarr_format: int, tmp_path: Path) -> None:
    ticks, cpu_ticks = iter(range(100)), iter(range(0, 300, 3))
    out = np.zeros((2, 4), "c8")
    phases = sequential.run(
        BACKENDS[name],
        case(zarr_format),
        tmp_path / "a",
        STEPS,
        out,
        lambda: float(next(ticks)),
        lambda: float(next(cpu_ticks)),
    )
    assert (phases.create, phases.steps, phases.sync, phases.open, phases.read) == (1, 1, 1, 1, 1)
    assert (phases.steps_cpu, phases.read_cpu) == (3, 3)
    np.testing.assert_array_equal(out, STEPS[-1])
    assert gc.isenabled()


@pytest.mark.parametrize(("zarr_format", "key"), [(2, "1.0.0"), (3, "c/1/0/0")])
def test_raw_chunks_have_the_keys_of_zarr(zarr_format: int, key: str, tmp_path: Path) -> None:
    backend = BACKENDS["raw-chunks"]
    writer = backend.create(tmp_path / "a", case(zarr_format))
    for number, step in enumerate(STEPS):
        writer.write(number, step)
    files = sorted(str(f.relative_to(tmp_path / "a")) for f in (tmp_path / "a").rglob("*") if f.is_file())
    assert files == [key.replace("1", str(step)) for step in range(3)]
    assert (tmp_path / "a" / key).read_bytes() == STEPS[1].tobytes()


def test_sync_reaches_every_file_and_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a" / "c" / "0").mkdir(parents=True)
    (tmp_path / "a" / "c" / "0" / "1").write_bytes(b"x")
    (tmp_path / "a" / "zarr.json").write_bytes(b"x")
    synced: list[Path] = []
    monkeypatch.setattr(os, "fsync", lambda file: synced.append(Path(f"/proc/self/fd/{file}").readlink()))
    sequential.sync(tmp_path / "a")
    below = ["a/c/0/1", "a/c/0", "a/c", "a/zarr.json", "a", "."]
    assert sorted(synced) == sorted((tmp_path / path).resolve() for path in below)


def test_garbage_collection_is_on_again_after_an_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        sequential.run(BACKENDS["raw"], case(), tmp_path / "no" / "a", STEPS, STEPS[0].copy())
    assert gc.isenabled()


def test_writers_and_readers_are_closed_after_an_error(tmp_path: Path) -> None:
    closed: list[str] = []

    class Broken:
        def create(self, path: Path, case: Case) -> "Broken":
            path.mkdir()
            return self

        def open(self, path: Path, case: Case) -> "Broken":
            return self

        def write(self, step: int, data: object) -> None:
            if self.writes_fail:
                raise OSError("full")

        def read(self, step: int, out: object) -> None:
            raise OSError("gone")

        def close(self) -> None:
            closed.append("closed")

    for number, Broken.writes_fail in enumerate((True, False)):  # type: ignore[attr-defined]
        with pytest.raises(OSError, match="gone" if number else "full"):
            sequential.run(Broken(), case(), tmp_path / str(number), STEPS, STEPS[0].copy())  # type: ignore[arg-type]
    assert closed == ["closed"] * 3


def test_a_short_file_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"12345")
    reader = BACKENDS["raw"].open(tmp_path / "a", case())
    assert reader is not None
    with pytest.raises(EOFError, match="ended 59 bytes before"):
        reader.read(0, STEPS[0].copy())
    reader.close()
