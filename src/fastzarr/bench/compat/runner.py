"""Runs the matrix: every writer writes every case, then every reader reads what was written."""

import datetime
import json
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fastzarr.bench import host
from fastzarr.bench.compat import judge, values
from fastzarr.bench.compat.cases import Case
from fastzarr.bench.compat.implementations import NotAvailableError, Source
from fastzarr.bench.compat.protocol import Program
from fastzarr.bench.compat.results import SCHEMA_VERSION, WORKLOAD, Implementation, Matrix, Row
from fastzarr.bench.errors import BenchmarkError

TIMEOUT = 60.0
"""Seconds a program has for one answer; the first includes its start."""

GROUP_DOCUMENTS = {
    2: (".zgroup", {"zarr_format": 2}),
    3: ("zarr.json", {"zarr_format": 3, "node_type": "group", "attributes": {}}),
}


@dataclass(frozen=True, kw_only=True)
class Plan:
    """What to run."""

    sources: tuple[Source, ...]
    """Who takes part, in the order of the matrix."""
    writers: tuple[str, ...]
    """Who of them may write."""
    readers: tuple[str, ...]
    """Who of them may read."""
    cases: tuple[Case, ...]
    directory: Path
    """Arrays go into a temporary directory below."""
    timeout: float = TIMEOUT
    arguments: Mapping[str, Any]
    """Every setting, for the record."""


@dataclass(frozen=True, kw_only=True)
class Progress:
    """Where the run is."""

    done: int
    """Questions asked, or left out."""
    total: int
    """Questions there are."""
    turn: str
    """Who does what."""


Report = Callable[[Progress], None]


@dataclass(frozen=True, kw_only=True)
class _Party:
    """One implementation, its program and what it said of itself."""

    record: Implementation
    command: tuple[str, ...]


def run(plan: Plan, report: Report = lambda progress: None) -> Matrix:
    """Run `plan` and return its matrix; what it wrote is removed.

    Raises BenchmarkError where nobody writes, or nobody reads.
    """
    created = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
    machine = host.describe(plan.directory)
    parties = [_describe(source, plan) for source in plan.sources]
    writers = [party for party in parties if party.record.writes]
    readers = [party for party in parties if party.record.reads]
    for flag, names, found in (("--writers", plan.writers, writers), ("--readers", plan.readers, readers)):
        if not found:
            does = "writes" if flag == "--writers" else "reads"
            raise BenchmarkError(f"{flag}: got {', '.join(names)}, expected one that {does}")
    total = (len(writers) + len(writers) * len(readers)) * len(plan.cases)
    done = 0

    def step(turn: str, count: int) -> None:
        nonlocal done
        report(Progress(done=done, total=total, turn=turn))
        done += count

    with tempfile.TemporaryDirectory(dir=plan.directory, prefix=".fastzarr-compat-") as directory:
        root = Path(directory)
        expected = {case.name: values.encode(values.values(case)) for case in plan.cases}
        writings: dict[str, dict[str, judge.Verdict]] = {}
        for writer in writers:
            step(f"{writer.record.name} writes", len(plan.cases))
            writings[writer.record.name] = _write(writer, plan, root, expected)
        written = [
            (writer, case)
            for writer, verdicts in writings.items()
            for case in plan.cases
            if verdicts[case.name][0] == "pass"
        ]
        readings: dict[str, dict[tuple[str, str], judge.Verdict]] = {}
        for reader in readers:
            step(f"{reader.record.name} reads", len(plan.cases) * len(writers))
            readings[reader.record.name] = _read(reader, plan, root, expected, written)
    return Matrix(
        schema_version=SCHEMA_VERSION,
        workload=WORKLOAD,
        created=created,
        arguments=plan.arguments,
        host=machine,
        packages=host.packages(),
        source_commit=host.source_commit(),
        implementations=tuple(party.record for party in parties),
        cases=plan.cases,
        rows=tuple(_rows(writings, readings)),
    )


def _rows(
    writings: Mapping[str, Mapping[str, judge.Verdict]],
    readings: Mapping[str, Mapping[tuple[str, str], judge.Verdict]],
) -> Iterator[Row]:
    for writer, verdicts in writings.items():
        for case, (status, message) in verdicts.items():
            read = {r: found[writer, case] for r, found in readings.items() if (writer, case) in found}
            yield Row(
                writer=writer,
                case=case,
                status=status,
                message=message,
                readers={reader: verdict[0] for reader, verdict in read.items()},
                messages={
                    reader: why
                    for reader, (found, why) in read.items()
                    if why is not None and found != "not_available"
                },
            )


def _describe(source: Source, plan: Plan) -> _Party:
    """Ask a program what it is; one that cannot run takes part in every role it was given, and says so."""
    may_write, may_read = source.name in plan.writers, source.name in plan.readers
    try:
        command = source.command()
        with Program(command, plan.timeout) as program:
            answer = program.ask(operation="describe")
        reason = None if answer.status == "ok" else answer.message or "it did not say why"
        content = answer.content if answer.status == "ok" else {}
    except NotAvailableError as error:
        command, reason, content = (), str(error), {}
    version = content.get("version")
    record = Implementation(
        name=source.name,
        version=None if version is None else str(version),
        command=source.shown,
        writes=may_write and bool(content.get("writes", reason is not None)),
        reads=may_read and bool(content.get("reads", reason is not None)),
        unavailable=reason,
    )
    return _Party(record=record, command=command)


def _place(root: Path, writer: str, case: Case) -> Path:
    """The directory of one array; its parent is a group."""
    return root / writer / case.name.replace(" ", "-").replace("[s]", "") / "array"


def _placeless(verdict: judge.Verdict, root: Path) -> judge.Verdict:
    """The verdict without the name of the temporary directory, which differs from run to run."""
    status, message = verdict
    return status, None if message is None else message.replace(f"{root}/", "")


def _write(writer: _Party, plan: Plan, root: Path, expected: Mapping[str, bytes]) -> dict[str, judge.Verdict]:
    """What `writer` makes of each case; only the directories of arrays that it wrote are left."""
    if writer.record.unavailable is not None:
        return {case.name: ("not_available", writer.record.unavailable) for case in plan.cases}
    verdicts = {}
    with Program(writer.command, plan.timeout) as program:
        for case in plan.cases:
            path = _place(root, writer.record.name, case)
            path.parent.mkdir(parents=True)
            document, content = GROUP_DOCUMENTS[case.zarr_format]
            (path.parent / document).write_text(json.dumps(content))
            file = root / "values"
            file.write_bytes(expected[case.name])
            answer = program.ask(operation="write", case=case.to_json(), directory=str(path), file=str(file))
            verdicts[case.name] = _placeless(judge.writing(answer, path, case), root)
            if verdicts[case.name][0] != "pass":
                shutil.rmtree(path.parent)
    return verdicts


def _read(
    reader: _Party, plan: Plan, root: Path, expected: Mapping[str, bytes], written: Sequence[tuple[str, Case]]
) -> dict[tuple[str, str], judge.Verdict]:
    """What `reader` makes of each array, by writer and case."""
    if reader.record.unavailable is not None:
        return {(writer, case.name): ("not_available", reader.record.unavailable) for writer, case in written}
    verdicts = {}
    with Program(reader.command, plan.timeout) as program:
        for writer, case in written:
            file = root / "elements"
            file.unlink(missing_ok=True)
            path = _place(root, writer, case)
            answer = program.ask(operation="read", case=case.to_json(), directory=str(path), file=str(file))
            verdict = judge.reading(answer, file, case, expected[case.name])
            verdicts[writer, case.name] = _placeless(verdict, root)
    return verdicts
