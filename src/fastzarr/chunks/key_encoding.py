"""Chunk coordinates to store keys: the `default` and `v2` chunk key encodings of Zarr v3."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from fastzarr.errors import MetadataError

Separator = Literal[".", "/"]


@dataclass(frozen=True, kw_only=True)
class ChunkKeyEncoding:
    """How chunk coordinates become keys, relative to the array."""

    name: Literal["default", "v2"]
    """`default`: `c/1/2`; `v2`: `1.2`."""
    separator: Separator
    """What stands between coordinates."""

    def template(self, ndim: int) -> str:
        """Key of a chunk as a `%` template for its coordinates."""
        parts = ["%d"] * ndim
        if self.name == "default":
            parts.insert(0, "c")
        return self.separator.join(parts) or "0"

    def to_dict(self) -> dict[str, object]:
        """The JSON form."""
        return {"name": self.name, "configuration": {"separator": self.separator}}


def parse(value: object) -> ChunkKeyEncoding:
    """Encoding from its JSON form, a plain name, or a pair of name and separator; raises `MetadataError`.

    Without a separator, `default` means `/` and `v2` means `.` (Zarr v3 core, "Chunk key encoding").
    """
    name: object = value
    separator: object = None
    if isinstance(value, ChunkKeyEncoding):
        return value
    if isinstance(value, tuple) and len(value) == 2:
        name, separator = value
    elif isinstance(value, dict):
        name = value.get("name")
        configuration = value.get("configuration", value)
        separator = configuration.get("separator") if isinstance(configuration, dict) else configuration
    if name not in ("default", "v2"):
        raise MetadataError("chunk_key_encoding", [f"got {value!r}, expected the name 'default' or 'v2'"])
    if separator is None:
        separator = "/" if name == "default" else "."
    if separator not in (".", "/"):
        raise MetadataError("chunk_key_encoding", [f"got separator {separator!r}, expected '.' or '/'"])
    return ChunkKeyEncoding(name=name, separator=separator)
