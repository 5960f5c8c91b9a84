"""Reports of servers: ratios to what was published, formats and servers against each other, memory."""

import io
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import serving
from rich.console import Console

from fastzarr.bench.errors import BenchmarkError
from fastzarr.bench.report import serving_summary as summary
from fastzarr.bench.report.serving_page import render_serving
from fastzarr.bench.report.serving_reference import REFERENCES, reference
from fastzarr.bench.report.serving_table import print_serving
from fastzarr.bench.serving import results
from fastzarr.bench.serving.results import Bundle


def printed(bundle: Bundle, width: int = 160) -> str:
    console = Console(file=io.StringIO(), width=width)
    print_serving(bundle, console)
    return console.file.getvalue()  # type: ignore[attr-defined, no-any-return]


def test_ratios_are_per_core() -> None:
    section = summary.sections(serving.bundle())[0]
    first = section.lines[0]
    assert (first.row.server, first.rate, first.per_core) == ("fastzarr", 2000, 1000)
    assert first.to_reference(2023) == pytest.approx(1000 / (10490.76 / 32))
    assert first.to_reference(2024) == pytest.approx(1000 / (25941 / 32))
    zarr = next(line for line in section.lines if line.layer.format == "zarr3")
    assert zarr.to_reference(2023) == pytest.approx(900 * 1750 / 1800 / (23808.88 / 32))
    assert zarr.to_reference(2024) is None
    assert first.spread == pytest.approx(0.1)
    assert first.server_cores == pytest.approx(1.6)
    assert first.decode == pytest.approx(60e-6)


def test_raw_layers_stand_beside_raw_blocks() -> None:
    found = reference(2024, "color", "wkw", raw=True)
    assert found is not None
    assert found.rate == 27990
    assert reference(2023, "color", "wkw", raw=True) is reference(2023, "color", "wkw", raw=False)
    assert reference(2024, "color", "zarr3", raw=False) is None


def test_published_rows_agree_with_their_transfer() -> None:
    for found in REFERENCES:
        per_request = found.transfer / found.rate
        buckets = 6 * 32**3 * (1 if found.layer == "color" else 4)
        assert per_request == pytest.approx(buckets, rel=0.03), found


def test_void_rows_do_not_count() -> None:
    bundle = serving.bundle()
    void = next(row for row in bundle.rows if row.status == "void")
    assert void.rates() == [5000]
    assert (void.rate, void.transfer) == (None, None)
    text = printed(bundle)
    assert "zarr3 lz4, slow <peer>: void: 7 answers other than 2xx" in text
    assert "5,000" not in text


def test_formats_with_the_same_codec() -> None:
    (pair,) = summary.formats_compared(serving.bundle())
    assert pair.what == "color, lz4, -t2 -c32 -d60s"
    assert pair.ratio == pytest.approx(0.95)
    assert any("Within 15 % in 1 of 1 cases." in text for text in summary.headlines(serving.bundle()))


def test_leads_are_within_repeats() -> None:
    (pair,) = summary.leads(summary.sections(serving.bundle())[0])
    assert pair.what == "slow <peer>, color wkw lz4hc"
    assert list(pair.ratios.values()) == [5, 5, pytest.approx(1900 / 390)]


@pytest.mark.parametrize("width", [80, 160])
def test_table(width: int) -> None:
    text = printed(serving.bundle(), width)
    assert max(map(len, text.splitlines())) <= width
    for part in ("webknossos 2023", "10,491", "328", "1,000", "3.1×", "1.2×", "not cold: 100 %"):
        assert part in text
    assert "fits into the 512 MiB of each process" in " ".join(text.split())
    assert "slow <peer>: reads with the wheel" in text
    assert ("p50" in text) == (width == 160)


