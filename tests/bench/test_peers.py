"""Every peer writes what the case asks for, and its array reads back equal, here and in another library."""

import importlib.metadata
import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
import zarr
from numpy.typing import NDArray
from packaging.requirements import Requirement

from fastzarr.bench.backends import (
    acquire_zarr,
    tensorstore,
    tensorstore_sync,
    z5py,
    zarr_fused,
    zarrista,
    zarrs,
)
from fastzarr.bench.backends import zarr as zarr_python
from fastzarr.bench.backends.base import Backend, Case
from fastzarr.bench.backends.distributions import missing
from fastzarr.bench.backends.tensorstore import IN_FLIGHT

MODULES = (zarr_python, zarr_fused, zarrs, tensorstore, tensorstore_sync, zarrista, z5py, acquire_zarr)
REQUIREMENTS = [Requirement(text) for text in importlib.metadata.requires("fastzarr") or ()]
INSTALLED = {r.name for r in REQUIREMENTS if r.marker and r.marker.evaluate({"extra": "bench"})}
"""What the extra `bench`, and so `dev`, installs on this machine."""
FUSED_RUNS = sys.version_info >= zarr_fused.MINIMUM_PYTHON
PEERS = [
    module.BACKEND
    for module in MODULES
    if module.BACKEND.packages[0] in INSTALLED and (FUSED_RUNS or module is not zarr_fused)
]
NAMES = [backend.name for backend in PEERS]
LEVELS = {"none": 0, "zstd": 3, "blosc": 5, "zlib": 5}
STEPS = IN_FLIGHT + 3
FILL_STEP = 1

UNSUPPORTED = {
    ("zarrista", 2, "zlib"): "zarrista has no codec zlib for Zarr v2",
    ("acquire-zarr", 2, "none"): "acquire-zarr writes Zarr v3 only",
    ("acquire-zarr", 2, "zstd"): "acquire-zarr writes Zarr v3 only",
    ("acquire-zarr", 2, "blosc"): "acquire-zarr writes Zarr v3 only",
    ("acquire-zarr", 2, "zlib"): "acquire-zarr writes Zarr v3 only",
    ("acquire-zarr", 3, "zlib"): "acquire-zarr has no codec zlib, only none, zstd and blosc",
}
WRITES_FILL = {"acquire-zarr"}
"""Peers that store chunks that equal the fill value."""
WRITES_NAN = {*WRITES_FILL, "z5py"}
"""Peers that store chunks of NaN where NaN is the fill value."""

NUMBERS = [
    ("float32", float("nan"), (4, 5)),
    ("float64", 1e20, (4, 5)),
    ("float64", -float("inf"), (4, 5)),
    ("float32", -0.0, (4, 5)),
    ("int16", -32768, (4, 5)),
    ("uint8", 255, (4, 5)),
    ("uint64", 2.0**60, (4, 5)),
    ("bool", 1, (4, 5)),
    ("float16", 0, (4, 5)),
    ("complex64", float("nan"), (4, 5)),
    ("complex128", 0, (4, 5)),
    ("float32", 0, ()),
    ("int32", 0, (7,)),
    ("float32", 0, (2, 3, 4, 5)),
]


REFUSED = [
    (z5py, {"dtype": np.dtype("bool")}),
    (z5py, {"dtype": np.dtype("float16")}),
    (z5py, {"dtype": np.dtype("complex64")}),
    (zarrista, {"codec": "zlib", "level": 5, "zarr_format": 2}),
    (acquire_zarr, {"dtype": np.dtype("bool")}),
    (acquire_zarr, {"shape": (3, 8)}),
    (acquire_zarr, {"shape": (3,)}),
]
"""What peers say they do not support."""


def make_case(codec: str = "none", zarr_format: int = 3, **fields: Any) -> Case:
    case = Case(
        shape=(STEPS, 4, 8, 16),
        dtype=np.dtype("float32"),
        codec=cast("Any", codec),
        level=LEVELS[codec],
        zarr_format=cast("Any", zarr_format),
        fill_value=0.0,
    )
    return replace(case, **fields)


