"""Going on with a run that was interrupted, or was a part: which cases of its results are kept."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from fastzarr.bench import host
from fastzarr.bench.cases import Repeats
from fastzarr.bench.errors import BenchmarkError
from fastzarr.bench.results import Bundle

SAME_ARGUMENTS = ("backends", "repeats", "small_repeats", "keepbits", "seed", "dir")
"""Settings without which two runs are not parts of one."""


def finished(before: Bundle, arguments: Mapping[str, Any], directory: Path) -> Bundle:
    """`before` with those cases only in which each backend did all its repeats, failed, or was skipped.

    BenchmarkError, with what differs, where machine, packages, commit or settings are not those of now.
    """
    for name, found, now in _compared(before, arguments, directory):
        if found != now:
            raise BenchmarkError(
                f"--resume: the earlier results are of {name} {found}, this run of {now}; "
                f"make it the same, or start anew with another --out"
            )
    repeats = Repeats(usual=before.arguments["repeats"], small=before.arguments["small_repeats"])
    done: dict[str, set[str]] = {case.name: set() for case in before.cases}
    for row in before.rows:
        whole = len(row.samples) == repeats.of(before.case(row.case).total_bytes)
        if whole or row.status in ("skipped", "failed"):
            done[row.case].add(row.backend)
    backends = set(before.arguments["backends"])
    cases = tuple(case for case in before.cases if done[case.name] >= backends)
    names = {case.name for case in cases}
    return replace(before, cases=cases, rows=tuple(row for row in before.rows if row.case in names))


def _compared(before: Bundle, arguments: Mapping[str, Any], directory: Path) -> list[tuple[str, Any, Any]]:
    """What must be the same: its name, how it was, and how it is."""
    was, now = before.host, host.describe(directory)
    machine = ("cpu", "affinity", "memory_bytes", "system", "python")
    versions, installed = before.packages, host.packages()
    changed = sorted(name for name in {*versions, *installed} if versions.get(name) != installed.get(name))
    return [
        *((name, before.arguments.get(name), arguments[name]) for name in SAME_ARGUMENTS),
        *((name, getattr(was, name), getattr(now, name)) for name in machine),
        ("mount point", was.file_system.mount_point, now.file_system.mount_point),
        *((name, versions.get(name), installed.get(name)) for name in changed),
        ("commit", before.source_commit, host.source_commit()),
    ]
