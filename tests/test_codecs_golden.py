"""Files and values that zarr-python 3.4 made, kept in `golden_codecs/`, whose `make.py` is the script."""

import itertools
import json
import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from oracle import assert_same, files

import fastzarr
from fastzarr.codecs.casting import ROUNDINGS, cast
from fastzarr.errors import CodecError

GOLDEN = Path(__file__).with_name("golden_codecs")
CASTS = np.load(GOLDEN / "casts.npz")
NUMBERS = [name.partition("/")[0] for name in CASTS.files if name.endswith("/values")]
NAMES = np.load(GOLDEN / "expected.npz").files
OPTIONAL = {"v3/zfpy": "zfpy", "v3/pcodec": "pcodec"}
OTHER_BYTES = {
    "deflate of another implementation": ("gzip", "zlib", "quantize", "bitround-C", "bitround-F"),
    "shuffled by the size of elements": ("v3/blosc",),
    "inner chunks in another order": ("sharded",),
}
"""Why some stored bytes differ from those of zarr-python."""


@pytest.fixture(scope="module")
def expected() -> dict[str, NDArray[Any]]:
    with np.load(GOLDEN / "expected.npz") as stored:
        return {name: stored[name] for name in stored.files}


def test_every_golden_array_is_expected() -> None:
    documents = [*GOLDEN.rglob("zarr.json"), *GOLDEN.rglob(".zarray")]
    assert {p.parent.relative_to(GOLDEN).as_posix() for p in documents} == set(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_reads_bit_by_bit(name: str, expected: dict[str, NDArray[Any]]) -> None:
    if name in OPTIONAL:
        pytest.importorskip(OPTIONAL[name])
    array = fastzarr.open_array(GOLDEN / name, mode="r")
    assert_same(array[...], expected[name])
    assert_same(array[3:6, 1], expected[name][3:6, 1])


# What zfp read is not what it wrote, and is written as something else again.
@pytest.mark.parametrize("name", [name for name in NAMES if name != "v3/zfpy"])
def test_writes_the_bytes_that_were_read(
    name: str, expected: dict[str, NDArray[Any]], tmp_path: Path
) -> None:
    if name in OPTIONAL:
        pytest.importorskip(OPTIONAL[name])
    before = files(GOLDEN / name)
    shutil.copytree(GOLDEN / name, tmp_path / "array")
    array = fastzarr.open_array(tmp_path / "array", mode="r+")
    array[...] = 1 if expected[name].dtype.kind != "U" else "red"
    array[...] = expected[name]
    after = files(tmp_path / "array")
    assert before.keys() == after.keys()
    others = tuple(itertools.chain.from_iterable(OTHER_BYTES.values()))
    if not any(other in name for other in others):
        assert after == before
    assert_same(fastzarr.open_array(tmp_path / "array")[...], expected[name])


@pytest.mark.parametrize("name", [name for name in NAMES if name.startswith("v3")])
def test_configuration_is_written_as_it_was_read(name: str) -> None:
    """Members that zarr-python left out are written with their defaults, the others as they were."""
    if name in OPTIONAL:
        pytest.importorskip(OPTIONAL[name])
    document = json.loads((GOLDEN / name / "zarr.json").read_text())
    array = fastzarr.open_array(GOLDEN / name, mode="r")
    given = document["codecs"]
    if given[0]["name"] == "sharding_indexed":
        given = given[0]["configuration"]["codecs"]
    codecs = [*array.filters, array.serializer, *array.compressors]
    for codec, entry in zip(codecs, given, strict=True):
        assert codec.name == entry["name"]
        for member, value in entry.get("configuration", {}).items():
            found = codec.config()[member]
            dtypes = member in ("dtype", "astype", "encode_dtype", "decode_dtype")
            assert np.dtype(found) == np.dtype(value) if dtypes else found == value


@pytest.mark.parametrize("source", NUMBERS)
def test_casts_are_those_of_cast_value_rs(source: str) -> None:
    values = CASTS[f"{source}/values"]
    wrong: Counter[str] = Counter()
    for target in NUMBERS:
        beyond = ("error", "clamp") if target.startswith("float") else ("error", "clamp", "wrap")
        modes = list(itertools.product(ROUNDINGS, beyond))
        found, fits = CASTS[f"{source}/{target}/found"], CASTS[f"{source}/{target}/fits"]
        assert len(modes) == len(found)
        for row, (rounding, out_of_range) in enumerate(modes):
            mode: Any = None if out_of_range == "error" else out_of_range
            good = fits[row]
            ours = cast(values[good], np.dtype(target), rounding, mode)  # type: ignore[arg-type]
            wrong[f"{target} {rounding} {out_of_range}"] += ours.tobytes() != found[row][good].tobytes()
            for value in values[~good]:
                with pytest.raises(CodecError, match="can't hold"):
                    cast(np.array([value]), np.dtype(target), rounding, mode)  # type: ignore[arg-type]
    assert not +wrong


def test_infinities_are_clamped_where_integers_end() -> None:
    values = np.array([np.inf, -np.inf], "f4")
    assert cast(values, np.dtype("i2"), "nearest-even", "clamp").tolist() == [32767, -32768]
    assert cast(values, np.dtype("f2"), "nearest-even", None).tolist() == [np.inf, -np.inf]
    for mode in (None, "wrap"):
        with pytest.raises(CodecError, match=r"cast_value: int16 can't hold inf \(of 2 such values\)"):
            cast(values, np.dtype("i2"), "nearest-even", mode)  # type: ignore[arg-type]
