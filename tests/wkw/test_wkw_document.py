"""The examples of docs/wkw.md run as printed, one after the other."""

import re
from pathlib import Path

import pytest

DOCUMENT = Path(__file__).parents[2] / "docs" / "wkw.md"


def test_the_examples(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    blocks = re.findall(r"```python\n(.*?)```", DOCUMENT.read_text(encoding="utf-8"), re.DOTALL)
    assert len(blocks) >= 3
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    for block in blocks:
        exec(compile(block, DOCUMENT.name, "exec"), names)
    (line,) = re.findall(r"print\(color.shape\)  # (\(.*?\))", "".join(blocks))
    assert capsys.readouterr().out == f"{line}\n"
    cutout, row, out = names["cutout"], names["row"], names["out"]
    assert cutout.shape == (32, 32, 32)  # type: ignore[attr-defined]
    assert (cutout[4:] == 128).all()  # type: ignore[index]
    assert not cutout[:4].any()  # type: ignore[index]
    assert row.tolist() == [[[128] * 10] * 2]  # type: ignore[attr-defined]
    assert (out == 128).all()  # type: ignore[attr-defined]


def test_links_lead_to_files() -> None:
    links = re.findall(r"\]\(([^)#:]+)\)", DOCUMENT.read_text(encoding="utf-8"))
    assert [link for link in links if not (DOCUMENT.parent / link).exists()] == []
