"""Runs of the benchmark of servers: a small server of the tests, driven by wrk where it is installed."""

import json
import re
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import serving
from click.testing import CliRunner, Result
from serving import BucketPeer

from fastzarr import cli
from fastzarr.bench.serving import checking, data, results, runner, sources
from fastzarr.bench.serving.peers.base import Peer, ServerOptions, StoredLayer
from fastzarr.bench.serving.peers.registry import PEERS
from fastzarr.bench.serving.results import Bundle, Load
from fastzarr.bench.serving.wrk import Measured
from fastzarr.cli import serve_bench

needs_wrk = pytest.mark.skipif(shutil.which("wrk") is None, reason="wrk is not installed")
WARM = Load(name="warm", threads=2, connections=4, seconds=1, temperature="warm")
COLD = Load(name="cold", threads=1, connections=2, seconds=1, temperature="cold")


POOL = 50


@pytest.fixture(autouse=True)
def few_requests(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fastzarr.bench.serving.batches.POOL", POOL)


@pytest.fixture(scope="module")
def made_once(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path, Path]:
    """Directory of the data, image and labels."""
    directory = tmp_path_factory.mktemp("serving")
    image, labels = serving.write_brain(directory)
    return directory / "data", image, labels


def plan(made_once: tuple[Path, Path, Path], *peers: Peer, **changes: Any) -> runner.Plan:
    directory, image, labels = made_once
    fields: dict[str, Any] = {
        "directory": directory,
        "edge": 64,
        "image": image,
        "labels": labels,
        "storages": ("zarr3",),
        "layers": ("color",),
        "peers": peers,
        "loads": (WARM,),
        "repeats": 2,
        "warm_up": 0.0,
        "checks": 5,
        "options": ServerOptions(workers=2, cache_bytes=2**20),
        "seed": 1,
        "soak": None,
        "arguments": {},
        "command": "fastzarr bench serve",
    }
    return runner.Plan(**fields | changes)


def canned(**changes: Any) -> Measured:
    sample = {
        name: value for name, value in vars(serving.sample()).items() if name in Measured.__annotations__
    }
    return Measured(**sample | changes)


def done(made: runner.Plan, drive: Any, monkeypatch: pytest.MonkeyPatch) -> Bundle:
    """Run without wrk."""
    monkeypatch.setattr("fastzarr.bench.serving.wrk.version", lambda: "wrk 4.1.0")
    return runner.run(made, lambda _: None, drive=drive)


@needs_wrk
def test_wrk_drives_a_server(made_once: tuple[Path, Path, Path], tmp_path: Path) -> None:
    post, gets = BucketPeer(), BucketPeer("gets", gets=True)
    saved = list[Bundle]()
    bundle = runner.run(plan(made_once, post, gets, layers=("segmentation",), repeats=1), saved.append)
    assert bundle.complete
    assert not saved[0].complete
    assert bundle.wrk.startswith("wrk")
    by_name = {row.server: row for row in bundle.rows}
    for row in by_name.values():
        (sample,) = row.samples
        assert (row.status, row.reason, row.checked) == ("ok", None, 5)
        assert 0.9 < sample.seconds < 3
        assert sample.answers > 20
        assert 0 < sample.latency_p50 <= sample.latency_p99 <= sample.latency_max < 3
        assert sample.server_cpu_seconds > 0
        assert sample.server_memory_bytes > 2**20
    assert (by_name["fastzarr"].answers_per_request, by_name["gets"].answers_per_request) == (1, 6)
    bucket = 4 * 32**3
    answers = by_name["fastzarr"].samples[0]
    assert 6 * bucket < answers.received_bytes / answers.answers < 6 * bucket + 400
    assert bundle.layers[0].bucket_bytes == bucket
    assert bundle.layers[0].verified_by == "zarr"


@needs_wrk
def test_the_server_of_fastzarr(made_once: tuple[Path, Path, Path]) -> None:
    pytest.importorskip("uvicorn")
    peer, storages = PEERS["fastzarr"], ("wkw", "zarr3")
    both = plan(made_once, peer, storages=storages, layers=("segmentation",), repeats=1)
    bundle = runner.run(both, lambda _: None)
    assert len(bundle.rows) == 2
    for row in bundle.rows:
        assert (row.status, row.reason, row.checked) == ("ok", None, 5)
        (sample,) = row.samples
        size = 6 * bundle.layer(row.layer).bucket_bytes
        assert size < sample.received_bytes / sample.answers < size + 1500, "all six buckets, and a head"


@needs_wrk
def test_bad_answers_make_a_row_void(made_once: tuple[Path, Path, Path]) -> None:
    bundle = runner.run(plan(made_once, BucketPeer(habit="falters"), repeats=1), lambda _: None)
    (row,) = bundle.rows
    assert row.status == "void"
    assert row.reason is not None
    assert "answers other than 2xx in repeat 1" in row.reason
    assert row.rate is None


@pytest.mark.parametrize(
    ("habit", "status", "reason"),
    [
        ("lies", "failed", "WrongAnswerError: the bucket at .* has other voxels than the source, the first"),
        ("dies", "failed", r"BenchmarkError: .* ended with 1: cannot start: no luck today"),
        ("no wkw", "skipped", "cannot read WKW"),
    ],
)  # fmt: skip
def test_what_cannot_be_timed_is_a_row_with_its_reason(
    habit: str, status: str, reason: str, made_once: tuple[Path, Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("wkw")
    bad, good = BucketPeer("bad", habit), BucketPeer()
    bundle = done(plan(made_once, bad, good, storages=("wkw",)), lambda *_: canned(), monkeypatch)
    by_name = {row.server: row for row in bundle.rows}
    assert (by_name["bad"].status, by_name["bad"].samples, by_name["bad"].rate) == (status, (), None)
    assert by_name["bad"].reason is not None
    assert re.search(reason, by_name["bad"].reason)
    assert [sample.repeat for sample in by_name["fastzarr"].samples] == [1, 2]
    assert by_name["fastzarr"].rate == pytest.approx(1000)


def test_servers_are_new_for_each_turn_and_warmed(
    made_once: tuple[Path, Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    driven = list[tuple[str, float]]()

    def drive(requests: Path, url: str, load: Load) -> Measured:
        driven.append((url, load.seconds))
        assert len(requests.read_text().splitlines()) == (POOL if load is not COLD else 1)
        return canned()

    peer = BucketPeer()
    loads = (replace(WARM, seconds=7), COLD)
    bundle = done(plan(made_once, peer, loads=loads, warm_up=3, repeats=2), drive, monkeypatch)
    assert [seconds for _, seconds in driven] == [3, 7, 1, 3, 7, 1]
    assert len(peer.started) == 1 + 4, "one for the check of answers, then one per turn"
    assert driven[0][0] == driven[1][0]
    assert peer.started[0] == ServerOptions(workers=2, cache_bytes=2**20)
    assert [row.load for row in bundle.rows] == ["warm", "cold"]


def test_cold_is_proved_or_denied(
    made_once: tuple[Path, Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fastzarr.bench.serving.page_cache.resident", lambda paths: 0.02)
    cold = plan(made_once, BucketPeer(), loads=(COLD,), repeats=1)
    (row,) = done(cold, lambda *_: canned(), monkeypatch).rows
    assert (row.reason, row.samples[0].resident_before) == (None, 0.02)
    for share, text in ((0.7, "70 %"), (None, "nobody knows what")):
        monkeypatch.setattr("fastzarr.bench.serving.page_cache.resident", lambda paths, s=share: s)
        (row,) = done(cold, lambda *_: canned(), monkeypatch).rows
        assert row.reason == f"not cold: {text} of its files was in the page cache at the start"


def test_an_interrupt_keeps_what_there_is(
    made_once: tuple[Path, Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fastzarr.bench.serving.wrk.version", lambda: "wrk 4.1.0")
    saved = list[Bundle]()
    calls = 0

    def drive(*_: Any) -> Measured:
        nonlocal calls
        calls += 1
        if calls == 2:
            raise KeyboardInterrupt
        return canned()

    with pytest.raises(KeyboardInterrupt):
        runner.run(plan(made_once, BucketPeer()), saved.append, drive=drive)
    assert not saved[-1].complete
    assert [len(row.samples) for row in saved[-1].rows] == [1]


def test_answers_are_compared_by_bytes(made_once: tuple[Path, Path, Path], tmp_path: Path) -> None:
    directory, image, labels = made_once
    made = sources.make(directory / "source", 64, image, labels, lambda _: None)
    stored, _ = data.make(made, directory, "zarr3", "segmentation", lambda _: None)
    batch = ((0, 32, 0), (32, 0, 32))

    class Short(BucketPeer):
        def content(self, stored: StoredLayer, batch: Any, bodies: Any) -> bytes:
            return bodies[0][:-1]

    options = ServerOptions(workers=1, cache_bytes=0)
    with BucketPeer().start(stored, options, runner.free_port(), tmp_path / "log") as server:
        checking.check(BucketPeer(), stored, server.url, [batch], made.voxels("segmentation"))
        checking.check(BucketPeer(gets=True), stored, server.url, [batch], made.voxels("segmentation"))
        with pytest.raises(
            checking.WrongAnswerError, match=r"got 262143 bytes for the buckets .* expected 262144"
        ):
            checking.check(Short(), stored, server.url, [batch], made.voxels("segmentation"))
        with pytest.raises(checking.WrongAnswerError, match=r"the bucket at \(0, 32, 0\) has other voxels"):
            checking.check(BucketPeer(), stored, server.url, [batch], made.voxels("segmentation")[::-1])
    assert server.process.poll() is not None
    server.stop()


@needs_wrk
def test_a_long_load_is_watched(made_once: tuple[Path, Path, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fastzarr.bench.serving.soaking.EVERY", 0.1)
    bundle = runner.run(plan(made_once, BucketPeer(), soak=1.0), lambda _: None)
    (soak,) = bundle.soaks
    assert bundle.complete
    assert not bundle.rows
    assert (soak.reason, soak.connections, soak.layer) == (None, 4, "color zarr3 zstd")
    assert len(soak.points) >= 5
    assert {point.processes for point in soak.points} == {1}
    assert all(point.memory_bytes > 2**20 for point in soak.points)
    assert soak.answers > 20


def invoke(tmp_path: Path, *arguments: object) -> Result:
    return CliRunner().invoke(serve_bench.serve, ["--out", str(tmp_path / "out"), *map(str, arguments)])


@needs_wrk
def test_the_command_leaves_results_and_reports(
    made_once: tuple[Path, Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    directory, image, labels = made_once
    monkeypatch.setitem(serve_bench.PEERS, "fastzarr", BucketPeer())
    volumes = ("--data", directory, "--image", image, "--labels", labels, "--edge", 64)
    short = ("--duration", "1s", "--cold-duration", "0", "--warm-up", "0s", "--repeats", 1, "--loads", "1,2")
    result = invoke(tmp_path, *volumes, *short, "--quick", "--storages", "zarr3", "--layers", "color")
    assert result.exit_code == 0, result.output
    assert "1 stored layers of 64³ voxels in" in result.stderr
    bundle = results.load(tmp_path / "out" / "serve.json")
    assert (bundle.complete, bundle.rows[0].status, bundle.cache_bytes) == (True, "ok", 2**31)
    assert "webknossos 2023" in result.stdout
    for name in ("serve.json", "serve.csv", "serve.html", "serve-rates.png"):
        assert str(tmp_path / "out" / name) in result.stdout
        assert (tmp_path / "out" / name).stat().st_size > 100
    report = ["bench", "report", str(tmp_path / "out" / "serve.json"), "--out", str(tmp_path / "again")]
    shown = CliRunner().invoke(cli.main, report)
    assert shown.exit_code == 0, shown.output
    assert (tmp_path / "again" / "serve.html").is_file()
    again = invoke(
        tmp_path, *volumes, *short, "--quick", "--storages", "zarr3", "--layers", "color", "--json"
    )
    assert json.loads(again.stdout) == json.loads((tmp_path / "out" / "serve.json").read_text())
    assert len(list((tmp_path / "out").glob("serve-*.json"))) == 1, "the earlier one is kept"


@pytest.mark.parametrize(
    ("arguments", "code", "text"),
    [
        (("--duration", "fast"), 2, "got 'fast', expected a time such as 60s or 10m"),
        (("--cache", "2GB"), 2, "got '2GB', expected a size such as 512MiB, 2GiB or 0"),
        (("--loads", "32,2"), 2, "got '32,2', expected threads of wrk and as many connections or more"),
        (("--loads", ";"), 2, "got nothing, expected at least one pair such as 2,32"),
        (("--storages", "n5"), 2, "got storage 'n5', expected some of wkw, zarr3, "),
        (("--layers", ","), 2, "got nothing, expected at least one value"),
        (("--servers", "apache"), 2, "got server 'apache', expected some of fastzarr"),
        (("--image", "a.nii"), 1, "got --image alone, expected both"),
    ],
)
def test_wrong_values_are_named(
    arguments: tuple[str, ...], code: int, text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fastzarr.bench.serving.wrk.version", lambda: "wrk 4.1.0")
    result = invoke(tmp_path, *arguments)
    assert result.exit_code == code
    assert text in " ".join(result.stderr.split())


def test_times_and_sizes() -> None:
    assert [serve_bench.seconds(text) for text in ("90", "1.5s", "10m", "1h")] == [90, 1.5, 600, 3600]
    assert [serve_bench.size(text) for text in ("0", "512MiB", "1.5GiB")] == [0, 2**29, 3 * 2**29]
    assert serve_bench.loads("32,500; 2,32;2,32") == ((32, 500), (2, 32))
