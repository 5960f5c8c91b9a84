"""The reports of the workloads over layouts show what the bundle holds, all of it, and nothing else."""

import io
import re
import statistics
from dataclasses import replace
from pathlib import Path

import measured
import pytest
from rich.console import Console
from test_report import Page

from fastzarr.bench import measurements, report
from fastzarr.bench.errors import BenchmarkError
from fastzarr.bench.measurements import Bundle, CaseRecord, OperationRecord, Row
from fastzarr.bench.report import colours, measured_plots, measured_summary, measured_words, plots, speedup
from fastzarr.bench.report.growth_table import growths

HOSTILE = "<script>alert('no & never')</script>"
PLAIN, ZSTD = (case.name for case in measured.bundle().cases)


def printed(bundle: Bundle, width: int = 120) -> str:
    console = Console(file=io.StringIO(), width=width, color_system=None)
    report.print_measured(bundle, console)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def page(bundle: Bundle, directory: Path) -> str:
    """The source of the page of `bundle`."""
    measurements.save(bundle, directory / "result.json")
    written = report.render_measured(directory / "result.json", directory / "out")
    assert all(path.stat().st_size for path in written)
    return (directory / "out" / "result.html").read_text(encoding="utf-8")


def text_of(bundle: Bundle, directory: Path) -> str:
    return Page(page(bundle, directory)).text


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The source of the page of the usual bundle."""
    return page(measured.bundle(), tmp_path_factory.mktemp("page"))


def growing(*counts: int, operation: str = "read") -> Bundle:
    """Arrays of so many chunks, on each of which fastzarr and zarr take 2 and 6 µs per chunk."""
    cases, rows = list[CaseRecord](), list[Row]()
    for count in counts:
        record = OperationRecord(name=operation, calls=1, chunks=count, nbytes=256 * count)
        fields = {"shape": (16 * count, 16), "chunks": (16, 16), "dtype": "uint8", "topic": "growth"}
        case = measured.case(f"grown {count}", total_bytes=256 * count, operations=(record,), **fields)
        cases.append(case)
        for backend, microseconds in (("fastzarr", 2), ("zarr", 6)):
            rows.append(measured.row(case.name, operation, backend, *[microseconds * 1e-6 * count] * 3))
    return measured.bundle("small-chunks", cases=tuple(cases), rows=tuple(rows))


def expected(bundle: Bundle, row: Row, *, spread: bool) -> list[str]:
    """What the line of `row` says, from the samples alone."""
    operation = bundle.case(row.case).operation(row.operation)
    times = [sample.seconds for sample in row.samples]
    middle = statistics.median(times)
    speed = operation.nbytes / 2**20 / middle
    per = 1e6 * middle / (operation.calls if operation.calls > 1 else operation.chunks)
    wanted = {"none": "raw-chunks", "zstd": "libzstd"}[bundle.case(row.case).codec]
    ceiling = next(
        (
            r
            for r in bundle.rows
            if (r.case, r.operation, r.backend) == (row.case, row.operation, wanted) and r.samples
        ),
        None,
    )
    shares = [c.seconds / t for c, t in zip(ceiling.samples, times, strict=True)] if ceiling else []
    return [
        "–" if not operation.nbytes else f"{speed:.0f}" if speed >= 100 else f"{speed:.1f}",
        *(f"{per:,.0f}".replace(",", " ") if per >= 100 else f"{per:.1f}").split(),
        f"{statistics.median(s.cpu_seconds / s.seconds for s in row.samples):.1f}",
        *(f"{100 * statistics.median(shares):.0f} %" if shares else "–").split(),
        *([f"{100 * (max(times) - min(times)) / middle:.0f}", "%"] if spread else []),
    ]


@pytest.mark.parametrize("width", [80, 120])
def test_table_shows_every_measured_row_as_the_samples_say(width: int) -> None:
    bundle = measured.bundle()
    lines = [line.split() for line in printed(bundle, width).splitlines()]
    for row in bundle.rows:
        if row.samples:
            cells = expected(bundle, row, spread=width == 120)
            assert any(line[:1] == [row.backend] and line[1 : 1 + len(cells)] == cells for line in lines)


def test_leads_are_medians_of_the_ratios_within_repeats() -> None:
    sections = {(s.case.name, s.operation.name): s for s in measured_summary.sections(measured.bundle())}
    write, read = sections[PLAIN, "write"].lead, sections[PLAIN, "read"].lead
    assert write is not None
    assert (write.peer, write.tie) == ("tensorstore", False)
    assert write.ratio == pytest.approx(2)
    assert read is not None
    assert (read.peer, read.tie) == ("tensorstore", True), "ahead in one repeat, behind in another"
    assert read.ratio == pytest.approx(0.13 / 0.14)
    assert sections[ZSTD, "write"].lead is None, "who is not ranked is no peer"


def test_leads_are_shown_for_each_peer_and_case(whole: str) -> None:
    text = printed(measured.bundle())
    assert re.search(r"tensorstore .* 2\.00×\n", text)
    assert re.search(r"tensorstore .* 0\.93× tie\n", text)
    assert re.search(r"cubes 1 MiB none +2\.00× +0\.93× tie +100×", text)
    assert "2.00× tensorstore" in Page(whole).text


def test_headlines_count_what_is_ahead_tied_and_behind(whole: str) -> None:
    plain = "Ahead in 2 of 3 comparisons, 1 tie, behind in none."
    assert plain in Page(whole).text
    assert plain in " ".join(printed(measured.bundle()).split())
    bundle = measured.bundle()
    slow = tuple(
        replace(row, samples=measured.samples(9, 9, 9)) if row.backend == "fastzarr" else row
        for row in bundle.rows
    )
    found = measured_summary.headlines(measured_summary.sections(replace(bundle, rows=slow)))
    assert "Ahead in 0 of 3 comparisons, no ties, behind in 3." in found[0]
    assert "no rank beside another library" in found[1]


@pytest.mark.parametrize("width", [80, 100, 120])
@pytest.mark.parametrize(
    "bundle", [measured.bundle(), measured.threads_bundle(), growing(100, 1000, 10_000, 100_000)]
)
def test_table_fits(bundle: Bundle, width: int) -> None:
    assert max(map(len, printed(bundle, width).splitlines())) <= width


def test_reasons_are_shown_where_they_hold_and_once_where_everywhere(tmp_path: Path) -> None:
    bundle = measured.bundle()
    absent = {"status": "skipped", "ranked": False, "samples": (), "reason": HOSTILE}
    more = tuple(
        replace(row, backend="zarr-fused", **absent) for row in bundle.rows if row.backend == "fastzarr"
    )
    changed = replace(bundle, rows=(*bundle.rows, *more))
    for text in (printed(changed, 200), text_of(changed, tmp_path)):
        assert text.count(f"zarr-fused: skipped: {HOSTILE}") == 1
        assert text.count('zarr: skipped: not here, "zarr"') == 1
        assert text.count("tensorstore: not ranked: level 5") == 1
        assert text.count("element: raw-chunks: skipped: does not write parts of chunks") == 1


def test_a_remark_of_a_row_that_is_ok_is_shown() -> None:
    bundle = measured.bundle()
    rows = (replace(bundle.rows[2], reason="took 40 s in the warm-up"), *bundle.rows[3:])
    assert "write: zarr: took 40 s in the warm-up" in printed(replace(bundle, rows=rows))


def test_incomplete_run_says_so_and_shows_what_it_had(tmp_path: Path) -> None:
    bundle = measured.bundle()
    cut = replace(bundle, complete=False, rows=bundle.rows[:4])
    assert "INCOMPLETE" in printed(cut)
    assert "not reached" in printed(cut)
    assert "Incomplete: the run was interrupted" in text_of(cut, tmp_path)
    nothing = replace(bundle, complete=False, rows=(), cases=())
    assert "INCOMPLETE" in printed(nothing)
    assert "Nothing was measured." in text_of(nothing, tmp_path)


def test_growth_is_one_table_for_each_operation() -> None:
    text = printed(growing(100, 1000, 10_000))
    assert re.search(
        r"growth: read, µs per chunk by number of chunks · uncompressed, chunks of 16 × 16", text
    )
    assert re.search(r"chunks +10² +10³ +10⁴\n", text)
    assert re.search(r"\nfastzarr +2\.00 +2\.00 +2\.00 *\n", text)
    assert re.search(r"\nfastzarr ÷ best peer +3\.00× +3\.00× +3\.00× *\n", text)
    assert "MiB/s" not in text
    assert growths(measured_summary.sections(growing(100, 1000))) == []


def test_speedup_is_that_of_the_samples(tmp_path: Path) -> None:
    bundle = measured.threads_bundle()
    (scaling,) = speedup.scalings(measured_summary.sections(bundle))
    assert scaling.threads == (1, 2)
    ups = {curve.backend: dict(curve.speedups) for curve in scaling.curves}
    assert ups == {"fastzarr": pytest.approx({1: 1, 2: 1.9}), "zarr": pytest.approx({1: 1, 2: 1.2})}
    assert scaling.leads[2].ratio == pytest.approx(1.9 / 1.2)
    text = printed(bundle)
    assert re.search(r"\nfastzarr +9\.5 +1\.00 +1\.90 +18\.1\n", text)
    assert re.search(r"\nfastzarr ÷ best peer +1\.00× +1\.58×", text)
    assert "zarr 1.00× 9.5 1.20× 11.4" in text_of(bundle, tmp_path)


def test_page_shows_every_row_and_sample(whole: str) -> None:
    text = Page(whole).text
    for row in measured.bundle().rows:
        for sample in row.samples:
            assert f"{sample.seconds:.6f} {sample.cpu_seconds:.6f} {sample.load_average:.2f}" in text
    assert "raw-chunks 36.4 27 500 18 % 1.5 100 %" in text


def test_page_is_well_formed_and_needs_nothing_from_elsewhere(whole: str) -> None:
    found = Page(whole)
    assert found.open == []
    assert "script" not in found.tags
    assert all(address.startswith("#") for address in found.addresses)
    assert "@import" not in whole
    assert not re.search(r"url\((?!#)", whole)


def test_every_table_scrolls_in_a_box_of_its_own(whole: str) -> None:
    assert whole.count("<table") == len(re.findall(r'<div class="scroll"[^>]*>\s*<table', whole)) > 3


def test_page_names_machine_versions_arguments(whole: str) -> None:
    for part in ("Some CPU", "ext4", "CPython 3.13.1", "a" * 40, "numpy 2.4.0", "quick"):
        assert part in Page(whole).text


def test_every_colour_of_a_plot_has_one_on_dark_ground() -> None:
    for bundle in (measured.bundle(), measured.threads_bundle(), growing(100, 1000, 10_000)):
        for plot in measured_plots.plots(bundle):
            for number in range(len(plot.panels)):
                used = set(re.findall(r"var\(--c-([0-9a-f]{6})", plots.svg(plot, number)))
                assert used
                assert {f"#{colour}" for colour in used} <= colours.ON_DARK.keys()


def test_plots_are_one_per_question() -> None:
    names = {
        bundle.workload: [(plot.name, len(plot.panels)) for plot in measured_plots.plots(bundle)]
        for bundle in (measured.bundle(), measured.threads_bundle(), growing(100, 1000, 10_000))
    }
    assert names == {
        "whole-array": [("whole-array-lead", 3), ("whole-array-cubes", 4)],
        "threads": [("threads-speedup", 1)],
        "small-chunks": [("small-chunks-lead", 1), ("small-chunks-growth", 1)],
    }


def test_labels_are_short_and_tell_cases_apart() -> None:
    shard = measured.case("a", topic="shards", chunks=(32, 32, 32), shards=(64, 128, 128))
    small = measured.case("b", topic="shards", chunks=(32, 32, 32), shards=(64, 128, 128), zarr_format=2)
    big = measured.case("c", topic="slabs", codec="zstd", level=3)
    twin = measured.case("d", topic="slabs", codec="zstd", level=3, shape=(128, 128, 128), total_bytes=2**23)
    assert measured_words.labels((shard, small, big, twin)) == {
        "a": "shards 32³ in 4 MiB none 32 v3",
        "b": "shards 32³ in 4 MiB none 32 v2",
        "c": "slabs 1 MiB zstd 3 4",
        "d": "slabs 1 MiB zstd 3 8",
    }
    assert measured_words.labels((big,)) == {"c": "slabs 1 MiB zstd 3"}


@pytest.mark.parametrize(
    ("microseconds", "text"), [(0.5, "0.50"), (25.84, "25.8"), (999.6, "1 000"), (1234567, "1 234 567")]
)
def test_times_have_three_digits_or_all(microseconds: float, text: str) -> None:
    assert measured_words.time_text(microseconds) == text


def test_wrong_file_is_a_clear_error_and_writes_nothing(tmp_path: Path) -> None:
    (tmp_path / "wrong.json").write_text('{"workload": "cutouts", "schema_version": 99}')
    with pytest.raises(BenchmarkError, match="got schema_version 99"):
        report.render_measured(tmp_path / "wrong.json", tmp_path / "out")
    assert not (tmp_path / "out").exists()
