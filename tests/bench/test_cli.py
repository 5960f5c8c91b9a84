"""The command `fastzarr bench`."""

import json
import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner, Result

from fastzarr import cli
from fastzarr.bench import estimate, report, results, runner

SMALL = ("--sizes", "8,8,4,3", "--codecs", "none", "--backends", "raw,raw-chunks", "--zarr-format", "3")


@pytest.fixture(autouse=True)
def no_waiting_for_the_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "fsync", lambda file: None)


@pytest.fixture
def no_plots(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(report, "render", lambda saved, out: [])


def invoke(*arguments: object, env: dict[str, str] | None = None) -> Result:
    return CliRunner().invoke(cli.main, ["bench", *map(str, arguments)], env=env)


def sequential(tmp_path: Path, *arguments: object, env: dict[str, str] | None = None) -> Result:
    where = ("--dir", tmp_path, "--out", tmp_path / "out")
    return invoke("sequential", *where, *arguments, env=env)


def saved(tmp_path: Path) -> results.Bundle:
    return results.load(tmp_path / "out" / "sequential.json")


def test_a_run_leaves_results_and_says_where(tmp_path: Path) -> None:
    result = sequential(tmp_path, *SMALL, "--repeats", 2)
    assert result.exit_code == 0, result.output
    bundle = saved(tmp_path)
    assert bundle.complete
    assert [(row.backend, len(row.samples)) for row in bundle.rows] == [("raw", 2), ("raw-chunks", 2)]
    assert bundle.arguments["repeats"] == 2
    assert bundle.arguments["backends"] == ["raw", "raw-chunks"]
    assert (tmp_path / "out" / "sequential.csv").is_file()
    for path in ("sequential.json", "sequential.csv"):
        assert str(tmp_path / "out" / path) in result.stdout
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


@pytest.mark.usefixtures("no_plots")
def test_json_is_all_there_is_on_stdout(tmp_path: Path) -> None:
    result = sequential(tmp_path, *SMALL, "--json")
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout) == json.loads((tmp_path / "out" / "sequential.json").read_text())


@pytest.mark.usefixtures("no_plots")
def test_the_environment_gives_defaults_and_flags_override_them(tmp_path: Path) -> None:
    env = {
        "ZS_SIZES": "8,8,4,3;16,8,4,3",
        "ZS_CODECS": "none",
        "ZS_REPEATS": "1",
        "ZS_BACKENDS": "raw-chunks",
        "ZS_KEEPBITS": "4",
    }
    assert sequential(tmp_path, env=env).exit_code == 0
    arguments = saved(tmp_path).arguments
    assert arguments["shapes"] == [[3, 4, 8, 8], [3, 4, 8, 16]]
    assert (arguments["codecs"], arguments["repeats"], arguments["keepbits"]) == (["none"], 1, 4)
    assert (arguments["backends"], arguments["zarr_format"]) == (["raw-chunks"], [2, 3])
    flags = (*SMALL, "--repeats", 2, "--keepbits", 23, "--codecs", "none,zstd:1", "--backends", "mmap,raw")
    assert sequential(tmp_path, *flags, env=env).exit_code == 0
    arguments = saved(tmp_path).arguments
    assert arguments["shapes"] == [[3, 4, 8, 8]]
    assert (arguments["codecs"], arguments["repeats"]) == (["none", "zstd:1"], 2)
    assert (arguments["backends"], arguments["keepbits"]) == (["raw", "mmap"], 23)


@pytest.mark.usefixtures("no_plots")
def test_a_run_in_parts(tmp_path: Path) -> None:
    first = sequential(tmp_path, *SMALL)
    assert "1 case, 2 backends, in" in first.stderr
    assert [row.samples[-1].repeat for row in saved(tmp_path).rows] == [5, 5], "small arrays have more"
    created, rows = saved(tmp_path).created, saved(tmp_path).rows
    second = sequential(tmp_path, *SMALL[2:], "--sizes", "8,8,4,3;16,8,4,3", "--resume")
    assert second.exit_code == 0, second.output
    assert [case.shape for case in saved(tmp_path).cases] == [(3, 4, 8, 8), (3, 4, 8, 16)]
    assert (saved(tmp_path).created, saved(tmp_path).rows[:2]) == (created, rows)
    assert saved(tmp_path).complete
    wrong = sequential(tmp_path, *SMALL, "--repeats", 2, "--resume")
    assert wrong.exit_code == 2
    assert "--resume: the earlier results are of repeats 3, this run of 2" in " ".join(wrong.stderr.split())
    assert len(saved(tmp_path).cases) == 2, "the earlier results stay"


@pytest.mark.usefixtures("no_plots")
def test_input_replaces_the_synthetic_field(tmp_path: Path) -> None:
    np.save(tmp_path / "sst.npy", np.ones((3, 4, 5)))
    result = sequential(tmp_path, *SMALL[2:], "--input", tmp_path / "sst.npy", "--repeats", 1)
    assert result.exit_code == 0, result.output
    assert [case.source for case in saved(tmp_path).cases] == ["sst.npy"]
    assert sequential(tmp_path, *SMALL, "--input", tmp_path / "sst.npy", "--repeats", 1).exit_code == 0
    assert [case.source for case in saved(tmp_path).cases] == ["synthetic", "sst.npy"]


def test_two_inputs_of_one_name_are_refused(tmp_path: Path) -> None:
    for directory in ("a", "b"):
        (tmp_path / directory).mkdir()
        np.save(tmp_path / directory / "sst.npy", np.ones((3, 4, 5)))
    inputs = ("--input", tmp_path / "a" / "sst.npy", "--input", tmp_path / "b" / "sst.npy")
    result = sequential(tmp_path, *SMALL[2:], *inputs)
    assert result.exit_code == 2
    assert "--input: got two of name 'sst.npy' and one shape; rename one file" in result.stderr


