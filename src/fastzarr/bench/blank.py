"""Records of the workloads over layouts before anything is measured."""

from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from fastzarr.bench import host
from fastzarr.bench.backends.regions.base import RegionBackend
from fastzarr.bench.measurements import SCHEMA_VERSION, Bundle, Row


def bundle(workload: str, arguments: Mapping[str, Any], directory: Path) -> Bundle:
    """A bundle without cases, of this machine now."""
    return Bundle(
        schema_version=SCHEMA_VERSION,
        workload=workload,
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        arguments=arguments,
        complete=False,
        host=host.describe(directory),
        packages=host.packages(),
        source_commit=host.source_commit(),
        cases=(),
        rows=(),
    )


def row(case: str, operation: str, backend: RegionBackend, threads: int | None = None) -> Row:
    """The row of a backend of which nothing is known yet."""
    return Row(
        case=case,
        operation=operation,
        backend=backend.name,
        threads=threads,
        kind=backend.kind,
        status="ok",
        reason=None,
        ranked=False,
        stored_bytes=None,
        stored_objects=None,
        verified_by=None,
        peak_memory_bytes=None,
        affinity=None,
        samples=(),
    )
