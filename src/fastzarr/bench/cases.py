"""The arrays of a run: every source in every Zarr format with every codec."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from fastzarr.bench.backends.base import Case, CodecName
from fastzarr.bench.inputs import Source
from fastzarr.bench.results import CaseRecord

ZarrFormat = Literal[2, 3]
CodecLevel = tuple[CodecName, int]
"""Codec and compression level; level 0 for `none`."""

DEFAULT_LEVELS: dict[CodecName, int] = {"none": 0, "zstd": 3, "blosc": 5, "zlib": 5}
HIGHEST_LEVELS: dict[CodecName, int] = {"none": 0, "zstd": 22, "blosc": 9, "zlib": 9}

SMALL = 64 * 2**20
"""Bytes below which an array is small: a run is short, so that more of them cost little and are needed."""


@dataclass(frozen=True, kw_only=True)
class Repeats:
    """Timed repeats of a case, at least 1; one warm-up comes before."""

    usual: int
    """Of arrays of `SMALL` bytes or more."""
    small: int
    """Of smaller ones."""

    def of(self, nbytes: int) -> int:
        """Repeats of an array of that size."""
        return self.small if nbytes < SMALL else self.usual


@dataclass(frozen=True, kw_only=True)
class Job:
    """One case to run."""

    source: Source
    """Where its data come from."""
    case: Case
    """What every backend is given."""
    record: CaseRecord
    """What the results keep of it."""
    repeats: int
    """Timed repeats."""


def jobs(
    sources: Sequence[Source],
    formats: Sequence[ZarrFormat],
    codecs: Sequence[CodecLevel],
    repeats: Repeats,
) -> Iterator[Job]:
    """Every array to write; those of one source follow each other."""
    for source in sources:
        for zarr_format in formats:
            for codec, level in codecs:
                case = Case(
                    shape=source.shape,
                    dtype=source.dtype,
                    codec=codec,
                    level=level,
                    zarr_format=zarr_format,
                    fill_value=source.fill_value,
                )
                yield Job(
                    source=source,
                    case=case,
                    record=record(source, case),
                    repeats=repeats.of(source.nbytes),
                )


def record(source: Source, case: Case) -> CaseRecord:
    """What the results keep of `case`."""
    size = "x".join(map(str, case.shape))
    codec = f"{case.codec} {case.level}" if case.level else case.codec
    return CaseRecord(
        name=f"{source.name} {size} v{case.zarr_format} {codec}",
        source=source.name,
        shape=case.shape,
        dtype=case.dtype.name,
        zarr_format=case.zarr_format,
        codec=case.codec,
        level=case.level,
        total_bytes=source.nbytes,
    )
