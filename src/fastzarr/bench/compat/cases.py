"""The arrays that every writer writes and every reader reads."""

import dataclasses
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from fastzarr.bench.errors import BenchmarkError

CodecName = Literal["none", "zstd", "blosc", "zlib", "gzip"]
Layout = Literal["even", "edge", "missing", "zeros"]
"""`even`: whole chunks only; `edge`: chunks that reach beyond the shape; `missing`: half the chunks never
written; `zeros`: a chunk of negative zeros, where the fill value is zero."""

CODECS: tuple[CodecName, ...] = ("none", "zstd", "blosc", "zlib", "gzip")
"""`zlib` is of Zarr v2 only, `gzip` of v3 only."""
LEVELS: dict[str, int] = {"none": 0, "zstd": 3, "blosc": 5, "zlib": 5, "gzip": 5}
FORMATS: tuple[Literal[2, 3], ...] = (2, 3)

CHUNK_SHAPE = (2, 12, 16)
EVEN_SHAPE = (4, 24, 32)
EDGE_SHAPE = (5, 25, 37)
SHARD_SHAPE = (4, 12, 32)
"""Four inner chunks a shard, two shards an even array; at the edge, inner chunks beyond the shape."""

ZERO: dict[str, Any] = {"bool": False, "complex64": [0.0, 0.0], "string": ""}
DATA_TYPES = (
    "bool",
    "int8",
    "uint16",
    "int32",
    "float32",
    "float64",
    "complex64",
    "datetime64[s]",
    "string",
)
QUICK_DATA_TYPES = ("uint16", "float32")
MISSING_FILL: dict[str, Any] = {"uint16": 42, "float32": "NaN", "float64": -0.0}
"""Fill values of the cases with missing chunks, of the data types that have one."""


@dataclass(frozen=True, kw_only=True)
class Case:
    """One array; as JSON, what a program is told of it."""

    name: str
    """Unique in the matrix."""
    zarr_format: int
    """2 or 3."""
    codec: str
    """`none`, `zstd`, `blosc` (lz4, byte shuffle), `zlib` (v2) or `gzip` (v3)."""
    level: int
    """Compression level; 0 for `none`."""
    shape: tuple[int, ...]
    """Array shape in elements."""
    chunk_shape: tuple[int, ...]
    """Chunk shape in elements; of inner chunks where the array is sharded."""
    shard_shape: tuple[int, ...] | None
    """Shard shape in elements, or None."""
    data_type: str
    """As Zarr v3 names it, except `datetime64[s]`, which is seconds since 1970."""
    endian: str
    """Byte order of the stored elements: `little` or `big`."""
    fill_value: Any
    """In the JSON form of Zarr v3; seconds for `datetime64[s]`."""
    layout: str
    """`even`, `edge`, `missing` or `zeros`."""
    written_rows: int
    """Writers write so many indices of axis 0; all beyond are the fill value."""

    @property
    def group(self) -> str:
        """Format and sharding: `v2`, `v3` or `v3 sharded`."""
        return f"v{self.zarr_format}{' sharded' if self.shard_shape else ''}"

    def to_json(self) -> dict[str, Any]:
        """What a program is told."""
        return dataclasses.asdict(self)


def from_json(given: dict[str, Any]) -> Case:
    """The case that `to_json` made, after a trip through JSON."""
    shapes = {
        key: None if given[key] is None else tuple(given[key])
        for key in ("shape", "chunk_shape", "shard_shape")
    }
    return Case(**(given | shapes))


def cases(formats: Sequence[int], codecs: Iterable[str], *, quick: bool = False) -> tuple[Case, ...]:
    """Every case of the formats and codecs; `quick` is few data types, all layouts.

    Raises BenchmarkError where no format has any of the codecs.
    """
    chosen = set(codecs)
    found = []
    for zarr_format in formats:
        of_the_other = "gzip" if zarr_format == 2 else "zlib"
        names = [name for name in CODECS if name in chosen and name != of_the_other]
        for sharded in (False, True) if zarr_format == 3 else (False,):
            for codec in names:
                found += [
                    _case(zarr_format, codec, sharded, data_type, layout)
                    for data_type, layout in _contents(quick)
                ]
    if not found:
        given, of = ", ".join(sorted(chosen)), ", ".join(f"v{zarr_format}" for zarr_format in formats)
        raise BenchmarkError(f"--codecs: got {given} for Zarr {of}; zlib is of v2 only, gzip of v3 only")
    return tuple(found)


def _contents(quick: bool) -> list[tuple[str, Layout]]:
    """Data types and the layouts each comes in."""
    pairs: list[tuple[str, Layout]] = [(t, "even") for t in (QUICK_DATA_TYPES if quick else DATA_TYPES)]
    pairs += [(data_type, "edge") for data_type in QUICK_DATA_TYPES]
    pairs += [(data_type, "missing") for data_type in MISSING_FILL]
    return [*pairs, ("float32", "zeros")]


def _case(zarr_format: int, codec: str, sharded: bool, data_type: str, layout: Layout) -> Case:
    shape = EDGE_SHAPE if layout == "edge" else EVEN_SHAPE
    fill = MISSING_FILL[data_type] if layout == "missing" else ZERO.get(data_type, 0)
    endian = "big" if zarr_format == 2 and data_type == "int32" else "little"
    parts = (f"v{zarr_format}", "sharded" if sharded else "", codec, data_type)
    kind = "" if layout == "even" else layout
    return Case(
        name=" ".join(filter(None, (*parts, "big-endian" if endian == "big" else "", kind))),
        zarr_format=zarr_format,
        codec=codec,
        level=LEVELS[codec],
        shape=shape,
        chunk_shape=CHUNK_SHAPE,
        shard_shape=SHARD_SHAPE if sharded else None,
        data_type=data_type,
        endian=endian,
        fill_value=float(fill) if data_type.startswith("float") and fill == 0 else fill,
        layout=layout,
        written_rows=CHUNK_SHAPE[0] if layout == "missing" else shape[0],
    )
