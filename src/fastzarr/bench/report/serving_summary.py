"""What the report of servers shows, computed from a bundle."""

import statistics
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from fastzarr.bench.report.serving_reference import REFERENCES, Reference, reference
from fastzarr.bench.serving.results import Bundle, LayerRecord, Load, Row, Soak

SUBJECT = "fastzarr"
PER_REQUEST = 6
"""Buckets of a request."""
NEAR = 0.15
"""Most that two formats may differ where their codecs cost the same."""
BUSY = 0.3
"""Load average per core at the start from which others use the machine."""
FLAT = 0.01
"""Most that memory may have grown in the second half of a long load, as a share of it."""


@dataclass(frozen=True, kw_only=True)
class Line:
    """One row, with what belongs to it."""

    row: Row
    """The saved row."""
    layer: LayerRecord
    """What it read."""
    cores: int
    """Cores that server and wrk shared."""
    load: Load
    """How the server was driven."""

    @property
    def rate(self) -> float | None:
        """Median requests per second; None where the row does not count."""
        return self.row.rate

    @property
    def per_core(self) -> float | None:
        """The same, of one core."""
        return None if self.rate is None else self.rate / self.cores

    @property
    def spread(self) -> float | None:
        """(fastest - slowest) / median rate; None with fewer than two samples."""
        rates = self.row.rates()
        return (max(rates) - min(rates)) / statistics.median(rates) if len(rates) > 1 else None

    @property
    def decode(self) -> float:
        """Seconds that decoding alone takes for one request, on one core."""
        return PER_REQUEST * self.layer.decode_seconds

    @property
    def server_cores(self) -> float | None:
        """Cores that the server kept busy, median."""
        used = [sample.server_cpu_seconds / sample.seconds for sample in self.row.samples]
        return statistics.median(used) if used else None

    def to_reference(self, year: int) -> float | None:
        """Requests per second and core over those published, of a warm server; or None."""
        if self.load.temperature == "cold":
            return None
        found = reference(year, self.layer.layer, self.layer.format, raw=self.layer.coding == "raw")
        return None if found is None or self.per_core is None else self.per_core / found.per_core


@dataclass(frozen=True, kw_only=True)
class Section:
    """All rows of one layer under one load."""

    load: Load
    """How servers were driven."""
    layer: str
    """`color` or `segmentation`."""
    lines: tuple[Line, ...]
    """By format and coding, then by server."""

    @property
    def references(self) -> tuple[Reference, ...]:
        """Published rows of the layer."""
        return tuple(found for found in REFERENCES if found.layer == self.layer)


@dataclass(frozen=True, kw_only=True)
class Pair:
    """One row against another, within each repeat."""

    what: str
    """Which rows."""
    ratios: Mapping[int, float]
    """By repeat."""

    @property
    def ratio(self) -> float:
        """The median."""
        return statistics.median(self.ratios.values())


@dataclass(frozen=True, kw_only=True)
class Growth:
    """Whether memory stayed flat in a long load."""

    soak: Soak
    """The saved points."""
    median: float
    """Bytes in the second half."""
    per_minute: float
    """Bytes per minute there: the median of the slopes between points of its first and of its last third."""
    share: float
    """What that makes over the second half, as a share of the median."""

    @property
    def flat(self) -> bool:
        """Whether it grew by less than `FLAT`, and every answer was good."""
        return self.soak.reason is None and self.share < FLAT


def sections(bundle: Bundle) -> list[Section]:
    """A section per load and layer, those without rows left out."""
    found = []
    for load in bundle.loads:
        for layer in dict.fromkeys(record.layer for record in bundle.layers):
            lines = tuple(
                Line(row=row, layer=bundle.layer(row.layer), cores=bundle.cores, load=load)
                for row in bundle.rows
                if row.load == load.name and bundle.layer(row.layer).layer == layer
            )
            if lines:
                found.append(Section(load=load, layer=layer, lines=lines))
    return found


def formats_compared(bundle: Bundle) -> list[Pair]:
    """The subject's Zarr over its WKW where both are coded alike, for each load and layer."""
    found: list[Pair] = []
    for section in sections(bundle):
        if section.load.temperature != "warm":
            continue
        ours = {
            (line.layer.format, line.layer.coding): line.row
            for line in section.lines
            if line.row.server == SUBJECT
        }
        for (format_, coding), row in ours.items():
            other = ours.get(("zarr3", coding))
            if format_ == "wkw" and other is not None:
                what = f"{section.layer}, {coding}, {section.load.name}"
                found += _pairs(what, other, row)
    return found


