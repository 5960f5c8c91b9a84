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

TIMES = ("M8[ns]", "M8[D]", "M8[25s]", "m8[us]", "m8[10us]", "m8[Y]")

SAMPLES: dict[str, NDArray[Any]] = {
    **{
        f"{order}{unit}": np.array([[0, 1, -1, 7], [-(2**63), 2**40, 5, -(2**40)]])
        .view(unit)
        .astype(order + unit)
        for unit in TIMES
        for order in "<>"
    },
    **{f"{o}U2": np.array([["a", "é", "𐍈", ""], ["𐍈a", "ab", "\0b", "x\0"]], f"{o}U2") for o in "<>"},
    "<U1": np.array([["a", "é", "𐍈"]], "<U1"),
    "S3": np.array([[b"a", b"abc", b""], [b"\xff\0b", b"\0", b"xy"]], "S3"),
    "S1": np.array([[b"a", b"", b"\xff"]], "S1"),
    "V3": np.frombuffer(bytes(range(36)), "V3").reshape(3, 4),
    "V1": np.frombuffer(bytes(range(250, 256)), "V1").reshape(2, 3),
    "record": np.array(
        [
            [(1, -0.0, "é", 5, b"abc"), (2, np.nan, "", "NaT", b"\0\0\0")],
            [(-(2**31), 2.5, "ab", -1, b"123"), (0, 0.0, "", 0, b"\0\0\1")],
        ],
        [("a", "<i4"), ("b", "<f4"), ("u", "<U2"), ("t", "<M8[ms]"), ("r", "V3")],
    ),
    "nested record": np.array(
        [[(1, (b"ab", (0.5, 2))), (-1, (b"", (-0.0, 0)))]],
        [("a", "<i2"), ("n", [("s", "S2"), ("m", [("x", "<f4"), ("y", "u1")])])],
    ),
    "mixed record": np.array([[(1, 2.5, "é"), (3, -1, "b")]], [("a", ">i4"), ("b", "<f4"), ("u", ">U2")]),
}
"""Elements of a fixed size beyond numbers, some of each data type; records with both byte orders too."""

TEXTS = np.array([["a", "é", "𐍈" * 20], ["", "b\0c", "x" * 300]], np.dtypes.StringDType())
BYTES = np.array([[b"a", b"\0", b"x" * 300], [b"", b"b\0c", b"\xff\xfe"]], object)

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
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return np.asarray(zarr.open_array(LocalStore(root, read_only=True), mode="r")[...])


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
    if expected.dtype.kind in "OT":
        assert found.dtype == expected.dtype
        assert found.tolist() == expected.tolist()
        return
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


def chunk_files(objects: dict[str, bytes]) -> dict[str, bytes]:
    return {key: data for key, data in objects.items() if not Path(key).name.startswith((".z", "zarr."))}


def v3_document(data_type: Any, fill_value: Any) -> dict[str, bytes]:
    serializer = {"string": "vlen-utf8", "bytes": "vlen-bytes"}.get(
        data_type if isinstance(data_type, str) else ""
    )
    codec = {"name": serializer} if serializer else {"name": "bytes", "configuration": {"endian": "little"}}
    document = {"zarr_format": 3, "node_type": "array", "shape": [2], "data_type": data_type}
    document |= {"chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [2]}}}
    document |= {"chunk_key_encoding": "default", "fill_value": fill_value, "codecs": [codec]}
    return {"zarr.json": json.dumps(document).encode()}
