"""Every way in which a program can fail is one cell, and the rest of the matrix is there."""

import csv
import dataclasses
import io
import json
import sys
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from rich.console import Console

from fastzarr import cli
from fastzarr.bench import report
from fastzarr.bench.compat import (
    cases,
    causes,
    implementations,
    judge,
    results,
    runner,
    settings,
    tally,
    values,
)
from fastzarr.bench.compat.protocol import Program
from fastzarr.bench.errors import BenchmarkError

FAKE = Path(__file__).with_name("fake_program.py")
PATIENCE = 30.0
"""Seconds for an answer of a program that starts in a fraction of one."""


def fake(fault: str) -> implementations.Source:
    command = (sys.executable, str(FAKE), fault)
    return implementations.Source(name=fault, shown=("fake", fault), command=lambda: command)


def run(
    directory: Path, *, writers: tuple[str, ...], readers: tuple[str, ...], timeout: float = PATIENCE
) -> results.Matrix:
    plan = runner.Plan(
        sources=tuple(fake(fault) for fault in dict.fromkeys((*writers, *readers))),
        writers=writers,
        readers=readers,
        cases=cases.cases((3,), ("none",), quick=True),
        directory=directory,
        timeout=timeout,
        arguments={},
    )
    return runner.run(plan)


def statuses(matrix: results.Matrix, writer: str, reader: str) -> set[tuple[str, str | None]]:
    return {(c.status, c.message) for c in matrix.cells() if (c.writer, c.reader) == (writer, reader)}


READING = {
    "nothing": ("pass", None),
    "crashes": ("read_fail", "ended by SIGABRT: last words"),
    "leaves": ("read_fail", "ended with exit code 3"),
    "babbles": ("read_fail", "answered 'Loading data ...', expected a JSON object with status "
                "ok, unsupported, failed, not_available"),
    "answers a list": ("read_fail", "answered '[]', expected a JSON object with status "
                       "ok, unsupported, failed, not_available"),
    "fails": ("read_fail", "ValueError: two lines"),
    "cannot": ("unsupported", "no float32"),
    "leaves no file": ("read_fail", "answered ok, but wrote no elements"),
    "not available": ("not_available", "the moon is wrong"),
}  # fmt: skip
WRITING = {
    "crashes": ("write_fail", "ended by SIGABRT: last words"),
    "fails": ("write_fail", "ValueError: two lines"),
    "cannot": ("unsupported", "no float32"),
    "writes nothing": ("write_fail", "answered ok, but no zarr.json in the directory"),
    "writes another codec": ("write_fail", "answered ok, but codec gzip is stored, expected none"),
    "not available": ("not_available", "the moon is wrong"),
}


@pytest.fixture(scope="module")
def matrix(tmp_path_factory: pytest.TempPathFactory) -> results.Matrix:
    writers, readers = (
        ("nothing", *WRITING),
        (*READING, "turns axes", "loses the sign of zero", "reads too few"),
    )
    return run(tmp_path_factory.mktemp("compat"), writers=writers, readers=readers)


@pytest.mark.parametrize("fault", READING)
def test_what_becomes_of_a_reader(matrix: results.Matrix, fault: str) -> None:
    assert statuses(matrix, "nothing", fault) == {READING[fault]}


@pytest.mark.parametrize("fault", WRITING)
def test_what_becomes_of_a_writer(matrix: results.Matrix, fault: str) -> None:
    for reader in matrix.readers:
        assert statuses(matrix, fault, reader) == {WRITING[fault]}


def test_another_shape_is_told_from_another_value(matrix: results.Matrix) -> None:
    even, edge = list(cases.EVEN_SHAPE), list(cases.EDGE_SHAPE)
    assert statuses(matrix, "nothing", "turns axes") == {
        ("shape_mismatch", f"got shape {shape[::-1]}, expected {shape}") for shape in (even, edge)
    }
    size = 4 * 4 * 24 * 32
    assert ("value_mismatch", f"got {size - 4} bytes, expected {size}") in statuses(
        matrix, "nothing", "reads too few"
    )