def leads(section: Section) -> list[Pair]:
    """The subject over every other server on the same stored layer."""
    found: list[Pair] = []
    for line in section.lines:
        ours = next(
            (x.row for x in section.lines if x.row.server == SUBJECT and x.row.layer == line.row.layer), None
        )
        if ours is not None and line.row.server != SUBJECT:
            found += _pairs(f"{line.row.server}, {line.layer.name}", ours, line.row)
    return found


def _pairs(what: str, row: Row, other: Row) -> Iterable[Pair]:
    """`row` over `other`, or nothing where one of them does not count."""
    if row.status != "ok" or other.status != "ok":
        return
    ours, theirs = _by_repeat(row), _by_repeat(other)
    ratios = {repeat: ours[repeat] / theirs[repeat] for repeat in sorted(ours.keys() & theirs.keys())}
    if ratios:
        yield Pair(what=what, ratios=ratios)


def _by_repeat(row: Row) -> dict[int, float]:
    return {sample.repeat: rate for sample, rate in zip(row.samples, row.rates(), strict=True)}


def growth(soak: Soak) -> Growth | None:
    """How memory grew in the second half of the load, after caches are full; None with too few points."""
    half = [point for point in soak.points if point.seconds >= soak.points[-1].seconds / 2]
    third = len(half) // 3
    if third < 2:
        return None
    first, last = half[:third], half[-third:]
    slopes = [
        (b.memory_bytes - a.memory_bytes) / (b.seconds - a.seconds) for a, b in zip(first, last, strict=True)
    ]
    middle = statistics.median(point.memory_bytes for point in half)
    slope = statistics.median(slopes)
    return Growth(
        soak=soak,
        median=middle,
        per_minute=60 * slope,
        share=slope * (half[-1].seconds - half[0].seconds) / middle,
    )


def cache_text(bundle: Bundle, layer: LayerRecord) -> str:
    """Whether what may be asked for fits into the cache of each process."""
    size = layer.working_set / 2**20
    if not bundle.cache_bytes:
        return f"{layer.name}: {size:,.0f} MiB decoded, no cache"
    budget = bundle.cache_bytes / bundle.workers / 2**20
    fits = "fits" if size <= budget else "does not fit"
    return f"{layer.name}: {size:,.0f} MiB decoded, {fits} into the {budget:,.0f} MiB of each process"


def busy_text(bundle: Bundle) -> str | None:
    """That others used the machine when the run began, or None; later the load is that of the run itself."""
    load = bundle.host.load_average[0]
    if load <= BUSY * bundle.cores:
        return None
    return (
        f"The machine was busy when the run began: a load average of {load:.1f} on {bundle.cores} cores. "
        f"Rates are too low then, and differ by chance."
    )


def headlines(bundle: Bundle) -> list[str]:
    """Sentences: how the subject stands to what was published, and the formats to each other."""
    found = []
    for section in sections(bundle):
        if section.load.temperature != "warm":
            continue
        parts = []
        for line in section.lines:
            ratios = {year: line.to_reference(year) for year in (2023, 2024)}
            told = [f"{ratio:.1f}× of {year}" for year, ratio in ratios.items() if ratio is not None]
            if line.row.server == SUBJECT and told and line.per_core is not None:
                parts.append(
                    f"{line.layer.format} {line.layer.coding} {line.per_core:,.0f} ({', '.join(told)})"
                )
        if parts:
            what = f"{section.layer.capitalize()}, {section.load.name}"
            found.append(f"{what}: {SUBJECT} answers per second and core: {'; '.join(parts)}.")
    pairs = formats_compared(bundle)
    if pairs:
        near = [pair for pair in pairs if abs(pair.ratio - 1) <= NEAR]
        listed = "; ".join(f"{pair.what} {pair.ratio:.2f}×" for pair in pairs)
        found.append(
            f"Zarr over WKW where the codec is the same: {listed}. Within {100 * NEAR:.0f} % in "
            f"{len(near)} of {len(pairs)} cases."
        )
    for soak in bundle.soaks:
        grown = growth(soak)
        if grown is not None:
            found.append(soak_text(grown))
    return found


def soak_text(grown: Growth) -> str:
    """What a long load showed."""
    soak = grown.soak
    minutes = soak.points[-1].seconds / 60
    verdict = "flat" if grown.flat else "NOT flat"
    return (
        f"{soak.server}, {soak.layer}, {minutes:.1f} minutes at {soak.connections} connections: memory is "
        f"{verdict}, {grown.median / 2**20:,.0f} MiB in {soak.points[-1].processes} processes, "
        f"{grown.per_minute / 2**20:+.2f} MiB per minute in the second half"
        + (f"; {soak.reason}" if soak.reason else "")
        + "."
    )
