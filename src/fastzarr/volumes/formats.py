"""How magnifications are stored: as WKW, and as Zarr in the layout that webknossos gives it.

Zarr has dimensions c, x, y, z; x is fastest in a chunk, which has all channels. v3 is sharded, with chunks
that are compressed by zstd at level 5 and end with a checksum. Shapes are whole shards, in v2 whole chunks.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

import fastzarr
from fastzarr.errors import MetadataError
from fastzarr.volumes.properties import DataFormat

To = Literal["wkw", "zarr2", "zarr3"]

CODECS: dict[To, tuple[str, ...]] = {
    "wkw": ("lz4hc", "lz4", "raw"),
    "zarr2": ("zstd", "gzip", "blosc", "lz4", "none"),
    "zarr3": ("zstd", "gzip", "blosc", "lz4", "none"),
}
"""Codecs of each format, the default first."""

_LEVELS: dict[str, tuple[int, int, int]] = {"zstd": (-131072, 22, 5), "gzip": (0, 9, 5), "blosc": (0, 9, 5)}
"""Least, largest and default level of the codecs that have one."""
_LARGEST_CHUNK = 1024
_USUAL_SHARD = 1024
_LARGEST_SHARD = 1 << 14
_MOST_CHUNKS = 128
"""Along each edge of a shard, whose index has an entry for each."""


@dataclass(frozen=True, kw_only=True)
class Format:
    """How magnifications are stored; raises `MetadataError` for what can't be."""

    to: To = "zarr3"
    """WKW, Zarr v2, or Zarr v3 with shards."""
    codec: str | None = None
    """Name of the codec; None is the format's default."""
    level: int | None = None
    """Level of the codec; None is its default."""
    chunk: int = 32
    """Voxels along each edge of a chunk, of a block of WKW."""
    shard: int | None = None
    """Voxels along each edge of a shard, of a file of WKW; Zarr v2 has none. None: 1024, or less that do."""

    def __post_init__(self) -> None:
        problems = []
        if self.to not in get_args(To):
            raise MetadataError("to", [f"got {self.to!r}, expected one of {', '.join(get_args(To))}"])
        if self.codec not in (None, *CODECS[self.to]):
            names = ", ".join(CODECS[self.to])
            problems.append(f"codec: got {self.codec!r}, expected for {self.to} one of {names}")
        elif self.level is not None and self.name not in _LEVELS:
            problems.append(f"level: got {self.level}, expected none, since {self.name} has no levels")
        elif self.level is not None:
            least, most, _ = _LEVELS[self.name]
            if not least <= self.level <= most:
                problems.append(f"level: got {self.level}, expected {least} to {most} for {self.name}")
        power = ", a power of two" if self.to == "wkw" else ""
        if not self._allowed(self.chunk, _LARGEST_CHUNK):
            problems.append(f"chunk: got {self.chunk}, expected a number from 1 to {_LARGEST_CHUNK}{power}")
        elif self.shard is not None and self.to != "zarr2":
            most = min(_LARGEST_SHARD, _MOST_CHUNKS * self.chunk)
            if not self._allowed(self.shard, most) or self.shard % self.chunk:
                expected = f"a multiple of the chunk's {self.chunk} up to {most}{power}"
                problems.append(f"shard: got {self.shard}, expected {expected}")
        if problems:
            raise MetadataError("format", problems)

    def _allowed(self, value: int, most: int) -> bool:
        return 1 <= value <= most and (self.to != "wkw" or value & (value - 1) == 0)

    def fitted(self, end: int) -> Format:
        """The same with a shard's size: where none was given, the least that reaches to `end`, up to 1024."""
        if self.shard is not None or self.to == "zarr2":
            return self
        shard = self.chunk
        while shard < end and shard * 2 <= max(_USUAL_SHARD, self.chunk):
            shard *= 2
        return replace(self, shard=shard)

    @property
    def name(self) -> str:
        """Name of the codec."""
        return self.codec or CODECS[self.to][0]

    @property
    def data_format(self) -> DataFormat:
        """What a dataset's document calls it."""
        return "zarr" if self.to == "zarr2" else self.to

    @property
    def object_len(self) -> int | None:
        """Voxels along each edge of what is stored as one file; None where that is each chunk."""
        return None if self.to == "zarr2" else self.shard

    @property
    def _level(self) -> int:
        return _LEVELS[self.name][2] if self.level is None else self.level

    def compressor(self) -> Any:
        """The codec of Zarr's chunks, as `create_array` takes it."""
        name, level = self.name, self._level if self.name in _LEVELS else 0
        if name == "none":
            return None
        if self.to == "zarr2":
            configs = {
                "zstd": {"id": "zstd", "level": level},
                "gzip": {"id": "gzip", "level": level},
                "blosc": {"id": "blosc", "cname": "lz4", "clevel": level, "shuffle": 1, "blocksize": 0},
                "lz4": {"id": "lz4", "acceleration": 1},
            }
            return configs[name]
        if name == "zstd":
            return fastzarr.codecs.ZstdCodec(level=level, checksum=True)
        if name == "gzip":
            return fastzarr.codecs.GzipCodec(level=level)
        if name == "blosc":
            return fastzarr.codecs.BloscCodec(cname="lz4", clevel=level, shuffle="shuffle")
        return fastzarr.codecs.LZ4Codec()
