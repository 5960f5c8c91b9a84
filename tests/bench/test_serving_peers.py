"""The servers that are compared answer the right voxels, and say what they can't do."""

import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import serving

import fastzarr
from fastzarr import wkw
from fastzarr.bench.errors import BenchmarkError
from fastzarr.bench.serving import batches, checking, data, sources
from fastzarr.bench.serving.peers import environment, stored_bytes
from fastzarr.bench.serving.peers.base import Bucket, Coding, Format, Server, ServerOptions, StoredLayer
from fastzarr.bench.serving.peers.reader_server import READY
from fastzarr.bench.serving.peers.registry import PEERS
from fastzarr.bench.serving.peers.waiting import until_all_say
from fastzarr.bench.serving.runner import free_port
from fastzarr.bench.serving.sources import Sources

EDGE = 64
OTHERS = [name for name in PEERS if name != "fastzarr"]
ONE = ServerOptions(workers=1, cache_bytes=2**20)
ENVIRONMENT = ("zarr-http-server", "chunkmirage", "tiled", "xpublish")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Sources:
    directory = tmp_path_factory.mktemp("peers")
    return sources.make(directory / "source", EDGE, *serving.write_brain(directory), lambda _: None)


@pytest.fixture
def nowhere(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv(environment.VARIABLE, "/nonexistent/python")
    environment._described.cache_clear()
    yield
    environment._described.cache_clear()


def layer(made: Sources, storage: str) -> StoredLayer:
    return data.make(made, made.directory.parent, storage, "segmentation", lambda _: None)[0]


def answers(name: str, stored: StoredLayer, made: Sources, options: ServerOptions, log: Path) -> None:
    peer = PEERS[name]
    if reason := peer.unable(stored):
        if reason.startswith("needs Python 3.12"):
            assert tuple(map(int, environment.python().split(".")[:2])) < (3, 12)
            return
        pytest.skip(reason)
    with peer.start(stored, options, free_port(), log) as server:
        asked = batches.drawn(made.full_buckets(), 5, 1)
        checking.check(peer, stored, server.url, asked, made.voxels(stored.layer))


@pytest.mark.parametrize("name", [name for name in OTHERS if not name.startswith("wkw reader")])
def test_right_voxels_of_zarr(name: str, made: Sources, tmp_path: Path) -> None:
    answers(name, layer(made, "zarr3"), made, ONE, tmp_path / "log")


@pytest.mark.parametrize("name", ["wkw reader", "wkw reader with cache", "nginx"])
def test_right_voxels_of_wkw(name: str, made: Sources, tmp_path: Path) -> None:
    answers(name, layer(made, "wkw"), made, ONE, tmp_path / "log")


@pytest.mark.parametrize("storage", ["wkw-lz4", "wkw-raw", "zarr3-lz4", "zarr3-raw"])
def test_right_voxels_of_other_codings(storage: str, made: Sources, tmp_path: Path) -> None:
    answers("nginx", layer(made, storage), made, ONE, tmp_path / "log")


def test_all_workers_take_part(made: Sources, tmp_path: Path) -> None:
    log = tmp_path / "log"
    answers("zarrista reader", layer(made, "zarr3"), made, ServerOptions(workers=2, cache_bytes=0), log)
    assert log.read_text().count(READY) == 2


@pytest.mark.parametrize("name", [name for name in OTHERS if not name.startswith(("wkw reader", "nginx"))])
def test_wkw_is_read_by_its_own_reader_alone(name: str, made: Sources) -> None:
    reason = PEERS[name].unable(layer(made, "wkw"))
    assert reason is not None
    assert "WKW" in reason or reason == "reads Zarr only"


def test_who_keeps_buckets(made: Sources, tmp_path: Path) -> None:
    """The second request of the same buckets is read only where the server has no cache."""
    stored = layer(made, "wkw")
    for name, hits in (("wkw reader", 0), ("wkw reader with cache", 6)):
        peer = PEERS[name]
        if reason := peer.unable(stored):
            pytest.skip(reason)
        (batch,) = batches.each_once(made.full_buckets(), 1)
        with peer.start(stored, ONE, free_port(), tmp_path / "log") as server:
            checking.check(peer, stored, server.url, [batch, batch], made.voxels(stored.layer))
            with urllib.request.urlopen(server.url + "/metrics") as answer:
                counted = answer.read().decode()
        (line,) = [line for line in counted.splitlines() if line.startswith("fastzarr_cache_hits_total")]
        assert float(line.split()[1]) == hits


@pytest.mark.parametrize("name", ["tensorstore reader", "zarrista reader", "chunkmirage"])
def test_unknown_codings(name: str, made: Sources) -> None:
    assert "lz4" in (PEERS[name].unable(layer(made, "zarr3-lz4")) or "")


@pytest.mark.parametrize("name", ENVIRONMENT)
@pytest.mark.usefixtures("nowhere")
def test_an_environment_that_does_not_run(name: str, made: Sources) -> None:
    reason = PEERS[name].unable(layer(made, "zarr3"))
    assert reason is not None
    assert "/nonexistent/python does not run" in reason
    assert environment.VARIABLE in reason
    assert environment.packages() == {}


def test_an_environment_without_the_server(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(environment.VARIABLE, sys.executable)
    reason = environment.missing("numpy", "no-such-server")
    assert reason is not None
    assert reason.startswith(f"no-such-server not installed in {sys.executable} (Python ")
    assert "make serve-peers" in reason
    assert environment.missing("numpy", "prometheus-client") is None
    assert environment.packages()["numpy"] == np.__version__


def test_other_readers_are_below_uvicorn_alone(made: Sources, tmp_path: Path) -> None:
    options = ServerOptions(workers=1, cache_bytes=0, server="granian")
    with pytest.raises(BenchmarkError, match="server: got granian, expected uvicorn"):
        PEERS["zarr reader"].start(layer(made, "zarr3"), options, free_port(), tmp_path / "log")


def test_boxes_off_the_grid_are_not_answered(made: Sources, tmp_path: Path) -> None:
    peer, stored = PEERS["zarrista reader"], layer(made, "zarr3")
    if reason := peer.unable(stored):
        pytest.skip(reason)
    with peer.start(stored, ONE, free_port(), tmp_path / "log") as server:
        asked = f"{server.url}/data/datasets/{stored.dataset}/layers/{stored.layer}/data"
        with pytest.raises(urllib.error.HTTPError) as error:
            urllib.request.urlopen(f"{asked}?x=1&y=0&z=0&width=32&height=32&depth=32&mag=1-1-1")
    error.value.close()
    assert error.value.code >= 500


def test_workers_that_end(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_text("one\n")
    process = subprocess.Popen([sys.executable, "-c", ""])
    with pytest.raises(BenchmarkError, match="workers: got 1 that are ready, expected 2"):
        until_all_say(Server(url="http://127.0.0.1:1", process=process, log=log), "one", 2)
    assert process.returncode == 0


# Several files with several buckets each, so that places in files and in the grid of files are told apart.
COUNT = 96


def voxels() -> np.ndarray:
    return np.random.default_rng(0).integers(0, 200, (1, COUNT, COUNT, COUNT)).astype("uint32")


def stored_layer(root: Path, form: Format, coding: Coding) -> StoredLayer:
    return StoredLayer(
        root=root,
        dataset="data",
        layer="segmentation",
        format=form,
        coding=coding,
        shape=(COUNT,) * 3,
        dtype="uint32",
        source=root,
    )


@pytest.fixture(scope="module")
def many_files(tmp_path_factory: pytest.TempPathFactory) -> dict[Format, StoredLayer]:
    """The last bucket along every axis holds nothing."""
    values = voxels()
    values[:, 64:, 64:, 64:] = 0
    root = tmp_path_factory.mktemp("files")
    found: dict[Format, StoredLayer] = {
        "wkw": stored_layer(root / "w", "wkw", "lz4"),
        "zarr3": stored_layer(root / "z", "zarr3", "zstd"),
    }
    array = wkw.create(found["wkw"].path, dtype="uint32", block_len=32, file_len=2, block_type="lz4")
    array[:, :COUNT, :COUNT, :COUNT] = values
    zarr = fastzarr.create_array(
        found["zarr3"].path,
        shape=values.shape,
        chunks=(1, 32, 32, 32),
        shards=(1, 64, 64, 64),
        dtype="uint32",
        filters={"name": "transpose", "configuration": {"order": [3, 2, 1, 0]}},
        compressors={"name": "zstd", "configuration": {"level": 5, "checksum": True}},
    )
    zarr[...] = values
    return found


@pytest.mark.parametrize("form", ["wkw", "zarr3"])
@pytest.mark.parametrize("bucket", [(0, 0, 0), (32, 0, 0), (0, 32, 64), (64, 0, 32), (64, 32, 0)])
def test_where_a_bucket_is(many_files: dict[Format, StoredLayer], form: Format, bucket: Bucket) -> None:
    stored = many_files[form]
    part = stored_bytes.part(stored, bucket)
    x, y, z = bucket
    with (stored.path / part.key).open("rb") as file:
        file.seek(part.offset)
        found = stored_bytes.decode(stored, file.read(part.length))
    assert found == voxels()[0, x : x + 32, y : y + 32, z : z + 32].tobytes(order="F")


def test_a_bucket_that_is_not_stored(many_files: dict[Format, StoredLayer]) -> None:
    for form, far in (("zarr3", 64), ("zarr3", 960), ("wkw", 960)):
        with pytest.raises(BenchmarkError, match=rf"bucket at \({far}, {far}, {far}\) is not stored"):
            stored_bytes.part(many_files[form], (far, far, far))  # type: ignore[index]
