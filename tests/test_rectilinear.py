"""The chunk grid `rectilinear`: documents, creation, stored chunks, and what is refused."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import zarr
from hypothesis import given
from hypothesis import strategies as st
from oracle import assert_same

import fastzarr
from fastzarr.chunks import rectilinear
from fastzarr.chunks.axis import Axis, runs_of
from fastzarr.errors import ChunkError, ChunkShapeError, MetadataError
from fastzarr.testing import strategies

EXAMPLE = [[[2, 3]], [[1, 6]], [1, [2, 1], 3], [[1, 3], 3], [6]]
"""The example of the specification, for an array of shape (6, 6, 6, 6, 6)."""

GRIDS: list[dict[str, Any]] = [
    {"chunks": [[1, 1, 1, 3, 3], 4, [2, 4]]},
    {"chunks": [[3, 3, 3], [10], [1, 5]]},
    {"chunks": (1, 2, 3), "shards": [[1, 2, 6], [2, 8], 6]},
]
"""Grids for an array of shape (9, 10, 6)."""


def document(store: dict[str, bytes]) -> Any:
    return json.loads(store["zarr.json"])


def test_the_example_of_the_specification() -> None:
    store: dict[str, bytes] = {}
    fastzarr.create_array(store, shape=(6,) * 5, chunks=(2,) * 5, dtype="i4", compressors=None)
    changed = document(store)
    changed["chunk_grid"] = {
        "name": "rectilinear",
        "configuration": {"kind": "inline", "chunk_shapes": EXAMPLE},
    }
    store["zarr.json"] = json.dumps(changed).encode()
    array = fastzarr.open_array(store, mode="r+")
    assert array.read_chunk_sizes == ((2, 2, 2), (1,) * 6, (1, 2, 3), (1, 1, 1, 3), (6,))
    assert array.write_chunk_sizes == array.read_chunk_sizes
    assert array.cdata_shape == (3, 6, 3, 4, 1)
    assert array.nchunks == 3 * 6 * 3 * 4
    data = np.arange(6**5, dtype="i4").reshape(array.shape)
    array[...] = data
    assert len(store) == 1 + array.nchunks
    assert store["c/2/5/1/3/0"] == data[4:6, 5:6, 1:3, 3:6, :].tobytes()
    assert_same(array[::2, :, 1:5, [5, 0], ::-1], data[::2, :, 1:5, :, ::-1][:, :, :, [5, 0]])
    array.attrs["a"] = 1
    assert document(store)["chunk_grid"] == changed["chunk_grid"]


def test_chunks_as_lists_are_written_as_runs() -> None:
    """A dimension with one size for all keeps it; lists stay lists, equal sizes too."""
    store: dict[str, bytes] = {}
    array = fastzarr.create_array(
        store,
        shape=(9, 10, 6),
        chunks=[[1, 1, 1, 3, 3], 4, (2, 4)],
        dtype="u1",
        compressors=None,
        fill_value=7,
    )
    edges = [[[1, 3], [3, 2]], 4, [2, 4]]
    configuration = {"kind": "inline", "chunk_shapes": edges}
    assert document(store)["chunk_grid"] == {"name": "rectilinear", "configuration": configuration}
    assert array.read_chunk_sizes == ((1, 1, 1, 3, 3), (4, 4, 2), (2, 4))
    assert str(edges) in str(array.info)
    array[4, 9, 3] = 1
    assert list(store) == ["zarr.json", "c/3/2/1"]
    assert sorted(store["c/3/2/1"]) == [1] + [7] * (3 * 4 * 4 - 1)
    uniform = fastzarr.create_array({}, shape=6, chunks=[[2, 2, 2]], dtype="u1")
    assert uniform.metadata.document["chunk_grid"]["configuration"]["chunk_shapes"] == [[[2, 3]]]
    with pytest.raises(ChunkShapeError, match="got a rectilinear chunk grid, expected chunks of one shape"):
        _ = uniform.chunks
    assert uniform.shards is None
    assert issubclass(ChunkShapeError, NotImplementedError)


def test_rectilinear_shards() -> None:
    store: dict[str, bytes] = {}
    array = fastzarr.create_array(
        store, shape=(10, 6), chunks=(2, 3), shards=[[2, 6, 2], 6], dtype="i4", compressors=None
    )
    assert array.chunks == (2, 3)
    with pytest.raises(ChunkShapeError):
        _ = array.shards
    assert array.write_chunk_sizes == ((2, 6, 2), (6,))
    assert array.read_chunk_sizes == ((2,) * 5, (3, 3))
    assert array.cdata_shape == (5, 2)
    data = np.arange(60, dtype="i4").reshape(10, 6)
    array[...] = data
    assert sorted(store) == ["c/0/0", "c/1/0", "c/2/0", "zarr.json"]
    assert store["c/1/0"].startswith(data[2:4, 0:3].tobytes())
    array[3:9:2, 1] = 0
    data[3:9:2, 1] = 0
    assert_same(fastzarr.open_array(store, mode="r")[...], data)
    damaged = document(store)
    damaged["chunk_grid"]["configuration"]["chunk_shapes"] = [[3, 5, 2], 6]
    store["zarr.json"] = json.dumps(damaged).encode()
    with pytest.raises(MetadataError, match=r"chunk_shape: got \(2, 3\), expected sizes that divide"):
        fastzarr.open_array(store)


def test_sizes_may_reach_beyond_the_array() -> None:
    """As they do once an array was made smaller; the last chunk is stored whole."""
    store: dict[str, bytes] = {}
    fastzarr.create_array(store, shape=12, chunks=[[3, 4, 5]], dtype="u1", compressors=None, fill_value=9)
    changed = document(store)
    for shape, sizes in ((5, (3, 2)), (3, (3,)), (0, ()), (12, (3, 4, 5))):
        changed["shape"] = [shape]
        store["zarr.json"] = json.dumps(changed).encode()
        array = fastzarr.open_array(store, mode="r+")
        assert array.read_chunk_sizes == (sizes,)
        assert array.nchunks == len(sizes)
        array[...] = np.arange(shape)
        assert_same(array[...], np.arange(shape, dtype="u1"))
        assert_same(array.blocks[: len(sizes)], np.arange(shape, dtype="u1"))
        if shape == 5:
            assert store["c/1"] == bytes([3, 4, 9, 9])


def test_resizing_keeps_sizes_and_adds_one_chunk() -> None:
    store: dict[str, bytes] = {}
    data = np.arange(12, dtype="u1")
    array = fastzarr.create_array(store, data=data, chunks=[[3, 4, 5]], compressors=None)
    for size, sizes, edges in (
        (5, (3, 2), [3, 4, 5]),
        (10, (3, 4, 3), [3, 4, 5]),
        (20, (3, 4, 5, 8), [3, 4, 5, 8]),
        (36, (3, 4, 5, 8, 16), [3, 4, 5, 8, 16]),
        (0, (), [3, 4, 5, 8, 16]),
    ):
        array.resize(size)
        assert array.read_chunk_sizes == (sizes,)
        assert document(store)["chunk_grid"]["configuration"]["chunk_shapes"] == [edges]
        kept = np.zeros(size, "u1")
        kept[: min(size, 7)] = data[: min(size, 7)]
        assert_same(fastzarr.open_array(store, mode="r")[...], kept)
    array.append(np.arange(40, dtype="u1"))
    assert array.read_chunk_sizes == ((3, 4, 5, 8, 16, 4),)
    assert_same(array[...], np.arange(40, dtype="u1"))


def test_a_truncated_chunk_is_told_with_its_own_size() -> None:
    store: dict[str, bytes] = {}
    array = fastzarr.create_array(store, data=np.ones(5, "i4"), chunks=[[2, 3]], compressors=None)
    store["c/1"] = store["c/0"]
    with pytest.raises(ChunkError, match=r"'c/1'.*got 8 bytes, expected 12"):
        array[...]


@pytest.mark.parametrize(
    ("chunks", "text"),
    [
        ([[1, 2], 2], r"chunks\[0\]: got sizes that add up to 3, expected 4"),
        ([[2, 0, 2], 2], r"chunks\[0\]: got \[2, 0, 2\], expected sizes of 1 or more"),
        ([[], 2], r"chunks\[0\]: got \[\], expected sizes of 1 or more"),
        ([[4]], r"chunks: got sizes for 1 dimensions, expected 2"),
        ([[1.5, 2.5], 2], r"chunks\[0\]: got \[1.5, 2.5\], expected an integer or a list of integers"),
    ],
)
def test_chunks_that_are_refused(chunks: Any, text: str) -> None:
    with pytest.raises(MetadataError, match=text):
        fastzarr.create_array(None, shape=(4, 6), chunks=chunks, dtype="i4")


def test_requests_that_no_grid_meets() -> None:
    lists: Any = [[1, 3], 2]
    for arguments, text in (
        ({"chunks": lists, "zarr_format": 2}, "got lists, expected one size per dimension for zarr_format=2"),
        ({"chunks": lists, "shards": (4, 4)}, "got lists of sizes, expected one size for each dimension"),
        ({"chunks": (2, 2), "shards": [[1, 3], 4]}, "expected multiples of the chunk shape"),
    ):
        with pytest.raises(MetadataError, match=text):
            fastzarr.create_array(None, shape=(4, 6), dtype="i4", **arguments)


@pytest.mark.parametrize(
    ("configuration", "text"),
    [
        ({"chunk_shapes": [[4]]}, "kind: got None, expected 'inline'"),
        ({"kind": "inline"}, "chunk_shapes: got None, expected a list of edge lengths, 1 of them"),
        ({"kind": "inline", "chunk_shapes": [4, 4]}, "expected a list of edge lengths, 1 of them"),
        ({"kind": "inline", "chunk_shapes": [[3]]}, r"chunk_shapes\[0\]: got sizes that add up to 3"),
        *(
            (
                {"kind": "inline", "chunk_shapes": [entry]},
                r"chunk_shapes\[0\]: got .*, expected an integer from 1",
            )
            for entry in ([], [0, 4], [[2]], [[2, 0]], [[2, 1, 1]], "4", 0, 4.0, True, [2.0, 2], [[2, True]])
        ),
    ],
)
def test_documents_that_are_refused(configuration: dict[str, Any], text: str) -> None:
    with pytest.raises(MetadataError, match=text):
        rectilinear.parse(configuration, (4,))


def test_long_runs_cost_nothing() -> None:
    """A document of few bytes may tell of more chunks than memory holds."""
    store: dict[str, bytes] = {}
    fastzarr.create_array(store, shape=8, chunks=[[3, 5]], dtype="u1", compressors=None)
    changed = document(store)
    changed["shape"] = [3 * 10**15 + 5]
    changed["chunk_grid"]["configuration"]["chunk_shapes"] = [[[3, 10**15], 5]]
    store["zarr.json"] = json.dumps(changed).encode()
    array = fastzarr.open_array(store, mode="r+")
    assert array.nchunks == 10**15 + 1
    array[-1] = 8
    array.vindex[[3 * 10**15 - 1, 0]] = [7, 6]
    assert sorted(store) == ["c/0", f"c/{10**15}", f"c/{10**15 - 1}", "zarr.json"]
    assert array[[0, -1, -6]].tolist() == [6, 8, 7]


if "array.rectilinear_chunks" in zarr.config:  # else the fixtures of a newer release have to do

    @pytest.mark.parametrize("arguments", GRIDS)
    def test_zarr_python_reads_and_writes_the_same(arguments: dict[str, Any], tmp_path: Path) -> None:
        data = np.arange(1, 541, dtype="i4").reshape(9, 10, 6)
        given: dict[str, Any] = {"shape": data.shape, "dtype": "i4", "compressors": None, **arguments}
        selections: list[Any] = [..., (slice(1, 8, 3), 7), (slice(None), [9, 0, 5])]
        with zarr.config.set({"array.rectilinear_chunks": True}):
            theirs = zarr.create_array(str(tmp_path / "theirs"), **given)
            ours = fastzarr.create_array(str(tmp_path / "ours"), **given)
            for array in (theirs, ours):
                array[...] = data
            assert (
                ours.metadata.document["chunk_grid"]
                == json.loads((tmp_path / "theirs" / "zarr.json").read_text())["chunk_grid"]
            )
            assert ours.read_chunk_sizes == theirs.read_chunk_sizes
            assert ours.write_chunk_sizes == theirs.write_chunk_sizes
            assert (ours.cdata_shape, ours.nchunks) == (theirs.cdata_shape, theirs.nchunks)
            for name in ("chunks", "shards"):
                outcomes = []
                for array in (ours, theirs):
                    try:
                        outcomes.append(getattr(array, name))
                    except NotImplementedError:
                        outcomes.append(NotImplementedError)
                assert outcomes[0] == outcomes[1], name
            for place in ("ours", "theirs"):
                by_them = zarr.open_array(str(tmp_path / place), mode="r")
                by_us = fastzarr.open_array(str(tmp_path / place), mode="r")
                for selection in selections:
                    assert_same(np.asarray(by_us[selection]), np.asarray(by_them[selection]))
                assert_same(by_us.blocks[1, 0], np.asarray(by_them.blocks[1, 0]))
                assert_same(by_us[...], data)


@pytest.mark.parametrize("arguments", GRIDS)
def test_zarrs_reads_the_same(arguments: dict[str, Any], tmp_path: Path) -> None:
    zarrista = pytest.importorskip("zarrista")
    data = np.arange(1, 541, dtype="i4").reshape(9, 10, 6)
    array = fastzarr.create_array(str(tmp_path), shape=data.shape, dtype="i4", **arguments)
    array[...] = data
    by_zarrs = zarrista.Array.open(zarrista.store.FilesystemStore(str(tmp_path)), "/")
    for box in ((slice(0, 9), slice(0, 10), slice(0, 6)), (slice(2, 7), slice(3, 10), slice(1, 3))):
        assert_same(np.asarray(by_zarrs.retrieve_array_subset(box)), data[box])


@given(st.lists(st.integers(1, 5), min_size=1, max_size=12), st.data())
def test_places_of_runs(sizes: list[int], data: st.DataObject) -> None:
    size = data.draw(st.integers(0, sum(sizes)))
    axis = Axis(size, runs_of(sizes))
    coords = np.repeat(np.arange(len(sizes)), sizes)[:size]
    assert [axis.coord(index) for index in range(size)] == coords.tolist()
    assert_same(axis.coords(np.arange(size)), coords)
    starts = np.cumsum([0, *sizes]).tolist()
    assert [axis.place(coord) for coord in range(len(sizes))] == list(zip(starts, sizes, strict=False))
    assert axis.extents() == tuple(np.bincount(coords, minlength=0).tolist() if size else [])
    assert axis.count == len(axis.extents())


@given(strategies.shapes(max_side=9), st.data())
def test_new_shapes(shape: tuple[int, ...], data: st.DataObject) -> None:
    """Chunk sizes stay what they were; where the array grows beyond them, one more chunk reaches its end."""
    before = tuple(runs_of(data.draw(st.lists(st.integers(1, 4), min_size=1, max_size=4))) for _ in shape)
    after = rectilinear.resized(before, shape, (1,) * len(shape))
    for old, new, size in zip(before, after, shape, strict=True):
        assert isinstance(new, tuple)
        total, grown = rectilinear.total_of(old), rectilinear.total_of(new)
        assert grown == max(total, size)
        expanded = [[s for s, count in runs for _ in range(count)] for runs in (old, new)]
        assert expanded[1] == expanded[0] + [size - total] * (size > total)
