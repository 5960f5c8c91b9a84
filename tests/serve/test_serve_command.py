"""What `fastzarr serve` says when it starts."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import fastzarr


def test_names_in_a_log_are_whole(tmp_path: Path, serving: Callable[..., Any]) -> None:
    name = "-".join(["microscope"] * 20)
    fastzarr.create_array(tmp_path / "served" / name, shape=(40, 30, 20), dtype="uint16")
    (row,) = (line for line in serving(tmp_path / "served").text().splitlines() if "uint16" in line)
    assert row.split() == [name, "zarr", name, *["20", "×", "30", "×", "40"], "uint16", "1"]
