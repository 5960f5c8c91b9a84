"""Runs every server on every stored layer under every load, and keeps every sample.

First each server is asked for a few hundred batches, whose voxels are compared with the source; what answers
otherwise is not timed. Then within each repeat, servers and layers follow each other in random order, each
server started anew: what is compared ran within minutes, and no cache is of an earlier turn.
"""

import random
import socket
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import psutil

from fastzarr.bench import host
from fastzarr.bench.serving import batches as drawing
from fastzarr.bench.serving import checking, codec_cost, data, page_cache, soaking, sources, wrk
from fastzarr.bench.serving.peers.base import (
    BUCKET,
    LayerName,
    Peer,
    Server,
    ServerOptions,
    StoredLayer,
)
from fastzarr.bench.serving.results import (
    SCHEMA_VERSION,
    WORKLOAD,
    Bundle,
    LayerRecord,
    Load,
    Row,
    Sample,
    void_reason,
)
from fastzarr.bench.serving.wrk import Measured

Drive = Callable[[Path, str, Load], Measured]
Key = tuple[str, str, str]
"""Load, layer and server."""


@dataclass(frozen=True, kw_only=True)
class Plan:
    """All that a run does."""

    directory: Path
    """Where the data are made and kept."""
    edge: int
    """Voxels along each axis."""
    image: Path | None
    """NIfTI file of the color layer; None for that of mricron-data."""
    labels: Path | None
    """NIfTI file of the segmentation."""
    storages: tuple[str, ...]
    """Of `data.STORAGES`."""
    layers: tuple[LayerName, ...]
    """Which layers."""
    peers: tuple[Peer, ...]
    """Servers, in the order of the results."""
    loads: tuple[Load, ...]
    """How wrk drives them."""
    repeats: int
    """Timed runs of each row."""
    warm_up: float
    """Seconds of the same load before each warm sample."""
    checks: int
    """Batches whose voxels are compared, of each server on each layer."""
    options: ServerOptions
    """What servers are given."""
    seed: int
    """Of the buckets asked for, and of the order of turns."""
    soak: float | None
    """Seconds of a long load on the first server and layer, instead of the others; None for none."""
    arguments: Mapping[str, Any]
    """Settings as the results keep them."""
    command: str
    """The command line."""


@dataclass(frozen=True, kw_only=True)
class Progress:
    """How far a run is."""

    share: float
    """Done, from 0 to 1, without the making of the data."""
    turn: str
    """What is being done."""


def run(
    plan: Plan,
    save: Callable[[Bundle], None],
    progress: Callable[[Progress], None] = lambda _: None,
    drive: Drive = wrk.run,
) -> Bundle:
    """Do `plan`; `save` gets the bundle so far after each sample, and complete at the end.

    A server that does not start or answers wrongly becomes a row with the reason. BenchmarkError where the
    data can't be made. KeyboardInterrupt passes, after `save`, with what there is.
    """
    return _Run(plan, save, progress, drive).run()