def test_values_are_compared_by_bits(matrix: results.Matrix) -> None:
    found = {
        cell.case.name: (cell.status, cell.message)
        for cell in matrix.cells()
        if (cell.writer, cell.reader) == ("nothing", "loses the sign of zero")
    }
    assert found["v3 none uint16"][0] == "pass"
    (case,) = (case for case in matrix.cases if case.name == "v3 none float32 zeros")
    negative = int(np.count_nonzero(values.values(case).view("<u4") == 1 << 31))
    assert negative >= 384
    first = "first at [0, 0, 0]: got 0.0 (0x00000000), expected -0.0 (0x80000000)"
    assert found[case.name] == ("value_mismatch", f"{negative} of 3072 elements differ, {first}")


def test_a_program_that_hangs_is_ended_and_after_three_times_left_alone() -> None:
    with Program((sys.executable, "-c", "import time; time.sleep(60)"), timeout=0.2) as program:
        answers = [program.ask(operation="read") for _ in range(5)]
    assert [a.message for a in answers[:3]] == ["no answer within 0.2 s"] * 3
    assert [a.message for a in answers[3:]] == [
        "not asked: 3 questions before had no answer within 0.2 s"
    ] * 2
    assert {a.status for a in answers} == {"failed"}


def test_a_hang_is_a_cell_and_the_next_reader_reads(tmp_path: Path) -> None:
    matrix = run(tmp_path, writers=("nothing",), readers=("hangs", "nothing"), timeout=2)
    assert statuses(matrix, "nothing", "hangs") == {
        ("read_fail", "no answer within 2 s"),
        ("read_fail", "not asked: 3 questions before had no answer within 2 s"),
    }
    assert statuses(matrix, "nothing", "nothing") == {("pass", None)}


def test_a_command_that_does_not_exist_is_not_available() -> None:
    with Program(("/no/such/program",), timeout=1) as program:
        answer = program.ask(operation="describe")
    assert (answer.status, answer.message) == ("not_available", "/no/such/program: No such file or directory")


def test_a_writer_must_store_what_it_was_asked_for(tmp_path: Path) -> None:
    matrix = run(tmp_path, writers=("writes no shards", "writes half a document"), readers=("nothing",))
    sharded = {
        row.message for row in matrix.rows if row.writer == "writes no shards" and "sharded" in row.case
    }
    assert sharded == {"answered ok, but no sharding codec is stored"}
    (half,) = {row.message for row in matrix.rows if row.writer == "writes half a document"}
    assert half is not None
    assert half.startswith("answered ok, but zarr.json cannot be understood: JSONDecodeError")


def test_nothing_is_left_behind(matrix: results.Matrix, tmp_path: Path) -> None:
    run(tmp_path, writers=("nothing", "crashes"), readers=("nothing",))
    assert list(tmp_path.iterdir()) == []
    assert len(matrix.rows) == len(matrix.cases) * len(matrix.writers)


def test_a_matrix_is_saved_whole(matrix: results.Matrix, tmp_path: Path) -> None:
    path = tmp_path / "compat.json"
    results.save(matrix, path)
    assert results.load(path) == matrix
    assert str(tmp_path) not in path.read_text(encoding="utf-8").replace(
        str(matrix.host.file_system.path), ""
    )


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("[]", "got workload None, expected compat"),
        ('{"schema_version": 1, "workload": "sequential"}', "got workload 'sequential', expected compat"),
        ('{"schema_version": 9, "workload": "compat"}', "got schema_version 9, expected 1"),
        ("{", "not a result file"),
    ],
)
def test_another_file_is_refused(tmp_path: Path, text: str, problem: str) -> None:
    path = tmp_path / "compat.json"
    path.write_text(text)
    with pytest.raises(BenchmarkError) as raised:
        results.load(path)
    assert problem in str(raised.value)


