"""What others read of a converted dataset, and volumes to convert."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

TEMPLATES = Path("/usr/share/mricron/templates")
"""Volumes of Debian's mricron-data."""

_PROJECT = Path(__file__).parents[2]
_READ = """
import json, sys, warnings
warnings.simplefilter("ignore")
import numpy as np
import webknossos as wk
dataset = wk.Dataset.open(sys.argv[1])
told = {"voxel_size": list(dataset.voxel_size), "layers": {}}
for name, layer in dataset.layers.items():
    box = layer.bounding_box
    told["layers"][name] = {
        "category": str(layer.category), "dtype": str(np.dtype(layer.dtype)), "channels": layer.num_channels,
        "format": str(layer.data_format), "box": [list(box.topleft), list(box.size)], "mags": {},
        "largest": getattr(layer, "largest_segment_id", None),
    }
    for mag, view in layer.mags.items():
        values = view.read()
        file = f"{sys.argv[2]}/{name}-{mag.to_layer_name()}.npy"
        np.save(file, values)
        told["layers"][name]["mags"][mag.to_layer_name()] = file
print("\\n" + json.dumps(told))
"""


def template(name: str) -> Path:
    """A NIfTI file of mricron-data; skips where it is not installed."""
    path = TEMPLATES / name
    if not path.exists():
        pytest.skip(f"{path} is missing: apt-get install mricron-data")
    return path


def webknossos_python() -> Path:
    """An interpreter with the package webknossos; skips where there is none."""
    given = os.environ.get("FASTZARR_WEBKNOSSOS_PYTHON")
    path = Path(given) if given else _PROJECT / ".venv/webknossos/bin/python"
    if not path.exists():
        pytest.skip(f"{path} is missing: FASTZARR_WEBKNOSSOS_PYTHON names a Python with webknossos 4.3")
    return path


def read_by_webknossos(path: Path, scratch: Path) -> dict[str, Any]:
    """A dataset as the package webknossos opens it; voxels instead of the names of files."""
    command = [webknossos_python(), "-c", _READ, path, scratch]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr[-2000:]
    told: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    for layer in told["layers"].values():
        layer["mags"] = {mag: np.load(file) for mag, file in layer["mags"].items()}
    return told


def read_by_wkw(path: Path, offset: tuple[int, int, int], size: tuple[int, int, int]) -> NDArray[Any]:
    """Voxels of a WKW dataset as the package wkw reads them, `[c, x, y, z]`."""
    wkw = pytest.importorskip("wkw", reason="the package wkw has no wheel for this platform")
    with wkw.Dataset.open(str(path)) as dataset:
        return np.asarray(dataset.read(offset, size))


def smooth(shape: tuple[int, ...], dtype: Any, seed: int = 0) -> NDArray[Any]:
    """Intensities `[c, x, y, z]` with empty regions, over the range of the data type."""
    rng = np.random.default_rng(seed)
    coords = np.indices(shape[1:]) / np.array(shape[1:]).reshape(3, 1, 1, 1)
    field = np.sin(coords.sum(0) * 6)[None] + 0.05 * rng.normal(size=shape)
    field[:, : shape[1] // 3] = 0
    dtype = np.dtype(dtype)
    if dtype.kind == "f":
        return field.astype(dtype)
    limits = np.iinfo(dtype)
    values = (field - field.min()) / (field.max() - field.min()) * min(limits.max, 2**52)
    values[:, : shape[1] // 3] = 0
    return values.astype(dtype)


def labels(shape: tuple[int, ...], dtype: Any, seed: int = 0) -> NDArray[Any]:
    """Labels `[x, y, z]` in blocks, with background."""
    rng = np.random.default_rng(seed)
    coarse = rng.integers(0, 200, [-(-n // 7) for n in shape]) * rng.integers(
        0, 2, [-(-n // 7) for n in shape]
    )
    for axis in range(3):
        coarse = coarse.repeat(7, axis)
    return coarse[tuple(slice(0, n) for n in shape)].astype(dtype)


def python(*arguments: str | Path) -> list[str]:
    """A command of this interpreter."""
    return [sys.executable, *map(str, arguments)]