class _Run:
    """One run of a plan: what was measured so far."""

    def __init__(
        self,
        plan: Plan,
        save: Callable[[Bundle], None],
        progress: Callable[[Progress], None],
        drive: Drive,
    ) -> None:
        self._plan, self._save, self._progress, self._drive = plan, save, progress, drive
        self._share = 0.0
        self._bundle = _blank(plan)
        self._rows: dict[Key, Row] = {}
        self._stored: dict[str, StoredLayer] = {}
        self._requests: dict[tuple[str, str, bool], Path] = {}

    def run(self) -> Bundle:
        plan = self._plan
        made = sources.make(plan.directory / "source", plan.edge, plan.image, plan.labels, self._tell)
        places = made.full_buckets()
        self._drawn = drawing.drawn(places, drawing.POOL, plan.seed)
        self._each_once = drawing.each_once(places, plan.seed)
        for storage in plan.storages:
            for layer in plan.layers:
                stored, reader = data.make(made, plan.directory, storage, layer, self._tell)
                record = _layer_record(stored, made, reader, len(places))
                self._stored[record.name] = stored
                self._bundle = replace(self._bundle, layers=(*self._bundle.layers, record))
        try:
            with tempfile.TemporaryDirectory(prefix="fastzarr-serve-") as scratch:
                self._scratch = Path(scratch)
                if plan.soak is None:
                    self._measure(made)
                else:
                    self._soak(plan.soak)
            self._bundle = replace(self._bundle, complete=True)
        finally:
            self._save(self._bundle)
        return self._bundle

    def _measure(self, made: sources.Sources) -> None:
        for load in self._plan.loads:
            for layer in self._stored:
                for peer in self._plan.peers:
                    self._rows[load.name, layer, peer.name] = _row(peer, load, layer)
        turns = [
            (repeat, load, layer, peer)
            for repeat in range(1, self._plan.repeats + 1)
            for load in self._plan.loads
            for layer, peer in _shuffled(self._plan, repeat, load, self._stored)
        ]
        admissions = [(layer, peer) for layer in self._stored for peer in self._plan.peers]
        steps = len(admissions) + len(turns)
        for number, (layer, peer) in enumerate(admissions):
            self._share = number / steps
            self._admit(peer, self._stored[layer], made)
        positions: dict[tuple[int, str], int] = {}
        for number, (repeat, load, layer, peer) in enumerate(turns):
            self._share = (number + len(admissions)) / steps
            key = load.name, layer, peer.name
            if self._rows[key].status in ("skipped", "failed"):
                continue
            position = positions.setdefault((repeat, load.name), 0)
            positions[repeat, load.name] = position + 1
            number_of = f"{repeat} of {self._plan.repeats}"
            self._tell(f"{peer.name}, {layer}, {load.name}, {number_of}")
            try:
                sample = self._turn(peer, self._stored[layer], load, repeat, position)
                self._rows[key] = _with(self._rows[key], sample, load)
            except Exception as error:
                self._rows[key] = _failed(self._rows[key], error)
            self._keep()

    def _admit(self, peer: Peer, stored: StoredLayer, made: sources.Sources) -> None:
        """Find out whether `peer` serves `stored`, and check what it answers; for the rows of all loads."""
        self._tell(f"{peer.name}, {stored.name}: checking answers")
        changes: dict[str, Any]
        try:
            if reason := peer.unable(stored):
                changes = {"status": "skipped", "reason": reason}
            else:
                asked = self._drawn[: self._plan.checks]
                with self._start(peer, stored) as server:
                    checking.check(peer, stored, server.url, asked, made.voxels(stored.layer))
                per_request = len(peer.requests(stored, asked[0]))
                changes = {"checked": len(asked), "answers_per_request": per_request}
        except Exception as error:
            changes = {"status": "failed", "reason": _told(error)}
        for key, row in self._rows.items():
            if key[1:] == (stored.name, peer.name):
                self._rows[key] = replace(row, **changes)
        self._keep()

    def _turn(self, peer: Peer, stored: StoredLayer, load: Load, repeat: int, position: int) -> Sample:
        """Start the server, warm it or cool its files, and drive it once."""
        cold = load.temperature == "cold"
        prepared = self._prepared(peer, stored, cold=cold)
        files = data.files(stored)
        if cold:
            page_cache.drop(files)
        with self._start(peer, stored, cached=load.cached) as server:
            if not cold and self._plan.warm_up:
                self._drive(prepared, server.url, replace(load, seconds=self._plan.warm_up))
            resident, average = page_cache.resident(files), psutil.getloadavg()[0]
            before = _cpu_seconds(server)
            measured = self._drive(prepared, server.url, load)
            return Sample(
                repeat=repeat,
                position=position,
                **vars(measured),
                server_cpu_seconds=max(0.0, _cpu_seconds(server) - before),
                server_memory_bytes=soaking.memory(server)[1],
                resident_before=resident,
                resident_after=page_cache.resident(files),
                load_average=average,
            )

    def _soak(self, seconds: float) -> None:
        peer, (name, stored) = self._plan.peers[0], next(iter(self._stored.items()))
        load = replace(self._plan.loads[0], seconds=seconds)
        prepared = self._prepared(peer, stored, cold=False)
        with self._start(peer, stored) as server:
            soaked = soaking.soak(
                server,
                prepared,
                load,
                lambda share: self._progress(
                    Progress(share=share, turn=f"{peer.name}, {name}: {seconds:.0f} s")
                ),
            )
        record = soaked(peer.name, name, self._plan.options.cache_bytes)
        self._bundle = replace(self._bundle, soaks=(*self._bundle.soaks, record))

    def _start(self, peer: Peer, stored: StoredLayer, *, cached: bool = True) -> Server:
        log = self._scratch / f"{peer.name.replace('/', '-')}.log"
        options = self._plan.options if cached else replace(self._plan.options, cache_bytes=0)
        return peer.start(stored, options, free_port(), log)

    def _prepared(self, peer: Peer, stored: StoredLayer, *, cold: bool) -> Path:
        """The file of requests for wrk; made once."""
        batches = self._each_once if cold else self._drawn
        key = peer.name, stored.name, cold
        if key not in self._requests:
            path = self._scratch / f"requests-{len(self._requests)}"
            wrk.write_requests(path, drawing.requests(peer, stored, batches))
            self._requests[key] = path
        return self._requests[key]

    def _keep(self) -> None:
        """Save the rows that have something to say."""
        told = (row for row in self._rows.values() if row.samples or row.status in ("skipped", "failed"))
        self._bundle = replace(self._bundle, rows=tuple(told))
        self._save(self._bundle)

    def _tell(self, turn: str) -> None:
        self._progress(Progress(share=self._share, turn=turn))


