"""The one model of an array's metadata; both formats become this."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from fastzarr.chunks.axis import ChunkSizes, largest
from fastzarr.chunks.grid import SIZE_LIMIT, cdata_shape
from fastzarr.chunks.key_encoding import ChunkKeyEncoding
from fastzarr.data_types import DataType, held
from fastzarr.errors import MetadataError

_MAX_DIMENSIONS = 64
"""What NumPy has."""

ZarrFormat = Literal[2, 3]
MemoryOrder = Literal["C", "F"]


@dataclass(frozen=True, kw_only=True)
class CodecConfig:
    """One entry of a codec chain, as Zarr v3 writes it."""

    name: str
    """Codec name; what v3 has no name for is `numcodecs.` and the v2 id."""
    configuration: dict[str, Any]
    """Its configuration; empty where the document has none."""

    def to_dict(self) -> dict[str, Any]:
        """The JSON form, without `configuration` where it is empty, except where zarr-python writes that."""
        if not self.configuration and not self.name.startswith(("numcodecs.", "vlen-")):
            return {"name": self.name}
        return {"name": self.name, "configuration": dict(self.configuration)}


@dataclass(frozen=True, kw_only=True, eq=False)
class ArrayMetadata:
    """Metadata of one array; equal when the documents are equal."""

    zarr_format: ZarrFormat
    """2 or 3: the format of the stored document."""
    shape: tuple[int, ...]
    """Array shape in elements."""
    data_type: DataType
    """Data type of the elements."""
    chunks: tuple[ChunkSizes, ...]
    """Chunk shape in elements; in a rectilinear grid, runs of sizes for some dimensions."""
    chunk_key_encoding: ChunkKeyEncoding
    """Chunk coordinates to keys."""
    fill_value: Any
    """Value of elements never written; None for the v2 `null`, which reads as zero."""
    codecs: tuple[CodecConfig, ...]
    """The codec chain."""
    order: MemoryOrder
    """Order of elements in a chunk: v2's `order`; always C in v3, where `transpose` says it."""
    dimension_names: tuple[str | None, ...] | None
    """Name of each dimension (v3), or None."""
    attributes: dict[str, Any]
    """User attributes."""
    document: dict[str, Any]
    """The stored document (`zarr.json` or `.zarray`), with members that fastzarr doesn't know."""

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ArrayMetadata):
            return NotImplemented
        return self.to_dict() == other.to_dict()

    __hash__ = None  # type: ignore[assignment]

    @property
    def dtype(self) -> np.dtype[Any]:
        """NumPy dtype of the elements; in v2 with the stored byte order, in v3 native."""
        return self.data_type.dtype

    @property
    def fill_element(self) -> Any:
        """What elements never written read as; an object in an array of no dimensions, as NumPy takes it."""
        element = self.data_type.default_fill if self.fill_value is None else self.fill_value
        return held(element) if self.dtype.kind == "O" else element

    @property
    def cdata_shape(self) -> tuple[int, ...]:
        """Number of chunks along each dimension."""
        return cdata_shape(self.shape, self.chunks)

    def to_dict(self) -> dict[str, Any]:
        """The metadata document as Python objects, attributes included."""
        return {**self.document, "attributes": self.attributes}


class Problems:
    """Collects what is wrong with one document, so that everything is told at once."""

    def __init__(self, where: str) -> None:
        self.where = where
        self.found: list[str] = []

    def add(self, member: str, found: object, expected: str) -> None:
        """Note that `member` has the value `found` instead of `expected`."""
        self.found.append(f"{member}: got {found!r}, expected {expected}")

    def attempt(self, call: Any, *args: Any, **kwargs: Any) -> Any:
        """Result of `call`, or None with its `MetadataError` noted."""
        try:
            return call(*args, **kwargs)
        except MetadataError as error:
            self.found += [f"{error.where}: {problem}" for problem in error.problems]
            return None

    def sizes(self, document: dict[str, Any], member: str, least: int) -> tuple[int, ...] | None:
        """The list of integers `member`, each at least `least` and less than 2**63."""
        value = document.get(member)
        if not isinstance(value, list) or any(
            not isinstance(v, int) or isinstance(v, bool) or v < least for v in value
        ):
            self.add(member, value, f"a list of integers of {least} or more")
            return None
        if any(v >= SIZE_LIMIT for v in value):
            self.add(member, value, "sizes of less than 2**63")
            return None
        return tuple(value)

    def chunks_fit(self, chunks: tuple[ChunkSizes, ...] | None, data_type: DataType | None) -> None:
        """Note chunks that no NumPy array can hold."""
        if chunks is None or data_type is None:
            return
        if len(chunks) > _MAX_DIMENSIONS:
            self.found.append(f"got {len(chunks)} dimensions, expected {_MAX_DIMENSIONS} at the most")
        if math.prod(largest(chunks)) * data_type.dtype.itemsize >= SIZE_LIMIT:
            self.add("chunk shape", chunks, f"chunks of less than 2**63 bytes (data type {data_type.name})")

    def raise_if_any(self) -> None:
        """Raise `MetadataError` with everything noted."""
        if self.found:
            raise MetadataError(self.where, self.found)
