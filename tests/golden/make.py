"""Make the golden files with zarr-python: `python tests/golden/make.py` writes them anew beside this file.

`expected.npz` holds what the arrays read as, `made_with.json` the versions of what made them. The files are
kept as they are, and every later version of fastzarr reads them.
"""

import json
import shutil
from pathlib import Path
from typing import Any

import numcodecs
import numpy as np
import zarr
from numpy.typing import NDArray
from zarr.storage import LocalStore

HERE = Path(__file__).parent

DATA_TYPES = (
    *("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
    *("float16", "float32", "float64", "complex64", "complex128"),
)
V3_CODECS: dict[str, Any] = {
    "none": None,
    "zstd": zarr.codecs.ZstdCodec(level=3, checksum=True),
    "gzip": zarr.codecs.GzipCodec(level=5),
    "blosc": zarr.codecs.BloscCodec(cname="lz4", shuffle="bitshuffle"),
    "crc32c": zarr.codecs.Crc32cCodec(),
    "zstd-crc32c": [zarr.codecs.ZstdCodec(), zarr.codecs.Crc32cCodec()],
}
V2_CODECS: dict[str, Any] = {
    "none": None,
    "zstd": numcodecs.Zstd(level=3),
    "gzip": numcodecs.GZip(level=1),
    "zlib": numcodecs.Zlib(level=5),
    "blosc": numcodecs.Blosc("zstd", 5, numcodecs.Blosc.SHUFFLE),
    "lz4": numcodecs.LZ4(),
}


def sample(dtype: Any, shape: tuple[int, ...] = (5, 7)) -> NDArray[Any]:
    """Numbers that use all bytes of the type, and what is special about floats."""
    dtype = np.dtype(dtype)
    native = dtype.newbyteorder("=")
    size = int(np.prod(shape))
    patterns = (np.arange(size * dtype.itemsize, dtype="u4") * 151 + 7).astype("u1")
    if dtype.kind == "b":
        flat = patterns % 3 == 0
    elif dtype.kind in "iu":
        flat = patterns.view(native)
    else:
        part = np.dtype(f"f{dtype.itemsize // 2 if dtype.kind == 'c' else dtype.itemsize}")
        parts = ((np.arange(size * dtype.itemsize // part.itemsize) - 10.5) / 3).astype(part)
        special = np.array([np.nan, np.inf, -np.inf, -0.0], part)
        parts[:4] = special[: parts.size]
        flat = parts.view(native)
    return flat.reshape(shape).astype(dtype)


def arrays() -> dict[str, tuple[dict[str, Any], NDArray[Any]]]:
    """Name of each array, arguments of its creation, and its content."""
    made: dict[str, tuple[dict[str, Any], NDArray[Any]]] = {}
    for zarr_format in (2, 3):
        chunks = {"chunks": (3, 4), "zarr_format": zarr_format}
        for name in DATA_TYPES:
            for order in "<>" if np.dtype(name).itemsize > 1 else "|":
                dtype = np.dtype(name).newbyteorder(order)
                given: dict[str, Any] = {"dtype": dtype, "compressors": None, **chunks, "fill_value": 1}
                if zarr_format == 3 and order == ">":
                    given["serializer"] = zarr.codecs.BytesCodec(endian="big")
                given["chunks"] = (3,)
                suffix = {"<": "-little", ">": "-big", "|": ""}[order]
                made[f"v{zarr_format}/data-types/{name}{suffix}"] = given, sample(dtype, (5,))
        for name, codec in (V2_CODECS if zarr_format == 2 else V3_CODECS).items():
            for dtype in (np.dtype("<f4"), np.dtype("u1")):
                given = {"dtype": dtype, "compressors": codec, **chunks}
                made[f"v{zarr_format}/codecs/{name}-{dtype.name}"] = given, sample(dtype)
        order = {"order": "F"} if zarr_format == 2 else {"filters": zarr.codecs.TransposeCodec(order=(1, 0))}
        made[f"v{zarr_format}/layouts/F"] = {"dtype": "<i4", **order, **chunks}, sample("<i4")
        for name, shape, chunk_shape in (
            *(("no-dimensions", (), ()), ("no-elements", (0, 3), (2, 2))),
            *(("chunk-beyond-shape", (3,), (10,)), ("one-chunk", (4, 4), (4, 4))),
        ):
            given = {"dtype": "<f8", "chunks": chunk_shape, "zarr_format": zarr_format}
            made[f"v{zarr_format}/layouts/{name}"] = given, sample("<f8", shape)
        other = {"name": "v2", "separator": "/" if zarr_format == 2 else "."}
        made[f"v{zarr_format}/layouts/other-keys"] = (
            {"dtype": "<i2", "chunk_key_encoding": other, **chunks, "attributes": {"unit": "°C"}},
            sample("<i2"),
        )
    return made


def main() -> None:
    for kind in ("v2", "v3"):
        shutil.rmtree(HERE / kind, ignore_errors=True)
    expected = {}
    for name, (given, content) in arrays().items():
        array = zarr.create_array(LocalStore(HERE / name), shape=content.shape, **given)
        array[...] = content
        expected[name] = content
    # A chunk of fill values is left out.
    partial = zarr.open_array(LocalStore(HERE / "v3/data-types/float32-little"), mode="r+")
    partial[:3] = 1
    expected["v3/data-types/float32-little"][:3] = 1
    np.savez_compressed(HERE / "expected.npz", **expected)
    versions = {"zarr": zarr.__version__, "numcodecs": numcodecs.__version__, "numpy": np.__version__}
    (HERE / "made_with.json").write_text(json.dumps(versions, indent=2) + "\n")


if __name__ == "__main__":
    main()
