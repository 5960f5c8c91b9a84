"""The Python package webknossos reads from the data API: streamed, and downloaded cutout by cutout."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fastzarr import wkw
from fastzarr.volumes import properties
from fastzarr.volumes.boxes import BoundingBox

SCRIPT = Path(__file__).with_name("read_with_webknossos.py")
NAME = "59e9cfbdba632ac2ab8b23b5"
"""As webknossos names datasets in URLs."""


def python_with_webknossos() -> Path:
    given = os.environ.get("FASTZARR_WEBKNOSSOS_PYTHON")
    python = Path(given or Path(__file__).parents[2] / ".venv/webknossos/bin/python")
    if not python.exists():
        pytest.skip(f"{python} is missing: FASTZARR_WEBKNOSSOS_PYTHON names a Python with webknossos 4.3")
    return python


def test_layers_are_streamed_and_downloaded(tmp_path: Path, serving: Callable[..., Any]) -> None:
    python = python_with_webknossos()
    box = BoundingBox(offset=(10, 20, 5), size=(50, 40, 30))
    mags = ((1, 1, 1), (2, 2, 1))
    data = {}
    for mag, name in zip(mags, ("1", "2-2-1"), strict=True):
        extent = box.in_mag(mag).end
        data[mag] = np.random.default_rng(mag[0]).integers(0, 200, (3, *extent)).astype("uint8")
        path = tmp_path / "root" / NAME / "grey" / name
        array = wkw.create(path, dtype="uint8", channels=3, file_len=2, block_type="lz4")
        array[:, : extent[0], : extent[1], : extent[2]] = data[mag]
    layer = properties.Layer(
        name="grey",
        category="color",
        data_format="wkw",
        dtype=np.dtype("uint8"),
        channels=3,
        bounding_box=box,
        mags=tuple(properties.Mag(mag=mag) for mag in mags),
    )
    described = properties.Dataset(name=NAME, scale=(4.0, 4.0, 8.0), layers=(layer,))
    document = properties.write(tmp_path / "root" / NAME, described)
    for entry in (told := json.loads(document.read_text()))["dataLayers"]:
        for mag in entry["mags"]:
            mag["path"] = f"./grey/{'1' if mag['mag'] == [1, 1, 1] else '2-2-1'}"
    (tmp_path / "told.json").write_text(json.dumps(told))
    server = serving(tmp_path / "root", "--access-log")
    out = tmp_path / "out.npz"
    command = [str(python), str(SCRIPT), server.url, NAME, str(tmp_path / "told.json"), str(out)]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=240)
    assert ran.returncode == 0, ran.stderr[-3000:]
    assert "/layers/grey/data" in server.text()
    coarse = data[2, 2, 1][(slice(None), *box.in_mag((2, 2, 1)).slices())]
    expected = {
        "streamed 1": data[1, 1, 1][(slice(None), *box.slices())],
        "streamed 2-2-1": coarse,
        "downloaded 2-2-1": coarse,
    }
    with np.load(out) as found:
        assert set(found) == set(expected)
        for way, voxels in expected.items():
            np.testing.assert_array_equal(found[way], voxels, way)
