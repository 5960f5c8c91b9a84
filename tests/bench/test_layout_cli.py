"""The commands of the workloads over layouts: whole-array, small-chunks, cutouts, threads."""

import json
from pathlib import Path
from typing import Any

import measured
import pytest
from click.testing import CliRunner, Result

from fastzarr import cli
from fastzarr.bench import layout_runner, layouts, measurements, report, thread_runner
from fastzarr.bench.layouts import Job, Settings
from fastzarr.bench.workloads.operations import Read, Write

WORKLOADS = ("whole-array", "small-chunks", "cutouts")


def invoke(workload: str, tmp_path: Path, *arguments: object, env: dict[str, str] | None = None) -> Result:
    where = ("--dir", tmp_path, "--out", tmp_path / "out")
    return CliRunner().invoke(cli.main, ["bench", workload, *map(str, (*where, *arguments))], env=env)


def saved(tmp_path: Path, workload: str) -> measurements.Bundle:
    return measurements.load(tmp_path / "out" / f"{workload}.json")


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[Settings]:
    """Every workload is one tiny array; what was asked for."""
    found = list[Settings]()

    def tiny(settings: Settings) -> tuple[Job, ...]:
        found.append(settings)
        source = layouts.image_source((8, 8, 8))
        return tuple(
            layouts.job("tiny", source, [Write(), Read()], chunks=(4, 4, 4), codec=codec, repeats=1)
            for codec in settings.codecs
        )

    for workload in WORKLOADS:
        monkeypatch.setitem(layouts.JOBS, workload, tiny)
    return found


