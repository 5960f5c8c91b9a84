"""The `reshape` codec: the elements in their order, in another shape.

Source: zarr-extensions registry, "reshape".
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from numpy.typing import NDArray

from fastzarr.codecs.base import ChunkSpec, Kind, ShapedCodec, is_integer
from fastzarr.errors import MetadataError


@dataclass(frozen=True, kw_only=True)
class ReshapeCodec(ShapedCodec):
    """array→array with the same elements in C order."""

    name: ClassVar[str] = "reshape"
    kind: ClassVar[Kind] = "array_array"
    views: ClassVar[bool] = False

    shape: tuple[int | tuple[int, ...], ...]
    """For each dimension of the encoded array its size, -1 for what remains (once at the most), or the
    dimensions of the decoded array that it is the product of."""

    def __post_init__(self) -> None:
        entries: Any = self.shape
        valid = isinstance(entries, list | tuple) and all(_is_entry(entry) for entry in entries)
        valid = valid and sum(entry == -1 for entry in entries) <= 1
        self.check("shape", valid, "a list of sizes, -1 (once at the most), or lists of dimensions")
        frozen = tuple(tuple(entry) if isinstance(entry, list | tuple) else entry for entry in entries)
        object.__setattr__(self, "shape", frozen)
        used = [dimension for entry in frozen if isinstance(entry, tuple) for dimension in entry]
        self.check("shape", used == sorted(set(used)), "lists of dimensions that increase, each once")

    def config(self) -> dict[str, Any]:
        """Configuration as it is written."""
        return {"shape": [list(entry) if isinstance(entry, tuple) else entry for entry in self.shape]}

    def encoded_spec(self, spec: ChunkSpec) -> ChunkSpec:
        """Spec with the other shape; raises `MetadataError` where the chunk can't have it."""
        return replace(spec, shape=self._sizes(spec.shape))

    def encode_array(self, chunk: NDArray[Any]) -> NDArray[Any]:
        """The chunk in the other shape; a view where NumPy can."""
        return chunk.reshape(self._sizes(chunk.shape))

    def decode_array(self, encoded: NDArray[Any]) -> NDArray[Any]:
        """The array in the chunk's shape."""
        return encoded.reshape(self.chunk.shape)

    def _sizes(self, given: tuple[int, ...]) -> tuple[int, ...]:
        used = [dimension for entry in self.shape if isinstance(entry, tuple) for dimension in entry]
        if used and used[-1] >= len(given):
            raise self._misfit(given, f"dimensions below {len(given)}")
        sizes = [
            math.prod(given[dimension] for dimension in entry) if isinstance(entry, tuple) else entry
            for entry in self.shape
        ]
        if -1 in sizes:
            known = -math.prod(sizes)
            if known == 0 or math.prod(given) % known:
                raise self._misfit(given, "sizes whose product divides the chunk's")
            sizes[sizes.index(-1)] = math.prod(given) // known
        if math.prod(sizes) != math.prod(given):
            raise self._misfit(given, f"{math.prod(given)} elements, not {math.prod(sizes)}")
        for at, entry in enumerate(self.shape):
            if isinstance(entry, tuple) and entry:
                before = math.prod(sizes[:at]) == math.prod(given[: entry[0]])
                behind = math.prod(sizes[at + 1 :]) == math.prod(given[entry[-1] + 1 :])
                if not before or not behind:
                    raise self._misfit(given, f"dimensions {list(entry)} to stay where they are")
        return tuple(sizes)

    def _misfit(self, given: tuple[int, ...], expected: str) -> MetadataError:
        found = self.config()["shape"]
        return MetadataError(
            f"codec {self.name!r}",
            [f"shape: got {found} for chunks of shape {list(given)}, expected {expected}"],
        )


def _is_entry(entry: object) -> bool:
    if isinstance(entry, list | tuple):
        return all(is_integer(dimension, 0, 2**31) for dimension in entry)
    return entry == -1 or is_integer(entry, 1, 2**63 - 1)
