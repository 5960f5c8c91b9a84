"""Parts of the benchmark of servers for its tests: a small brain, peers, and a bundle as a run leaves it."""

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import measured
import nibabel
import numpy as np

from fastzarr.bench.results import SourceCommit
from fastzarr.bench.serving import results
from fastzarr.bench.serving.peers.base import (
    Batch,
    HttpRequest,
    Server,
    ServerOptions,
    StoredLayer,
    launch,
)
from fastzarr.bench.serving.results import Bundle, LayerRecord, Load, Row, Sample, Soak, SoakPoint

PROGRAM = Path(__file__).with_name("bucket_server.py")


def write_brain(directory: Path) -> tuple[Path, Path]:
    """An image with noise, and labels of half its spacing inside it; both NIfTI."""
    random = np.random.default_rng(3)
    image = random.integers(60, 120, (20, 24, 16)).astype(np.uint8)
    labels = np.zeros((40, 48, 32), np.int16)
    labels[4:36, 4:44, 4:28] = random.integers(1, 700, (32, 40, 24))
    coarse, fine = np.diag([2.0, 2.0, 2.0, 1]), np.diag([1.0, 1.0, 1.0, 1])
    fine[:3, 3] = -0.5
    paths = directory / "image.nii.gz", directory / "labels.nii.gz"
    for values, affine, path in zip((image, labels), (coarse, fine), paths, strict=True):
        nibabel.save(nibabel.Nifti1Image(values, affine), path)
    return paths


class BucketPeer:
    """The server of `bucket_server.py`."""

    note = ""

    def __init__(self, name: str = "fastzarr", habit: str = "answers", gets: bool = False) -> None:
        self.name, self._habit, self._gets = name, habit, gets
        self.started = list[ServerOptions]()

    def unable(self, stored: StoredLayer) -> str | None:
        return "cannot read WKW" if self._habit == "no wkw" and stored.format == "wkw" else None

    def start(self, stored: StoredLayer, options: ServerOptions, port: int, log: Path) -> Server:
        self.started.append(options)
        arguments = (stored.source, stored.dtype, str(stored.shape[0]), str(port), self._habit)
        return launch([sys.executable, PROGRAM, *arguments], port, log)

    def requests(self, stored: StoredLayer, batch: Batch) -> tuple[HttpRequest, ...]:
        if self._gets:
            return tuple(HttpRequest(path="/bucket?" + ",".join(map(str, bucket))) for bucket in batch)
        body = json.dumps([{"position": list(bucket)} for bucket in batch])
        headers = (("Content-Type", "application/json"), ("X-Two", "a: b"))
        return (HttpRequest(path="/data", method="POST", headers=headers, body=body),)

    def content(self, stored: StoredLayer, batch: Batch, bodies: Sequence[bytes]) -> bytes:
        return b"".join(bodies)


def sample(repeat: int = 1, rate: float = 1000.0, **changes: Any) -> Sample:
    fields: dict[str, Any] = {
        "repeat": repeat,
        "position": 0,
        "seconds": 2.0,
        "answers": round(2 * rate),
        "received_bytes": round(2 * rate) * 197_000,
        "connect_errors": 0,
        "read_errors": 0,
        "write_errors": 0,
        "status_errors": 0,
        "timeouts": 0,
        "latency_mean": 0.012,
        "latency_stdev": 0.002,
        "latency_p50": 0.011,
        "latency_p99": 0.05,
        "latency_max": 0.2,
        "server_cpu_seconds": 3.2,
        "server_memory_bytes": 2**30,
        "resident_before": 1.0,
        "resident_after": 1.0,
        "load_average": 1.5,
    }
    return Sample(**fields | changes)


def layer(name: str = "color wkw lz4hc", **changes: Any) -> LayerRecord:
    kind, format_, coding = name.split()
    fields: dict[str, Any] = {
        "name": name,
        "layer": kind,
        "format": format_,
        "coding": coding,
        "dtype": "uint8" if kind == "color" else "uint32",
        "shape": (1024, 1024, 1024),
        "stored_bytes": 300_000_000,
        "bucket_bytes": 32768 * (1 if kind == "color" else 4),
        "buckets": 16_000,
        "all_buckets": 32_768,
        "decode_seconds": 10e-6,
        "verified_by": "wkw",
    }
    return LayerRecord(**fields | changes)


WARM = Load(name="-t2 -c32 -d60s", threads=2, connections=32, seconds=60, temperature="warm")
COLD = Load(name="-t2 -c32 -d2s, cold", threads=2, connections=32, seconds=2, temperature="cold")


def row(stored: str = "color wkw lz4hc", *rates: float, server: str = "fastzarr", **changes: Any) -> Row:
    fields: dict[str, Any] = {
        "server": server,
        "note": "",
        "layer": stored,
        "load": WARM.name,
        "status": "ok",
        "reason": None,
        "answers_per_request": 1,
        "checked": 300,
        "samples": tuple(sample(number, rate) for number, rate in enumerate(rates, 1)),
    }
    return Row(**fields | changes)


def soak(*mebibytes: float, every: float = 10.0, **changes: Any) -> Soak:
    fields: dict[str, Any] = {
        "server": "fastzarr",
        "layer": "color wkw lz4hc",
        "threads": 2,
        "connections": 32,
        "cache_bytes": 2**31,
        "reason": None,
        "answers": 100_000,
        "points": tuple(
            SoakPoint(seconds=every * number, processes=3, memory_bytes=round(size * 2**20))
            for number, size in enumerate(mebibytes)
        ),
    }
    return Soak(**fields | changes)


def bundle(**changes: Any) -> Bundle:
    """2000 requests a second of WKW on two cores, Zarr a little less, a peer a fifth; one row void."""
    names = ("color wkw lz4hc", "color zarr3 zstd", "color wkw lz4", "color zarr3 lz4")
    fields: dict[str, Any] = {
        "schema_version": results.SCHEMA_VERSION,
        "workload": results.WORKLOAD,
        "created": "2026-01-02T03:04:05+00:00",
        "arguments": {"repeats": 3},
        "command": "fastzarr bench serve",
        "complete": True,
        "host": measured.host(),
        "packages": {"fastzarr": "0.1.0", "numpy": "2.4.0"},
        "wrk": "wrk 4.1.0",
        "source_commit": SourceCommit(commit="a" * 40, dirty=False),
        "workers": 2,
        "cache_bytes": 2**30,
        "stack": "uvicorn",
        "layers": tuple(map(layer, names)),
        "loads": (WARM, COLD),
        "rows": (
            row(names[0], 2000, 2100, 1900),
            row(names[0], 400, 420, 390, server="slow <peer>", note="reads with the wheel"),
            row(names[1], 1800, 1700, 1750),
            row(names[1], server="slow <peer>", status="skipped", reason="cannot read Zarr"),
            row(names[2], 2000, 2000, 2000),
            row(names[3], 1900, 1900, 1900),
            row(
                names[3], 5000, server="slow <peer>", status="void", reason="7 answers other than 2xx",
            ),
            row(names[0], 1500, load=COLD.name, reason="not cold: 100 % of its files was in the page cache"),
        ),
        "soaks": (),
    }  # fmt: skip
    return Bundle(**fields | changes)
