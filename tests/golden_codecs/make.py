"""Make the golden files of codecs: `python tests/golden_codecs/make.py` writes them anew beside this file.

Needs zarr-python 3.4 or later (Python 3.12), cast-value-rs, pcodec and zfpy 1.0.1. `expected.npz` holds what
the arrays read as, `casts.npz` what cast-value-rs makes of single values, `made_with.json` the versions.
"""

import itertools
import json
import shutil
import warnings
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numcodecs
import numpy as np
import zarr
import zarr.codecs.numcodecs as named
from cast_value_rs import cast_array
from numpy.typing import NDArray
from zarr.codecs import CastValue, ScaleOffset
from zarr.storage import LocalStore

HERE = Path(__file__).parent
RANDOM = np.random.default_rng(11)

I4 = RANDOM.integers(-1000, 1000, (7, 5)).astype("<i4")
F4 = RANDOM.random((7, 5)).astype("<f4") * 100
BOOL = RANDOM.random((7, 5)) > 0.5
TEXT = np.array([["red", "blue", "", "red", "blue"]] * 7, "<U5")

V2: dict[str, tuple[NDArray[Any], list[Any], Any]] = {
    "delta-zstd": (I4, [numcodecs.Delta("<i4", astype="<i2")], numcodecs.Zstd(level=3)),
    "delta-blosc": (I4, [numcodecs.Delta("<i4", astype="<i2")], numcodecs.Blosc("zstd", shuffle=-1)),
    "shuffle-bz2": (I4, [numcodecs.Shuffle(4)], numcodecs.BZ2(level=9)),
    "fixedscaleoffset": (F4, [numcodecs.FixedScaleOffset(0, 2, "<f4", "u1")], numcodecs.LZMA(preset=1)),
    "quantize": (F4, [numcodecs.Quantize(1, "<f4")], numcodecs.GZip()),
    "astype": (I4, [numcodecs.AsType("<i2", "<i4")], numcodecs.LZ4()),
    "bitround": (F4, [numcodecs.BitRound(5)], numcodecs.Zlib()),
    "packbits": (BOOL, [numcodecs.PackBits()], None),
    "categorize": (TEXT, [numcodecs.Categorize(["red", "blue"], "<U5", "u1")], None),
    "base64": (I4, [numcodecs.Base64()], None),
    "checksums": (I4, [numcodecs.CRC32(), numcodecs.CRC32C(), numcodecs.Adler32()], None),
    "fletcher32": (I4, [numcodecs.Fletcher32()], None),
    "jenkins_lookup3": (I4, [numcodecs.JenkinsLookup3()], None),
    "bz2": (I4, [], numcodecs.BZ2()),
    "lzma": (I4, [], numcodecs.LZMA(format=1, check=4)),
}
V3: dict[str, tuple[NDArray[Any], dict[str, Any]]] = {
    "delta": (I4, {"filters": named.Delta(dtype="int32", astype="int16")}),
    "fixedscaleoffset": (
        F4,
        {"filters": named.FixedScaleOffset(offset=0, scale=2, dtype="<f4", astype="u1")},
    ),
    "quantize": (F4, {"filters": named.Quantize(digits=1, dtype="<f4")}),
    "astype": (I4, {"filters": named.AsType(encode_dtype="<i2", decode_dtype="<i4")}),
    "bitround": (F4, {"filters": named.BitRound(keepbits=5)}),
    "packbits": (BOOL, {"filters": named.PackBits()}),
    "shuffle-zlib": (I4, {"compressors": [named.Shuffle(), named.Zlib(level=3)]}),
    "blosc": (I4, {"compressors": named.Blosc(cname="zstd", shuffle=2)}),
    "zstd": (I4, {"compressors": named.Zstd(level=3)}),
    "gzip": (I4, {"compressors": named.GZip(level=3)}),
    "lz4": (I4, {"compressors": named.LZ4()}),
    "bz2": (I4, {"compressors": named.BZ2(level=2)}),
    "lzma": (I4, {"compressors": named.LZMA(preset=1)}),
    "crc32": (I4, {"compressors": named.CRC32()}),
    "crc32c": (I4, {"compressors": named.CRC32C()}),
    "adler32": (I4, {"compressors": named.Adler32()}),
    "fletcher32": (I4, {"compressors": named.Fletcher32()}),
    "jenkins_lookup3": (I4, {"compressors": named.JenkinsLookup3(initval=7)}),
    "pcodec": (I4, {"serializer": named.PCodec(level=4)}),
    "zfpy": (F4, {"serializer": named.ZFPY(mode=4, tolerance=0.25)}),
    "cast_value": (I4, {"filters": CastValue(data_type="int16")}),
    "cast_value-clamp": (
        F4 - 50,
        {"filters": CastValue(data_type="uint8", out_of_range="clamp", rounding="towards-zero")},
    ),
    "cast_value-map": (
        np.where(BOOL, F4, np.nan).astype("<f4"),
        {
            "filters": CastValue(
                data_type="int16", scalar_map={"encode": [("NaN", -1)], "decode": [(-1, "NaN")]}
            ),
            "fill_value": "NaN",
        },
    ),
    "scale_offset": (F4, {"filters": [ScaleOffset(offset=5, scale=2), CastValue(data_type="int16")]}),
    "scale_offset-sharded": (
        F4,
        {
            "filters": [ScaleOffset(offset=5, scale=2), CastValue(data_type="int16")],
            "shards": (8, 6),
            "fill_value": 7.0,
        },
    ),
}
ROUNDINGS = ("nearest-even", "towards-zero", "towards-positive", "towards-negative", "nearest-away")
NUMBERS = (
    *(f"{kind}int{size}" for kind in ("", "u") for size in (8, 16, 32, 64)),
    *("float16", "float32", "float64"),
)