@pytest.mark.parametrize(
    ("arguments", "env", "texts"),
    [
        (("--sizes", "8,8"), {}, ("'--sizes'", "got '8,8', expected four whole numbers")),
        ((), {"ZS_SIZES": "8,8"}, ("'--sizes'", "ZS_SIZES", "got '8,8'")),
        (("--codecs", "lzma"), {}, ("'--codecs'", "got codec 'lzma', expected some of none,zstd,blosc,zlib")),
        ((), {"ZS_CODECS": "zstd:99"}, ("ZS_CODECS", "got level '99' for codec zstd")),
        (
            ("--backends", "hdf5"),
            {},
            ("'--backends'", "got backend 'hdf5', expected some of raw,raw-chunks,mmap"),
        ),
        ((), {"ZS_BACKENDS": "zarrjl"}, ("ZS_BACKENDS", "got backend 'zarrjl'")),
        (("--repeats", "0"), {}, ("'--repeats'", "0 is not in the range x>=1")),
        ((), {"ZS_REPEATS": "many"}, ("ZS_REPEATS", "'many' is not a valid integer range")),
        (("--keepbits", "24"), {}, ("'--keepbits'", "24 is not in the range 0<=x<=23")),
        (("--zarr-format", "4"), {}, ("'--zarr-format'", "got '4', expected 2, 3 or 2,3")),
        (
            ("--input", "/nowhere.nc::sst"),
            {},
            ("--input: got '/nowhere.nc::sst', but there is no such file",),
        ),
        (
            ("--dir", "/nowhere"),
            {},
            ("'--dir'", "got '/nowhere', which does not exist; make it: mkdir -p /nowhere"),
        ),
    ],
)
def test_wrong_values_are_named(
    arguments: tuple[str, ...], env: dict[str, str], texts: tuple[str, ...], tmp_path: Path
) -> None:
    result = invoke("sequential", "--out", tmp_path / "out", *arguments, env=env)
    assert result.exit_code == 2
    output = " ".join(result.stderr.split())
    for text in texts:
        assert text in output
    assert not (tmp_path / "out").exists()


def test_too_large_a_size_is_refused_before_anything_runs(tmp_path: Path) -> None:
    result = sequential(tmp_path, *SMALL[2:], "--sizes", "100000,100000,100,50")
    assert result.exit_code == 2
    assert "of memory, and" in result.stderr
    assert "use smaller sizes" in result.stderr


def test_an_interrupt_leaves_with_130(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: Any) -> Any:
        raise KeyboardInterrupt

    monkeypatch.setattr(estimate, "seconds", lambda *_: [60.0])
    monkeypatch.setattr(runner.sequential, "run", interrupted)
    result = sequential(tmp_path, *SMALL)
    assert result.exit_code == 130
    assert f"Interrupted. What was measured is in {tmp_path}" in " ".join(result.stderr.split())
    assert not saved(tmp_path).complete


def interrupted(process: "subprocess.Popen[str]", number: signal.Signals) -> str:
    """What it wrote to stderr until it ended. A signal that comes while Python ends an object is lost."""
    for _ in range(6):
        process.send_signal(number)
        with suppress(subprocess.TimeoutExpired):
            return process.communicate(timeout=15)[1]
    process.kill()
    return process.communicate()[1]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_leaves_valid_results_and_nothing_else(number: signal.Signals, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "fastzarr.cli", "bench", "sequential", *SMALL, "--repeats", "100000"]
    where = ["--dir", str(tmp_path), "--out", str(tmp_path / "out")]
    process = subprocess.Popen([*command, *where], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    deadline = time.monotonic() + 60
    while not (tmp_path / "out" / "sequential.json").exists() or not any(
        r.samples for r in saved(tmp_path).rows
    ):
        assert process.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.05)
    stderr = interrupted(process, number)
    assert process.returncode == 130, stderr
    assert "Interrupted. What was measured is in" in stderr
    assert not saved(tmp_path).complete
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_report_of_saved_results(tmp_path: Path) -> None:
    assert sequential(tmp_path, *SMALL, "--repeats", 1).exit_code == 0
    result = invoke("report", tmp_path / "out" / "sequential.json", "--out", tmp_path / "again")
    assert result.exit_code == 0, result.output
    assert (tmp_path / "again" / "sequential.csv").is_file()


def test_report_of_a_file_that_is_no_result(tmp_path: Path) -> None:
    (tmp_path / "r.json").write_text('{"schema_version": 0}')
    result = invoke("report", tmp_path / "r.json")
    assert result.exit_code == 2
    assert "got schema_version 0, expected 2" in result.stderr


@pytest.mark.parametrize(
    ("missing", "arguments", "extra"),
    [
        ("click", ["--help"], "cli"),
        ("psutil", ["bench", "sequential", "--help"], "bench"),
        ("matplotlib", ["bench", "wkw", "--help"], "bench"),
        ("granian", ["serve", "--help"], "serve"),
    ],
)
def test_a_missing_library_is_named_with_the_remedy(missing: str, arguments: list[str], extra: str) -> None:
    program = f"import sys; sys.modules[{missing!r}] = None; from fastzarr.cli import main; main({arguments})"
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert result.returncode == 1
    assert f"needs {missing}, which is not installed: pip install 'fastzarr[{extra}]'" in result.stderr


def test_the_server_needs_no_library_of_the_benchmark() -> None:
    program = (
        "import sys; sys.modules['psutil'] = sys.modules['matplotlib'] = None; "
        "from fastzarr.cli import main; main(['serve', '--help'])"
    )
    subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)
