"""The elements of a case, and the file that carries them: C order, little endian, nothing else.

Elements of `string` travel as a JSON array of strings, of `bool` as one byte each, of `datetime64[s]` as
64-bit integers.
"""

import json
import math
import zlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fastzarr.bench.compat.cases import Case

STRINGS = ("", "a", "é", "𐍈", "Größe ☃", "two words", "x" * 40)
RUN = 16
"""Equal elements one after the other."""
NANS = {"float32": 0x7FC00123, "float64": 0x7FF8000000000123}
"""Bits of a quiet NaN with a payload."""


def numpy_dtype(case: Case) -> np.dtype[Any]:
    """The NumPy data type of the elements as stored, byte order and all; object for `string`."""
    if case.data_type == "string":
        return np.dtype(object)
    return np.dtype(case.data_type).newbyteorder(">" if case.endian == "big" else "<")


def fill_scalar(case: Case) -> Any:
    """The fill value, as an element."""
    value = case.fill_value
    if case.data_type == "string":
        return value
    if case.data_type == "complex64":
        value = complex(*value)
    if case.data_type == "datetime64[s]":
        return np.datetime64(value, "s")
    return numpy_dtype(case).newbyteorder("=").type(math.nan if value == "NaN" else value)


def values(case: Case) -> NDArray[Any]:
    """The whole array, the same every time; what is not written holds the fill value.

    Elements come in runs, so that they compress; in the layout `edge` they do not.
    """
    random = np.random.default_rng(zlib.crc32(case.data_type.encode()))
    dtype = numpy_dtype(case)
    run = 1 if case.layout == "edge" else RUN
    pool = _pool(case, random, 2**14 // run)
    drawn = random.integers(len(pool), size=(*case.shape[:-1], -(-case.shape[-1] // run)))
    whole = pool[np.repeat(drawn, run, axis=-1)[..., : case.shape[-1]]]
    whole[0, 0, :8], whole[-1, -1, -8:] = pool[:8], pool[:8]
    if case.layout == "missing":
        whole[case.written_rows :] = fill_scalar(case)
    if case.layout == "zeros" or (case.layout == "missing" and case.data_type == "float64"):
        first = tuple(slice(0, n) for n in case.chunk_shape)
        whole[first] = -0.0 if case.layout == "zeros" else 0.0
    return np.ascontiguousarray(whole.astype(dtype, copy=False))


def _pool(case: Case, random: np.random.Generator, size: int) -> NDArray[Any]:
    """So many elements, first those that readers get wrong: extremes, NaN with a payload, −0.0, NaT."""
    if case.data_type == "string":
        return np.array([*STRINGS, *(f"{n:x}" for n in range(size))], dtype=object)
    if case.data_type == "bool":
        return np.array([False, True] * 4)
    native = numpy_dtype(case).newbyteorder("=")
    if native.kind == "M":
        seconds = [np.iinfo(np.int64).min, -1, 0, *random.integers(-(2**33), 2**33, size)]
        return np.array(seconds, np.int64).view(native)
    if native.kind in "iu":
        limits = np.iinfo(native)
        return np.array(
            [limits.min, limits.max, *random.integers(limits.min, limits.max, size, native)], native
        )
    part = np.dtype("float32") if native.kind == "c" else native
    limits_ = np.finfo(part)
    special = [-0.0, math.inf, -math.inf, limits_.max, limits_.smallest_subnormal, 0.0]
    numbers = np.array([math.nan, *special, *random.normal(size=size)], part)
    numbers[:1].view(f"u{part.itemsize}")[0] = NANS[part.name]
    if native.kind != "c":
        return numbers
    return np.stack([numbers, np.roll(numbers, 1)], axis=-1).view(native)[:, 0]


def encode(array: NDArray[Any]) -> bytes:
    """The bytes that travel."""
    if array.dtype.kind in "OTU":
        return json.dumps(array.reshape(-1).tolist(), ensure_ascii=False).encode()
    return np.ascontiguousarray(array.astype(array.dtype.newbyteorder("<"), copy=False)).tobytes()


def decode(content: bytes, case: Case) -> NDArray[Any]:
    """The array that `encode` took, in the byte order in which it is to be stored."""
    dtype = numpy_dtype(case)
    if case.data_type == "string":
        return np.array(json.loads(content), dtype=object).reshape(case.shape)
    return np.frombuffer(content, dtype.newbyteorder("<")).reshape(case.shape).astype(dtype)
