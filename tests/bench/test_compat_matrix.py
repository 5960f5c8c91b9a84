"""The matrix of all libraries that are installed: fastzarr fails nowhere, and each failure has its cause."""

import os
import shutil

import pytest

from fastzarr.bench.compat import cases, causes, results, runner, tally
from fastzarr.bench.compat.backends.registry import BACKENDS
from fastzarr.bench.compat.implementations import SOURCES, Source
from fastzarr.bench.compat.program import TRY_ALL

NOT_HERE = {"Zarr.jl", "Zarrs.jl"} if shutil.which("julia") is None else set[str]()
"""Implementations that no package installs."""
if shutil.which("npm") is None and "CI" not in os.environ:
    NOT_HERE.add("zarrita.js")


@pytest.fixture(scope="module")
def matrix(tmp_path_factory: pytest.TempPathFactory) -> results.Matrix:
    """Every data type and layout with zstd, few with Blosc, in all formats."""
    every, few = cases.cases((2, 3), ("zstd",)), cases.cases((2, 3), ("blosc",), quick=True)
    plan = runner.Plan(
        sources=tuple(SOURCES.values()),
        writers=tuple(SOURCES),
        readers=tuple(SOURCES),
        cases=(*every, *few),
        directory=tmp_path_factory.mktemp("compat"),
        arguments={},
    )
    return runner.run(plan)


def test_everyone_takes_part(matrix: results.Matrix) -> None:
    absent = {i.name: i.unavailable for i in matrix.implementations if i.unavailable is not None}
    assert set(absent) == NOT_HERE, absent


def test_fastzarr_writes_and_reads_back_every_case(matrix: results.Matrix) -> None:
    wrong = [
        cell for cell in matrix.cells() if cell.writer == cell.reader == "fastzarr" and cell.status != "pass"
    ]
    assert wrong == []
    assert tally.overview(matrix).written["fastzarr"] == len(matrix.cases)


def test_fastzarr_reads_what_others_write_and_no_failure_is_its_own(matrix: results.Matrix) -> None:
    failed = [
        cell
        for cell in matrix.cells()
        if "fastzarr" in (cell.writer, cell.reader) and cell.status in results.FAILURES
    ]
    unexplained = [
        (cell.writer, cell.reader, cell.case.name, cell.message)
        for cell in failed
        if causes.cause(cell) is None
    ]
    assert unexplained == []
    assert not {known.at_fault for known in causes.CAUSES} & {"fastzarr"}
    read = {c.writer for c in matrix.cells() if (c.reader, c.status) == ("fastzarr", "pass")}
    assert read == {*matrix.writers} - NOT_HERE


def test_every_reader_reads_some_of_what_fastzarr_writes(matrix: results.Matrix) -> None:
    assert {c.reader for c in matrix.cells() if (c.writer, c.status) == ("fastzarr", "pass")} == {
        *matrix.readers
    } - NOT_HERE


def test_fastzarr_reads_what_the_writer_itself_reads(matrix: results.Matrix) -> None:
    """Where another library gets its own array back, so does fastzarr."""
    itself = {(c.writer, c.case.name) for c in matrix.cells() if c.writer == c.reader and c.status == "pass"}
    ours = {(c.writer, c.case.name) for c in matrix.cells() if c.reader == "fastzarr" and c.status == "pass"}
    assert itself - ours == set()


def test_minus_zero_of_nczarr_keeps_its_sign(matrix: results.Matrix) -> None:
    found = {c.reader: c.status for c in matrix.cells() if (c.writer, c.case.name) == (
        "nczarr", "v2 zstd float64 missing"
    )}  # fmt: skip
    assert found["fastzarr"] == "pass"
    assert found["nczarr"] == "value_mismatch"


def trying_all(name: str) -> Source:
    command = SOURCES[name].command
    return Source(name=name, shown=(name,), command=lambda: (*command(), TRY_ALL))


@pytest.mark.parametrize("role", ["write", "read"])
def test_what_is_called_unsupported_does_not_work(
    role: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    others = [name for name in BACKENDS if name != "fastzarr"]
    plan = runner.Plan(
        sources=tuple(trying_all(name) for name in BACKENDS),
        writers=tuple(others) if role == "write" else ("fastzarr",),
        readers=tuple(others) if role == "read" else ("fastzarr",),
        cases=(*cases.cases((2, 3), ("zstd",)), *cases.cases((2, 3), ("zlib", "gzip"), quick=True)),
        directory=tmp_path_factory.mktemp("compat"),
        arguments={},
    )
    wrong = set()
    for cell in runner.run(plan).cells():
        name = cell.writer if role == "write" else cell.reader
        reason = BACKENDS[name].unsupported(role, cell.case)
        if reason is not None and cell.status == "pass":
            wrong.add(reason)
    # It stores the fill value 0, and every element beside it.
    assert wrong == ({"acquire-zarr has no fill value but 0"} if role == "write" else set())