@pytest.fixture
def no_plots(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(report, "render_measured", lambda saved, out: [])


@pytest.mark.parametrize("workload", WORKLOADS)
@pytest.mark.usefixtures("asked", "no_plots")
def test_a_run_leaves_results_and_says_where(workload: str, tmp_path: Path) -> None:
    result = invoke(workload, tmp_path, "--backends", "fastzarr,raw-chunks", "--codecs", "none")
    assert result.exit_code == 0, result.output
    bundle = saved(tmp_path, workload)
    assert (bundle.complete, bundle.workload) == (True, workload)
    assert {(row.backend, row.operation) for row in bundle.rows if row.samples} == {
        (backend, operation) for backend in ("fastzarr", "raw-chunks") for operation in ("write", "read")
    }
    assert bundle.arguments["backends"] == ["raw-chunks", "fastzarr"]
    for name in (f"{workload}.json", f"{workload}.csv"):
        assert str(tmp_path / "out" / name) in result.stdout
    assert "1 case, 2 backends, in" in result.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["out"], "arrays are removed"


@pytest.mark.usefixtures("no_plots")
def test_defaults_environment_and_flags(asked: list[Settings], tmp_path: Path) -> None:
    one = ("--backends", "raw-chunks")
    assert invoke("whole-array", tmp_path, *one).exit_code == 0
    assert invoke("whole-array", tmp_path, *one, "--quick").exit_code == 0
    env = {"ZS_CODECS": "none", "ZS_REPEATS": "2", "ZS_BACKENDS": "raw-chunks"}
    assert invoke("cutouts", tmp_path, env=env).exit_code == 0
    assert invoke("cutouts", tmp_path, "--codecs", "zstd:1", "--repeats", 7, env=env).exit_code == 0
    assert [(s.codecs, s.repeats, s.quick) for s in asked] == [
        ((("none", 0), ("zstd", 3), ("blosc", 5)), 5, False),
        ((("none", 0), ("zstd", 3)), 3, True),
        ((("none", 0),), 2, False),
        ((("zstd", 1),), 7, False),
    ]


@pytest.mark.usefixtures("asked", "no_plots")
def test_json_is_all_there_is_on_stdout(tmp_path: Path) -> None:
    result = invoke("cutouts", tmp_path, "--backends", "raw-chunks", "--codecs", "none", "--json")
    assert json.loads(result.stdout) == json.loads((tmp_path / "out" / "cutouts.json").read_text())


@pytest.mark.usefixtures("asked", "no_plots")
def test_earlier_results_are_kept(tmp_path: Path) -> None:
    for _ in range(2):
        assert invoke("cutouts", tmp_path, "--backends", "raw-chunks", "--codecs", "none").exit_code == 0
    assert len(list((tmp_path / "out").glob("cutouts-*.json"))) == 1


@pytest.mark.usefixtures("no_plots")
def test_threads(tmp_path: Path) -> None:
    env = {"ZS_SHAPE": "8,8,4,2", "ZS_CODEC": "none", "ZS_THREADS": "2,1", "ZS_REPEATS": "1"}
    result = invoke("threads", tmp_path, "--backends", "fastzarr", "--threads", 2, env=env)
    assert result.exit_code == 0, result.output
    bundle = saved(tmp_path, "threads")
    assert [(row.operation, row.threads, len(row.samples)) for row in bundle.rows] == [
        ("write", 2, 1),
        ("read", 2, 1),
    ]
    assert bundle.cases[0].shape == (2, 4, 8, 8)
    assert (bundle.arguments["threads"], bundle.arguments["codec"]) == ([2], ["none"])


@pytest.mark.parametrize(("workload", "runner"), [("cutouts", layout_runner), ("threads", thread_runner)])
@pytest.mark.usefixtures("asked", "no_plots")
def test_an_interrupt_leaves_with_130(
    workload: str, runner: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(plan: Any, save: Any, *_: Any) -> Any:
        save(measured.bundle(workload, complete=False))
        raise KeyboardInterrupt

    monkeypatch.setattr(runner, "run", interrupted)
    result = invoke(workload, tmp_path)
    assert result.exit_code == 130
    assert f"Interrupted. What was measured is in {tmp_path}" in " ".join(result.stderr.split())
    assert not saved(tmp_path, workload).complete


@pytest.mark.parametrize(
    ("workload", "arguments", "env", "texts"),
    [
        (
            "cutouts",
            ("--backends", "z5py"),
            {},
            ("'--backends'", "got backend 'z5py', expected some of raw-"),
        ),
        ("cutouts", ("--backends", ","), {}, ("'--backends'", "got nothing, expected at least one value")),
        ("whole-array", (), {"ZS_CODECS": "lzma"}, ("ZS_CODECS", "got codec 'lzma'")),
        ("small-chunks", ("--repeats", "0"), {}, ("'--repeats'", "0 is not in the range x>=1")),
        ("threads", (), {"ZS_SHAPE": "8,8"}, ("ZS_SHAPE", "got '8,8', expected four whole numbers")),
        ("threads", ("--shape", "8,8,4,2;8,8,4,3"), {}, ("expected one shape, such as 256,256,32,30",)),
        ("threads", ("--threads", "0,1"), {}, ("got '0,1', expected whole numbers from 1, such as 1,2,4",)),
    ],
)
@pytest.mark.usefixtures("asked")
def test_wrong_values_are_named(
    workload: str, arguments: tuple[str, ...], env: dict[str, str], texts: tuple[str, ...], tmp_path: Path
) -> None:
    result = invoke(workload, tmp_path, *arguments, env=env)
    assert result.exit_code == 2
    for text in texts:
        assert text in " ".join(result.stderr.split())
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("bundle", [measured.bundle(), measured.threads_bundle()])
def test_report_of_saved_results(bundle: measurements.Bundle, tmp_path: Path) -> None:
    measurements.save(bundle, tmp_path / "r.json")
    result = CliRunner().invoke(
        cli.main, ["bench", "report", str(tmp_path / "r.json"), "--out", str(tmp_path / "again")]
    )
    assert result.exit_code == 0, result.output
    for name in ("r.csv", "r.html"):
        assert str(tmp_path / "again" / name) in result.stdout
        assert (tmp_path / "again" / name).is_file()
