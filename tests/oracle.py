"""zarr-python and TensorStore as oracles: what they write, and what they read from the same directory."""

import json
import warnings
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import tensorstore as ts
import zarr
from numpy.typing import NDArray
from zarr.storage import LocalStore, MemoryStore

import fastzarr

DATA_TYPES = (
    *("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
    *("float16", "float32", "float64", "complex64", "complex128"),
)

DTYPES = tuple(
    np.dtype(name).newbyteorder(order)
    for name in DATA_TYPES
    for order in ("<>" if np.dtype(name).itemsize > 1 else "|")
)
"""All data types, in both byte orders where there are two."""

Call = Callable[[ModuleType, Any], object]
"""Something to do with either library (`zarr` or `fastzarr`) and a store."""


def documents(objects: dict[str, bytes]) -> dict[str, str]:
    """Metadata documents by key, as text that is equal for equal JSON: NaN, -0.0 and 1 versus 1.0 differ."""
    names = (".zarray", ".zattrs", ".zgroup", "zarr.json")
    return {
        key: json.dumps(json.loads(data), sort_keys=True)
        for key, data in objects.items()
        if key.rpartition("/")[2] in names
    }


def written_by_zarr(call: Call) -> dict[str, bytes]:
    store = MemoryStore()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        call(zarr, store)
    return {key: buffer.to_bytes() for key, buffer in store._store_dict.items()}


def written_by_fastzarr(call: Call) -> dict[str, bytes]:
    objects: dict[str, bytes] = {}
    call(fastzarr, objects)
    return objects


def files(root: Path) -> dict[str, bytes]:
    """Every file below a directory."""
    return {p.relative_to(root).as_posix(): p.read_bytes() for p in sorted(root.rglob("*")) if p.is_file()}


def read_by_zarr(root: Path) -> NDArray[Any]:
    array = zarr.open_array(LocalStore(root, read_only=True), mode="r")
    return np.asarray(array[...])


def read_by_tensorstore(root: Path) -> NDArray[Any]:
    driver = "zarr3" if (root / "zarr.json").exists() else "zarr"
    spec = {"driver": driver, "kvstore": {"driver": "file", "path": f"{root}/"}}
    return np.asarray(ts.open(spec, open=True).result().read().result())


def bits(array: NDArray[Any] | np.generic) -> bytes:
    """Elements in C order, native byte order: equal for NaN payloads and signs of zero too."""
    whole = np.asarray(array)
    return whole.astype(whole.dtype.newbyteorder("="), copy=False).tobytes()


def assert_same(found: Any, expected: Any) -> None:
    """Shape, kind of dtype and every bit."""
    found, expected = np.asarray(found), np.asarray(expected)
    assert found.shape == expected.shape
    assert found.dtype.newbyteorder("=") == expected.dtype.newbyteorder("=")
    assert bits(found) == bits(expected)


def values(shape: tuple[int, ...], dtype: Any, seed: int = 0) -> NDArray[Any]:
    """Random elements of every bit pattern that a program would write, special values first."""
    dtype = np.dtype(dtype)
    native = dtype.newbyteorder("=")
    generator = np.random.default_rng(seed)
    size = int(np.prod(shape))
    if native.kind == "b":
        flat = generator.integers(0, 2, size).astype(native)
    elif native.kind in "iu":
        limits = np.iinfo(native)
        flat = generator.integers(limits.min, limits.max, size, dtype=native, endpoint=True)
    else:
        part = np.dtype(f"f{native.itemsize // (2 if native.kind == 'c' else 1)}")
        parts = generator.normal(size=size * native.itemsize // part.itemsize).astype(part)
        special = np.array([np.nan, np.inf, -np.inf, -0.0, np.finfo(part).smallest_subnormal], part)
        parts[: len(special)] = special[: len(parts)]
        flat = parts.view(native)
    return flat.reshape(shape).astype(dtype)
