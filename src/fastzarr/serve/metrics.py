"""Numbers about the server for Prometheus, of all its worker processes together."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable
from pathlib import Path
from threading import Lock
from typing import Any, NamedTuple

from fastzarr.serve.cache import BucketCache, Counts

DIRECTORY = "PROMETHEUS_MULTIPROC_DIR"
"""Environment variable with the directory in which worker processes share their numbers."""
BUCKETS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
"""Upper ends of ranges of seconds."""
INTERVAL = 0.5
"""Seconds between two looks at the cache."""


class _Of(NamedTuple):
    """What is counted of one kind of answer."""

    requests: Callable[[], None]
    nbytes: Callable[[float], None]
    seconds: Callable[[float], None]


class Metrics:
    """Of one process. In a process of several, made once."""

    def __init__(self, cache: BucketCache) -> None:
        # Looks at the environment when it is imported: not before worker processes have started.
        import prometheus_client as prometheus
        from prometheus_client import exposition

        self._registry = registry = prometheus.CollectorRegistry()
        self._directory = os.environ.get(DIRECTORY)
        self._format = exposition
        self._cache = cache
        self._seen = Counts(0, 0, 0, 0, 0)
        self._looked = 0.0
        self._lock = Lock()
        self._kinds: dict[tuple[str, str, int], _Of] = {}
        self._requests = prometheus.Counter(
            "fastzarr_requests", "Requests answered.", ("route", "method", "status"), registry=registry
        )
        self._nbytes = prometheus.Counter(
            "fastzarr_response_bytes", "Bytes of answers, without headers.", ("route",), registry=registry
        )
        self._seconds = prometheus.Histogram(
            "fastzarr_request_seconds",
            "Time until an answer was handed over.",
            ("route",),
            buckets=BUCKETS,
            registry=registry,
        )

        def cache_counter(name: str, text: str) -> Any:
            return prometheus.Counter(f"fastzarr_cache_{name}", text, registry=registry)

        self._cache_counters = (
            cache_counter("hits", "Buckets found in the cache."),
            cache_counter("misses", "Buckets read."),
            cache_counter("evictions", "Buckets given up for others."),
        )
        self._cache_nbytes = prometheus.Gauge(
            "fastzarr_cache_bytes", "Memory of the cache.", registry=registry, multiprocess_mode="livesum"
        )
        self._in_flight = prometheus.Gauge(
            "fastzarr_answer_bytes_in_flight",
            "Bytes of answers that are being made or sent.",
            registry=registry,
            multiprocess_mode="livesum",
        )

    def observe(
        self, *, route: str, method: str, status: int, nbytes: int, seconds: float, now: float, in_flight: int
    ) -> None:
        """Count an answer; `now` is a monotonic time, `in_flight` what the budget has taken."""
        kind = self._kinds.get((route, method, status)) or self._kind(route, method, status)
        kind.requests()
        kind.nbytes(nbytes)
        kind.seconds(seconds)
        if now - self._looked > INTERVAL:
            self._looked = now
            self._look(in_flight)

    def _kind(self, route: str, method: str, status: int) -> _Of:
        kind = _Of(
            self._requests.labels(route, method, str(status)).inc,
            self._nbytes.labels(route).inc,
            self._seconds.labels(route).observe,
        )
        self._kinds[route, method, status] = kind
        return kind

    def _look(self, in_flight: int) -> None:
        with self._lock:
            counts, before = self._cache.counts(), self._seen
            self._seen = counts
        for counter, more, less in zip(self._cache_counters, counts, before, strict=False):
            counter.inc(more - less)
        self._cache_nbytes.set(counts.nbytes)
        self._in_flight.set(in_flight)

    def text(self) -> tuple[bytes, str]:
        """The numbers of all worker processes, as Prometheus reads them, and the media type."""
        self._look(0)
        registry = self._registry
        if self._directory:
            from prometheus_client import CollectorRegistry, multiprocess

            _forget_the_dead(Path(self._directory))
            registry = CollectorRegistry()
            multiprocess.MultiProcessCollector(registry, path=self._directory)  # type: ignore[no-untyped-call]
        return self._format.generate_latest(registry), self._format.CONTENT_TYPE_LATEST


def _forget_the_dead(directory: Path) -> None:
    """Remove what processes that have ended said of their present."""
    for path in directory.glob("gauge_live*_*.db"):
        number = path.stem.rpartition("_")[2]
        try:
            os.kill(int(number), 0)
        except ProcessLookupError:
            with contextlib.suppress(FileNotFoundError):
                path.unlink()
