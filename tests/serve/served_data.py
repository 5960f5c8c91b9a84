"""A small volume to serve."""

from __future__ import annotations

from pathlib import Path

import numpy as np

import fastzarr

SHAPE = (1, 128, 128, 512)


def make_volume(directory: Path) -> np.ndarray:
    """`directory/color.zarr`, C order (c, x, y, z) in chunks of 32³; its values."""
    values = np.random.default_rng(5).integers(1, 255, SHAPE, dtype="uint8")
    array = fastzarr.create_array(
        directory / "color.zarr",
        shape=SHAPE,
        chunks=(1, 32, 32, 32),
        dtype="uint8",
        compressors=None,
        dimension_names=("c", "x", "y", "z"),
    )
    array[...] = values
    return values


BUCKETS = "/data/datasets/color.zarr/layers/color/data"
CUTOUT = f"{BUCKETS}?x=0&y=0&z=0&width=128&height=128&depth=512&mag=1-1-1"
"""8 MiB."""


def bucket(x: int, y: int, z: int) -> dict[str, object]:
    return {"position": [x, y, z], "mag": [1, 1, 1], "cubeSize": 32}


def bucket_bytes(values: np.ndarray, x: int, y: int, z: int) -> bytes:
    return values[:, x : x + 32, y : y + 32, z : z + 32].tobytes(order="F")
