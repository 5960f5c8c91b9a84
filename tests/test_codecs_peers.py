"""Registered codecs that zarr-python has not, against zarrs (through zarrista): the same bytes and values."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import zarrista
from numpy.typing import NDArray
from oracle import assert_same, files
from zarrista.store import FilesystemStore

import fastzarr

RANDOM = np.random.default_rng(4)
BYTES = {"name": "bytes", "configuration": {"endian": "little"}}


def configured(name: str, **configuration: Any) -> dict[str, Any]:
    return {"name": name, "configuration": configuration}


CASES: dict[str, tuple[NDArray[Any], list[dict[str, Any]]]] = {
    "packbits": (RANDOM.random((5, 7)) > 0.5, [configured("packbits", padding_encoding="first_byte")]),
    "packbits of some": (
        RANDOM.integers(0, 16, (5, 7)).astype("u2"),
        [configured("packbits", first_bit=0, last_bit=3)],
    ),
    "bitround, floats": (
        RANDOM.standard_normal((5, 7)).astype("f4"),
        [configured("bitround", keepbits=4), BYTES],
    ),
    "bitround, large": (
        RANDOM.integers(0, 2**32, (5, 7), dtype="u4"),
        [configured("bitround", keepbits=4), BYTES],
    ),
    "bitround, small": (
        RANDOM.integers(0, 200, (5, 7)).astype("u4"),
        [configured("bitround", keepbits=3), BYTES],
    ),
    "bitround, signed": (
        RANDOM.integers(-200, 200, (5, 7)).astype("i4"),
        [configured("bitround", keepbits=3), BYTES],
    ),
    "reshape": (
        RANDOM.integers(0, 200, (4, 6, 2)).astype("i4"),
        [configured("reshape", shape=[[0], -1]), BYTES],
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_zarrs_reads_and_writes_the_same(name: str, tmp_path: Path) -> None:
    content, codecs = CASES[name]
    array = fastzarr.create(
        content.shape, store=tmp_path, chunks=content.shape, dtype=content.dtype, codecs=codecs
    )
    array[...] = content
    ours = files(tmp_path)
    peer = zarrista.Array.open(FilesystemStore(tmp_path))
    assert_same(np.asarray(peer.retrieve_array_subset(...).to_numpy()), array[...])
    (key,) = ours.keys() - {"zarr.json"}
    (tmp_path / key).unlink()
    elements = zarrista.ArrayBytes(np.ascontiguousarray(content).reshape(-1).view(np.uint8))
    peer.store_array_subset(slice(0, content.shape[0]), elements)
    assert files(tmp_path) == ours
