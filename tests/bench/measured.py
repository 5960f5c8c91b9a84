"""A small bundle of the workloads over layouts: two cases, a ceiling, libraries, a row without samples."""

from typing import Any

from fastzarr.bench import measurements
from fastzarr.bench.measurements import Bundle, CaseRecord, OperationRecord, Row, Sample
from fastzarr.bench.results import FileSystem, Host, SourceCommit

MIB = 2**20


def host() -> Host:
    return Host(
        cpu="Some CPU",
        logical_cores=4,
        physical_cores=None,
        affinity=(0, 2),
        memory_bytes=2**34,
        system="Linux 6.1 x86_64",
        python="CPython 3.13.1",
        governor=None,
        load_average=(0.5, 1, 0.25),
        file_system=FileSystem(
            path="/data",
            kind="ext4",
            device="/dev/sda1",
            mount_point="/",
            options="rw,relatime",
            free_bytes=2**40,
        ),
    )


def samples(*seconds: float, cores: float = 1.5) -> tuple[Sample, ...]:
    return tuple(
        Sample(repeat=number, position=number % 3, seconds=wall, cpu_seconds=cores * wall, load_average=0.25)
        for number, wall in enumerate(seconds, 1)
    )


def case(name: str = "cubes 1 MiB none", **changes: Any) -> CaseRecord:
    fields: dict[str, Any] = {
        "name": name,
        "topic": "cubes",
        "source": "synthetic",
        "shape": (64, 128, 128),
        "chunks": (64, 64, 64),
        "shards": None,
        "dtype": "float32",
        "zarr_format": 3,
        "codec": "none",
        "level": 0,
        "total_bytes": 4 * MIB,
        "repeats": 3,
        "operations": (
            OperationRecord(name="write", calls=1, chunks=4, nbytes=4 * MIB),
            OperationRecord(name="read", calls=1, chunks=4, nbytes=4 * MIB),
            OperationRecord(name="element", calls=8, chunks=8, nbytes=0),
        ),
    }
    return CaseRecord(**fields | changes)


def row(case: str, operation: str, backend: str, *seconds: float, **changes: Any) -> Row:
    fields: dict[str, Any] = {
        "case": case,
        "operation": operation,
        "backend": backend,
        "threads": None,
        "kind": "library",
        "status": "ok",
        "reason": None,
        "ranked": True,
        "stored_bytes": 4 * MIB + 500,
        "stored_objects": 4,
        "verified_by": "tensorstore" if operation == "write" else "source",
        "peak_memory_bytes": 2 * MIB,
        "affinity": None,
        "samples": samples(*seconds),
    }
    return Row(**fields | changes)


def bundle(workload: str = "whole-array", **changes: Any) -> Bundle:
    """fastzarr twice as fast as the best peer in `write`, tied in `read`."""
    plain, zstd = "cubes 1 MiB none", "cubes 1 MiB zstd 3"
    baseline: dict[str, Any] = {"kind": "baseline", "ranked": False}
    skipped: dict[str, Any] = {
        "status": "skipped",
        "ranked": False,
        "stored_bytes": None,
        "stored_objects": None,
        "verified_by": None,
        "peak_memory_bytes": None,
    }
    fields: dict[str, Any] = {
        "schema_version": measurements.SCHEMA_VERSION,
        "workload": workload,
        "created": "2026-01-02T03:04:05+00:00",
        "arguments": {"quick": True, "repeats": 3},
        "complete": True,
        "host": host(),
        "packages": {"fastzarr": "0.1.0", "numpy": "2.4.0"},
        "source_commit": SourceCommit(commit="a" * 40, dirty=False),
        "cases": (case(plain), case(zstd, codec="zstd", level=3)),
        "rows": (
            row(plain, "write", "raw-chunks", 0.1, 0.11, 0.12, **baseline),
            row(plain, "write", "fastzarr", 0.12, 0.13, 0.14),
            row(plain, "write", "zarr", 0.5, 0.4, 0.45),
            row(plain, "write", "tensorstore", 0.24, 0.26, 0.28),
            row(plain, "read", "raw-chunks", 0.1, 0.11, 0.12, **baseline),
            row(plain, "read", "fastzarr", 0.12, 0.13, 0.14),
            row(plain, "read", "zarr", 0.5, 0.4, 0.45),
            row(plain, "read", "tensorstore", 0.14, 0.12, 0.13),
            row(
                plain, "element", "raw-chunks", reason="does not write parts of chunks", **baseline | skipped
            ),
            row(plain, "element", "fastzarr", 0.001, 0.001, 0.002),
            row(plain, "element", "zarr", 0.1, 0.1, 0.2),
            row(plain, "element", "tensorstore", 0.1, 0.1, 0.1),
            row(zstd, "write", "libzstd", 0.9, 0.9, 0.8, **baseline),
            row(zstd, "write", "fastzarr", 1.0, 0.9, 1.1),
            row(zstd, "write", "zarr", reason='not here, "zarr"', **skipped),
            row(
                zstd, "write", "tensorstore", 1.1, 1.2, 1.0, status="unequal", reason="level 5", ranked=False
            ),
        ),
    }
    return Bundle(**fields | changes)


def threads_bundle() -> Bundle:
    """One case, two libraries, 1 and 2 threads."""
    name = "steps 8 MiB none"
    operations = (OperationRecord(name="read", calls=1, chunks=4, nbytes=4 * MIB),)
    rows = tuple(
        row(
            name,
            "read",
            backend,
            *(second / speed_up for second in (0.4, 0.42, 0.44)),
            threads=threads,
        )
        for backend, faster in (("fastzarr", 1.9), ("zarr", 1.2))
        for threads, speed_up in ((1, 1.0), (2, faster))
    )
    cases = (case(name, topic="steps", shape=(4, 512, 512), chunks=(1, 512, 512), operations=operations),)
    return bundle("threads", cases=cases, rows=rows)
