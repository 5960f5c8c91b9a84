"""What the reports of the workloads over layouts call things, and how they write numbers."""

import math
from collections.abc import Iterable, Sequence

from fastzarr.bench.measurements import CaseRecord
from fastzarr.bench.report.summary import size_text
from fastzarr.bench.results import MIB

OF_VOXELS = "cutouts of WKW"
"""The topic whose cases have one layout, and differ in data type and codec."""
RAISED = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")


def codec_text(case: CaseRecord) -> str:
    """Codec and level, where it has one."""
    return "uncompressed" if case.codec == "none" else _coded(case)


def shape_text(shape: Sequence[int]) -> str:
    """`512³` where all sides are equal, else `16 × 128 × 128`."""
    if len(shape) == 3 and len(set(shape)) == 1:
        return f"{shape[0]}³"
    return " × ".join(map(str, shape))


def layout_text(case: CaseRecord) -> str:
    """Shape, chunks and shards."""
    chunks = f"{case.chunk_count} chunk{'' if case.chunk_count == 1 else 's'} of {shape_text(case.chunks)}"
    shards = f" in shards of {shape_text(case.shards)}" if case.shards else ""
    return f"{shape_text(case.shape)} {case.dtype}, {chunks}{shards}"


def labels(cases: Iterable[CaseRecord]) -> dict[str, str]:
    """A short text for each case, by its name: topic, size of a chunk, codec; what is the same gets more."""
    kept = tuple(cases)
    texts = {case.name: _label(case) for case in kept}
    for more in (count_text, lambda case: f"v{case.zarr_format}", lambda case: f"({case.name})"):
        found = list(texts.values())
        texts.update({c.name: f"{texts[c.name]} {more(c)}" for c in kept if found.count(texts[c.name]) > 1})
    return texts


def _coded(case: CaseRecord) -> str:
    return f"{case.codec}{f' {case.level}' if case.level else ''}"


def _label(case: CaseRecord) -> str:
    if case.topic == OF_VOXELS:
        return f"{case.topic}, {case.dtype}, {codec_text(case)}"
    small_cube = case.chunk_bytes < MIB and len(case.chunks) == 3 and len(set(case.chunks)) == 1
    chunk = shape_text(case.chunks) if small_cube else size_text(case.chunk_bytes)
    shard_bytes = math.prod(case.shards or ()) * case.chunk_bytes // math.prod(case.chunks)
    shard = f" in {size_text(shard_bytes)}" if case.shards else ""
    return f"{case.topic} {chunk}{shard} {_coded(case)}"


def count_text(case: CaseRecord) -> str:
    """The number of chunks, a power of ten as one."""
    power = round(math.log10(case.chunk_count))
    return f"10{str(power).translate(RAISED)}" if case.chunk_count == 10**power else f"{case.chunk_count}"


def time_text(microseconds: float) -> str:
    """Microseconds to three digits, thousands apart."""
    digits = 2 if microseconds < 10 else 1 if microseconds < 100 else 0
    return f"{microseconds:,.{digits}f}".replace(",", " ")


def ratio_text(ratio: float) -> str:
    """A ratio to three digits, and two after the point at most."""
    digits = 2 if ratio < 10 else 1 if ratio < 100 else 0
    return f"{ratio:.{digits}f}×"
