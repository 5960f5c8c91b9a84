"""What a benchmark backend is: one way to write and read one array, step by step; and what arrays are."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

Region = tuple[slice, ...]
"""A slice of step 1 with both ends for every dimension."""

CodecName = Literal["none", "zstd", "blosc", "zlib"]
"""Codec names of the benchmark; `zlib` is the `zlib` compressor in Zarr v2 and the `gzip` codec in v3."""


@dataclass(frozen=True, kw_only=True)
class Case:
    """One thing to write and read, the same for every backend."""

    shape: tuple[int, ...]
    """Array shape; axis 0 is time, one chunk per step."""
    dtype: np.dtype[Any]
    codec: CodecName
    level: int
    """Compression level; 0 for codec `none`. Blosc is lz4 with byte shuffle."""
    zarr_format: Literal[2, 3]
    fill_value: float
    """Fill value of the array; chunks equal to it are elided by every backend that can."""

    @property
    def chunks(self) -> tuple[int, ...]:
        """Chunk shape: one whole step."""
        return (1, *self.shape[1:])

    @property
    def shards(self) -> None:
        """These arrays are not sharded."""

    @property
    def objects(self) -> tuple[int, ...]:
        """Shape of what is one file."""
        return self.chunks


@dataclass(frozen=True, kw_only=True)
class Layout:
    """One array, the same for every backend."""

    shape: tuple[int, ...]
    """Array shape."""
    chunks: tuple[int, ...]
    """Chunk shape; of a sharded array that of the inner chunks."""
    shards: tuple[int, ...] | None
    """Shard shape, or None where the array is not sharded."""
    dtype: np.dtype[Any]
    """Data type in the machine's byte order."""
    codec: CodecName
    """Codec of the chunks; of a sharded array of the inner chunks."""
    level: int
    """Compression level; 0 for codec `none`. Blosc is lz4 with byte shuffle."""
    zarr_format: Literal[2, 3]
    """2 or 3; sharded arrays are 3."""
    fill_value: float
    """Fill value of the array; chunks equal to it are elided by every backend that can."""

    @property
    def objects(self) -> tuple[int, ...]:
        """Shape of what is one file: shard, or chunk."""
        return self.shards or self.chunks

    @property
    def whole(self) -> Region:
        """The region that is the array."""
        return tuple(slice(0, n) for n in self.shape)


Described = Case | Layout
"""What has a metadata document."""


class Writer(Protocol):
    """An array created and open for writing."""

    def write(self, step: int, data: NDArray[Any]) -> None:
        """Write step number `step`; `data` is C-contiguous with shape `shape[1:]`.

        The caller leaves `data` unchanged until `close` returns, so a backend may refer to it until then.
        """

    def close(self) -> None:
        """Return when all bytes are handed to the operating system."""


class Reader(Protocol):
    """An array open for reading."""

    def read(self, step: int, out: NDArray[Any]) -> None:
        """Fill `out` (C-contiguous, shape `shape[1:]`) with step number `step`."""

    def close(self) -> None:
        """Release what the reader holds."""


class Backend(Protocol):
    """One contender, in one file named after it."""

    name: str
    kind: Literal["baseline", "library"]
    packages: Sequence[str]
    """Distributions whose versions go into the results."""

    def unavailable(self) -> str | None:
        """Why this backend cannot run in this interpreter (with the remedy), or None."""

    def unsupported(self, case: Case) -> str | None:
        """Why this backend cannot run `case`, or None."""

    def create(self, path: Path, case: Case) -> Writer:
        """Create the array at `path` (absent before)."""

    def open(self, path: Path, case: Case) -> Reader | None:
        """Open the array at `path` for reading; None where the backend only writes."""
