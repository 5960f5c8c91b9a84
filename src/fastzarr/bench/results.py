"""The saved result of a benchmark: records, and JSON and CSV of them.

A bundle is data before it is a picture: it holds every sample, and reports are made from it alone.
Times are seconds, sizes bytes; only the CSV has MiB/s, under the column names of ZarrBenchmarks.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from fastzarr.bench import saved

SCHEMA_VERSION = 2
MIB = 2**20

Status = Literal["ok", "unequal", "skipped", "failed"]
"""`ok`: timed; `unequal`: timed, but other work than the reference contender, see the reason;
`skipped`: cannot run here; `failed`: raised, or wrote or read wrong bytes."""


@dataclass(frozen=True, kw_only=True)
class FileSystem:
    """The file system under the benchmark's directory."""

    path: str
    """The directory written to."""
    kind: str
    """Type as the operating system names it, such as `ext4` or `tmpfs`; `unknown` if it does not say."""
    device: str
    """Device or source mounted."""
    mount_point: str
    """Where it is mounted."""
    options: str
    """Mount options, comma separated."""
    free_bytes: int
    """Free space at the start."""


@dataclass(frozen=True, kw_only=True)
class Host:
    """The machine at the start of the run."""

    cpu: str
    """CPU model."""
    logical_cores: int
    """Logical cores of the machine."""
    physical_cores: int | None
    """Physical cores, where the operating system tells."""
    affinity: tuple[int, ...]
    """Numbers of the logical cores this process may run on."""
    memory_bytes: int
    """Physical memory."""
    system: str
    """Operating system and its kernel release."""
    python: str
    """Implementation and version of the interpreter."""
    governor: str | None
    """Frequency governor of the first allowed core, where the operating system tells."""
    load_average: tuple[float, float, float]
    """Load average over 1, 5 and 15 minutes."""
    file_system: FileSystem
    """Where the arrays were written."""


@dataclass(frozen=True, kw_only=True)
class SourceCommit:
    """The commit of the source checkout that ran."""

    commit: str
    """Full hash."""
    dirty: bool
    """Whether tracked files differed from it."""


@dataclass(frozen=True, kw_only=True)
class CaseRecord:
    """One array that every backend wrote and read."""

    name: str
    """Unique in the bundle; rows refer to it."""
    source: str
    """Where the data come from: `synthetic`, or file and variable."""
    shape: tuple[int, ...]
    """Array shape; axis 0 is time, one chunk per step."""
    dtype: str
    """NumPy data type, such as `float32`."""
    zarr_format: int
    """2 or 3."""
    codec: str
    """`none`, `zstd`, `blosc` (lz4, byte shuffle) or `zlib` (in Zarr v3: `gzip`)."""
    level: int
    """Compression level, 0 for `none`."""
    total_bytes: int
    """Uncompressed size of the array."""

    @property
    def chunk_bytes(self) -> int:
        """Uncompressed size of one chunk, which is one step."""
        return self.total_bytes // self.shape[0]


@dataclass(frozen=True, kw_only=True)
class Sample:
    """One backend writing and reading one array once; all times in seconds."""

    repeat: int
    """Number of the repeat, from 1; the warm-up is not kept."""
    position: int
    """Place of the backend in the random order of this repeat, from 0."""
    create: float
    """Creating the array."""
    steps: float
    """Writing every step and closing: all bytes handed to the operating system."""
    steps_cpu: float
    """CPU seconds of this process in `steps`, in all its threads."""
    sync: float
    """fsync of every file and directory of the array."""
    open: float | None
    """Opening the array for reading; None where the backend only writes."""
    read: float | None
    """Reading every step into one buffer and closing; None where the backend only writes."""
    read_cpu: float | None
    """CPU seconds of this process in `read`, in all its threads; None where the backend only writes."""
    load_average: float
    """Load average over one minute when the sample began."""

    @property
    def write(self) -> float:
        """Seconds of writing with sync: `steps` + `sync`."""
        return self.steps + self.sync


