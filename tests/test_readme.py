"""The README's example runs as printed, and its figures are those of a saved run."""

import re
from pathlib import Path
from typing import Any

import pytest

from fastzarr.bench import measurements, results
from fastzarr.bench.report import measured_summary, measured_words, serving_summary, summary
from fastzarr.bench.report.serving_table import rate_text, ratio_text
from fastzarr.bench.serving import results as serving_results

README = Path(__file__).parents[1] / "README.md"


def test_examples_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    examples = re.findall(r"```python\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL)
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    for example in examples:
        exec(compile(example, README.name, "exec"), names)
    assert names["buffer"].min() == names["buffer"].max() == 7
    assert names["column"].shape == (10, 32)
    assert names["labels"].read((150, 0, 0), (32, 32, 32)).sum() == 7 * 14 * 32 * 32
    assert "float32" in capsys.readouterr().out


def test_links_lead_to_files() -> None:
    links = re.findall(r"\]\(([^)#:]+)\)", README.read_text(encoding="utf-8"))
    assert [link for link in links if not (README.parent / link).exists()] == []


def test_results_are_those_of_the_saved_run() -> None:
    blocks = summary.blocks(results.load(README.parent / "docs/results/tmpfs-v3-none.json"))
    text = README.read_text(encoding="utf-8")
    assert f"> {summary.headline('uncompressed', blocks)}\n" in text
    for block in blocks:
        line = block.line("fastzarr")
        assert line is not None
        shares = [f"{line.cells[measure].percent:.0f} %" for measure in ("steps", "read")]
        leads = [summary.lead_text(block.leads[measure]) for measure in ("steps", "read")]
        chunk = summary.size_text(block.case.total_bytes // block.case.shape[0])
        assert f"| {chunk} | {shares[0]} | {leads[0]} | {shares[1]} | {leads[1]} |\n" in text


@pytest.mark.parametrize(
    ("workload", "topic"), [("small-chunks", "small chunks"), ("cutouts", "cutouts of a shard")]
)
def test_results_of_many_chunks_are_those_of_the_saved_runs(workload: str, topic: str) -> None:
    text = README.read_text(encoding="utf-8")
    bundle = measurements.load(README.parent / f"docs/results/tmpfs-{workload}.json")
    sections = [s for s in measured_summary.sections(bundle) if s.case.topic == topic]
    assert len(sections) >= 6
    for section in sections:
        cell = section.cell("fastzarr")
        assert cell is not None and section.lead is not None
        share = "–" if cell.percent is None else f"{cell.percent:.0f} %"
        time = measured_words.time_text(section.microseconds(cell))
        lead = f"{section.lead.text} ({section.lead.peer})"
        assert f"| {section.label} | {section.operation.name} | {time} µs | {share} | {lead} |\n" in text


def test_results_of_whole_arrays_are_those_of_the_saved_run() -> None:
    text = README.read_text(encoding="utf-8")
    bundle = measurements.load(README.parent / "docs/results/tmpfs-whole-array.json")
    for sentence in measured_summary.headlines(measured_summary.sections(bundle)):
        assert f"> {sentence}\n" in text


def serving_rows(bundle: serving_results.Bundle) -> list[str]:
    """A line per stored layer, warm, by the load with the fewest connections: with the cache, and without."""
    fewest = min(load.connections for load in bundle.loads)
    sections = [
        section
        for section in serving_summary.sections(bundle)
        if section.load.temperature == "warm" and section.load.connections == fewest
    ]
    rows = []
    for kept in [section for section in sections if section.load.cached]:
        (uncached,) = [s for s in sections if s.layer == kept.layer and not s.load.cached]
        for line, without in zip(kept.lines, uncached.lines, strict=True):
            stored = f"{line.layer.format} {line.layer.coding}"
            cells = [f"{rate_text(x.per_core)} | {ratio_text(x.to_reference(2023))}" for x in (line, without)]
            rows.append(f"| {kept.layer} | {stored} | {' | '.join(cells)} | {1e6 * line.decode:.0f} |")
    return rows


def peer_rows(bundle: serving_results.Bundle) -> list[str]:
    """A line per other server: fastzarr's rate over its, of each stored layer, with the cache and without."""
    ratios: dict[str, list[str]] = {}
    sections = serving_summary.sections(bundle)
    columns = [(s, line.layer.name) for s in sections for line in s.lines if line.row.server == "fastzarr"]
    for number, (section, stored) in enumerate(columns):
        for pair in serving_summary.leads(section):
            server, _, layer = pair.what.partition(", ")
            if layer == stored:
                ratios.setdefault(server, ["–"] * len(columns))[number] = ratio_text(pair.ratio)
    return [f"| {server} | {' | '.join(cells)} |" for server, cells in ratios.items()]


def test_results_of_servers_are_those_of_the_saved_runs() -> None:
    text = README.read_text(encoding="utf-8")
    saved = README.parent / "docs/results"
    bundle = serving_results.load(saved / "serve.json")
    peers = serving_results.load(saved / "serve-peers.json")
    soak = serving_results.load(saved / "serve-soak.json")
    lines = [*serving_rows(bundle), *peer_rows(peers)]
    assert len(lines) > 15
    assert [line for line in lines if f"{line}\n" not in text] == []
    (grown,) = [serving_summary.growth(each) for each in soak.soaks]
    assert grown is not None
    assert f"> {serving_summary.soak_text(grown)}\n" in text
    (formats,) = [line for line in serving_summary.headlines(bundle) if line.startswith("Zarr over WKW")]
    assert f"> {formats}\n" in text
