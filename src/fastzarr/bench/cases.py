"""The arrays of a run: every source in every Zarr format with every codec."""

from collections.abc import Iterator, Sequence
from typing import Literal

from fastzarr.bench.backends.base import Case, CodecName
from fastzarr.bench.inputs import Source
from fastzarr.bench.results import CaseRecord

ZarrFormat = Literal[2, 3]
CodecLevel = tuple[CodecName, int]
"""Codec and compression level; level 0 for `none`."""

DEFAULT_LEVELS: dict[CodecName, int] = {"none": 0, "zstd": 3, "blosc": 5, "zlib": 5}
HIGHEST_LEVELS: dict[CodecName, int] = {"none": 0, "zstd": 22, "blosc": 9, "zlib": 9}


def cases(
    source: Source, formats: Sequence[ZarrFormat], codecs: Sequence[CodecLevel]
) -> Iterator[tuple[Case, CaseRecord]]:
    """Each array to write from `source`, and its record."""
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
            yield case, record(source, case)


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
