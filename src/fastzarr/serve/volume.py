"""`Volume`: one magnification of a layer; any array as voxels with channels, in the order of the wire.

On the wire x is fastest, then y and z, and the channels of a voxel are beside each other; little endian.
"""

from __future__ import annotations

import itertools
import math
import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from fastzarr.errors import SelectionError
from fastzarr.serve.chunk_files import ChunkFiles
from fastzarr.serve.chunk_shapes import ALL, chunk_along, edge_of_chunks, largest_chunk
from fastzarr.serve.documents import Document
from fastzarr.serve.http import Piece
from fastzarr.volumes.axes import SPATIAL
from fastzarr.volumes.boxes import BoundingBox

Point = tuple[int, int, int]
"""Along x, y and z."""

BUCKET = 32
"""Voxels along each edge of the buckets that webknossos asks for."""
NOWHERE: Mapping[str, int] = {}
KNOWN = 4096
"""Files of which the paths are kept."""


class Box(NamedTuple):
    """Voxels from `start` up to, not including, `end`."""

    start: Point
    end: Point

    @property
    def size(self) -> Point:
        """Voxels along each axis; 0 where there are none."""
        x, y, z = (max(0, b - a) for a, b in zip(self.start, self.end, strict=True))
        return x, y, z

    def overlap(self, other: Box) -> Box | None:
        """What both have; None where that is nothing."""
        start = tuple(map(max, self.start, other.start))
        end = tuple(map(min, self.end, other.end))
        if start[0] >= end[0] or start[1] >= end[1] or start[2] >= end[2]:
            return None
        return Box(start, end)  # type: ignore[arg-type]


class Source(Protocol):
    """What is read: an `Array` or a `WkwArray`."""

    @property
    def shape(self) -> tuple[int, ...]: ...
    @property
    def dtype(self) -> np.dtype[Any]: ...
    def read_into(self, out: NDArray[Any], *, selection: Any = ...) -> None: ...


