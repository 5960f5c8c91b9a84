"""Every contender does every operation on a small array, and what it does is right by bytes."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from zstandard import ZstdCompressor

from fastzarr.bench import comparison, gate, verify
from fastzarr.bench.backends.base import Layout
from fastzarr.bench.backends.regions.base import RegionBackend
from fastzarr.bench.backends.regions.registry import REGION_BACKENDS, REGION_READERS
from fastzarr.bench.comparison import WrongBytesError
from fastzarr.bench.fields import synthetic, volume
from fastzarr.bench.workloads.operations import (
    Cutouts,
    Element,
    Item,
    Open,
    Operation,
    Read,
    Turn,
    Write,
    WriteBySlabs,
)

BACKENDS = [backend for backend in REGION_BACKENDS.values() if backend.unavailable() is None]
NAMES = [backend.name for backend in BACKENDS]
CODECS = {"none": 0, "zstd": 3, "blosc": 5}
OPERATIONS: tuple[Operation, ...] = (
    Write(),
    WriteBySlabs(),
    Read(),
    Item(),
    Element(3, seed=5),
    Open(),
    Cutouts(8, aligned=True, places=6, seed=5),
    Cutouts(6, aligned=False, places=6, seed=5),
)
LAYOUTS: dict[str, dict[str, Any]] = {
    "slabs": {"chunks": (1, 16, 24)},
    "cubes": {"chunks": (8, 8, 8)},
    "shards": {"chunks": (8, 8, 8), "shards": (8, 16, 24)},
    "one shard": {"chunks": (8, 8, 8), "shards": (16, 16, 24)},
}
BASELINES_DO: dict[str, set[tuple[str, str, str]]] = {
    "raw-chunks": {
        ("slabs", "none", "write"),
        ("slabs", "none", "read"),
        ("slabs", "none", "item"),
        ("cubes", "none", "write"),
        ("cubes", "none", "read"),
    },
    "libzstd": {(form, "zstd", operation) for form in LAYOUTS for operation in ("write", "read")},
}


def make_layout(form: str = "cubes", codec: str = "none", **changes: Any) -> Layout:
    fields: dict[str, Any] = {
        "shape": (16, 16, 24),
        "shards": None,
        "dtype": np.dtype(np.float32),
        "codec": codec,
        "level": CODECS[codec],
        "zarr_format": 3,
        "fill_value": 0,
    }
    return Layout(**fields | LAYOUTS[form] | changes)


def make_turn(backend: RegionBackend, path: Path, layout: Layout) -> Turn:
    data = synthetic(layout.shape, 10)
    return Turn(backend=backend, path=path, layout=layout, threads=None, data=data, out=np.ones_like(data))


def write_shared(path: Path, layout: Layout) -> None:
    turn = make_turn(REGION_BACKENDS["tensorstore"], path, layout)
    Write().run(turn)


read_back = verify.read_back_by([REGION_BACKENDS[name] for name in REGION_READERS])


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("form", LAYOUTS)
@pytest.mark.parametrize("backend", BACKENDS, ids=NAMES)
def test_every_operation_in_every_layout(
    backend: RegionBackend, form: str, codec: str, tmp_path: Path
) -> None:
    layout = make_layout(form, codec)
    shared = tmp_path / "shared"
    write_shared(shared, layout)
    for operation in OPERATIONS:
        if operation.ability == "item" and form != "slabs":
            continue
        if operation.ability == "element" and (codec != "none" or layout.shards):
            continue
        if backend.unsupported(layout, operation.ability) is not None:
            assert (form, codec, operation.name) not in BASELINES_DO[backend.name]
            continue
        path = tmp_path / f"own {operation.name}" if operation.writes else shared
        turn = make_turn(backend, path, layout)
        operation.run(turn)
        assert turn.seconds > 0
        assert operation.check(turn, read_back) not in (None, backend.name), operation.name
        operation.put_back(turn)
        if operation.writes:
            assert verify.stored(path)[1] == verify.stored(shared)[1]
    turn = make_turn(REGION_BACKENDS["zarr"], shared, layout)
    assert Read().check(turn, read_back) == "source", "nothing is left of the elements"


@pytest.mark.parametrize(("backend", "does"), BASELINES_DO.items())
def test_what_a_baseline_does(backend: str, does: set[tuple[str, str, str]]) -> None:
    found = {
        (form, codec, operation.name)
        for form in LAYOUTS
        for codec in CODECS
        for operation in OPERATIONS
        if REGION_BACKENDS[backend].unsupported(make_layout(form, codec), operation.ability) is None
    }
    assert found == does


@pytest.mark.parametrize("backend", BACKENDS, ids=NAMES)
@pytest.mark.parametrize("form", LAYOUTS)
@pytest.mark.parametrize("codec", CODECS)
def test_work_is_equal(backend: RegionBackend, form: str, codec: str, tmp_path: Path) -> None:
    assert gate.region_differences(backend, make_layout(form, codec), tmp_path / "array") == []


def test_the_gate_sees_other_shards(tmp_path: Path) -> None:
    class Other(type(REGION_BACKENDS["zarr"])):  # type: ignore[misc]
        def create(self, path: Path, layout: Layout, threads: int | None = None) -> Any:
            array = super().create(path, layout, threads)
            document = json.loads((path / "zarr.json").read_text())
            sharding = document["codecs"][0]["configuration"]
            sharding["chunk_shape"] = [4, 4, 4]
            sharding["index_codecs"].pop()
            sharding["codecs"][1]["configuration"]["level"] = 1
            (path / "zarr.json").write_text(json.dumps(document))
            return array

    zarr = REGION_BACKENDS["zarr"]
    other = Other.__new__(Other)
    other.__dict__ = dict(vars(zarr))
    found = gate.region_differences(other, make_layout("shards", "zstd"), tmp_path / "array")
    assert found == [
        "chunk shape (4, 4, 4) instead of (8, 8, 8)",
        "index codecs ['bytes'] instead of ['bytes', 'crc32c']",
        "zstd level 1 instead of 3",
    ]


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("name", ["raw-chunks", "libzstd", "tensorstore"])
def test_threads_that_are_told(name: str, threads: int, tmp_path: Path) -> None:
    layout = make_layout("cubes", "zstd" if name == "libzstd" else "none")
    turn = make_turn(REGION_BACKENDS[name], tmp_path / "array", layout)
    turn.threads = threads
    Write().run(turn)
    assert Write().check(turn, read_back) == "fastzarr"
    assert Read().check(turn, read_back) == "source"


def test_environment_of_threads() -> None:
    assert REGION_BACKENDS["fastzarr"].environment(3) == {"FASTZARR_THREADS": "3"}
    assert REGION_BACKENDS["zarr"].environment(3) == {"ZARR_THREADING__MAX_WORKERS": "3"}
    assert REGION_BACKENDS["zarrista"].environment(3) == {"RAYON_NUM_THREADS": "3"}
    fused = REGION_BACKENDS["zarr-fused"].environment(3)
    assert fused == {"ZARR_THREADING__MAX_WORKERS": "3", "ZARR_CODEC_PIPELINE__MAX_WORKERS": "3"}
    zarrs = REGION_BACKENDS["zarrs"].environment(3)
    assert zarrs["RAYON_NUM_THREADS"] == zarrs["ZARR_THREADING__MAX_WORKERS"] == "3"
    assert zarrs["ZARR_CODEC_PIPELINE__CHUNK_CONCURRENT_MINIMUM"] == "3"


@pytest.mark.parametrize("form", ["cubes", "shards"])
def test_a_damaged_array_is_noticed(form: str, tmp_path: Path) -> None:
    layout = make_layout(form)
    path = tmp_path / "array"
    write_shared(path, layout)
    for file in (path / "c").rglob("*"):
        if file.is_file():
            stored = np.fromfile(file, np.uint8)
            stored[: 8 * 8 * 8 * 4] ^= 1
            stored.tofile(file)
    for operation in (Read(), Cutouts(16, aligned=False, places=1, seed=1)):
        with pytest.raises(WrongBytesError, match=r"tensorstore reads \d+ of \d+ bytes otherwise"):
            operation.check(make_turn(REGION_BACKENDS["tensorstore"], path, layout), read_back)


def test_cutouts_lie_inside_and_begin_as_their_name_says() -> None:
    layout = make_layout("cubes", shape=(24, 40, 16))
    for edge, aligned in ((8, True), (6, False)):
        cutouts = Cutouts(edge, aligned=aligned, places=50, seed=2)
        regions = cutouts._regions(layout)
        assert regions == cutouts._regions(layout), "the same for every backend"
        assert len({str(region) for region in regions}) > 10
        for region in regions:
            for part, n in zip(region, layout.shape, strict=True):
                assert 0 <= part.start < part.stop <= n
                assert part.stop - part.start == edge
                assert (part.start % 8 == 0) == aligned


def test_same_bytes() -> None:
    data = np.arange(11, dtype=np.uint8)
    comparison.same_bytes("a", data.copy(), data)
    other = data.copy()
    other[-1] = 99
    with pytest.raises(WrongBytesError, match="a reads 1 of 11 bytes otherwise"):
        comparison.same_bytes("a", other, data)
    with pytest.raises(WrongBytesError, match=r"a reads uint8 \(11, 1\) instead of uint8 \(11,\)"):
        comparison.same_bytes("a", data[:, np.newaxis], data)
    nan = np.full(3, np.nan)
    comparison.same_bytes("a", nan.copy(), nan)
    with pytest.raises(WrongBytesError):
        comparison.same_bytes("a", np.zeros(2), np.array([0.0, -0.0]))


def test_an_image_has_no_zeros_and_compresses_as_microscopy_does() -> None:
    image = volume((32, 512, 512))
    assert image.dtype == np.uint8
    assert image.min() >= 1
    chunk = image[:, :32, :32].tobytes()
    assert 1.5 < len(chunk) / len(ZstdCompressor(level=3).compress(chunk)) < 3
    assert np.array_equal(image[:2], volume((2, 512, 512)))
