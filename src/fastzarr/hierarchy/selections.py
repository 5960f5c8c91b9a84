"""Reading and writing by selection: every kind that an array takes, with the names of zarr-python."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fastzarr import result_memory
from fastzarr.codec_chain import PreparedChain
from fastzarr.data_types import held
from fastzarr.errors import BoundsCheckError, BufferMismatchError, SelectionError
from fastzarr.indexing import BasicSelection, Grid, Plan, Selection
from fastzarr.indexing.items import integers, is_array

Fields = str | Sequence[str] | None
"""Name of one field of a structured data type, or of several; None is all of them."""


class SelectedIO(Protocol):
    """What reads and writes chunks by plan, as `ChunkIO` does."""

    @property
    def inner(self) -> PreparedChain:
        """Chain of the chunks (of a sharded array: inner chunks)."""

    def of_field(self, name: str) -> Self:
        """The same for writing one field of a structured data type."""

    def read(self, plan: Plan, out: NDArray[Any]) -> None:
        """Fill `out`."""

    def read_chunks(self, coords: NDArray[np.intp], out: NDArray[np.uint8]) -> NDArray[np.bool_]:
        """Fill the rows of `out` with chunks, and tell which are there."""

    def write(self, plan: Plan, value: NDArray[Any]) -> None:
        """Write `value`."""


class Selectable(ABC):
    """What can be read and written by selection."""

    _grid: Grid
    _io: SelectedIO

    @property
    @abstractmethod
    def shape(self) -> tuple[int, ...]:
        """Shape, in elements."""

    @property
    @abstractmethod
    def dtype(self) -> np.dtype[Any]:
        """NumPy dtype of the elements."""

    @property
    @abstractmethod
    def order(self) -> Any:
        """Memory order of arrays that reading returns."""

    @property
    @abstractmethod
    def chunks(self) -> tuple[int, ...]:
        """Chunk shape, in elements; of a sharded array that of the inner chunks."""

    @property
    @abstractmethod
    def cdata_shape(self) -> tuple[int, ...]:
        """Number of chunks (of a sharded array: inner chunks) along each dimension."""

    @property
    def ndim(self) -> int:
        """Number of dimensions."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """Number of elements."""
        return math.prod(self.shape)

    @property
    def itemsize(self) -> int:
        """Bytes of an element."""
        return self.dtype.itemsize

    @property
    def nbytes(self) -> int:
        """Bytes of all elements, decoded."""
        return self.size * self.itemsize

    @property
    def nchunks(self) -> int:
        """Number of chunks, stored or not."""
        return math.prod(self.cdata_shape)

    @abstractmethod
    def _require_writable(self) -> None: ...

    def __getitem__(self, selection: Selection) -> Any:
        """Selected elements as a new NumPy array; a NumPy scalar where no dimension is left.

        `selection`: integers, slices with steps other than 0, one `...`. Also, as in zarr-python, one list or
        array of integers or booleans among them (see `oindex`); one for every dimension (see `vindex`);
        booleans in the array's shape; and names of fields of a structured data type. The memory may be
        that of an earlier result to which nothing refers any more. Raises `SelectionError` and `ChunkError`.
        """
        dtype = self.dtype
        if dtype.names is not None:
            fields, selection = _split_fields(selection)
            if fields:
                return self._get(self._grid.plan(selection), None, fields)
        plan = self._grid.plan(selection)
        out = result_memory.empty(plan.layout.shape, dtype, self.order)
        self._io.read(plan, out)
        return out[plan.layout.drop]

    def read_into(self, out: NDArray[Any], *, selection: Selection = ...) -> None:
        """Fill `out` with the selected elements, without a copy where its layout allows.

        `out` is writable, has the shape of `array[selection]`, the array's dtype, any strides, and no element
        twice; else `BufferMismatchError`. Raises `SelectionError` and `ChunkError` too; after an error `out`
        may be filled in part.
        """
        self._read_into(self._grid.plan(selection), out)

    @property
    def chunk_strides(self) -> tuple[int, ...]:
        """Strides in bytes of a chunk (of a sharded array: inner chunk) as `read_chunks` gives it."""
        return self._io.inner.decoded_strides

    def read_chunks(self, coords: ArrayLike) -> tuple[NDArray[np.uint8], NDArray[np.bool_]]:
        """Whole chunks (of a sharded array: inner chunks), decoded, and which of them are there.

        `coords`: chunk coordinates, integers of shape `(n, ndim)`. The first array has shape `(n, bytes of a
        chunk)`: each row is a whole chunk, also where that reaches beyond the array, in stored order, which
        `chunk_strides` tells. What is missing has the fill value. Raises `SelectionError`, `ChunkError`,
        `ChunkShapeError` where chunks differ in shape, and `TypeError` for elements that have no fixed size.
        """
        given, counts, ndim = np.asarray(coords), self.cdata_shape, len(self.chunks)
        if given.dtype.kind not in "iu" or given.ndim != 2 or given.shape[1] != ndim:
            found = f"{given.dtype} of shape {given.shape}"
            raise SelectionError(f"coords: got {found}, expected integers of shape (n, {ndim})")
        if self.dtype.hasobject or self.dtype.kind == "T":
            raise TypeError(f"read_chunks: got an array of {self.dtype}, expected elements of fixed size")
        given = given.astype(np.intp, copy=False)
        outside = ((given < 0) | (given >= counts)).any(axis=1)
        if outside.any():
            wrong = tuple(given[outside][0].tolist())
            raise BoundsCheckError(f"coords: got chunk {wrong}, expected one of the grid of {counts} chunks")
        out = np.empty((len(given), self._io.inner.decoded_nbytes), np.uint8)
        return out, self._io.read_chunks(given, out)

    def __setitem__(self, selection: Selection, value: object) -> None:
        """Write `value`, an array or scalar that broadcasts to the selection, cast as NumPy assigns.

        Where an element is selected twice, the last value stays. Raises `SelectionError`,
        `BufferMismatchError`, also for texts that UTF-8 can't say, `ReadOnlyError` and, for a partly
        written chunk that can't be decoded, `ChunkError`.
        """
        self._require_writable()
        fields = None
        if type(selection) is not int and self.dtype.names is not None:
            fields, selection = _split_fields(selection)
        self._set(self._grid.plan(selection), value, fields)

    @property
    def oindex(self) -> OIndex:
        """Reading and writing by integers, slices and arrays, each along its own dimension."""
        return OIndex(self)

    @property
    def vindex(self) -> VIndex:
        """Reading and writing by an array of coordinates for every dimension, or by a mask."""
        return VIndex(self)

    @property
    def blocks(self) -> BlockIndex:
        """Reading and writing of whole chunks (of a sharded array: shards) by their coordinates."""
        return BlockIndex(self)

    def get_basic_selection(
        self, selection: BasicSelection = ..., *, out: NDArray[Any] | None = None, fields: Fields = None
    ) -> Any:
        """Elements selected by integers, slices and one `...`, in `out` where it is given (see `read_into`).

        `fields`: names of the fields to read. Raises `SelectionError`, `BufferMismatchError`, `ChunkError`.
        """
        return self._get(self._grid.plan_basic(selection), out, fields)

    def set_basic_selection(self, selection: BasicSelection, value: object, *, fields: Fields = None) -> None:
        """Write `value` where integers, slices and one `...` select; see `array[selection] = value`.

        `fields`: name of the one field to write.
        """
        self._require_writable()
        self._set(self._grid.plan_basic(selection), value, fields)

    def get_orthogonal_selection(
        self, selection: Selection, *, out: NDArray[Any] | None = None, fields: Fields = None
    ) -> Any:
        """Elements selected along each dimension by an integer, a slice or a list; see `get_basic_selection`.

        Lists and arrays have one dimension: of integers in any order, or of a boolean for each element.
        """
        return self._get(self._grid.plan_orthogonal(selection), out, fields)

    def set_orthogonal_selection(self, selection: Selection, value: object, *, fields: Fields = None) -> None:
        """Write `value` where integers, slices and lists select; see `set_basic_selection`."""
        self._require_writable()
        self._set(self._grid.plan_orthogonal(selection), value, fields)

    def get_coordinate_selection(
        self, selection: Selection, *, out: NDArray[Any] | None = None, fields: Fields = None
    ) -> Any:
        """Elements at coordinates: integers, lists or arrays for every dimension, of shapes that broadcast.

        Integers alone give an array of one element. See `get_basic_selection`.
        """
        return self._get(self._grid.plan_coordinates(selection), out, fields)

    def set_coordinate_selection(self, selection: Selection, value: object, *, fields: Fields = None) -> None:
        """Write `value`, or its elements in C order, at coordinates; see `set_basic_selection`."""
        self._require_writable()
        self._set_points(self._grid.plan_coordinates(selection), value, fields)

    def get_mask_selection(self, mask: Any, *, out: NDArray[Any] | None = None, fields: Fields = None) -> Any:
        """Elements where `mask`, of the array's shape, is true, in C order; see `get_basic_selection`."""
        return self._get(self._grid.plan_mask(mask), out, fields)

    def set_mask_selection(self, mask: Any, value: object, *, fields: Fields = None) -> None:
        """Write `value` where `mask`, of the array's shape, is true; see `set_basic_selection`."""
        self._require_writable()
        self._set_points(self._grid.plan_mask(mask), value, fields)

    def get_block_selection(
        self, selection: BasicSelection, *, out: NDArray[Any] | None = None, fields: Fields = None
    ) -> Any:
        """Elements of whole chunks (of a sharded array: shards), selected by their coordinates.

        Integers keep their dimension; slices have a step of 1. See `get_basic_selection`.
        """
        return self._get(self._grid.plan_blocks(selection), out, fields)

    def set_block_selection(self, selection: BasicSelection, value: object, *, fields: Fields = None) -> None:
        """Write `value` to whole chunks selected by their coordinates; see `set_basic_selection`."""
        self._require_writable()
        self._set(self._grid.plan_blocks(selection), value, fields)

    def _get(self, plan: Plan, out: NDArray[Any] | None, fields: Fields) -> Any:
        if not fields:
            if out is None:
                out = result_memory.empty(plan.layout.shape, self.dtype, self.order)
                self._io.read(plan, out)
                return out[plan.layout.drop]
            self._read_into(plan, out)
            return out
        dtype = _dtype_of(self.dtype, fields)
        if out is not None:
            _require_readable_into(out, plan.layout.result_shape + dtype.shape, dtype.base)
        whole = result_memory.empty(plan.layout.shape, self.dtype, self.order)
        self._io.read(plan, whole)
        found = whole[plan.layout.drop][fields if isinstance(fields, str) else list(fields)]
        if out is None:
            return found.astype(dtype.base)
        out[...] = found
        return out

    def _read_into(self, plan: Plan, out: NDArray[Any]) -> None:
        if (
            type(out) is not np.ndarray
            or out.shape != plan.layout.result_shape
            or out.dtype != self.dtype
            or not out.flags.carray
        ):
            _require_readable_into(out, plan.layout.result_shape, self.dtype)
        self._io.read(plan, out[plan.layout.expand])

    def _set_points(self, plan: Plan, value: object, fields: Fields) -> None:
        if not isinstance(value, tuple) and not np.isscalar(value):
            given = np.asarray(value)
            shape = plan.layout.shape
            if isinstance(fields, str):
                shape += _dtype_of(self.dtype, fields).shape
            if given.ndim and given.size == np.prod(shape, dtype=int):
                value = given.reshape(shape)
        self._set(plan, value, fields)

    def _set(self, plan: Plan, value: object, fields: Fields) -> None:
        try:
            self._write(plan, value, fields)
        except UnicodeEncodeError as error:
            if error.encoding != "utf-8":
                raise
            found = ascii(error.object[max(0, error.start - 10) : error.start + 20])
            raise BufferMismatchError(
                f"got the text {found}, expected one that UTF-8 can say ({error.reason}); "
                "replace such characters, as text.encode('utf-8', 'replace').decode() does"
            ) from error

    def _write(self, plan: Plan, value: object, fields: Fields) -> None:
        io, dtype = self._io, self.dtype
        if fields:
            names = [fields] if isinstance(fields, str) else list(fields)
            if len(names) > 1:
                raise SelectionError(f"got fields {names} to write, expected one")
            dtype = _dtype_of(dtype, names[0])
            io = io.of_field(names[0])
        # A field may be a subarray, whose dimensions come after those of the selection.
        shape, dtype = plan.layout.result_shape + dtype.shape, dtype.base
        if isinstance(value, np.ndarray):
            given = value
            if dtype.kind == "T" and not value.dtype.isnative:
                # NumPy (2.4) takes swapped code points for native ones when it makes variable-length texts.
                given = value.astype(value.dtype.newbyteorder("="))
        else:
            given = np.asarray(value) if hasattr(value, "__array__") else np.asarray(value, dtype)
            if not given.ndim:
                given = np.empty((), dtype)
                given[...] = value
        if given.shape != shape:
            try:
                given = np.broadcast_to(given, shape)
            except ValueError as error:
                if dtype.kind != "O" or shape:
                    expected = f"one that broadcasts to {shape}"
                    raise BufferMismatchError(
                        f"got a value of shape {given.shape}, expected {expected}"
                    ) from error
                given = held(value)  # a list or an array as one element
        io.write(plan, np.asarray(given)[plan.layout.expand])