def test_csv_has_the_columns_of_the_reference_and_a_line_for_each_cell(
    matrix: results.Matrix, tmp_path: Path
) -> None:
    results.save_csv(matrix, tmp_path / "compat.csv")
    lines = list(csv.DictReader(io.StringIO((tmp_path / "compat.csv").read_text(encoding="utf-8"))))
    assert list(lines[0])[:5] == ["writer", "reader", "codec", "zarr_format", "status"]
    assert [(line["writer"], line["reader"], line["status"]) for line in lines] == [
        (cell.writer, cell.reader, cell.status) for cell in matrix.cells()
    ]


def test_values_hold_what_readers_get_wrong() -> None:
    for case in cases.cases(cases.FORMATS, cases.CODECS):
        array = values.values(case)
        encoded = values.encode(array)
        again = values.decode(encoded, case)
        assert again.dtype == array.dtype
        assert values.encode(again) == encoded
        if case.layout == "missing":
            rest = array[case.written_rows :].astype(values.numpy_dtype(case).newbyteorder("<"))
            assert set(np.unique(rest.view(f"u{rest.itemsize}"))) == {
                np.array(values.fill_scalar(case), rest.dtype).view(f"u{rest.itemsize}")[()]
            }
        elif case.data_type in values.NANS and case.layout == "even":
            bits = set(np.unique(array.view(f"<u{array.itemsize}")))
            sign = 1 << (8 * array.itemsize - 1)
            assert {values.NANS[case.data_type], sign} <= bits


def test_every_format_has_its_codecs_and_names_are_unique() -> None:
    found = cases.cases(cases.FORMATS, cases.CODECS)
    assert len({case.name for case in found}) == len(found)
    assert {(c.group, c.codec) for c in found} == {
        *(("v2", codec) for codec in ("none", "zstd", "blosc", "zlib")),
        *((group, codec) for group in ("v3", "v3 sharded") for codec in ("none", "zstd", "blosc", "gzip")),
    }
    assert all(cases.from_json(json.loads(json.dumps(case.to_json()))) == case for case in found)


def failing(matrix: results.Matrix, writer: str, reader: str) -> tally.Failure:
    failures = tally.overview(matrix).failures
    return next(f for f in failures if writer in f.writers and reader in f.readers)


def test_a_failure_is_known_only_where_a_cause_claims_it(matrix: results.Matrix) -> None:
    view = tally.overview(matrix)
    assert view.pair("nothing", "nothing").total.mark == "pass"
    assert view.pair("nothing", "crashes").total.mark == "fail"
    assert view.pair("nothing", "cannot").total.mark == "unsupported"
    assert dict(view.absent) == {"not available": "the moon is wrong"}
    assert failing(matrix, "nothing", "crashes").cause is None
    assert failing(matrix, "nothing", "crashes").read_rightly_by == ("nothing",)
    assert view.unexplained == view.failures

    renamed = [
        dataclasses.replace(cell, writer="z5py")
        for cell in matrix.cells()
        if (cell.writer, cell.reader) == ("nothing", "loses the sign of zero")
    ]
    zeros = next(cell for cell in renamed if cell.case.name == "v3 none float32 zeros")
    known = causes.cause(zeros)
    assert known is not None
    assert (known.at_fault, known.as_writer) == ("z5py", True)
    total = tally.tally([zeros])
    assert (total.mark, total.text) == ("known", "✗ 1")
    crash = next(c for c in matrix.cells() if (c.writer, c.reader) == ("nothing", "crashes"))
    assert causes.cause(dataclasses.replace(crash, writer="z5py")) is None


def test_terminal_fits_80_columns_and_tells_every_failure(matrix: results.Matrix) -> None:
    console = Console(file=io.StringIO(), width=80)
    report.print_matrix(matrix, console)
    text = console.file.getvalue()  # type: ignore[attr-defined]
    assert "ended by SIGABRT: last words" in text
    assert "not available: not available: the moon is wrong" in text
    assert f"{tally.overview(matrix).total.passed} of " in text