def make_steps(case: Case) -> NDArray[Any]:
    """Random bits, NaNs of all kinds among them; one step is all fill value."""
    count = int(np.prod(case.shape))
    bits = np.random.default_rng(7).integers(0, 256, count * case.dtype.itemsize, dtype=np.uint8)
    if case.dtype == bool:
        bits &= 1
    steps = bits.view(case.dtype).reshape(case.shape)
    steps[FILL_STEP] = case.fill_value
    return steps


def poison(array: NDArray[Any]) -> None:
    array.reshape(-1).view(np.uint8)[...] = 0xA5


def write(backend: Backend, path: Path, case: Case, steps: NDArray[Any]) -> None:
    writer = backend.create(path, case)
    for number, step in enumerate(steps):
        writer.write(number, step)
    writer.close()


def assert_reads(backend: Backend, path: Path, case: Case, steps: NDArray[Any]) -> None:
    reader = backend.open(path, case)
    assert reader is not None
    out = np.empty(case.shape[1:], case.dtype)
    for number in reversed(range(len(steps))):
        poison(out)
        reader.read(number, out)
        assert out.tobytes() == steps[number].tobytes(), f"{backend.name} reads step {number} otherwise"
    reader.close()


def chunk_keys(path: Path) -> set[str]:
    files = {str(file.relative_to(path)) for file in path.rglob("*") if file.is_file()}
    return files - {"zarr.json", ".zarray", ".zattrs"}


def codecs(path: Path, case: Case) -> list[dict[str, Any]]:
    """Codecs of the stored array, those inside a shard where it is sharded; a missing checksum is none."""
    if case.zarr_format == 2:
        return [json.loads((path / ".zarray").read_text())["compressor"]]
    found: list[dict[str, Any]] = json.loads((path / "zarr.json").read_text())["codecs"]
    if found[0]["name"] == "sharding_indexed":
        found = found[0]["configuration"]["codecs"]
    return [
        codec | {"configuration": {"checksum": False} | codec["configuration"]}
        if codec["name"] == "zstd"
        else codec
        for codec in found
    ]


@pytest.fixture(params=PEERS, ids=NAMES)
def backend(request: pytest.FixtureRequest) -> Backend:
    peer: Backend = request.param
    assert peer.unavailable() is None
    return peer


def other_library(backend: Backend) -> Backend:
    return tensorstore.BACKEND if "zarr" in backend.packages else zarr_python.BACKEND


@pytest.mark.parametrize("zarr_format", [2, 3])
@pytest.mark.parametrize("codec", LEVELS)
def test_array_is_what_the_case_asks_for(
    backend: Backend, codec: str, zarr_format: int, tmp_path: Path
) -> None:
    case = make_case(codec, zarr_format)
    expected = UNSUPPORTED.get((backend.name, zarr_format, codec))
    assert backend.unsupported(case) == expected
    if expected is not None:
        return
    steps, path, reference = make_steps(case), tmp_path / "array", tmp_path / "reference"
    write(backend, path, case, steps)
    write(zarr_python.BACKEND, reference, case, steps)

    assert set(tmp_path.iterdir()) == {path, reference}
    keys, fill_key = chunk_keys(reference), "c/1/0/0/0" if zarr_format == 3 else "1.0.0.0"
    assert chunk_keys(path) == (keys | {fill_key} if backend.name in WRITES_FILL else keys)
    assert codecs(path, case) == codecs(reference, case)
    if backend.name == "acquire-zarr":
        assert backend.open(path, case) is None
    else:
        assert_reads(backend, path, case, steps)
    assert_reads(other_library(backend), path, case, steps)


