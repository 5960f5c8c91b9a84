"""Shapes beyond 2^31 and arrays of very many chunks: nothing is counted out."""

import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fastzarr
from fastzarr.errors import MetadataError

SIZE = 2**40


# zarr-python#3702: all chunks were enumerated
@pytest.mark.parametrize("zarr_format", [2, 3])
def test_an_array_of_a_tebibyte(tmp_path: Path, zarr_format: int) -> None:
    tracemalloc.start()
    array = fastzarr.create_array(tmp_path, shape=SIZE, chunks=1000, dtype="u1", zarr_format=zarr_format)
    assert array.nchunks == array.cdata_shape[0] == -(-SIZE // 1000)
    assert array.size == array.nbytes == len(array) == SIZE
    array[SIZE - 1] = 7
    array[2**31 - 2 : 2**31 + 2] = [1, 2, 3, 4]
    array[-2] = 6
    reopened = fastzarr.open_array(tmp_path, mode="r")
    assert reopened[SIZE - 1] == 7
    assert reopened[SIZE - 3 :].tolist() == [0, 6, 7]
    assert reopened[2**31 - 2 : 2**31 + 2].tolist() == [1, 2, 3, 4]
    assert reopened[:: SIZE // 4].tolist() == [0, 0, 0, 0]
    assert reopened[SIZE:].shape == (0,)
    assert "1024 GiB" in repr(reopened.info) or "1 TiB" in repr(reopened.info)
    repr(reopened)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 20 << 20
    assert len(list(array.store.list_prefix(""))) <= 2 + 3


def test_more_than_2_to_the_63_elements() -> None:
    shape = (SIZE, SIZE)
    array = fastzarr.create_array(None, shape=shape, chunks=(100, 100), dtype="f8")
    assert array.size == SIZE**2
    assert array.nchunks == (-(-SIZE // 100)) ** 2
    array[SIZE - 1, SIZE - 2 :] = [1, 2]
    assert array[SIZE - 1, SIZE - 3 :].tolist() == [0, 1, 2]
    assert array[-1, -1] == 2
    assert array[: 2**62 : 2**39, 0].shape == (2,)


def test_the_largest_size_of_a_dimension(tmp_path: Path) -> None:
    size = 2**63 - 1
    array = fastzarr.create_array(tmp_path, shape=size, chunks=4, dtype="u1")
    array[-2:] = [5, 6]
    assert fastzarr.open_array(tmp_path, mode="r")[-4:].tolist() == [0, 0, 5, 6]
    for grow in (
        lambda: array.resize(size + 1),
        lambda: array.append(np.zeros(1, "u1")),
        lambda: fastzarr.create_array(None, shape=size + 1, chunks=4, dtype="u1"),
    ):
        with pytest.raises(MetadataError, match=r"shape: got .9223372036854775808.*less than 2\*\*63"):
            grow()


def test_encoded_chunks_of_too_many_bytes_are_refused() -> None:
    wider = fastzarr.codecs.CastValue(data_type="float64")
    with pytest.raises(MetadataError, match=r"chunks of 36893488147419103232 bytes .* less than 2\*\*63"):
        fastzarr.create_array(None, shape=8, chunks=2**62, dtype="u1", filters=[wider])


@pytest.mark.parametrize("filters", [None, [{"name": "transpose", "configuration": {"order": [1, 0]}}]])
@pytest.mark.parametrize("codec", ["bytes", "vlen-bytes"])
def test_strides_of_chunks_larger_than_memory(filters: Any, codec: str) -> None:
    dtype = "u2" if codec == "bytes" else "variable_length_bytes"
    array = fastzarr.create_array(
        None, shape=(2**30, 2**29), chunks=(2**30, 2**29), dtype=dtype, filters=filters
    )
    itemsize = array.dtype.itemsize
    stored = filters is not None and codec == "bytes"
    assert array.chunk_strides == ((itemsize, itemsize << 30) if stored else (itemsize << 29, itemsize))


@pytest.mark.parametrize("chunks", [(1, 1), (1000, 1), (2**33, 2)])
def test_selections_far_out(chunks: Any) -> None:
    array = fastzarr.create_array(
        None, shape=(2**34, 2), chunks=chunks, dtype="u1", compressors=None, fill_value=3
    )
    assert array[2**33 + 1, 1] == 3
    assert (array[2**34 - 3 :: 2] == 3).all()
    if chunks[0] < 2**30:
        array[2**33 + 1, 1] = 9
        assert array[2**33 : 2**33 + 2].tolist() == [[3, 3], [3, 9]]
        assert np.array_equal(array[2**33 + 1], [3, 9])