class Volume:
    """One magnification of a layer. Safe to share between threads."""

    _numbers = itertools.count()

    def __init__(
        self, array: Any, axes: Sequence[str], *, box: BoundingBox | None = None, channel: int | None = None
    ) -> None:
        """`axes`: what each dimension of `array` is: `x`, `y`, `z`, `c`, or the name of another axis.

        `box`: of its voxels; outside of it all is zero; by default the array's extent, which bounds it.
        `channel`: the one to serve; by default all.
        """
        if not {"x", "y"} <= set(axes) or len(set(axes)) != len(axes) or len(axes) != len(array.shape):
            raise SelectionError(
                f"axes: got {tuple(axes)} for the shape {array.shape}, expected x, y and others"
            )
        self.number = next(self._numbers)
        """Of this volume alone in this process."""
        self.array: Source = array
        self.axes = tuple(axes)
        self.additional = tuple((a, n) for a, n in zip(axes, array.shape, strict=True) if a not in ALL)
        """Name and size of each axis beside channels and space."""
        lengths = dict(zip(axes, array.shape, strict=True))
        self.extent: Point = (lengths["x"], lengths["y"], lengths.get("z", 1))
        """Voxels that the array has along each axis."""
        whole = Box((0, 0, 0), self.extent)
        given = whole if box is None else Box(box.offset, box.end)
        empty = 0 in array.shape
        self.box = (None if empty else given.overlap(whole)) or Box((0, 0, 0), (0, 0, 0))
        """Outside of it all is zero."""
        self._channel = channel
        self.channels = lengths.get("c", 1) if channel is None else 1
        self.stored_dtype = array.dtype
        self.dtype = np.dtype("u1") if array.dtype == np.bool_ else array.dtype.newbyteorder("<")
        """Of the wire."""
        self.voxel_bytes = self.dtype.itemsize * self.channels
        self._swapped = array.dtype != array.dtype.newbyteorder("<")
        kept = [axis for axis in axes if axis in SPATIAL or (axis == "c" and channel is None)]
        self._present = tuple(slice(None) if axis in kept else 0 for axis in "zyxc")
        of_view = [axis for axis in "zyxc" if axis in kept]
        self._order = tuple(of_view.index(axis) for axis in kept)
        of_chunks = (self.channels, self.voxel_bytes, self._swapped)
        self._edge = None if empty else edge_of_chunks(array, self.axes, *of_chunks)
        self._chunk = chunk_along(array, self.axes)
        self.scratch = 0 if self._edge == BUCKET else largest_chunk(array)
        """Bytes needed beside an answer while it is read: those of a decoded chunk."""
        fill = array.fill_value
        missing = np.full(max(1, self.channels), 0 if fill is None else fill, array.dtype).astype(self.dtype)
        self._missing = missing.view(f"V{missing.nbytes}")[0]
        """A voxel of a chunk that isn't stored, as on the wire."""
        self._missing_is_zero = not missing.view("u1").any()
        self._files = ChunkFiles.of(array)
        self.document = Document.of(array)
        """Of the array; None where it is not in files."""
        self._whole = self._whole_chunks()
        self._per_file = self._chunks_per_file()
        self._known_paths: dict[tuple[int, ...], tuple[str, ...] | None] = {}

    def __repr__(self) -> str:
        return f"<Volume {self.array!r} axes={self.axes} box={self.box}>"

    def read(self, offset: Point, size: Point, additional: Mapping[str, int] = NOWHERE) -> memoryview:
        """Bytes of the voxels from `offset` on, in the order of the wire; zero outside of `box`.

        `additional`: index along the axes beside channels and space, 0 where it is not told. Raises
        `SelectionError`, and what reading raises.
        """
        end = (offset[0] + size[0], offset[1] + size[1], offset[2] + size[2])
        box, indices = Box(offset, end), self.indices(additional)
        try:
            found = self._read(box, indices)
            self._require_files(box, indices, found)
        finally:
            self._check()
        return found

    def buckets(
        self, coords: Sequence[Point], edge: int = BUCKET, additional: Mapping[str, int] = NOWHERE
    ) -> list[Piece | None]:
        """Cubes of `edge` voxels by their coordinates in cubes, in the order of the wire.

        None for a cube outside of `box`, and for one that is not stored and so is zero. All others have
        `edge`³ voxels, zero outside of `box`; several may be parts of the same memory. Raises
        `SelectionError`, and what reading raises.
        """
        indices = self.indices(additional)
        try:
            if self._edge == edge:
                return self._read_chunks(coords, indices)
            return [self._bucket(point, edge, indices) for point in coords]
        finally:
            self._check()

    def _bucket(self, point: Point, edge: int, indices: tuple[int, ...]) -> Piece | None:
        box = self._cube(point, edge)
        inner = box.overlap(self.box)
        if inner is None:
            return None
        files = self._files_of(inner, indices)
        if files is not None and self._missing_is_zero and not any(map(os.path.exists, files)):
            return None
        found = self._read(box, indices)
        if files is None:
            self._require_files(box, indices, found)
        return found

    def _require_files(self, box: Box, indices: tuple[int, ...], data: memoryview) -> None:
        """Raise `ChunkError` where what was read of a box has something else in the place of a chunk's file.

        Such a chunk reads as one that isn't stored does: files are looked at whose first voxel is like that.
        """
        inner = box.overlap(self.box)
        if self._files is None or inner is None:
            return
        grid = self._files.chunks_of(self._selection(inner, indices))
        spans = dict(zip(self.axes, grid, strict=True))
        sizes = dict(zip(self.axes, self._files.chunks, strict=True))
        firsts = [
            [max(number * sizes.get(axis, 1), low) - origin for number in spans.get(axis, (0,))]
            for axis, low, origin in zip(SPATIAL, inner.start, box.start, strict=True)
        ]
        x, y, z = box.size
        voxels = np.frombuffer(data, f"V{self.voxel_bytes}").reshape(z, y, x)[np.ix_(*firsts[::-1])]
        alike = voxels == self._missing
        if alike.any():
            for where in np.argwhere(alike.T).tolist():
                among = spans | {
                    axis: (spans[axis][number],)
                    for axis, number in zip(SPATIAL, where, strict=True)
                    if axis in spans
                }
                self._files.require(among[axis] for axis in self.axes)

    def _check(self) -> None:
        """After reading: what is missing, or failed, may be so because all is gone, or another."""
        if self.document is not None:
            self.document.check()

    def beside(self, point: Point, edge: int, most: int) -> Box | None:
        """The buckets, by their coordinates, that are decoded with one since they are in the same chunks.

        At most `most` bytes of them; None where there are no others.
        """
        if self._edge == edge or self._chunk is None or edge**3 * self.voxel_bytes * 2 > most:
            return None
        inner = self._cube(point, edge).overlap(self.box)
        if inner is None:
            return None
        spans = []
        for axis, size in enumerate(self._chunk):
            low, high = inner.start[axis] // size * size, -(-inner.end[axis] // size) * size
            # Buckets that reach out of the chunks are whole where nothing of the box is there.
            first = self.box.start[axis] // edge if low <= self.box.start[axis] else -(-low // edge)
            last = high // edge if high < self.box.end[axis] else -(-self.box.end[axis] // edge)
            spans.append((min(first, point[axis]), max(last, point[axis] + 1)))
        while math.prod(b - a for a, b in spans) * edge**3 * self.voxel_bytes > most:
            axis = max(range(3), key=lambda n: spans[n][1] - spans[n][0])
            first, last = spans[axis]
            middle = (first + last) // 2
            spans[axis] = (first, middle) if point[axis] < middle else (middle, last)
        (x, x_end), (y, y_end), (z, z_end) = spans
        found = Box((x, y, z), (x_end, y_end, z_end))
        return None if found.size == (1, 1, 1) else found

    def region(
        self, cubes: Box, edge: int, additional: Mapping[str, int] = NOWHERE
    ) -> Iterator[tuple[Point, bytes | None]]:
        """All buckets of a box of their coordinates, each as `buckets` gives it, read together."""
        indices = self.indices(additional)
        (x, y, z), (nx, ny, nz) = cubes.start, cubes.size
        start = self._cube((x, y, z), edge).start
        end = self._cube((x + nx, y + ny, z + nz), edge).start
        try:
            whole = np.frombuffer(self._read(Box(start, end), indices), "u1")
        finally:
            self._check()
        split = whole.reshape(nz, edge, ny, edge, nx, edge, self.voxel_bytes)
        there: dict[tuple[str, ...], bool] = {}
        for k, j, i in np.ndindex(nz, ny, nx):
            point = (x + i, y + j, z + k)
            cube = split[k, :, j, :, i]
            if self._cube(point, edge).overlap(self.box) is None:
                yield point, None
            elif cube.any() or not self._missing_is_zero:
                yield point, cube.tobytes()
            else:
                inner = self._cube(point, edge).overlap(self.box)
                files = None if inner is None else self._files_of(inner, indices)
                if files is not None and files not in there:
                    there[files] = any(map(os.path.exists, files))
                yield point, cube.tobytes() if files is None or there[files] else None

    def touches(self, offset: Point, size: Point) -> bool:
        """Whether any of these voxels is in `box`."""
        end = (offset[0] + size[0], offset[1] + size[1], offset[2] + size[2])
        return Box(offset, end).overlap(self.box) is not None

    def paths(
        self, point: Point, edge: int = BUCKET, additional: Mapping[str, int] = NOWHERE
    ) -> tuple[str, ...] | None:
        """The files that a bucket is from, there or not, with the document of the array; None where they are
        too many, or no files.
        """
        indices = self.indices(additional)
        key = None
        if edge == self._edge and self._per_file is not None:
            (x, y, z), (nx, ny, nz) = point, self._per_file
            key = (x // nx, y // ny, z // nz, *indices)
            if key in self._known_paths:
                return self._known_paths[key]
        box = self._cube(point, edge).overlap(self.box)
        if box is None:
            return None if self._files is None else ()
        paths = self._files_of(box, indices)
        if paths is not None and self.document is not None:
            paths = (*paths, self.document.path)
        if key is not None:
            if len(self._known_paths) >= KNOWN:
                self._known_paths.clear()
            self._known_paths[key] = paths
        return paths

    def _files_of(self, box: Box, indices: tuple[int, ...]) -> tuple[str, ...] | None:
        """Those of the chunks of a box that is in `self.box`."""
        return None if self._files is None else self._files.of_selection(self._selection(box, indices))

    def _chunks_per_file(self) -> Point | None:
        """Along x, y and z; None where chunks are no buckets, or one is in several files."""
        if self._edge is None or self._files is None:
            return None
        sizes = dict(zip(self.axes, self._files.chunks, strict=True))
        x, y, z = (sizes[axis] // self._edge for axis in SPATIAL)
        return x, y, z

    def _whole_chunks(self) -> Box:
        """Coordinates of the chunks that are wholly in `box`, where chunks are buckets."""
        edge = self._edge or 1
        start = tuple(-(-first // edge) for first in self.box.start)
        end = tuple(last // edge for last in self.box.end)
        return Box(start, end)  # type: ignore[arg-type]

    def indices(self, additional: Mapping[str, int]) -> tuple[int, ...]:
        """Index along each axis beside channels and space; raises `SelectionError`."""
        if not additional and not self.additional:
            return ()
        sizes = dict(self.additional)
        for axis, index in additional.items():
            if not 0 <= index < sizes.get(axis, 0):
                expected = ", ".join(f"{axis} below {size}" for axis, size in self.additional) or "none"
                raise SelectionError(f"additional coordinate {axis!r}: got {index}, expected {expected}")
        return tuple(additional.get(axis, 0) for axis in sizes)

    @staticmethod
    def _cube(point: Point, edge: int) -> Box:
        x, y, z = point[0] * edge, point[1] * edge, point[2] * edge
        return Box((x, y, z), (x + edge, y + edge, z + edge))

    def _selection(self, box: Box, indices: tuple[int, ...]) -> tuple[Any, ...]:
        """That of the array for voxels in `box`, which is in its extent."""
        (x, y, z), (x_end, y_end, z_end) = box
        spans: dict[str, Any] = {"x": slice(x, x_end), "y": slice(y, y_end), "z": slice(z, z_end)}
        spans["c"] = slice(None) if self._channel is None else self._channel
        if indices:
            spans |= zip((axis for axis, _ in self.additional), indices, strict=True)
        return tuple([spans[axis] for axis in self.axes])

    def _read(self, box: Box, indices: tuple[int, ...]) -> memoryview:
        x, y, z = box.size
        inner = box.overlap(self.box)
        shape = (z, y, x, self.channels)
        out = (np.empty if inner == box else np.zeros)(shape, self.stored_dtype)
        if inner is not None:
            view = out[*_within(inner, box)][self._present].transpose(self._order)
            self.array.read_into(view, selection=self._selection(inner, indices))
            if self._swapped:
                out.byteswap(inplace=True)
        return out.reshape(-1).view("u1").data

    def _read_chunks(self, coords: Sequence[Point], indices: tuple[int, ...]) -> list[Piece | None]:
        """Buckets that are chunks: decoded together, as they are."""
        assert self._edge is not None
        (x0, y0, z0), (x1, y1, z1) = self._whole
        numbers: list[int] = []
        cut: dict[int, Box] = {}
        for number, point in enumerate(coords):
            x, y, z = point
            if not (x0 <= x < x1 and y0 <= y < y1 and z0 <= z < z1):
                inner = self._cube(point, self._edge).overlap(self.box)
                if inner is None:
                    continue
                cut[number] = inner
            numbers.append(number)
        found: list[Piece | None] = [None] * len(coords)
        if not numbers:
            return found
        fixed = dict(zip((axis for axis, _ in self.additional), indices, strict=True)) if indices else {}
        fixed["c"] = self._channel or 0
        columns = [
            [coords[number]["xyz".index(axis)] for number in numbers]
            if axis in SPATIAL
            else [fixed[axis]] * len(numbers)
            for axis in self.axes
        ]
        rows, stored = self.array.read_chunks(np.array(columns, np.intp).T)  # type: ignore[attr-defined]
        for number, row, is_stored in zip(numbers, rows, stored, strict=True):
            if is_stored or not self._missing_is_zero:
                found[number] = row.data if number not in cut else self._cut(row, coords[number], cut[number])
        return found

    def _cut(self, chunk: NDArray[np.uint8], point: Point, inner: Box) -> memoryview:
        """A chunk with zeros outside of `inner`."""
        assert self._edge is not None
        part = _within(inner, self._cube(point, self._edge))
        cut = np.zeros((self._edge, self._edge, self._edge, self.voxel_bytes), "u1")
        cut[part] = chunk.reshape(cut.shape)[part]
        return cut.reshape(-1).data


def _within(inner: Box, outer: Box) -> tuple[slice, ...]:
    """Where `inner` is in an array [z, y, x] of `outer`."""
    return tuple(slice(inner.start[n] - outer.start[n], inner.end[n] - outer.start[n]) for n in (2, 1, 0))
