"""Saved results: round trip, CSV, and what is said of files that are none."""

import csv
import dataclasses
import json
from pathlib import Path
from typing import Any

import pytest

from fastzarr.bench import results
from fastzarr.bench.errors import BenchmarkError
from fastzarr.bench.results import Bundle, CaseRecord, FileSystem, Host, Row, Sample, SourceCommit


def sample(repeat: int, **changes: Any) -> Sample:
    times: dict[str, Any] = {"create": 0.25, "steps": 1.0, "sync": 1.0, "open": 0.125, "read": 0.5}
    times |= {"steps_cpu": 1.5, "read_cpu": 0.25}
    return Sample(**{"repeat": repeat, "position": repeat % 2, "load_average": 0.5} | times | changes)


def row(backend: str, **changes: Any) -> Row:
    fields: dict[str, Any] = {
        "case": "field v3",
        "backend": backend,
        "kind": "library",
        "status": "ok",
        "reason": None,
        "ranked": True,
        "stored_bytes": 3 * 2**20,
        "stored_chunks": 2,
        "verified_by": "zarr",
        "peak_memory_bytes": 4096,
        "samples": (sample(1), sample(2, read=0.25)),
    }
    return Row(**fields | changes)


@pytest.fixture
def bundle() -> Bundle:
    file_system = FileSystem(
        path="/data",
        kind="ext4",
        device="/dev/sda1",
        mount_point="/",
        options="rw,relatime",
        free_bytes=2**40,
    )
    host = Host(
        cpu="Some CPU",
        logical_cores=4,
        physical_cores=None,
        affinity=(0, 2),
        memory_bytes=2**34,
        system="Linux 6.1 x86_64",
        python="CPython 3.13.1",
        governor=None,
        load_average=(0.5, 1, 0.25),
        file_system=file_system,
    )
    case = CaseRecord(
        name="field v3",
        source="field",
        shape=(2, 128, 1024),
        dtype="float64",
        zarr_format=3,
        codec="zstd",
        level=3,
        total_bytes=2**21,
    )
    written_only = (sample(1, open=None, read=None, read_cpu=None),)
    rows = (
        row("a"),
        row("b", status="skipped", reason='not here, "b"', ranked=False, stored_bytes=None, samples=()),
        row("c", samples=written_only),
    )
    return Bundle(
        schema_version=results.SCHEMA_VERSION,
        workload="sequential",
        created="2026-01-02T03:04:05+00:00",
        arguments={"repeats": 2, "sizes": [[1, 2]]},
        complete=True,
        host=host,
        packages={"numpy": "2.2.0"},
        source_commit=SourceCommit(commit="abc", dirty=True),
        cases=(case,),
        rows=rows,
    )


def test_round_trip(bundle: Bundle, tmp_path: Path) -> None:
    path = tmp_path / "new" / "r.json"
    results.save(bundle, path)
    assert results.load(path) == bundle
    no_commit = dataclasses.replace(bundle, source_commit=None, complete=False)
    results.save(no_commit, path)
    assert results.load(path) == no_commit
    assert [p.name for p in path.parent.iterdir()] == ["r.json"]


def test_an_interrupted_save_leaves_the_file_before(
    bundle: Bundle, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "r.json"
    results.save(bundle, path)

    def half(self: Path, text: str, encoding: str) -> int:
        with self.open("w") as file:
            file.write(text[:100])
        raise KeyboardInterrupt

    monkeypatch.setattr(Path, "write_text", half)
    with pytest.raises(KeyboardInterrupt):
        results.save(dataclasses.replace(bundle, complete=False), path)
    assert results.load(path) == bundle


def test_csv(bundle: Bundle, tmp_path: Path) -> None:
    results.save_csv(bundle, tmp_path / "r.csv")
    with (tmp_path / "r.csv").open(newline="") as file:
        lines = list(csv.DictReader(file))
    assert tuple(lines[0])[:14] == (
        "backend", "codec", "Nx", "Ny", "Nz", "Nt", "total_bytes", "on_disk_bytes", "repeat",
        "write_sec", "read_sec", "write_MBps", "read_MBps", "threads",
    )  # fmt: skip
    assert [(line["backend"], line["repeat"]) for line in lines] == [
        ("a", "1"),
        ("a", "2"),
        ("b", ""),
        ("c", "1"),
    ]
    first = lines[0]
    assert [first[key] for key in ("Nx", "Ny", "Nz", "Nt", "threads")] == ["1024", "128", "1", "2", "2"]
    assert [float(first[key]) for key in ("write_sec", "read_sec", "write_MBps", "read_MBps")] == [
        2,
        0.5,
        1,
        4,
    ]
    assert float(lines[1]["read_MBps"]) == 8
    assert (lines[2]["status"], lines[2]["reason"], lines[2]["write_MBps"]) == (
        "skipped",
        'not here, "b"',
        "",
    )
    assert (first["steps_cpu_sec"], first["read_cpu_sec"], lines[3]["read_cpu_sec"]) == ("1.5", "0.25", "")
    assert (lines[3]["open_sec"], lines[3]["read_sec"], lines[3]["read_MBps"]) == ("", "", "")


def change(data: dict[str, Any], *keys: Any, value: Any) -> None:
    for key in keys[:-1]:
        data = data[key]
    data[keys[-1]] = value


@pytest.mark.parametrize(
    ("keys", "value", "text"),
    [
        (
            ("schema_version",),
            99,
            "got schema_version 99, expected 2; use the version of fastzarr that wrote it",
        ),
        (("complete",), "yes", "complete: got 'yes', expected bool"),
        (("created",), 5, "created: got 5, expected str"),
        (
            ("rows", 0, "status"),
            "fine",
            "rows[0]: status: got 'fine', expected one of ok, unequal, skipped, failed",
        ),
        (("rows", 0, "samples", 1, "steps"), "1", "rows[0]: samples[1]: steps: got '1', expected float"),
        (("rows", 0, "stored_bytes"), True, "rows[0]: stored_bytes: got True, expected int"),
        (("host",), {"cpu": "x"}, "host: got ['cpu'], expected the keys ["),
        (("rows",), 3, "rows: got 3, expected a list"),
        (("arguments",), 3, "arguments: got 3, expected an object"),
    ],
)
def test_what_does_not_fit_is_named(
    keys: tuple[Any, ...], value: Any, text: str, bundle: Bundle, tmp_path: Path
) -> None:
    path = tmp_path / "r.json"
    results.save(bundle, path)
    data = json.loads(path.read_text())
    change(data, *keys, value=value)
    path.write_text(json.dumps(data))
    with pytest.raises(BenchmarkError) as error:
        results.load(path)
    assert str(error.value).startswith(f"{path}: {text}")


@pytest.mark.parametrize(
    ("content", "text"),
    [("", "not a result file"), ("{]", "not a result file"), ("[]", "got schema_version None, expected 2")],
)
def test_files_that_are_no_results(content: str, text: str, tmp_path: Path) -> None:
    (tmp_path / "r.json").write_text(content)
    with pytest.raises(BenchmarkError, match=text):
        results.load(tmp_path / "r.json")
    with pytest.raises(BenchmarkError, match="cannot be read: No such file"):
        results.load(tmp_path / "none.json")