def free_port() -> int:
    """A port of this machine that nobody listens on now."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def _shuffled(
    plan: Plan, repeat: int, load: Load, stored: Mapping[str, StoredLayer]
) -> list[tuple[str, Peer]]:
    order = [(layer, peer) for layer in stored for peer in plan.peers]
    random.Random(f"{plan.seed} {repeat} {load.name}").shuffle(order)
    return order


def _cpu_seconds(server: Server) -> float:
    total = 0.0
    for process in server.processes():
        try:
            times = process.cpu_times()
        except psutil.NoSuchProcess:
            continue
        total += times.user + times.system
    return total


def _with(row: Row, sample: Sample, load: Load) -> Row:
    """`row` with one more sample; void where answers were not good, with a remark where cold was not."""
    row = replace(row, samples=(*row.samples, sample))
    if void := void_reason(sample):
        return replace(row, status="void", reason="; ".join(filter(None, [row.reason, void])))
    found = sample.resident_before
    if load.temperature == "cold" and (found is None or found > page_cache.COLD):
        share = "nobody knows what" if found is None else f"{100 * found:.0f} %"
        return replace(row, reason=f"not cold: {share} of its files was in the page cache at the start")
    return row


def _failed(row: Row, error: Exception) -> Row:
    return replace(row, status="failed", reason=_told(error))


def _told(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"


def _row(peer: Peer, load: Load, layer: str) -> Row:
    return Row(
        server=peer.name,
        note=peer.note,
        layer=layer,
        load=load.name,
        status="ok",
        reason=None,
        answers_per_request=1,
        checked=0,
        samples=(),
    )


def _layer_record(
    stored: StoredLayer, made: sources.Sources, reader: str | None, buckets: int
) -> LayerRecord:
    voxels = made.voxels(stored.layer)
    return LayerRecord(
        name=stored.name,
        layer=stored.layer,
        format=stored.format,
        coding=stored.coding,
        dtype=stored.dtype,
        shape=stored.shape,
        stored_bytes=data.stored_bytes(stored),
        bucket_bytes=BUCKET**3 * voxels.itemsize,
        buckets=buckets,
        all_buckets=voxels.size // BUCKET**3,
        decode_seconds=codec_cost.decode_seconds(stored, made),
        verified_by=reader,
    )


def _blank(plan: Plan) -> Bundle:
    plan.directory.mkdir(parents=True, exist_ok=True)
    return Bundle(
        schema_version=SCHEMA_VERSION,
        workload=WORKLOAD,
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        arguments=plan.arguments,
        command=plan.command,
        complete=False,
        host=host.describe(plan.directory),
        packages=host.packages(),
        wrk=wrk.version(),
        source_commit=host.source_commit(),
        workers=plan.options.workers,
        cache_bytes=plan.options.cache_bytes,
        stack=plan.options.server,
        layers=(),
        loads=plan.loads,
        rows=(),
        soaks=(),
    )