class _Accessor:
    """What stands behind a property such as `oindex`, to be indexed."""

    def __init__(self, array: Selectable) -> None:
        self._array = array


class OIndex(_Accessor):
    """`array.oindex[...]`: each item selects along its own dimension."""

    def __getitem__(self, selection: Selection) -> Any:
        """See `get_orthogonal_selection`; names of fields may be among the items."""
        fields, selection = _split_fields(selection)
        return self._array.get_orthogonal_selection(selection, fields=fields)

    def __setitem__(self, selection: Selection, value: object) -> None:
        """See `set_orthogonal_selection`."""
        fields, selection = _split_fields(selection)
        self._array.set_orthogonal_selection(selection, value, fields=fields)


class VIndex(_Accessor):
    """`array.vindex[...]`: coordinates for every dimension, or a mask."""

    def __getitem__(self, selection: Any) -> Any:
        """See `get_coordinate_selection` and `get_mask_selection`; names of fields may be among the items."""
        fields, selection = _split_fields(selection)
        if _is_mask(selection):
            return self._array.get_mask_selection(selection, fields=fields)
        return self._array.get_coordinate_selection(selection, fields=fields)

    def __setitem__(self, selection: Any, value: object) -> None:
        """See `set_coordinate_selection` and `set_mask_selection`."""
        fields, selection = _split_fields(selection)
        if _is_mask(selection):
            self._array.set_mask_selection(selection, value, fields=fields)
        else:
            self._array.set_coordinate_selection(selection, value, fields=fields)


