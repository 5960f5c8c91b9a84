"""Damage to chunks of every golden codec: an error that names the key, or an array, and nothing else."""

from pathlib import Path

import numpy as np
import pytest

import fastzarr
from fastzarr.errors import ChunkError

GOLDEN = Path(__file__).with_name("golden_codecs")
NAMES = np.load(GOLDEN / "expected.npz").files


@pytest.mark.parametrize("name", NAMES)
def test_damage_raises_or_does_no_harm(name: str) -> None:
    root = GOLDEN / name
    objects = {p.relative_to(root).as_posix(): p.read_bytes() for p in root.rglob("*") if p.is_file()}
    key = "c/0/0" if name.startswith("v3") else "0.0"
    whole = objects[key]
    random = np.random.default_rng(len(whole))
    damaged = [b"", whole[:1], whole[: len(whole) // 2], whole[:-1], whole + b"x", whole * 2]
    damaged += [random.bytes(len(whole)), bytes(len(whole)), b"\xff" * len(whole)]
    for place in {*range(min(256, len(whole) * 8)), *random.integers(0, len(whole) * 8, 200).tolist()}:
        flipped = bytearray(whole)
        flipped[place // 8] ^= 1 << place % 8
        damaged.append(bytes(flipped))
    array = fastzarr.open_array(objects, mode="r")
    raised = 0
    for data in damaged:
        objects[key] = data
        try:
            assert array[...].shape == array.shape
        except ChunkError as error:
            raised += 1
            assert error.key == key
    assert raised >= 2, "what is empty or of one byte can't be a chunk"
