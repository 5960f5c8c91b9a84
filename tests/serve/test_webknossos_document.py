"""What docs/webknossos-api.md tells: its examples run as printed, and every route is in its table."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from oracle import assert_same

from fastzarr import wkw
from fastzarr.serve import webknossos
from fastzarr.volumes import properties
from fastzarr.volumes.boxes import BoundingBox

DOCUMENT = Path(__file__).parents[2] / "docs" / "webknossos-api.md"
URL = "http://127.0.0.1:8080"


def blocks(language: str) -> str:
    found = re.findall(rf"```{language}\n(.*?)```", DOCUMENT.read_text(encoding="utf-8"), re.DOTALL)
    (text,) = found
    assert URL in text
    return str(text)


@pytest.fixture
def voxels(tmp_path: Path) -> Any:
    """Those of the dataset `brain`, [x, y, z]; the third bucket along x is not stored."""
    values = np.random.default_rng(1).integers(1, 256, (64, 48, 40)).astype("u1")
    wkw.create(tmp_path / "data/brain/color/1", dtype="uint8", file_len=2)[0, :64, :48, :40] = values
    layer = properties.Layer(
        name="color",
        category="color",
        data_format="wkw",
        dtype=np.dtype("u1"),
        channels=1,
        bounding_box=BoundingBox(offset=(0, 0, 0), size=(96, 48, 40)),
        mags=(properties.Mag(mag=(1, 1, 1)),),
    )
    dataset = properties.Dataset(name="brain", scale=(4.0, 4.0, 4.0), layers=(layer,))
    properties.write(tmp_path / "data/brain", dataset)
    return values


def test_the_example_in_python(voxels: Any, tmp_path: Path, serving: Callable[..., Any]) -> None:
    server = serving(tmp_path / "data")
    names: dict[str, Any] = {}
    exec(compile(blocks("python").replace(URL, server.url), DOCUMENT.name, "exec"), names)
    assert names["missing"] == [2]
    assert_same(names["cubes"][0, 0], voxels[:32, :32, :32])
    assert_same(names["cubes"][1, 0], voxels[32:, :32, :32])
    assert not names["cubes"][2].any()
    assert_same(names["cutout"][0], voxels[5:45, 6:36, 7:27])


@pytest.mark.skipif(shutil.which("curl") is None, reason="curl is not installed")
def test_the_example_with_curl(voxels: Any, tmp_path: Path, serving: Callable[..., Any]) -> None:
    server = serving(tmp_path / "data")
    subprocess.run(["sh", "-ec", blocks("console").replace(URL, server.url)], cwd=tmp_path, check=True)
    assert "missing-buckets: []" in (tmp_path / "headers.txt").read_text().lower()
    assert (tmp_path / "buckets.raw").read_bytes() == voxels[:32, :32, :32].tobytes(order="F")
    assert (tmp_path / "cutout.raw").read_bytes() == voxels[:, :, 9].tobytes(order="F")


def as_told(pattern: str) -> str:
    """A route's path as the document writes it: `LAYER/magM/xX/…`."""
    path = pattern.replace("/data/datasets/{dataset}/layers/{layer}", "LAYER").replace("{dataset}", "DATASET")
    return re.sub(r"{(\w+)}", lambda found: found[1] + found[1][0].upper(), path)


def test_every_route_is_told() -> None:
    told = re.findall(r"^\| `(\w+ [^`?]+)", DOCUMENT.read_text(encoding="utf-8"), re.MULTILINE)
    routes = [route for route in webknossos.ROUTES if "{organization}" not in route.pattern]
    assert sorted(told) == sorted(f"{route.method} {as_told(route.pattern)}" for route in routes)


def test_links_lead_to_files() -> None:
    links = re.findall(r"\]\(([^)#:]+)[)#]", DOCUMENT.read_text(encoding="utf-8"))
    assert [link for link in links if not (DOCUMENT.parent / link).exists()] == []