@pytest.mark.parametrize("zarr_format", [2, 3])
@pytest.mark.parametrize(("dtype", "fill_value", "step_shape"), NUMBERS)
def test_any_number_and_rank(
    backend: Backend,
    zarr_format: int,
    dtype: str,
    fill_value: float,
    step_shape: tuple[int, ...],
    tmp_path: Path,
) -> None:
    shape = (3, *step_shape)
    case = make_case("zstd", zarr_format, shape=shape, dtype=np.dtype(dtype), fill_value=float(fill_value))
    if backend.name == "acquire-zarr":
        case = replace(case, codec="blosc", level=5)
    reason = backend.unsupported(case)
    if reason is not None:
        assert backend.name in ("z5py", "acquire-zarr") and reason.startswith(backend.name)
        return
    steps = make_steps(case)
    write(backend, tmp_path / "array", case, steps)
    elides = backend.name not in (WRITES_NAN if np.isnan(fill_value) else WRITES_FILL)
    assert len(chunk_keys(tmp_path / "array")) == (2 if elides else 3)
    if backend.name != "acquire-zarr":
        assert_reads(backend, tmp_path / "array", case, steps)
    assert_reads(other_library(backend), tmp_path / "array", case, steps)


@pytest.mark.parametrize(("module", "fields"), [case for case in REFUSED if case[0].BACKEND in PEERS])
def test_what_is_said_to_be_unsupported_fails_when_tried(
    module: Any, fields: dict[str, Any], tmp_path: Path
) -> None:
    backend, case = module.BACKEND, make_case(**fields)
    assert backend.unsupported(case) is not None
    with pytest.raises(Exception, match=r"(?i)data ?type|dtype|zlib|stream|dimension"):
        backend.create(tmp_path / "array", case)


def test_pipelines_live_side_by_side(tmp_path: Path) -> None:
    """The pipeline is bound to the array; the configuration of the process stays as it was."""
    before = zarr.config.get("codec_pipeline.path")
    asked = {
        zarr_python: "BatchedCodecPipeline",
        zarrs: "ZarrsCodecPipeline",
        zarr_fused: "FusedCodecPipeline",
    }
    asked = {module: name for module, name in asked.items() if module.BACKEND in PEERS}
    case = make_case()
    steps = make_steps(case)
    writers = {module: module.BACKEND.create(tmp_path / module.BACKEND.name, case) for module in asked}
    for number, step in enumerate(steps):
        for writer in writers.values():
            writer.write(number, step)
    readers = {module: module.BACKEND.open(tmp_path / module.BACKEND.name, case) for module in asked}
    for module, name in asked.items():
        for steps_of in (writers[module], readers[module]):
            pipeline = cast("Any", steps_of)._array.async_array.codec_pipeline
            assert type(pipeline).__name__ == name
            if module is zarrs:
                assert pipeline.impl is not None and pipeline.python_impl is None
    assert zarr.config.get("codec_pipeline.path") == before


def test_steps_out_of_order_are_an_error_where_steps_are_appended(tmp_path: Path) -> None:
    backend, case = acquire_zarr.BACKEND, make_case()
    writer = backend.create(tmp_path / "array", case)
    with pytest.raises(ValueError, match="step 1 after 0 steps; write them in order"):
        writer.write(1, np.zeros(case.shape[1:], case.dtype))
    writer.close()


def test_missing_distributions_come_with_the_remedy() -> None:
    assert missing("zarr", "3.1", "zarr") is None
    assert (
        missing("no-such-peer", "1.0", "x")
        == "no-such-peer is not installed; pip install 'no-such-peer>=1.0'"
    )
    too_old = missing("zarr", "999", "zarr")
    assert too_old == (
        f"zarr {zarr.__version__} is installed, 999 or newer is needed; pip install 'zarr>=999'"
    )
    broken = missing("zarr", "3.1", "zarr_that_is_not")
    assert broken is not None
    assert "but zarr_that_is_not does not import: No module named 'zarr_that_is_not'" in broken
    assert broken.endswith("pip install --force-reinstall 'zarr>=3.1'")


def test_fused_says_which_version_has_it() -> None:
    running = f"{sys.version_info[0]}.{sys.version_info[1]}"
    assert zarr_fused.BACKEND.unavailable() == (
        None
        if FUSED_RUNS
        else f"zarr {zarr.__version__} has no FusedCodecPipeline, 3.3 or newer has, and needs Python 3.12 or "
        f"newer (this is {running}); run with such a Python"
    )
