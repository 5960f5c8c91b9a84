"""The saved result of the benchmark of servers: records, JSON and CSV of them, and what makes a row void.

A row is one server answering for one stored layer under one load. Times are seconds, sizes bytes; a bundle
holds every sample.
"""

import dataclasses
import statistics
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from fastzarr.bench import saved
from fastzarr.bench.results import Host, SourceCommit

SCHEMA_VERSION = 1
WORKLOAD = "serve"

Status = Literal["ok", "void", "skipped", "failed"]
"""`ok`: every answer was 200; `void`: some were not, or connections failed, see the reason; `skipped`: cannot
run here, or the server cannot do it; `failed`: it did not start, or answered other bytes."""


@dataclass(frozen=True, kw_only=True)
class LayerRecord:
    """One layer as it is stored, which servers read."""

    name: str
    """Unique in the bundle, such as `color wkw lz4hc`; rows refer to it."""
    layer: str
    """`color` or `segmentation`."""
    format: str
    """`wkw` or `zarr3`."""
    coding: str
    """`lz4hc`, `lz4`, `zstd` or `raw`."""
    dtype: str
    """`uint8` or `uint32`."""
    shape: tuple[int, ...]
    """Extent in voxels (x, y, z)."""
    stored_bytes: int
    """Bytes of all its files."""
    bucket_bytes: int
    """Bytes of one bucket as it is sent."""
    buckets: int
    """Buckets that requests are drawn from: those with something in both layers."""
    all_buckets: int
    """Buckets of the bounding box."""
    decode_seconds: float
    """Time to decode one bucket in memory, on one core, with nothing else."""
    verified_by: str | None
    """The other reader that read samples of it, equal to the byte; None where none is installed."""

    @property
    def working_set(self) -> int:
        """Bytes of all buckets that may be asked for, decoded."""
        return self.buckets * self.bucket_bytes


@dataclass(frozen=True, kw_only=True)
class Load:
    """How wrk drives a server."""

    name: str
    """Unique in the bundle, such as `-t32 -c500 -d60s`."""
    threads: int
    """Threads of wrk."""
    connections: int
    """Connections, each with one request at a time."""
    seconds: float
    """How long."""
    temperature: Literal["warm", "cold"]
    """`warm`: after a warm-up of the same requests. `cold`: a server just started, files out of the page
    cache, and every bucket asked for once at most until all were."""
    cached: bool = True
    """Whether servers have their cache of decoded buckets; without it they decode all that they send."""


@dataclass(frozen=True, kw_only=True)
class Sample:
    """One run of wrk."""

    repeat: int
    """Number of the repeat, from 1."""
    position: int
    """Place in the random order of the repeat, from 0."""
    seconds: float
    """Wall time as wrk measured it."""
    answers: int
    """Answers of HTTP, whatever their status."""
    received_bytes: int
    """With their heads."""
    connect_errors: int
    """Connections that failed."""
    read_errors: int
    """Answers that broke off."""
    write_errors: int
    """Requests that could not be sent."""
    status_errors: int
    """Answers other than 2xx and 3xx."""
    timeouts: int
    """Answers that took longer than wrk waits."""
    latency_mean: float
    """Of one answer of HTTP."""
    latency_stdev: float
    """Standard deviation."""
    latency_p50: float
    """Median."""
    latency_p99: float
    """What 99 % were below."""
    latency_max: float
    """The longest."""
    server_cpu_seconds: float
    """CPU time of all processes of the server."""
    server_memory_bytes: int
    """Resident memory of all processes of the server at the end, shared pages counted in each."""
    resident_before: float | None
    """Share of the layer's files in the page cache before; None where the system does not tell."""
    resident_after: float | None
    """The same, at the end."""
    load_average: float
    """Over one minute when the sample began."""


@dataclass(frozen=True, kw_only=True)
class Row:
    """One server on one stored layer under one load."""

    server: str
    """Name of the server."""
    note: str
    """What it does otherwise than the rest; empty where nothing."""
    layer: str
    """Name of the stored layer."""
    load: str
    """Name of the load."""
    status: Status
    """How it went."""
    reason: str | None
    """Why the status is not `ok`, or a remark, or None."""
    answers_per_request: int
    """Answers of HTTP that make one request of six buckets."""
    checked: int
    """Requests whose voxels were compared with the source before anything was timed."""
    samples: tuple[Sample, ...]
    """Every sample, in the order taken."""

    def rates(self) -> list[float]:
        """Requests of six buckets per second, of each sample."""
        return [s.answers / self.answers_per_request / s.seconds for s in self.samples]

    def median(self, name: str) -> float | None:
        """Median of an attribute of the samples, or None without samples."""
        return statistics.median(getattr(s, name) for s in self.samples) if self.samples else None

    @property
    def rate(self) -> float | None:
        """Median requests per second; None where nothing was measured or the row is void."""
        return statistics.median(self.rates()) if self.status == "ok" and self.samples else None

    @property
    def transfer(self) -> float | None:
        """Median bytes received per second."""
        if self.status != "ok" or not self.samples:
            return None
        return statistics.median(s.received_bytes / s.seconds for s in self.samples)


