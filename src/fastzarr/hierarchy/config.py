"""Runtime configuration of arrays."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from operator import index
from typing import Any, SupportsIndex

from fastzarr.errors import MetadataError
from fastzarr.metadata.model import MemoryOrder


@dataclass(frozen=True, kw_only=True)
class ArrayConfig:
    """Runtime configuration of one array; nothing of it is stored."""

    order: MemoryOrder = "C"
    """Memory order of arrays that reading returns (in v2 the stored order is taken)."""
    write_empty_chunks: bool = False
    """Whether chunks equal to the fill value are stored; else they are left out, and erased."""
    read_missing_chunks: bool = True
    """Whether chunks that are not stored read as the fill value; else reading one is a `ChunkNotFoundError`.

    Of a sharded array those are shards: an inner chunk that a stored shard leaves out is the fill value.
    """
    validate_checksums: bool = True
    """Whether codecs that only add a checksum (`crc32c`, numcodecs' ones) compare it when reading."""
    threads: int | None = None
    """Most threads that one call reads or writes with, the caller's among them; 1 is the caller's alone.

    None: as many as the environment variable `FASTZARR_THREADS` says; without it, one for each processor that
    the process may use, and for stores over a network at least 16.
    """


ConfigLike = ArrayConfig | Mapping[str, Any] | None


def config_members(config: ConfigLike) -> dict[str, Any]:
    """What a configuration says, as a dictionary."""
    if isinstance(config, ArrayConfig):
        return {field.name: getattr(config, field.name) for field in fields(config)}
    return dict(config or {})


def parse_config(config: ConfigLike) -> ArrayConfig:
    """Runtime configuration from what a caller gives; raises `MetadataError`."""
    members = config_members(config)
    known = [field.name for field in fields(ArrayConfig)]
    unknown = sorted(members.keys() - set(known))
    if unknown:
        raise MetadataError("config", [f"got members {unknown}, expected only: {', '.join(known)}"])
    if members.get("order", "C") not in ("C", "F"):
        raise MetadataError("config", [f"order: got {members['order']!r}, expected 'C' or 'F'"])
    if members.get("threads") is not None:
        members["threads"] = _parse_threads(members["threads"])
    return ArrayConfig(**members)


def _parse_threads(threads: object) -> int:
    if not isinstance(threads, SupportsIndex) or isinstance(threads, bool) or index(threads) < 1:
        expected = "a number of threads of 1 or more, or None for one per processor"
        raise MetadataError("config", [f"threads: got {threads!r}, expected {expected}"])
    return index(threads)
