"""`fastzarr bench wkw`: cutouts of WKW by fastzarr, by the wheel, and from sharded Zarr."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

from fastzarr import cli
from fastzarr.bench import measurements, report
from fastzarr.bench.measurements import Bundle
from fastzarr.bench.report import measured_words
from fastzarr.bench.serving import cutouts

pytest.importorskip("wkw")


def run(directory: Path, saved: list[Bundle] | None = None) -> Bundle:
    ticks = iter(np.arange(1000.0))
    settings = cutouts.Settings(
        edge=96, places={32: 3, 64: 2}, repeats=2, directory=directory, arguments={"repeats": 2}
    )
    return cutouts.run(settings, (saved if saved is not None else []).append, clock=lambda: next(ticks))


def test_all_read_the_same_cubes(tmp_path: Path) -> None:
    saved = list[Bundle]()
    bundle = run(tmp_path, saved)
    assert [found.complete for found in saved] == [False] * 4 + [True]
    assert [case.name for case in bundle.cases] == [
        "WKW uint8 raw", "WKW uint8 lz4", "WKW uint32 raw", "WKW uint32 lz4",
    ]  # fmt: skip
    assert len(bundle.rows) == 4 * 2 * 3
    for row in bundle.rows:
        assert (row.status, row.verified_by) == ("ok", "source")
        assert [(sample.repeat, sample.seconds) for sample in row.samples] == [(1, 1.0), (2, 1.0)]
        assert row.ranked == (row.backend != "fastzarr-zarr")
    aligned, unaligned = bundle.cases[2].operations
    assert (aligned.name, aligned.calls, aligned.chunks, aligned.nbytes) == (
        "aligned 32³",
        3,
        3,
        3 * 4 * 32**3,
    )
    assert (unaligned.name, unaligned.calls, unaligned.chunks) == ("unaligned 64³", 2, 2 * 27)
    assert list(measured_words.labels(bundle.cases).values()) == [
        "cutouts of WKW, uint8, uncompressed",
        "cutouts of WKW, uint8, lz4",
        "cutouts of WKW, uint32, uncompressed",
        "cutouts of WKW, uint32, lz4",
    ]
    assert list(tmp_path.iterdir()) == []


def test_other_voxels_are_a_failure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stored = cutouts._stored

    def wrong(*arguments: Any) -> Any:
        for name, read in stored(*arguments):
            yield name, (lambda at, edge, read=read: read(at, edge) + 1) if name == "wkw" else read

    monkeypatch.setattr(cutouts, "_stored", wrong)
    for row in run(tmp_path).rows:
        assert (row.status == "failed") == (row.backend == "wkw")
        if row.status == "failed":
            assert row.reason is not None
            assert row.reason.startswith("read other voxels than the image has at (")
            assert (row.samples, row.ranked) == ((), False)


def test_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(report, "render_measured", lambda saved, out: [])
    monkeypatch.setattr("fastzarr.cli.wkw_bench.QUICK_EDGE", 96)
    monkeypatch.setattr("fastzarr.cli.wkw_bench.PLACES", {32: 2, 64: 1})
    arguments = ["bench", "wkw", "--quick", "--dir", str(tmp_path), "--out", str(tmp_path / "out")]
    result = CliRunner().invoke(cli.main, arguments)
    assert result.exit_code == 0, result.output
    assert measurements.load(tmp_path / "out" / "wkw.json").complete
    assert "fastzarr ÷ best peer" in result.stdout
