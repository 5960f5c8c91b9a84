"""The README's example runs as printed, and its figures are those of a saved run."""

import re
from pathlib import Path

import pytest

from fastzarr.bench import results
from fastzarr.bench.report import summary

README = Path(__file__).parents[1] / "README.md"


def test_example_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (example,) = re.findall(r"```python\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL)
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    exec(compile(example, README.name, "exec"), names)
    assert names["buffer"].min() == names["buffer"].max() == 7  # type: ignore[attr-defined]
    assert names["column"].shape == (10, 32)  # type: ignore[attr-defined]
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