def test_page_shows_hostile_text_as_text(matrix: results.Matrix, tmp_path: Path) -> None:
    hostile = "<script>alert(1)</script>"
    rows = tuple(
        dataclasses.replace(row, messages=dict.fromkeys(row.messages, hostile)) for row in matrix.rows
    )
    results.save(dataclasses.replace(matrix, rows=rows), tmp_path / "compat.json")
    (page,) = report.render_matrix(tmp_path / "compat.json", tmp_path)
    text = page.read_text(encoding="utf-8")
    assert hostile not in text
    assert "&lt;script&gt;" in text
    assert "prefers-color-scheme: dark" in text


def invoke(*arguments: object) -> tuple[int, str]:
    result = CliRunner().invoke(cli.main, ["bench", *map(str, arguments)])
    return result.exit_code, result.output


def test_command_takes_programs_of_others(tmp_path: Path) -> None:
    backend = f"mine={sys.executable} {FAKE} nothing"
    where = ("--dir", tmp_path, "--out", tmp_path / "out")
    few = ("--zarr-format", 3, "--codecs", "none", "--quick", "--writers", "mine", "--readers", "mine")
    code, output = invoke("compat", "--backend", backend, *few, *where)
    assert code == 0, output
    assert "16 of 16 read back equal to the bit" in output
    saved = results.load(tmp_path / "out" / "compat.json")
    (mine,) = saved.implementations
    assert (mine.name, mine.version, mine.unavailable) == ("mine", "1.0", None)
    assert mine.command == (Path(sys.executable).name, str(FAKE), "nothing")
    assert {path.name for path in (tmp_path / "out").iterdir()} == {
        "compat.json",
        "compat.csv",
        "compat.html",
    }

    code, output = invoke("report", tmp_path / "out" / "compat.json", "--out", tmp_path / "again")
    assert code == 0, output
    assert {path.name for path in (tmp_path / "again").iterdir()} == {"compat.csv", "compat.html"}


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (("--writers", "zar"), "--writers: got 'zar', expected names of fastzarr, zarr-python"),
        (("--codecs", "lz4"), "--codecs: got 'lz4', expected names of none, zstd, blosc, zlib, gzip"),
        (("--backend", "mine"), "--backend: got 'mine', expected NAME=COMMAND"),
        (("--backend", "gdal=x"), "--backend: got the name 'gdal', which is taken"),
        (("--zarr-format", "2", "--codecs", "gzip"), "--codecs: got gzip for Zarr v2; zlib is of v2 only"),
        (("--writers", "gdal", "--readers", "fastzarr"), "--writers: got gdal, expected one that writes"),
        (("--writers", "fastzarr", "--readers", "acquire-zarr"), "acquire-zarr, expected one that reads"),
    ],
)
def test_command_names_what_it_does_not_take(arguments: tuple[str, ...], problem: str) -> None:
    code, output = invoke("compat", *arguments)
    assert code == 2
    assert problem in " ".join(output.split())


def test_an_interpreter_that_is_missing_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    for name, interpreter in (("Zarr.jl", "julia"), ("Zarrs.jl", "julia"), ("zarrita.js", "node")):
        with pytest.raises(implementations.NotAvailableError, match=f"{interpreter} is not installed"):
            implementations.SOURCES[name].command()


def test_defaults_are_all() -> None:
    known = settings.sources(())
    assert settings.names("--readers", None, known) == tuple(implementations.SOURCES)
    assert settings.names("--readers", "gdal, fastzarr", known) == ("fastzarr", "gdal")


def test_an_answer_without_a_reason_is_told_so(tmp_path: Path) -> None:
    case = cases.cases((3,), ("none",), quick=True)[0]
    with Program((sys.executable, "-c", 'input(); print(\'{"status": "failed"}\')'), PATIENCE) as program:
        answer = program.ask(operation="read")
    assert judge.reading(answer, tmp_path / "none", case, b"") == ("read_fail", "no reason given")
