"""`WkwArray`: the voxels of one dataset, read and written by selection."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from fastzarr.chunks.grid import cdata_shape
from fastzarr.codecs.base import is_integer
from fastzarr.errors import (
    BoundsCheckError,
    BufferMismatchError,
    MetadataError,
    NodeExistsError,
    NodeNotFoundError,
    ReadOnlyError,
)
from fastzarr.hierarchy.selections import Fields, Selectable
from fastzarr.indexing import Grid, Plan, Selection
from fastzarr.stores.local import Durability, LocalStore
from fastzarr.wkw.files import CUBE_OF_ALL, WkwFiles
from fastzarr.wkw.header import BlockType, Header

DOCUMENT = "header.wkw"


class WkwArray(Selectable):
    """Voxels with the dimensions c, x, y, z. Made by `create` and `open`.

    The format has no shape: files that are missing are zeros. `shape` is what was given when it was opened,
    else it reaches to the end of the last files, and grows where a slice that says its end writes beyond.

    Safe to share between threads; pickles. In one process, writers of parts of the same file don't lose each
    other's data; across processes, they must write distinct files. Compressed files appear whole or not at
    all; others are changed where they are, block by block.
    """

    def __init__(
        self,
        store: LocalStore,
        header: Header,
        threads: int | None,
        *,
        shape: tuple[int, ...] | None = None,
        extent: tuple[int, ...] | None = None,
    ) -> None:
        self._store = store
        self._header = header
        self._threads = threads
        self._bounded = shape is not None
        self._io: WkwFiles = WkwFiles(store, header, threads)
        if shape is None:
            shape = (header.channels, *(_extent(store, header.cube_len) if extent is None else extent))
        self._grid = Grid(shape, self.shards)
        self._shape = shape

    def __reduce__(self) -> tuple[object, ...]:
        state = (self._store, self._header, self._threads, self._shape, self._bounded)
        return _restore, state

    def __repr__(self) -> str:
        return f"<WkwArray {self._store.root} shape={self.shape} dtype={self.dtype}>"

    @property
    def path(self) -> str:
        """Directory of the dataset."""
        return self._store.root

    @property
    def header(self) -> Header:
        """What `header.wkw` says."""
        return self._header

    @property
    def block_type(self) -> BlockType:
        """How blocks of new files are stored; each file says for itself how its own are."""
        return self._header.block_type

    @property
    def shape(self) -> tuple[int, ...]:
        """Number of channels, and voxels along x, y and z."""
        return self._shape

    @property
    def dtype(self) -> np.dtype[Any]:
        """NumPy dtype of one channel of a voxel."""
        return self._header.dtype

    @property
    def chunks(self) -> tuple[int, ...]:
        """Shape of a block."""
        return (self._header.channels, *(self._header.block_len,) * 3)

    @property
    def shards(self) -> tuple[int, ...]:
        """Shape of a file."""
        return (self._header.channels, *(self._header.cube_len,) * 3)

    @property
    def cdata_shape(self) -> tuple[int, ...]:
        """Number of blocks along each dimension."""
        return cdata_shape(self.shape, self.chunks)

    @property
    def fill_value(self) -> Any:
        """What voxels of missing files are: zero."""
        return self.dtype.type(0)

    @property
    def order(self) -> Literal["F"]:
        """Memory order of arrays that reading returns: that of the voxels in a block."""
        return "F"

    @property
    def read_only(self) -> bool:
        """Whether writing raises."""
        return self._store.read_only

    def refresh(self) -> WkwArray:
        """Take over the extent of files that others have written since, and return the array."""
        if not self._bounded:
            self._become((self._header.channels, *_extent(self._store, self._header.cube_len)))
        return self

    def read(self, offset: Sequence[int], shape: Sequence[int]) -> NDArray[Any]:
        """Voxels of the box at `offset` (x, y, z) of `shape`, all channels: zeros where there is no file.

        The box may lie outside of `shape`; see `array[...]` for one that ends there. Raises
        `BoundsCheckError` and `ChunkError`.
        """
        box = self._box(offset, shape)
        plan = self._io.grid.plan_basic(box)
        out = np.empty(plan.layout.shape, self.dtype, order="F")
        self._io.read(plan, out)
        return out

    def write(self, offset: Sequence[int], data: ArrayLike) -> None:
        """Write `data`, of shape `(c, x, y, z)`, or `(x, y, z)` for one channel, at `offset` (x, y, z).

        Raises as `array[...] = data` does.
        """
        given = np.asarray(data)
        if given.ndim == 3:
            given = given[None]
        if given.ndim != 4 or given.shape[0] != self._header.channels:
            expected = f"({self._header.channels}, x, y, z)"
            raise BufferMismatchError(f"got data of shape {np.shape(data)}, expected {expected}")
        self[self._box(offset, given.shape[1:])] = given

    def __setitem__(self, selection: Selection, value: object) -> None:
        """As of an array; slices that say their end may lie beyond `shape`, which grows with them.

        Integers, and floats into integers, are written where they stay the same, however `array` is indexed:
        others raise `BufferMismatchError`.
        """
        self._require_writable()
        shape = self._shape if self._bounded else self._grown(selection)
        grid = self._grid if shape == self._shape else Grid(shape, self.shards)
        self._set(grid.plan(selection), value, None)
        self._become(tuple(map(max, shape, self._shape)))

    def _set(self, plan: Plan, value: object, fields: Fields) -> None:
        super()._set(plan, self._exact(value), fields)

    def _exact(self, value: object) -> object:
        """`value`, where voxels can have it; NumPy would let integers wrap around."""
        given = np.asarray(value)
        kinds = given.dtype.kind + self.dtype.kind
        if kinds == "ff" or given.dtype.kind not in "iuf" or np.can_cast(given.dtype, self.dtype):
            return value
        with np.errstate(invalid="ignore"):
            cast = given.astype(self.dtype)
        changed = given[cast != given]
        if changed.size:
            raise BufferMismatchError(
                f"got {given.dtype} with values that {self.dtype} has not, such as {changed.flat[0]}; "
                f"expected {self.dtype}: cast them as you mean it"
            )
        return cast

    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> NDArray[Any]:
        if copy is False:
            raise ValueError("an array in files can't become a NumPy array without a copy")
        whole = np.asarray(self[...])
        return whole if dtype is None else whole.astype(dtype, copy=False)

    def __len__(self) -> int:
        return self._header.channels

    def _grown(self, selection: Selection) -> tuple[int, ...]:
        """The shape that reaches to the end of the files in which slices end."""
        items = list(selection) if isinstance(selection, tuple) else [selection]
        for place in [place for place, item in enumerate(items) if item is ...]:
            items[place : place + 1] = [slice(None)] * (self.ndim - len(items) + 1)
        cube = self._header.cube_len
        shape = list(self._shape)
        for axis, item in enumerate(items[:4]):
            stop = _whole(item.stop) if axis and isinstance(item, slice) else None
            if isinstance(stop, int) and stop > shape[axis]:
                shape[axis] = stop + -stop % cube
        if any(size > most for size, most in zip(shape[1:], CUBE_OF_ALL, strict=True)):
            raise BoundsCheckError(f"got {selection!r}, expected voxels up to {CUBE_OF_ALL}")
        return tuple(shape)

    def _become(self, shape: tuple[int, ...]) -> None:
        if shape != self._shape:
            self._grid = Grid(shape, self.shards)
            self._shape = shape

    def _box(self, offset: Sequence[int], shape: Sequence[int]) -> tuple[slice, ...]:
        if len(offset) != 3 or len(shape) != 3:
            found = f"offset {offset} and shape {shape}"
            raise BoundsCheckError(f"got {found}, expected three numbers x, y, z each")
        for first, size, most in zip(offset, shape, CUBE_OF_ALL, strict=True):
            if first < 0 or size < 0 or first + size > most:
                text = f"got offset {tuple(offset)} and shape {tuple(shape)}"
                raise BoundsCheckError(f"{text}, expected voxels between 0 and {CUBE_OF_ALL}")
        box = (slice(first, first + size) for first, size in zip(offset, shape, strict=True))
        return (slice(None), *box)

    def _require_writable(self) -> None:
        if self.read_only:
            raise ReadOnlyError(f"{self!r} is read only; open it with mode 'r+' to write")


def create(
    path: str | os.PathLike[str],
    *,
    dtype: DTypeLike,
    channels: int = 1,
    block_len: int = 32,
    file_len: int = 32,
    block_type: BlockType = "raw",
    shape: Sequence[int] | None = None,
    durability: Durability = "none",
    threads: int | None = None,
) -> WkwArray:
    """Make a dataset in the directory `path`, which has none yet.

    `block_len` voxels and `file_len` blocks along each edge, powers of two up to 32768 and 512;
    `block_type`: "raw", "lz4" or "lz4hc", which is smaller and slower to write. `shape`: channels and voxels
    that the array is to have, which is not stored; see `WkwArray`. `durability` as of a `LocalStore`,
    `threads` as of an `ArrayConfig`. Raises `MetadataError` and `NodeExistsError`.
    """
    header = Header(
        dtype=np.dtype(dtype).newbyteorder("="),
        channels=_whole(channels),
        block_len=_whole(block_len),
        file_len=_whole(file_len),
        block_type=block_type,
    )
    given = _shape(shape, header)
    store = LocalStore(path, durability=durability)
    if store.get(DOCUMENT) is not None:
        raise NodeExistsError(f"there is a dataset in {store.root} already; remove it, or open it")
    store.set(DOCUMENT, header.to_bytes(data_offset=0))
    return WkwArray(store, header, threads, shape=given)


def open(  # noqa: A001
    path: str | os.PathLike[str],
    *,
    mode: Literal["r", "r+"] = "r+",
    shape: Sequence[int] | None = None,
    durability: Durability = "none",
    threads: int | None = None,
) -> WkwArray:
    """The dataset in the directory `path`, which has a file `header.wkw`.

    `mode`: "r" to read only, "r+" to write too. `shape`, `durability` and `threads` as in `create`. Raises
    `NodeNotFoundError` and `MetadataError`.
    """
    if mode not in ("r", "r+"):
        raise ValueError(f"mode: got {mode!r}, expected 'r' or 'r+'")
    store = LocalStore(path, read_only=mode == "r", durability=durability)
    data = store.get(DOCUMENT)
    where = str(Path(store.root) / DOCUMENT)
    if data is None:
        raise NodeNotFoundError(f"there is no {where}; a WKW dataset is the directory of one magnification")
    header = Header.parse(bytes(data), where, in_file=False)
    return WkwArray(store, header, threads, shape=_shape(shape, header))


def _restore(
    store: LocalStore, header: Header, threads: int | None, shape: tuple[int, ...], bounded: bool
) -> WkwArray:
    if bounded:
        return WkwArray(store, header, threads, shape=shape)
    return WkwArray(store, header, threads, extent=shape[1:])


def _whole(value: Any) -> Any:
    """An integer of NumPy as one of Python; anything else as it is."""
    return int(value) if isinstance(value, np.integer) else value


def _shape(shape: Any, header: Header) -> tuple[int, ...] | None:
    if shape is None:
        return None
    given = tuple(map(_whole, shape)) if isinstance(shape, Iterable) else shape
    fits = isinstance(given, tuple) and len(given) == 4 and given[0] == header.channels
    if not fits or not all(is_integer(size, 0, CUBE_OF_ALL[0]) for size in given):
        expected = f"({header.channels}, x, y, z) with up to {CUBE_OF_ALL[0]} voxels each"
        raise MetadataError("shape", [f"got {shape!r}, expected {expected}"])
    return given


_PARTS = [re.compile(pattern) for pattern in (r"z(0|[1-9]\d*)", r"y(0|[1-9]\d*)", r"x(0|[1-9]\d*)\.wkw")]


def _extent(store: LocalStore, cube_len: int) -> tuple[int, int, int]:
    """Voxels along x, y and z up to the end of the last files."""
    ends = [0, 0, 0]

    def look(prefix: str, coords: tuple[int, ...]) -> None:
        for name in store.list_dir(prefix):
            match = _PARTS[len(coords)].fullmatch(name)
            if match is None:
                continue
            found = (*coords, int(match[1]))
            if len(found) < len(_PARTS):
                look(f"{prefix}{name}/", found)
            else:
                ends[:] = [max(end, coord + 1) for end, coord in zip(ends, found, strict=True)]

    look("", ())
    z, y, x = (end * cube_len for end in ends)
    return x, y, z
