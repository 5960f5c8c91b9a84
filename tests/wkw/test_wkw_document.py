"""The examples of docs/wkw.md run as printed, one after the other."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from oracle import assert_same

from fastzarr import wkw

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
    packed, labels = names["packed"], names["labels"]
    assert packed.block_type == "lz4hc"  # type: ignore[attr-defined]
    assert labels[...].any()  # type: ignore[index]
    box = (0, 0, 0), (256, 128, 128)
    assert_same(packed.read(*box), labels.read(*box))  # type: ignore[attr-defined]


def test_links_lead_to_files() -> None:
    links = re.findall(r"\]\(([^)#:]+)\)", DOCUMENT.read_text(encoding="utf-8"))
    assert [link for link in links if not (DOCUMENT.parent / link).exists()] == []


def calls() -> list[tuple[str, str]]:
    """The package's and ours of each row of the table, where both have one."""
    section = DOCUMENT.read_text(encoding="utf-8").partition("### Call by call")[2]
    rows = [row.split(" | ") for row in section.splitlines() if row.startswith("| `")][1:]
    cells = [(row[0].strip("| `"), row[1].strip("`")) for row in rows if row[1] != "–"]
    assert len(cells) > 8
    return cells


def called(module: Any, opened: Any, call: str, directory: Path) -> Any:
    names = {
        "wkw": module,
        "np": np,
        "Path": Path,
        "dataset": opened,
        "array": opened,
        "path": str(directory / "old"),
        "new": str(directory / "new"),
        "target": str(directory / "target"),
        "at": (8, 0, 4),
        "data": np.full((1, 8, 8, 8), 9, "u1"),
    }
    return eval(call, names)


@pytest.mark.parametrize(("theirs", "ours"), calls())
def test_calls_do_the_same(theirs: str, ours: str, tmp_path: Path) -> None:
    wheel = pytest.importorskip("wkw")
    stored = np.random.default_rng(1).integers(1, 256, (1, 64, 64, 64)).astype("u1")
    found = []
    for name, module, call in (("theirs", wheel, theirs), ("ours", wkw, ours)):
        array = wkw.create(tmp_path / name / "old", dtype="uint8", file_len=2)
        array.write((0, 0, 0), stored)
        opened = array if module is wkw else wheel.Dataset.open(str(tmp_path / name / "old"))
        found.append(plain(called(module, opened, call, tmp_path / name), tmp_path / name))
        found.append(files(tmp_path / name))
    assert found[:2] == found[2:]


def plain(value: Any, root: Path) -> Any:
    """What both answer, in the same words."""
    block_types = {1: "raw", 2: "lz4", 3: "lz4hc"}
    header = getattr(value, "header", value)
    if hasattr(header, "block_len"):
        dtype = np.dtype(getattr(header, "voxel_type", None) or header.dtype)
        channels = getattr(header, "num_channels", None) or header.channels
        block_type = block_types.get(header.block_type, header.block_type)
        return dtype, channels, header.block_len, header.file_len, block_type
    if isinstance(value, np.ndarray):
        return value.dtype, value.shape, value.flags.f_contiguous, value.tobytes(order="F")
    if isinstance(value, tuple):
        return tuple(np.dtype(part) if isinstance(part, type) else part for part in value)
    if value is None or isinstance(value, int | str):
        return block_types.get(value, value)
    return sorted(str(Path(path).relative_to(root)) for path in value)


def files(root: Path) -> dict[str, bytes]:
    return {str(path.relative_to(root)): path.read_bytes() for path in root.rglob("*.wkw")}
