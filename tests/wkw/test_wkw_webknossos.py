"""The package webknossos opens and reads what fastzarr writes, and fastzarr what it writes.

It runs in an environment of its own, of 65 packages: `python -m venv .venv/webknossos`, then
`.venv/webknossos/bin/pip install webknossos`; or FASTZARR_WEBKNOSSOS_PYTHON names an interpreter that has it.
"""

import json
import os
import subprocess
from pathlib import Path

import numpy as np
import pytest
import wkw_layout as layout

import fastzarr
from fastzarr import wkw

PYTHON = Path(
    os.environ.get("FASTZARR_WEBKNOSSOS_PYTHON") or Path(__file__).parents[2] / ".venv/webknossos/bin/python"
)

pytestmark = pytest.mark.skipif(not PYTHON.exists(), reason=f"webknossos is not installed: no {PYTHON}")

WRITES = """
import sys
import numpy as np
import webknossos as wk
root, source = sys.argv[1:]
data = np.load(source)
dataset = wk.Dataset(root, voxel_size=(11, 11, 25))
box = wk.BoundingBox((0, 0, 0), data["color"].shape[1:])
forms = [("wkw", "wkw", False), ("lz4", "wkw", True), ("zarr3", "zarr3", True)]
for name, form, compress in forms:
    for kind in ("color", "segmentation"):
        values = data[kind]
        more = {"largest_segment_id": int(values.max())} if kind == "segmentation" else {}
        if len(values) > 1:
            more["num_channels"] = len(values)
        layer = dataset.add_layer(
            f"{kind}_{name}", kind, dtype=values.dtype, data_format=form, bounding_box=box, **more
        )
        mag = layer.add_mag(1, chunk_shape=32, shard_shape=64, compress=compress)
        mag.write(values, absolute_offset=(0, 0, 0))
"""

READS = """
import sys
import numpy as np
import webknossos as wk
root, target = sys.argv[1:]
dataset = wk.Dataset.open(root)
np.savez(target, **{
    f"{name}_{mag}": dataset.get_layer(name).get_mag(mag).read()
    for name in dataset.layers for mag in dataset.get_layer(name).mags
})
"""


def run(script: str, *arguments: object) -> None:
    command = [str(PYTHON), "-c", script, *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def volumes() -> dict[str, layout.Volume]:
    return {
        "color": layout.noise((3, 128, 64, 192), "uint8"),
        "segmentation": layout.noise((1, 128, 64, 192), "uint32"),
    }


def test_what_it_writes(tmp_path: Path) -> None:
    """Raw, compressed, and the same in its layout of sharded Zarr; then what fastzarr changes in it."""
    expected = volumes()
    np.savez(tmp_path / "source.npz", **expected)
    root = tmp_path / "dataset"
    run(WRITES, root, tmp_path / "source.npz")
    changed = {kind: values.copy() for kind, values in expected.items()}
    for kind, values in expected.items():
        np.testing.assert_array_equal(fastzarr.open_array(root / f"{kind}_zarr3/1")[...], values)
        box = np.s_[:, 10:70, 3:5, 60:70]
        changed[kind][box] = 7
        for name, block_type in (("wkw", "raw"), ("lz4", "lz4hc")):
            array = wkw.open(root / f"{kind}_{name}/1")
            assert array.block_type == block_type
            assert array.chunks[1:] == (32, 32, 32)
            assert array.shards[1:] == (64, 64, 64)
            np.testing.assert_array_equal(array[...], values)
            array[box] = 7
    run(READS, root, tmp_path / "found.npz")
    with np.load(tmp_path / "found.npz") as found:
        for name in ("wkw", "lz4"):
            for kind, values in changed.items():
                np.testing.assert_array_equal(found[f"{kind}_{name}_1"], values)


def test_what_fastzarr_writes(tmp_path: Path) -> None:
    """Every block type, with a second magnification."""
    root = tmp_path / "dataset"
    layers = []
    expected = {}
    for block_type in layout.BLOCK_TYPES:
        for kind, values in volumes().items():
            name = f"{kind}_{block_type}"
            mags = []
            for mag in (1, 2):
                stored = expected[f"{name}_{mag}"] = np.ascontiguousarray(values[:, ::mag, ::mag, ::mag])
                array = wkw.create(
                    root / name / str(mag),
                    dtype=values.dtype,
                    channels=len(values),
                    file_len=2,
                    block_type=block_type,  # type: ignore[arg-type]
                )
                array[tuple(slice(0, size) for size in stored.shape)] = stored
                mags.append({"mag": [mag] * 3, "cubeLength": 64, "resolution": [mag] * 3})
            box = {"topLeft": [0, 0, 0], "width": 128, "height": 64, "depth": 192}
            layer = {"name": name, "category": kind, "boundingBox": box, "dataFormat": "wkw"}
            layer["elementClass"] = "uint24" if kind == "color" else "uint32"
            layer |= {"wkwResolutions": mags, "numChannels": len(values)}
            layers.append(layer | ({"largestSegmentId": int(values.max())} if kind == "segmentation" else {}))
    document = {"id": {"name": "dataset", "team": ""}, "dataLayers": layers}
    document["scale"] = {"factor": [11, 11, 25], "unit": "nanometer"}
    (root / "datasource-properties.json").write_text(json.dumps(document))
    run(READS, root, tmp_path / "found.npz")
    with np.load(tmp_path / "found.npz") as found:
        assert set(found) == set(expected)
        for name, values in expected.items():
            np.testing.assert_array_equal(found[name], values)
