"""Where one magnification is written: its pieces, each of which is a file, or some chunks of Zarr v2."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import fastzarr
from fastzarr import wkw
from fastzarr.errors import ArrayNotFoundError, NodeNotFoundError
from fastzarr.volumes.boxes import BoundingBox, Vec3
from fastzarr.volumes.formats import Format
from fastzarr.volumes.streams import ShardStream, Stream, WkwStream
from fastzarr.volumes.voxels import AXES, ArrayVoxels, of_array

_ALL = slice(None)


@dataclass(frozen=True, kw_only=True)
class Target:
    """One magnification, written piece by piece."""

    path: Path
    """Its directory."""
    format: Format
    """How it is stored, with a size of shards."""
    dtype: np.dtype[Any]
    """Data type of a channel."""
    channels: int
    """Number of channels."""
    box: BoundingBox
    """Where it has data, in its own voxels."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the array: up to the end of `box`, in whole pieces."""
        unit = self.format.object_len or self.format.chunk
        return (self.channels, *(end + -end % unit for end in self.box.end))

    @property
    def _shard(self) -> int:
        assert self.format.shard is not None
        return self.format.shard

    def below(self, layer: Path) -> Target:
        """The same in another directory of a layer."""
        return replace(self, path=layer / self.path.name)

    def create(self) -> None:
        """Make the array that is written, where it is not there yet."""
        try:
            self._open("r")
        except (ArrayNotFoundError, NodeNotFoundError):
            if self.format.to == "wkw":
                self._create_wkw()
            else:
                self._create_zarr()

    def writer(self, threads: int = 1) -> Any:
        """The array to write to; each call uses that many threads."""
        return self._open("r+", threads)

    def reader(self, threads: int = 1) -> ArrayVoxels:
        """The voxels that are stored."""
        return of_array(self._open("r", threads), AXES, box=self.box, where=str(self.path))

    def pieces(self, tile_len: int) -> Iterator[BoundingBox]:
        """All pieces that have a part in `box`, whole; of Zarr v2 as large as `tile_len`."""
        edge = self.format.object_len or tile_len
        ranges = [range(o // edge, -(-e // edge)) for o, e in zip(self.box.offset, self.box.end, strict=True)]
        for z, y, x in itertools.product(*reversed(ranges)):
            yield BoundingBox(offset=(x * edge, y * edge, z * edge), size=(edge, edge, edge))

    def files(self, piece: BoundingBox) -> Iterator[Path]:
        """The files of a piece, written or not."""
        edge = self.format.object_len or self.format.chunk
        ranges = [range(o // edge, -(-e // edge)) for o, e in zip(piece.offset, piece.end, strict=True)]
        for x, y, z in itertools.product(*ranges):
            yield self.path / self._key((x, y, z))

    def stream(self, piece: BoundingBox) -> Stream | None:
        """What writes a piece tile by tile; None where parts can be written to the array itself."""
        (file,) = self.files(piece) if self.format.object_len else (None,)
        if file is None or self.format.name == "raw":
            return None
        if self.format.to == "wkw":
            return WkwStream(file, self._open("r").header)
        return ShardStream(file, self._open("r"))

    def discard(self, piece: BoundingBox) -> None:
        """Remove the files of a piece."""
        for file in self.files(piece):
            file.unlink(missing_ok=True)

    def _key(self, coords: Vec3) -> str:
        x, y, z = coords
        if self.format.to == "wkw":
            return f"z{z}/y{y}/x{x}.wkw"
        return f"{'c/' if self.format.to == 'zarr3' else ''}0/{x}/{y}/{z}"

    def _open(self, mode: Any, threads: int = 1) -> Any:
        if self.format.to == "wkw":
            return wkw.open(self.path, mode=mode, shape=self.shape, threads=threads)
        return fastzarr.open_array(self.path, mode=mode, config={"threads": threads})

    def _create_wkw(self) -> None:
        wkw.create(
            self.path,
            dtype=self.dtype,
            channels=self.channels,
            block_len=self.format.chunk,
            file_len=self._shard // self.format.chunk,
            block_type=self.format.name,  # type: ignore[arg-type]
        )

    def _create_zarr(self) -> None:
        edge = self.format.chunk
        common: dict[str, Any] = {
            "shape": self.shape,
            "dtype": self.dtype.newbyteorder("<"),
            "chunks": (self.channels, edge, edge, edge),
            "compressors": self.format.compressor(),
            "fill_value": 0,
        }
        if self.format.to == "zarr2":
            fastzarr.create_array(
                self.path, zarr_format=2, order="F", chunk_key_encoding=("v2", "/"), **common
            )
            return
        shard = self._shard
        fastzarr.create_array(
            self.path,
            shards=(self.channels, shard, shard, shard),
            filters=[fastzarr.codecs.TransposeCodec(order=(3, 2, 1, 0))],
            dimension_names=list(AXES),
            **common,
        )


def put(array: Any, box: BoundingBox, values: NDArray[Any]) -> None:
    """Write voxels to an array with dimensions c, x, y, z."""
    array[(_ALL, *box.slices())] = values


def remove_unfinished(directory: Path) -> None:
    """Remove what a killed writer has left of files that it was writing."""
    for root, _, names in os.walk(directory):
        for name in names:
            if name.startswith(".") and name.endswith(".partial"):
                Path(root, name).unlink(missing_ok=True)
