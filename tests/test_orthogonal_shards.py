"""Lists along dimensions of a sharded array on disk, in any order: what the kernel reads of each shard."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fastzarr

SHAPE = (13, 17)

lists = st.lists(st.integers(0, SHAPE[0] - 1), min_size=1, max_size=6)
others = st.one_of(
    st.lists(st.integers(0, SHAPE[1] - 1), min_size=1, max_size=6),
    st.slices(SHAPE[1]),
)


@settings(max_examples=150)
@given(
    rows=lists,
    columns=others,
    swapped=st.booleans(),
    codec=st.sampled_from([None, {"name": "zstd", "configuration": {"level": 1}}]),
)
def test_as_numpy(
    tmp_path_factory: pytest.TempPathFactory, rows: Any, columns: Any, swapped: bool, codec: Any
) -> None:
    data = np.arange(1, 1 + SHAPE[0] * SHAPE[1], dtype="u2").reshape(SHAPE)
    data = data.T.copy() if swapped else data
    selection = (columns, rows) if swapped else (rows, columns)
    numpy = np.ix_(*(np.arange(size)[item] for item, size in zip(selection, data.shape, strict=True)))
    array = fastzarr.create_array(
        tmp_path_factory.mktemp("a") / "a",
        shape=data.shape,
        chunks=(2, 2),
        shards=(4, 6),
        dtype="u2",
        compressors=codec,
    )
    array[...] = data
    np.testing.assert_array_equal(array.oindex[selection], data[numpy])
    values = np.arange(1000, 1000 + data[numpy].size, dtype="u2").reshape(data[numpy].shape)
    array.oindex[selection] = values
    data[numpy] = values
    np.testing.assert_array_equal(array[...], data)


def test_out_of_order(tmp_path: Any) -> None:
    """Places 0 and 2 of a result, of one shard, are a slice with a step."""
    array = fastzarr.create_array(tmp_path / "a", shape=(16,), chunks=(2,), shards=(4,), dtype="u2")
    array[...] = np.arange(16)
    assert array.oindex[[14, 0, 15]].tolist() == [14, 0, 15]
