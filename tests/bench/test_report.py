"""The report shows what the bundle holds, all of it, and nothing else."""

import dataclasses
import html.parser
import io
import itertools
import json
import random
import re
import statistics
from pathlib import Path

import pytest
from rich.console import Console

from fastzarr.bench import report
from fastzarr.bench.errors import BenchmarkError
from fastzarr.bench.report import colours, plots, summary
from fastzarr.bench.results import (
    MIB,
    SCHEMA_VERSION,
    Bundle,
    CaseRecord,
    FileSystem,
    Host,
    Row,
    Sample,
    SourceCommit,
    Status,
    load,
    save,
)

SHAPES = ((10, 16, 64, 64), (10, 16, 128, 128))
SPEEDS = {
    "raw": 1.3,
    "raw-chunks": 1.2,
    "fastzarr": 1.1,
    "zarrs": 0.7,
    "tensorstore": 0.6,
    "acquire-zarr": 0.5,
}
"""GiB/s of steps before noise; reading is twice as fast, zstd a tenth."""
HOSTILE = "<script>alert('no & never')</script>"


def sample(
    speed: float, size: int, repeat: int, noise: random.Random, *, cores: float, reads: bool
) -> Sample:
    steps = size / (speed * 2**30) * noise.uniform(0.9, 1.1)
    read = steps / 2 * noise.uniform(0.9, 1.1)
    return Sample(
        repeat=repeat,
        position=noise.randrange(6),
        create=noise.uniform(0.001, 0.002),
        steps=steps,
        steps_cpu=steps * cores,
        sync=steps * noise.uniform(0.4, 0.8),
        open=noise.uniform(0.001, 0.002) if reads else None,
        read=read if reads else None,
        read_cpu=read if reads else None,
        load_average=0.5,
    )


def row(case: CaseRecord, backend: str, noise: random.Random) -> Row:
    status: Status = "ok"
    reason = None
    if backend == "zarr-fused":
        status, reason = "skipped", "this zarr has no fused pipeline"
    elif backend == "z5py" and case.codec == "zstd":
        status, reason = "failed", HOSTILE
    elif backend == "tensorstore" and case.codec == "zstd":
        status, reason = "unequal", "stored ratio 1.79, expected 1.85"
    measured = status in ("ok", "unequal")
    speed = SPEEDS.get(backend, 0.4) * (1 if case.codec == "none" else 0.1)
    reads = backend != "acquire-zarr"
    baseline = backend.startswith("raw")
    cores = 1.7 if backend == "zarrs" else 1
    repeats = (1, 2, 3) if measured else ()
    times = [sample(speed, case.total_bytes, n, noise, cores=cores, reads=reads) for n in repeats]
    return Row(
        case=case.name,
        backend=backend,
        kind="baseline" if baseline else "library",
        status=status,
        reason=reason,
        ranked=status == "ok" and not baseline,
        stored_bytes=int(case.total_bytes / (1 if case.codec == "none" else 1.85)) if measured else None,
        stored_chunks=case.shape[0] if measured else None,
        verified_by="zarr" if measured else None,
        peak_memory_bytes=case.chunk_bytes if measured else None,
        samples=tuple(times),
    )


@pytest.fixture(scope="module")
def bundle() -> Bundle:
    noise = random.Random(7)
    cases = [
        CaseRecord(
            name=f"{shape}-{codec}",
            source="synthetic",
            shape=shape,
            dtype="float32",
            zarr_format=3,
            codec=codec,
            level=level,
            total_bytes=4 * shape[0] * shape[1] * shape[2] * shape[3],
        )
        for codec, level in (("none", 0), ("zstd", 3))
        for shape in SHAPES
    ]
    names = [*SPEEDS, "z5py", "zarr-fused"]
    rows = [row(c, name, noise) for c in cases for name in names if c.codec == "none" or "raw" not in name]
    host = Host(
        cpu="A processor",
        logical_cores=2,
        physical_cores=1,
        affinity=(0, 1),
        memory_bytes=8 * 2**30,
        system="Linux 6.8",
        python="CPython 3.11.7",
        governor=None,
        load_average=(0.1, 0.2, 0.3),
        file_system=FileSystem(
            path="/data", kind="ext4", device="disk", mount_point="/data", options="rw", free_bytes=2**35
        ),
    )
    return Bundle(
        schema_version=SCHEMA_VERSION,
        workload="sequential",
        created="2026-02-03T10:00:00+00:00",
        arguments={"repeats": 3, "note": HOSTILE},
        complete=True,
        host=host,
        packages={"numpy": "2.0.1", "zarrs": "0.2.3", "unrelated": "9.8.7"},
        source_commit=SourceCommit(commit="0123abc", dirty=True),
        cases=tuple(cases),
        rows=tuple(rows),
    )