def test_a_busy_machine_is_told(tmp_path: Path) -> None:
    bundle = serving.bundle()
    assert summary.busy_text(bundle) is None
    busy = serving.bundle(host=replace(bundle.host, load_average=(0.7, 1, 1)))
    assert "a load average of 0.7 on 2 cores" in printed(busy)
    results.save(busy, tmp_path / "serve.json")
    page = render_serving(tmp_path / "serve.json", tmp_path)[-1]
    assert "a load average of 0.7 on 2 cores" in page.read_text(encoding="utf-8")


def test_incomplete_and_empty_bundles_are_shown() -> None:
    assert "INCOMPLETE" in printed(serving.bundle(complete=False))
    printed(serving.bundle(rows=(), layers=(), loads=()))


@pytest.mark.parametrize(
    ("sizes", "flat"),
    [
        ([100 + 10 * i for i in range(30)] + [400] * 30, True),
        ([400] * 30 + [400 + 0.1 * i for i in range(30)], True),
        ([400] * 30 + [400 + i for i in range(30)], False),
        ([400 + i for i in range(60)], False),
    ],
)
def test_growth_is_that_of_the_second_half(sizes: list[float], flat: bool) -> None:
    grown = summary.growth(serving.soak(*sizes))
    assert grown is not None
    assert grown.flat == flat
    if sizes[-1] == 459:
        assert grown.per_minute == pytest.approx(6 * 2**20)


def test_memory_is_not_flat_where_answers_were_bad() -> None:
    grown = summary.growth(serving.soak(*[400] * 60, reason="3 of 9 answers were not good"))
    assert grown is not None
    assert not grown.flat
    assert "NOT flat" in summary.soak_text(grown)
    assert summary.growth(serving.soak(400, 400)) is None


def test_no_cache_and_one_too_small() -> None:
    bundle = serving.bundle(cache_bytes=0)
    assert summary.cache_text(bundle, bundle.layers[0]).endswith("no cache")
    small = serving.bundle(cache_bytes=2**28)
    assert "does not fit into the 128 MiB of each process" in summary.cache_text(small, small.layers[0])


def test_page_and_plots(tmp_path: Path) -> None:
    soaks = (serving.soak(*[400] * 60),)
    results.save(serving.bundle(soaks=soaks), tmp_path / "serve.json")
    written = render_serving(tmp_path / "serve.json", tmp_path / "out")
    assert [path.name for path in written] == ["serve-rates.png", "serve-memory.png", "serve.html"]
    page = written[-1].read_text(encoding="utf-8")
    assert "slow &lt;peer&gt;" in page
    assert "slow <peer>" not in page
    for part in ("webknossos 2023", "not 2xx, for which a row is void here", "memory is flat", "<svg"):
        assert part in page
    assert "http" not in page.replace("https://github.com/scalableminds", "").replace("http://www.w3", "")


def test_saved_and_read_again(tmp_path: Path) -> None:
    bundle = serving.bundle(soaks=(serving.soak(1, 2),))
    results.save(bundle, tmp_path / "a.json")
    assert results.load(tmp_path / "a.json") == bundle
    results.save_csv(bundle, tmp_path / "a.csv")
    lines = (tmp_path / "a.csv").read_text().splitlines()
    assert lines[0].split(",") == list(results.CSV_COLUMNS)
    assert len(lines) == 1 + sum(max(1, len(row.samples)) for row in bundle.rows)


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"workload": "cutouts"}, "got workload 'cutouts', expected serve"),
        (
            {"schema_version": 9},
            "got schema_version 9, expected 1; use the version of fastzarr that wrote it",
        ),
        ({"rows": 5}, "rows: got 5, expected a list"),
    ],
)
def test_other_files_are_refused(change: dict[str, Any], text: str, tmp_path: Path) -> None:
    results.save(serving.bundle(), tmp_path / "a.json")
    document = json.loads((tmp_path / "a.json").read_text()) | change
    (tmp_path / "a.json").write_text(json.dumps(document))
    with pytest.raises(BenchmarkError, match=text):
        results.load(tmp_path / "a.json")