@dataclass(frozen=True, kw_only=True)
class Row:
    """One backend on one case."""

    case: str
    """Name of the case."""
    backend: str
    """Name of the backend."""
    kind: Literal["baseline", "library"]
    """`baseline`: bytes without a format; `library`: a Zarr library."""
    status: Status
    """How it went."""
    reason: str | None
    """Why the status is not `ok`, or None."""
    ranked: bool
    """Whether it competes: a library, status `ok`."""
    stored_bytes: int | None
    """Bytes of all files of the array (apparent size, without directories)."""
    stored_chunks: int | None
    """Number of stored chunk objects; 1 for a backend that keeps one file."""
    verified_by: str | None
    """The other reader that read the stored array back, equal to the byte."""
    peak_memory_bytes: int | None
    """Most resident memory above the level before, mapped files included, in the warm-up; None where the
    operating system does not tell."""
    samples: tuple[Sample, ...]
    """Every sample, in the order taken."""


@dataclass(frozen=True, kw_only=True)
class Bundle:
    """All there is to know of one run."""

    schema_version: int
    """Version of this layout."""
    workload: str
    """Name of the workload, such as `sequential`."""
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
    """One per case and backend, in order."""

    def case(self, name: str) -> CaseRecord:
        """The case of that name."""
        return next(case for case in self.cases if case.name == name)


def mib_per_second(size: int, seconds: float) -> float:
    """Throughput in MiB/s of `size` bytes."""
    return size / MIB / seconds


def save(bundle: Bundle, path: Path) -> None:
    """Write `bundle` to `path` as JSON, whole or not at all; makes the directory."""
    saved.write_record(path, bundle)


def load(path: Path) -> Bundle:
    """Read a bundle; BenchmarkError where the file is not one of this schema version."""
    bundle: Bundle = saved.read(Bundle, path, schema_version=SCHEMA_VERSION)
    return bundle


CSV_COLUMNS = (
    "backend", "codec", "Nx", "Ny", "Nz", "Nt", "total_bytes", "on_disk_bytes", "repeat",
    "write_sec", "read_sec", "write_MBps", "read_MBps", "threads",
    "source", "dtype", "zarr_format", "level", "position",
    "create_sec", "steps_sec", "sync_sec", "open_sec", "steps_cpu_sec", "read_cpu_sec",
    "ranked", "status", "reason",
)  # fmt: skip
"""`*_MBps` are MiB/s; `write` is steps + sync; `threads` is the number of cores the process may use."""


def save_csv(bundle: Bundle, path: Path) -> None:
    """Write one line per sample, and one without times for each row that has none."""
    lines = []
    for row in bundle.rows:
        case = bundle.case(row.case)
        nz, ny, nx = (*(1,) * (4 - len(case.shape)), *case.shape[1:])[-3:]
        common = {
            "backend": row.backend, "codec": case.codec, "Nx": nx, "Ny": ny, "Nz": nz, "Nt": case.shape[0],
            "total_bytes": case.total_bytes, "on_disk_bytes": row.stored_bytes,
            "threads": len(bundle.host.affinity), "source": case.source, "dtype": case.dtype,
            "zarr_format": case.zarr_format, "level": case.level,
            "ranked": int(row.ranked), "status": row.status, "reason": row.reason,
        }  # fmt: skip
        lines += [common | _times(sample, case.total_bytes) for sample in row.samples] or [common]
    saved.write_table(path, CSV_COLUMNS, lines)


def _times(sample: Sample, total_bytes: int) -> dict[str, Any]:
    return {
        "repeat": sample.repeat,
        "position": sample.position,
        "create_sec": sample.create,
        "steps_sec": sample.steps,
        "sync_sec": sample.sync,
        "write_sec": sample.write,
        "write_MBps": mib_per_second(total_bytes, sample.write),
        "open_sec": sample.open,
        "read_sec": sample.read,
        "steps_cpu_sec": sample.steps_cpu,
        "read_cpu_sec": sample.read_cpu,
        "read_MBps": None if sample.read is None else mib_per_second(total_bytes, sample.read),
    }