class BlockIndex(_Accessor):
    """`array.blocks[...]`: whole chunks by their coordinates."""

    def __getitem__(self, selection: BasicSelection) -> Any:
        """See `get_block_selection`; names of fields may be among the items."""
        fields, chosen = _split_fields(selection)
        return self._array.get_block_selection(chosen, fields=fields)

    def __setitem__(self, selection: BasicSelection, value: object) -> None:
        """See `set_block_selection`."""
        fields, chosen = _split_fields(selection)
        self._array.set_block_selection(chosen, value, fields=fields)


def _split_fields(selection: Any) -> tuple[Fields, Any]:
    """The names of fields in a selection, and the rest of it."""
    if isinstance(selection, str):
        return selection, ()
    if not isinstance(selection, tuple):
        return None, selection
    names = [item for item in selection if isinstance(item, str)]
    if not names:
        return None, selection
    rest = tuple(item for item in selection if not isinstance(item, str))
    return names[0] if len(names) == 1 else names, rest


def _is_mask(selection: Any) -> bool:
    only = selection[0] if isinstance(selection, tuple) and len(selection) == 1 else selection
    return is_array(only) and integers(only, 0).dtype == bool


def _dtype_of(dtype: np.dtype[Any], fields: str | Sequence[str]) -> np.dtype[Any]:
    """What the named fields of a structured data type make up, without gaps; raises `SelectionError`."""
    known = dtype.names or ()
    for name in [fields] if isinstance(fields, str) else fields:
        if name not in known:
            names = ", ".join(map(repr, known)) or "none, since the data type has no fields"
            raise SelectionError(f"got field {name!r}, expected one of: {names}")
    if isinstance(fields, str):
        return dtype[fields]
    return np.dtype([(name, dtype[name]) for name in fields])


def _require_readable_into(out: object, shape: tuple[int, ...], dtype: np.dtype[Any]) -> None:
    if not isinstance(out, np.ndarray):
        raise BufferMismatchError(f"out: got {type(out).__name__}, expected a NumPy array")
    if out.shape != shape:
        raise BufferMismatchError(f"out: got shape {out.shape}, expected {shape}, the shape of the selection")
    if out.dtype != dtype:
        raise BufferMismatchError(f"out: got dtype {out.dtype.str}, expected {dtype.str}, the array's")
    if not out.flags.writeable:
        raise BufferMismatchError("out: got a read-only array, expected a writable one")
    if out.size and not out.flags.c_contiguous and _may_overlap(out):
        raise BufferMismatchError(
            f"out: got strides {out.strides} in which elements share memory, expected each to have its own"
        )


def _may_overlap(array: NDArray[Any]) -> bool:
    reach = array.itemsize
    for stride, size in sorted(
        (abs(stride), size) for stride, size in zip(array.strides, array.shape, strict=True)
    ):
        if size > 1:
            if stride < reach:
                return True
            reach += (size - 1) * stride
    return False