def edges(name: str) -> NDArray[Any]:
    """Numbers of a data type at the edges of others, and halfway between those of others."""
    dtype = np.dtype(name)
    exponents = (0, 3, 7, 8, 11, 15, 16, 24, 25, 31, 32, 53, 54, 63, 64)
    wholes = [
        sign * (2**exponent + offset)
        for exponent in exponents
        for offset in (-1, 0, 1, 2 ** max(exponent - 12, 0) * 3, 2 ** max(exponent - 25, 0) * 3)
        for sign in (1, -1)
    ]
    if dtype.kind in "iu":
        limits = np.iinfo(dtype)
        return np.unique(np.array([v for v in wholes if limits.min <= v <= limits.max], dtype))
    parts = [0.0, -0.0, 0.5, 1.5, 2.5, 0.49999999999999994, 65519.9, 65520, 3.4028235677973366e38, 1e300]
    tiny = [
        1e-45,
        7e-46,
        5e-8,
        2.98e-8,
        2.0**-25,
        1 + 2.0**-11,
        1 + 3 * 2.0**-11,
        1 + 2.0**-24,
        1 + 3 * 2.0**-24,
    ]
    with np.errstate(all="ignore"):
        floats = np.array([*parts, *tiny, *wholes], np.float64)
        return np.unique(np.concatenate([floats, -floats]).astype(dtype).view(f"u{dtype.itemsize}")).view(
            dtype
        )


def modes_of(target: str) -> list[tuple[str, str]]:
    """Pairs of rounding and out_of_range that a target has, in the order of the rows in `casts.npz`."""
    beyond = ("error", "clamp") if target.startswith("float") else ("error", "clamp", "wrap")
    return list(itertools.product(ROUNDINGS, beyond))


def casts() -> dict[str, NDArray[Any]]:
    made: dict[str, NDArray[Any]] = {}
    for source in NUMBERS:
        values = edges(source)
        # The specification wants infinities clamped; cast-value-rs refuses them.
        values = values[np.isfinite(values)]
        made[f"{source}/values"] = values
        for target in NUMBERS:
            modes = modes_of(target)
            found = np.zeros((len(modes), values.size), target)
            fits = np.zeros(found.shape, bool)
            for row, (rounding, beyond) in enumerate(modes):
                for at in range(values.size):
                    try:
                        found[row, at] = cast_array(
                            values[at : at + 1],
                            target_dtype=np.dtype(target),
                            rounding_mode=rounding,
                            out_of_range_mode=None if beyond == "error" else beyond,
                            scalar_map_entries=None,
                        )[0]
                        fits[row, at] = True
                    except ValueError:
                        pass
            made[f"{source}/{target}/found"] = found
            made[f"{source}/{target}/fits"] = fits
    return made


def main() -> None:
    warnings.simplefilter("ignore")
    for kind in ("v2", "v3"):
        shutil.rmtree(HERE / kind, ignore_errors=True)
    expected = {}
    for name, (content, filters, compressor) in V2.items():
        for order in ("C", "F"):
            path = f"v2/{name}-{order}"
            array = zarr.create_array(
                LocalStore(HERE / path),
                shape=content.shape,
                chunks=(4, 3),
                dtype=content.dtype,
                filters=filters or None,
                compressors=compressor,
                order=order,
                zarr_format=2,
            )
            array[...] = content
            expected[path] = array[...]
    for name, (content, given) in V3.items():
        array = zarr.create_array(
            LocalStore(HERE / "v3" / name),
            shape=content.shape,
            chunks=(4, 3),
            dtype=content.dtype,
            **{"compressors": None, **given},
        )
        array[...] = content
        expected[f"v3/{name}"] = array[...]
    np.savez_compressed(HERE / "expected.npz", **expected)
    np.savez_compressed(HERE / "casts.npz", **casts())
    packages = ("zarr", "numcodecs", "numpy", "cast-value-rs", "pcodec", "zfpy")
    versions = {package: version(package) for package in packages}
    (HERE / "made_with.json").write_text(json.dumps(versions, indent=2) + "\n")


if __name__ == "__main__":
    main()