class Page(html.parser.HTMLParser):
    """Text, attributes and balance of tags."""

    VOID = ("meta", "br", "link", "img", "hr", "input")

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: set[str] = set()
        self.addresses: list[str] = []
        self.words: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.addresses += [
            value or "" for key, value in attrs if key in ("src", "href", "srcset", "xlink:href")
        ]
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in self.VOID:
            self.open.pop()

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] != "style":
            self.words.append(data)

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.words).split())


def page(bundle: Bundle, tmp_path: Path) -> Page:
    save(bundle, tmp_path / "sequential.json")
    written = report.render(tmp_path / "sequential.json", tmp_path / "out")
    assert all(path.stat().st_size for path in written)
    return Page((tmp_path / "out" / "sequential.html").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def written(bundle: Bundle, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page of `bundle`."""
    directory = tmp_path_factory.mktemp("report")
    page(bundle, directory)
    return directory / "out" / "sequential.html"


@pytest.fixture(scope="module")
def shown(written: Path) -> str:
    """What the page of `bundle` says."""
    return Page(written.read_text(encoding="utf-8")).text


def printed(bundle: Bundle, width: int = 120) -> str:
    console = Console(file=io.StringIO(), width=width, color_system=None)
    report.print_table(bundle, console)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def number(value: float) -> str:
    return f"{value:.0f}" if value >= 100 else f"{value:.1f}"


def expected_cells(bundle: Bundle, shown: Row) -> dict[str, list[str]]:
    """MiB/s, % of raw-chunks, spread and (but for write) cores, by measure, from the samples alone."""
    size = bundle.case(shown.case).total_bytes
    ceiling = next((r for r in bundle.rows if r.case == shown.case and r.backend == "raw-chunks"), None)
    cells = {}
    for measure in ("write", "steps", "read"):
        times = [getattr(s, measure) for s in shown.samples]
        if None in times:
            cells[measure] = ["–"] * (3 if measure == "write" else 4)
            continue
        middle = statistics.median(times)
        percent = "–"
        if ceiling:
            of = [getattr(c, measure) / t for c, t in zip(ceiling.samples, times, strict=True)]
            percent = f"{100 * statistics.median(of):.0f} %"
        spread = f"{100 * (max(times) - min(times)) / middle:.0f} %"
        cells[measure] = [number(size / MIB / middle), percent, spread]
        if measure != "write":
            used = [getattr(s, f"{measure}_cpu") / getattr(s, measure) for s in shown.samples]
            cells[measure].append(f"{statistics.median(used):.1f}")
    return cells


def expected_lead(
    bundle: Bundle, case: CaseRecord, measure: str, but: tuple[str, ...] = ()
) -> tuple[float, str, bool]:
    """fastzarr over the ranked library with the least median, its name, and whether it is a tie."""
    times = {
        r.backend: [getattr(s, measure) for s in r.samples]
        for r in bundle.rows
        if r.case == case.name and r.kind == "library" and r.status == "ok" and r.backend not in but
    }
    ours = times.pop("fastzarr")
    peer = min((statistics.median(t), name) for name, t in times.items() if None not in t)[1]
    ratios = [t / o for t, o in zip(times[peer], ours, strict=True)]
    return statistics.median(ratios), peer, min(ratios) < 1 < max(ratios)


def test_table_shows_every_measured_row_as_the_samples_say(bundle: Bundle) -> None:
    rows = [line.split() for line in printed(bundle).splitlines()]
    for expected in bundle.rows:
        if expected.samples:
            cells = " ".join(itertools.chain(*expected_cells(bundle, expected).values())).split()
            assert any(
                found[:1] == [expected.backend] and found[1 : 1 + len(cells)] == cells for found in rows
            )


def test_leads_and_means_are_those_of_the_samples(bundle: Bundle, shown: str) -> None:
    text = printed(bundle, width=200)
    for name in ("uncompressed", "compressed"):
        cases = [case for case in bundle.cases if (case.codec == "none") == (name == "uncompressed")]
        line = next(
            x.split(": ÷ best peer")[1] for x in text.splitlines() if x.strip().startswith(f"{name}, 2")
        )
        for measure in ("write", "steps", "read"):
            leads = [expected_lead(bundle, case, measure) for case in cases]
            for ratio, peer, tie in leads:
                cores = ", 1.7 cores" if peer == "zarrs" and measure != "read" else ""
                assert f"{measure} {ratio:.2f}× ({peer}{cores}{', tie' if tie else ''})" in text
                assert f"{ratio:.2f}×{' tie' if tie else ''} {peer}{cores.replace(',', '')}" in shown
            mean = statistics.geometric_mean(ratio for ratio, _, _ in leads)
            assert f"{mean:.2f}×" in line
            assert re.search(rf"{mean:.2f}× (tie )?the best peer, {name}", shown)


def test_best_peer_on_one_core_is_told_where_the_best_uses_more(bundle: Bundle, shown: str) -> None:
    """zarrs is the best peer of all; it writes on more than one core and reads on one."""
    text = printed(bundle, width=200)
    lines = [line for line in text.splitlines() if line.startswith("fastzarr ÷ best peer on one core: ")]
    assert len(lines) == len(bundle.cases)
    for line, case in zip(lines, bundle.cases, strict=True):
        assert "read" not in line
        for measure in ("write", "steps"):
            ratio, peer, tie = expected_lead(bundle, case, measure, but=("zarrs",))
            assert f"{measure} {ratio:.2f}× ({peer}{', tie' if tie else ''})" in line
            assert f"{ratio:.2f}×{' tie' if tie else ''} {peer}" in shown
    for part in (bundle.cases[:2], bundle.cases[2:]):
        ratios = [expected_lead(bundle, case, "steps", but=("zarrs",))[0] for case in part]
        assert f"{statistics.geometric_mean(ratios):.2f}× the best peer on one core" in shown


def test_one_core_is_not_told_where_fastzarr_uses_more(bundle: Bundle) -> None:
    rows = [
        dataclasses.replace(
            r, samples=tuple(dataclasses.replace(s, steps_cpu=2 * s.steps_cpu) for s in r.samples)
        )
        if r.backend == "fastzarr"
        else r
        for r in bundle.rows
    ]
    assert "on one core" not in printed(dataclasses.replace(bundle, rows=tuple(rows)))


def test_page_shows_every_measured_row_and_sample(bundle: Bundle, shown: str) -> None:
    for expected in bundle.rows:
        cells = expected_cells(bundle, expected).values() if expected.samples else []
        for throughput, percent, spread, *_ in cells:
            if throughput != "–":
                assert " ".join([throughput, *([percent] if percent != "–" else []), "↕", spread]) in shown
        for taken in expected.samples:
            phases = (
                taken.create,
                taken.steps,
                taken.steps_cpu,
                taken.sync,
                taken.open,
                taken.read,
                taken.read_cpu,
            )
            assert " ".join("–" if value is None else f"{value:.6f}" for value in phases) in shown


def test_reasons_are_shown_and_what_holds_everywhere_once(bundle: Bundle, shown: str) -> None:
    text = printed(bundle, width=200)
    for reason in ("tensorstore: not ranked: stored ratio 1.79, expected 1.85", f"z5py: failed: {HOSTILE}"):
        assert text.count(reason) == 2
        assert shown.count(reason) == 1
    for place in (text, shown):
        assert place.count("zarr-fused: skipped: this zarr has no fused pipeline") == 1


def test_remarks_with_one_reason_are_one(bundle: Bundle) -> None:
    same = {"status": "skipped", "reason": "too old", "ranked": False, "samples": ()}
    rows = [dataclasses.replace(r, **same) if r.backend in ("zarrs", "z5py") else r for r in bundle.rows]
    changed = dataclasses.replace(bundle, rows=tuple(rows))
    assert "in every case: zarrs, z5py: skipped: too old" in printed(changed)


def test_unranked_backend_is_no_peer_and_not_best(bundle: Bundle) -> None:
    for block in summary.blocks(bundle):
        if block.case.codec == "zstd":
            assert {lead.peer for lead in block.leads.values()} == {"zarrs"}


@pytest.mark.parametrize("width", [100, 120])
def test_table_fits(bundle: Bundle, width: int) -> None:
    assert max(map(len, printed(bundle, width).splitlines())) <= width


def test_table_leaves_the_spread_out_where_it_does_not_fit(bundle: Bundle) -> None:
    assert "spread" not in printed(bundle, width=80)
    assert max(map(len, printed(bundle, width=80).splitlines())) <= 80


def test_page_is_well_formed_and_needs_nothing_from_elsewhere(written: Path) -> None:
    text = written.read_text(encoding="utf-8")
    found = Page(text)
    assert found.open == []
    assert "script" not in found.tags
    assert all(address.startswith("#") for address in found.addresses)
    assert set(re.findall(r"https?://[^\s\"'<)]+", text)) <= {
        "http://www.w3.org/2000/svg",
        "http://www.w3.org/1999/xlink",
    }
    assert "@import" not in text
    assert not re.search(r"url\((?!#)", text)


def test_every_table_of_the_page_scrolls_in_a_box_of_its_own(written: Path) -> None:
    text = written.read_text(encoding="utf-8")
    assert text.count("<table") == len(re.findall(r'<div class="scroll"[^>]*>\s*<table', text)) > 3


def test_page_names_machine_versions_arguments(shown: str) -> None:
    for part in (
        "A processor",
        "ext4",
        "CPython 3.11.7",
        "0123abc, with changes",
        "unrelated 9.8.7",
        HOSTILE,
    ):
        assert part in shown


def test_every_colour_of_a_plot_has_one_on_dark_ground(bundle: Bundle) -> None:
    for plot in plots.plots(bundle):
        for number_of_panel in range(len(plot.panels)):
            used = set(re.findall(r"var\(--c-([0-9a-f]{6})", plots.svg(plot, number_of_panel)))
            assert used
            assert {f"#{colour}" for colour in used} <= colours.ON_DARK.keys()


def test_marks_are_distinct_and_do_not_depend_on_who_ran() -> None:
    alone = colours.marks(["fastzarr"], colours.BACKENDS)["fastzarr"]
    together = colours.marks(["unknown-b", "fastzarr", "unknown-a"], colours.BACKENDS)
    assert together["fastzarr"] == alone
    assert together["unknown-a"] != together["unknown-b"]
    every = [*colours.BACKENDS.values(), *colours.OTHERS]
    assert len({mark.light for mark in every}) == len({mark.marker for mark in every}) == len(every)


def test_plots_are_one_per_question(bundle: Bundle) -> None:
    assert [plot.name for plot in plots.plots(bundle)] == ["ceiling", "lead", "throughput-synthetic-v3"]
    one_size = dataclasses.replace(bundle, cases=bundle.cases[:1])
    assert [plot.name for plot in plots.plots(one_size)] == ["ceiling"]


def test_incomplete_run_says_so_and_shows_what_it_had(bundle: Bundle, tmp_path: Path) -> None:
    rows = tuple(r for r in bundle.rows if r.case == bundle.cases[0].name and r.backend != "zarrs")
    cut = dataclasses.replace(bundle, complete=False, rows=rows)
    text, shown = printed(cut), page(cut, tmp_path).text
    assert "INCOMPLETE" in text
    assert text.count("not reached") == 3
    assert "Incomplete: the run was interrupted" in shown
    assert shown.count("not reached") == 3
    assert "zarrs" not in text


def test_run_without_fastzarr_or_without_any_row(bundle: Bundle, tmp_path: Path) -> None:
    without = dataclasses.replace(bundle, rows=tuple(r for r in bundle.rows if r.backend != "fastzarr"))
    assert "uncompressed, 2 cases: not compared" in printed(without)
    assert "fastzarr has no rank" in page(without, tmp_path).text
    nothing = dataclasses.replace(bundle, rows=(), cases=(), complete=False)
    assert "INCOMPLETE" in printed(nothing)
    assert "Nothing was measured." in page(nothing, tmp_path).text


def test_where_fastzarr_is_behind_is_listed(bundle: Bundle, tmp_path: Path, shown: str) -> None:
    slow = [
        dataclasses.replace(r, samples=tuple(dataclasses.replace(s, steps=s.steps * 9) for s in r.samples))
        if r.backend == "fastzarr" and r.case == bundle.cases[0].name
        else r
        for r in bundle.rows
    ]
    changed = dataclasses.replace(bundle, rows=tuple(slow))
    ratio, peer, _ = expected_lead(changed, bundle.cases[0], "steps")
    assert ratio < 1
    assert f"{peer} {ratio:.2f}× 1.7 steps, before sync synthetic" in page(changed, tmp_path).text
    assert "In no case of this run." in shown


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "not a result file"),
        ("[]", f"got schema_version None, expected {SCHEMA_VERSION}"),
        (json.dumps({"schema_version": 99}), f"got schema_version 99, expected {SCHEMA_VERSION}"),
    ],
)
def test_wrong_file_is_a_clear_error_and_writes_nothing(tmp_path: Path, content: str, message: str) -> None:
    wrong = tmp_path / "wrong.json"
    wrong.write_text(content)
    with pytest.raises(BenchmarkError, match=message):
        report.render(wrong, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_saved_bundle_is_the_one_reported(bundle: Bundle, tmp_path: Path) -> None:
    save(bundle, tmp_path / "sequential.json")
    assert printed(load(tmp_path / "sequential.json")) == printed(bundle)
