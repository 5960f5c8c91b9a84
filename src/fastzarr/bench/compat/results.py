"""The saved matrix: records, and JSON and CSV of them."""

import dataclasses
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args

from fastzarr.bench import saved
from fastzarr.bench.compat.cases import Case
from fastzarr.bench.errors import BenchmarkError
from fastzarr.bench.results import Host, SourceCommit

SCHEMA_VERSION = 1
WORKLOAD = "compat"

Status = Literal[
    "pass", "read_fail", "write_fail", "shape_mismatch", "value_mismatch", "unsupported", "not_available"
]
"""`pass`: equal to the bit; `read_fail`, `write_fail`: raised, crashed or hung; `shape_mismatch`,
`value_mismatch`: read something else; `unsupported`: writer or reader lacks a feature that the case needs;
`not_available`: writer or reader cannot run here."""
FAILURES: tuple[Status, ...] = ("read_fail", "write_fail", "shape_mismatch", "value_mismatch")


@dataclass(frozen=True, kw_only=True)
class Implementation:
    """One that took part."""

    name: str
    version: str | None
    """As it says itself, or None where it cannot run."""
    command: tuple[str, ...]
    """The program; `python` stands for the interpreter of the run, files by their names."""
    writes: bool
    """Whether it is asked to write."""
    reads: bool
    """Whether it is asked to read."""
    unavailable: str | None
    """Why it cannot run here, or None."""


@dataclass(frozen=True, kw_only=True)
class Row:
    """What one writer made of one case, and what each reader made of that."""

    writer: str
    case: str
    """Name of the case."""
    status: Status
    """Of the writing: `pass`, `write_fail`, `unsupported` or `not_available`."""
    message: str | None
    """Why it is not `pass`, or None."""
    readers: Mapping[str, Status]
    """Status of each reader; empty where nothing was written."""
    messages: Mapping[str, str]
    """Why a reader's status is not `pass`; for `not_available`, its implementation says why."""


@dataclass(frozen=True, kw_only=True)
class Cell:
    """One writer, one reader, one case."""

    writer: str
    reader: str
    case: Case
    status: Status
    message: str | None
    """Why the status is not `pass`, or None."""


@dataclass(frozen=True, kw_only=True)
class Matrix:
    """All there is to know of one run."""

    schema_version: int
    """Version of this layout."""
    workload: str
    """`compat`."""
    created: str
    """Start of the run: ISO 8601, UTC."""
    arguments: Mapping[str, Any]
    """Every setting of the run, given or default."""
    host: Host
    """The machine."""
    packages: Mapping[str, str]
    """Every installed distribution and its version."""
    source_commit: SourceCommit | None
    """Commit of the source checkout, or None for an installed release."""
    implementations: tuple[Implementation, ...]
    """Who took part, in order."""
    cases: tuple[Case, ...]
    """What was written and read, in order."""
    rows: tuple[Row, ...]
    """One per writer and case, in order."""

    @property
    def writers(self) -> tuple[str, ...]:
        """Names of those that were asked to write."""
        return tuple(i.name for i in self.implementations if i.writes)

    @property
    def readers(self) -> tuple[str, ...]:
        """Names of those that were asked to read."""
        return tuple(i.name for i in self.implementations if i.reads)

    def cells(self) -> Iterator[Cell]:
        """Every writer, reader and case; what was not written has the writer's status for every reader."""
        by_name = {case.name: case for case in self.cases}
        absent = {i.name: i.unavailable for i in self.implementations if i.unavailable is not None}
        for row in self.rows:
            for reader in self.readers:
                written = row.status == "pass"
                yield Cell(
                    writer=row.writer,
                    reader=reader,
                    case=by_name[row.case],
                    status=row.readers[reader] if written else row.status,
                    message=row.messages.get(reader, absent.get(reader)) if written else row.message,
                )


def save(matrix: Matrix, path: Path) -> None:
    """Write `matrix` to `path` as JSON, whole or not at all, one line per row; makes the directory."""
    fields = dataclasses.asdict(matrix)
    rows, cases = fields.pop("rows"), fields.pop("cases")
    text = json.dumps(fields, indent=1, allow_nan=False)[:-2]
    for key, lines in (("cases", cases), ("rows", rows)):
        text += f',\n "{key}": [\n  ' + ",\n  ".join(json.dumps(line) for line in lines) + "\n ]"
    saved.write_whole(path, text + "\n}\n")


def load(path: Path) -> Matrix:
    """Read a matrix; BenchmarkError where the file is not one of this layout."""
    matrix: Matrix = saved.read(Matrix, path, schema_version=SCHEMA_VERSION, workloads=(WORKLOAD,))
    for row in matrix.rows:
        unknown = {row.status, *row.readers.values()} - {*get_args(Status)}
        if unknown or (row.status == "pass" and {*row.readers} != {*matrix.readers}):
            raise BenchmarkError(f"{path}: row {row.writer}, {row.case}: got readers {dict(row.readers)}")
    return matrix


CSV_COLUMNS = (
    "writer", "reader", "codec", "zarr_format", "status", "message",
    "sharded", "data_type", "endian", "layout", "level", "writer_version", "reader_version",
)  # fmt: skip
"""The reference's columns first: one row per writer, reader, codec and format, here also per array."""


def save_csv(matrix: Matrix, path: Path) -> None:
    """Write one line per cell."""
    versions = {i.name: i.version for i in matrix.implementations}
    lines = []
    for cell in matrix.cells():
        case = cell.case
        values = (
            cell.writer, cell.reader, case.codec, case.zarr_format, cell.status, cell.message,
            int(case.shard_shape is not None), case.data_type, case.endian, case.layout, case.level,
            versions[cell.writer], versions[cell.reader],
        )  # fmt: skip
        lines.append(dict(zip(CSV_COLUMNS, values, strict=True)))
    saved.write_table(path, CSV_COLUMNS, lines)