@dataclass(frozen=True, kw_only=True)
class SoakPoint:
    """The memory of a server at one time."""

    seconds: float
    """Since the load began."""
    processes: int
    """How many there were."""
    memory_bytes: int
    """Resident memory of all of them, shared pages counted in each."""


@dataclass(frozen=True, kw_only=True)
class Soak:
    """The memory of a server under a long load."""

    server: str
    """Name of the server."""
    layer: str
    """Name of the stored layer."""
    threads: int
    """Threads of wrk."""
    connections: int
    """Connections."""
    cache_bytes: int
    """Budget of the cache, all processes together."""
    reason: str | None
    """What went wrong, or None."""
    answers: int
    """Answers of HTTP."""
    points: tuple[SoakPoint, ...]
    """In order of time."""


@dataclass(frozen=True, kw_only=True)
class Bundle:
    """All there is to know of one run."""

    schema_version: int
    """Version of this layout."""
    workload: str
    """`serve`."""
    created: str
    """Start of the run: ISO 8601, UTC."""
    arguments: Mapping[str, Any]
    """Every setting of the run, given or default."""
    command: str
    """The command line."""
    complete: bool
    """Whether the run reached its end."""
    host: Host
    """The machine."""
    packages: Mapping[str, str]
    """Every installed distribution and its version."""
    wrk: str
    """Version of wrk as it tells it."""
    source_commit: SourceCommit | None
    """Commit of the source checkout, or None for an installed release."""
    workers: int
    """Processes of each server."""
    cache_bytes: int
    """Budget of decoded buckets, all processes together."""
    stack: str
    """HTTP stack of `fastzarr serve`."""
    layers: tuple[LayerRecord, ...]
    """What is served."""
    loads: tuple[Load, ...]
    """How."""
    rows: tuple[Row, ...]
    """One per load, layer and server, in that order."""
    soaks: tuple[Soak, ...]
    """Long loads, if any were asked for."""

    def layer(self, name: str) -> LayerRecord:
        """The stored layer of that name."""
        return next(layer for layer in self.layers if layer.name == name)

    def load(self, name: str) -> Load:
        """The load of that name."""
        return next(load for load in self.loads if load.name == name)

    @property
    def cores(self) -> int:
        """Cores that servers and wrk share."""
        return len(self.host.affinity)


def void_reason(sample: Sample) -> str | None:
    """Why a sample counts for nothing, or None where every answer was good."""
    counts = {
        "answers other than 2xx": sample.status_errors,
        "connections that failed": sample.connect_errors,
        "answers that broke off": sample.read_errors,
        "requests that could not be sent": sample.write_errors,
        "answers that came too late": sample.timeouts,
    }
    found = [f"{count} {what}" for what, count in counts.items() if count]
    if not sample.answers:
        found.append("no answer at all")
    return f"{', '.join(found)} in repeat {sample.repeat}" if found else None


def save(bundle: Bundle, path: Path) -> None:
    """Write `bundle` to `path` as JSON, whole or not at all; makes the directory."""
    saved.write_record(path, bundle)


def load(path: Path) -> Bundle:
    """Read a bundle; BenchmarkError where the file is not one of this layout."""
    bundle: Bundle = saved.read(Bundle, path, schema_version=SCHEMA_VERSION, workloads=(WORKLOAD,))
    return bundle


_SAMPLE_COLUMNS = tuple(field.name for field in dataclasses.fields(Sample))
CSV_COLUMNS = (
    "server", "layer", "format", "coding", "load", "temperature", "cached", "threads", "connections",
    *_SAMPLE_COLUMNS,
    "requests_per_second", "requests_per_second_per_core", "answers_per_request", "dtype", "stored_bytes",
    "bucket_bytes", "decode_seconds", "status", "reason",
)  # fmt: skip


def save_csv(bundle: Bundle, path: Path) -> None:
    """Write one line per sample, and one without times for each row that has none."""
    lines: list[dict[str, Any]] = []
    for row in bundle.rows:
        layer, load = bundle.layer(row.layer), bundle.load(row.load)
        common: dict[str, Any] = {
            "server": row.server, "layer": layer.layer, "format": layer.format, "coding": layer.coding,
            "load": load.name, "temperature": load.temperature, "cached": int(load.cached),
            "threads": load.threads, "connections": load.connections,
            "answers_per_request": row.answers_per_request,
            "dtype": layer.dtype, "stored_bytes": layer.stored_bytes, "bucket_bytes": layer.bucket_bytes,
            "decode_seconds": layer.decode_seconds, "status": row.status, "reason": row.reason,
        }  # fmt: skip
        rated = zip(row.samples, row.rates(), strict=True)
        lines += [
            common
            | dataclasses.asdict(sample)
            | {"requests_per_second": rate, "requests_per_second_per_core": rate / bundle.cores}
            for sample, rate in rated
        ] or [common]
    saved.write_table(path, CSV_COLUMNS, lines)
