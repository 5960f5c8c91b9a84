"""The saved result of the workloads over layouts: records, and JSON and CSV of them.

A case is one array in one layout with the operations done on it; a row is one backend doing one of them
with one number of threads. Times are seconds, sizes bytes; a bundle holds every sample.
"""

import math
import statistics
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from fastzarr.bench import saved
from fastzarr.bench.results import Host, SourceCommit, Status, mib_per_second

SCHEMA_VERSION = 1
WORKLOADS = ("whole-array", "small-chunks", "cutouts", "threads", "wkw")
"""Workloads whose results are kept in this layout."""


@dataclass(frozen=True, kw_only=True)
class OperationRecord:
    """One thing that is timed on a case; a sample is all its calls together."""

    name: str
    """Unique in the case, such as `write`, `read` or `aligned 32³`."""
    calls: int
    """Calls of the library in one sample, such as the number of cutouts; 1 for a whole array."""
    chunks: int
    """Chunks (inner ones of shards) that one sample touches, once per call that touches them."""
    nbytes: int
    """Uncompressed bytes that one sample moves to or from the caller's memory; 0 where that is no measure."""


@dataclass(frozen=True, kw_only=True)
class CaseRecord:
    """One array, in one layout, that every backend wrote or read."""

    name: str
    """Unique in the bundle; rows refer to it."""
    topic: str
    """What it shows: cases of one topic differ in size or codec only, such as `slabs`, `cubes`, `shards`."""
    source: str
    """Where the data come from, such as `synthetic`."""
    shape: tuple[int, ...]
    """Array shape."""
    chunks: tuple[int, ...]
    """Chunk shape; of a sharded array that of the inner chunks."""
    shards: tuple[int, ...] | None
    """Shard shape, or None where the array is not sharded."""
    dtype: str
    """NumPy data type, such as `float32`."""
    zarr_format: int
    """2 or 3."""
    codec: str
    """`none`, `zstd`, `blosc` (lz4, byte shuffle) or `zlib` (in Zarr v3: `gzip`); of WKW `none` or `lz4`."""
    level: int
    """Compression level, 0 for `none`."""
    total_bytes: int
    """Uncompressed size of the array."""
    repeats: int
    """Timed repeats that were asked for."""
    operations: tuple[OperationRecord, ...]
    """What is timed, in order."""

    @property
    def chunk_count(self) -> int:
        """Chunks of the array; of a sharded array inner chunks."""
        return math.prod(-(-n // c) for n, c in zip(self.shape, self.chunks, strict=True))

    @property
    def chunk_bytes(self) -> int:
        """Uncompressed size of one chunk."""
        return self.total_bytes // math.prod(self.shape) * math.prod(self.chunks)

    def operation(self, name: str) -> OperationRecord:
        """The operation of that name."""
        return next(operation for operation in self.operations if operation.name == name)


@dataclass(frozen=True, kw_only=True)
class Sample:
    """One backend doing one operation once."""

    repeat: int
    """Number of the repeat, from 1; the warm-up is not kept."""
    position: int
    """Place of the backend in the random order of this operation and repeat, from 0."""
    seconds: float
    """Wall time."""
    cpu_seconds: float
    """CPU time of the process, in all its threads."""
    load_average: float
    """Load average over one minute when the sample began."""


@dataclass(frozen=True, kw_only=True)
class Row:
    """One backend doing one operation of one case."""

    case: str
    """Name of the case."""
    operation: str
    """Name of the operation."""
    backend: str
    """Name of the backend."""
    threads: int | None
    """Threads it was told to use, or None where it was left at its own setting for all cores."""
    kind: Literal["baseline", "library"]
    """`baseline`: files without a library, or a codec without files; `library`: a Zarr library."""
    status: Status
    """How it went."""
    reason: str | None
    """Why the status is not `ok`, or a remark, or None."""
    ranked: bool
    """Whether it competes: a library, status `ok`."""
    stored_bytes: int | None
    """Bytes of all files of the array that was written or read."""
    stored_objects: int | None
    """Number of chunk or shard files of it."""
    verified_by: str | None
    """The other reader that read the written array back, or `source` where what was read is compared."""
    peak_memory_bytes: int | None
    """Most resident memory in the warm-up above the level before, which holds the source and the output;
    None where the operating system does not tell."""
    affinity: tuple[int, ...] | None
    """Cores a process of its own ran on; None where it ran in the process of the benchmark."""
    samples: tuple[Sample, ...]
    """Every sample, in the order taken."""

    @property
    def seconds(self) -> float | None:
        """Median wall time of a sample, or None where nothing was measured."""
        return statistics.median(s.seconds for s in self.samples) if self.samples else None


@dataclass(frozen=True, kw_only=True)
class Bundle:
    """All there is to know of one run."""

    schema_version: int
    """Version of this layout."""
    workload: str
    """`whole-array`, `small-chunks`, `cutouts`, `threads` or `wkw`."""
    created: str
    """Start of the run: ISO 8601, UTC."""
    arguments: Mapping[str, Any]
    """Every setting of the run, given or default."""
    complete: bool
    """Whether the run reached its end."""
    host: Host
    """The machine."""
    packages: Mapping[str, str]
    """Every installed distribution and its version."""
    source_commit: SourceCommit | None
    """Commit of the source checkout, or None for an installed release."""
    cases: tuple[CaseRecord, ...]
    """What was written and read, in order."""
    rows: tuple[Row, ...]
    """One per case, operation, backend and number of threads, in that order."""

    def case(self, name: str) -> CaseRecord:
        """The case of that name."""
        return next(case for case in self.cases if case.name == name)


def save(bundle: Bundle, path: Path) -> None:
    """Write `bundle` to `path` as JSON, whole or not at all; makes the directory."""
    saved.write_record(path, bundle)


def load(path: Path) -> Bundle:
    """Read a bundle; BenchmarkError where the file is not one of this layout."""
    bundle: Bundle = saved.read(Bundle, path, schema_version=SCHEMA_VERSION, workloads=WORKLOADS)
    return bundle


CSV_COLUMNS = (
    "backend", "case", "topic", "operation", "threads", "repeat", "seconds", "cpu_seconds", "MiB_per_s",
    "us_per_chunk", "us_per_call", "calls", "chunks", "nbytes", "position", "load_average",
    "shape", "chunk_shape", "shard_shape", "dtype", "zarr_format", "codec", "level", "total_bytes",
    "stored_bytes", "stored_objects", "peak_memory_bytes", "ranked", "status", "reason",
)  # fmt: skip
"""`us_*` are microseconds; shapes are joined with `x`."""


def save_csv(bundle: Bundle, path: Path) -> None:
    """Write one line per sample, and one without times for each row that has none."""
    lines: list[dict[str, Any]] = []
    for row in bundle.rows:
        case = bundle.case(row.case)
        operation = case.operation(row.operation)
        common = {
            "backend": row.backend, "case": case.name, "topic": case.topic, "operation": operation.name,
            "threads": row.threads, "calls": operation.calls, "chunks": operation.chunks,
            "nbytes": operation.nbytes, "shape": _joined(case.shape), "chunk_shape": _joined(case.chunks),
            "shard_shape": case.shards and _joined(case.shards), "dtype": case.dtype,
            "zarr_format": case.zarr_format, "codec": case.codec, "level": case.level,
            "total_bytes": case.total_bytes, "stored_bytes": row.stored_bytes,
            "stored_objects": row.stored_objects, "peak_memory_bytes": row.peak_memory_bytes,
            "ranked": int(row.ranked), "status": row.status, "reason": row.reason,
        }  # fmt: skip
        lines += [common | _times(sample, operation) for sample in row.samples] or [common]
    saved.write_table(path, CSV_COLUMNS, lines)


def _times(sample: Sample, operation: OperationRecord) -> dict[str, Any]:
    microseconds = 1e6 * sample.seconds
    return {
        "repeat": sample.repeat,
        "position": sample.position,
        "seconds": sample.seconds,
        "cpu_seconds": sample.cpu_seconds,
        "load_average": sample.load_average,
        "us_per_call": microseconds / operation.calls,
        "us_per_chunk": microseconds / operation.chunks if operation.chunks else None,
        "MiB_per_s": mib_per_second(operation.nbytes, sample.seconds) if operation.nbytes else None,
    }


def _joined(shape: tuple[int, ...]) -> str:
    return "x".join(map(str, shape))
