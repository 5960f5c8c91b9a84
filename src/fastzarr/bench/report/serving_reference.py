"""What webknossos published of its own server, which rows are put beside.

Both runs: 32 cores (Hetzner CCX53), `wrk -t32 -c500`, one minute, wrk on the same machine. The data were
another dataset, most likely l4dense_motta_et_al_demo; that one request is six buckets of 32³ follows from the
bytes per request. wrk's GB are GiB.
"""

from dataclasses import dataclass

CORES = 32
GIB = 2**30
SOURCES = {
    2023: "https://github.com/scalableminds/webknossos/issues/7245",
    2024: "https://github.com/scalableminds/webknossos/pull/7528",
}


@dataclass(frozen=True, kw_only=True)
class Reference:
    """One published row; seconds and bytes."""

    year: int
    """2023, or 2024: WKW read by the code that reads Zarr."""
    layer: str
    """`color` or `segmentation`."""
    format: str
    """`wkw` or `zarr3`."""
    raw: bool = False
    """Whether its blocks were not compressed."""
    rate: float
    """Requests per second."""
    transfer: float
    """Bytes per second."""
    latency_mean: float | None = None
    """Mean of the answers, or None where it was not told."""
    latency_max: float | None = None
    """The longest, or None where it was not told."""
    remark: str = ""
    """What is to be known of it."""

    @property
    def per_core(self) -> float:
        """Requests per second of one core, of those that server and wrk shared."""
        return self.rate / CORES

    @property
    def name(self) -> str:
        """How tables name it."""
        return f"webknossos {self.year}"


REFERENCES = (
    Reference(
        year=2023,
        layer="color",
        format="wkw",
        rate=10490.76,
        transfer=1.92 * GIB,
        latency_mean=0.07234,
        latency_max=4.49,
    ),
    Reference(year=2024, layer="color", format="wkw", rate=25941, transfer=4.76 * GIB),
    Reference(year=2024, layer="color", format="wkw", raw=True, rate=27990, transfer=5.01 * GIB),
    Reference(
        year=2023,
        layer="color",
        format="zarr3",
        rate=23808.88,
        transfer=4.37 * GIB,
        latency_mean=0.02392,
        latency_max=1.22,
    ),
    Reference(
        year=2023,
        layer="segmentation",
        format="wkw",
        rate=11644.98,
        transfer=8.53 * GIB,
        latency_mean=0.06389,
        latency_max=3.23,
    ),
    Reference(year=2024, layer="segmentation", format="wkw", rate=12940, transfer=9.48 * GIB),
    Reference(
        year=2023,
        layer="segmentation",
        format="zarr3",
        rate=13635.31,
        transfer=9.99 * GIB,
        latency_mean=0.04703,
        latency_max=3.37,
        remark="one answer of it was not 2xx, for which a row is void here",
    ),
)


def reference(year: int, layer: str, format_: str, *, raw: bool) -> Reference | None:
    """The published row of that year that a stored layer is put beside: of raw layers the one of raw blocks
    where there is one.
    """
    found = [r for r in REFERENCES if (r.year, r.layer, r.format) == (year, layer, format_)]
    return next((r for r in found if r.raw == raw), next((r for r in found if not r.raw), None))
