"""Orders of elements, shapes without elements or dimensions, chunks at the edge: as reported elsewhere."""

import itertools
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorstore as ts
import zarr
from numpy.typing import NDArray
from oracle import assert_same, bits, files, read_by_tensorstore, read_by_zarr, values

import fastzarr
from fastzarr.errors import MetadataError

FORMATS = pytest.mark.parametrize("zarr_format", [2, 3])
PLAIN: dict[str, Any] = {"compressors": None}


def chunk_files(root: Path) -> dict[str, bytes]:
    return {key: data for key, data in files(root).items() if not Path(key).name.startswith((".", "zarr."))}


# zarr-python#2675, zarr-python#1279, zarr-developers/zarr-java PR#95, constantinpape/z5#16
@pytest.mark.parametrize("compressor", [None, {"id": "blosc"}, {"id": "zlib"}], ids=["none", "blosc", "zlib"])
@pytest.mark.parametrize("given", ["C", "F"])
@pytest.mark.parametrize(("shape", "chunks"), [((7, 11), (3, 5)), ((5, 4, 6), (2, 3, 4))])
def test_order_f_is_the_order_of_the_stored_bytes_after_any_write(
    shape: Any, chunks: Any, given: Any, compressor: Any, tmp_path: Path
) -> None:
    array = fastzarr.create_array(
        *(tmp_path / "ours",),
        shape=shape,
        chunks=chunks,
        dtype="<i4",
        order="F",
        compressors=compressor,
        zarr_format=2,
    )
    expected = np.zeros(shape, "<i4")
    within = tuple(slice(1, size - 1) for size in shape)
    for turn, selection in enumerate([..., within, 1, (..., 2), (slice(None, None, 2), 1)], 1):
        value = np.arange(expected[selection].size).reshape(expected[selection].shape) + 1000 * turn
        array[selection] = value.copy(given)
        expected[selection] = value
        assert_same(array[selection], expected[selection])
    if compressor is None:
        first = expected[tuple(map(slice, chunks))]
        assert (tmp_path / "ours" / ".".join("0" * len(shape))).read_bytes() == first.tobytes(order="F")
    for read in (read_by_zarr, read_by_tensorstore):
        assert_same(read(tmp_path / "ours"), expected)
    theirs = zarr.create_array(
        *(tmp_path / "theirs",),
        shape=shape,
        chunks=chunks,
        dtype="<i4",
        order="F",
        compressors=None,
        zarr_format=2,
    )
    theirs[...] = expected
    reopened = fastzarr.open_array(tmp_path / "theirs")
    assert_same(reopened[...], expected)
    assert_same(reopened[within], expected[within])


# zarr-python#3072, OSGeo/gdal#13258
@pytest.mark.parametrize("shards", [None, (4, 6)])
def test_v3_has_no_order(shards: Any) -> None:
    stores: dict[str, dict[str, bytes]] = {"C": {}, "F": {}}
    data = np.arange(48, dtype="i4").reshape(8, 6)
    for order, store in stores.items():
        array = fastzarr.create_array(
            *(store,), shape=data.shape, chunks=(2, 3), shards=shards, dtype="i4", order=order, **PLAIN
        )
        array[...] = data
        assert array[...].flags[f"{order}_CONTIGUOUS"]
        assert_same(array[...], data)
    assert stores["C"] == stores["F"], "the order of memory is nothing that is stored"
    assert "order" not in json.loads(stores["F"]["zarr.json"])


# zarr-python#3072: legacy letters are read, and never written
@pytest.mark.parametrize(("letter", "axes"), [("F", [1, 0]), ("C", [0, 1])])
def test_transpose_is_written_as_a_permutation(letter: str, axes: list[int], tmp_path: Path) -> None:
    codec = {"name": "transpose", "configuration": {"order": axes}}
    array = fastzarr.create_array(tmp_path, shape=(4, 6), chunks=(2, 3), dtype="i2", filters=[codec], **PLAIN)
    array[...] = np.arange(24).reshape(4, 6)
    document = json.loads((tmp_path / "zarr.json").read_text())
    assert document["codecs"][0] == codec
    document["codecs"][0]["configuration"]["order"] = letter
    (tmp_path / "zarr.json").write_text(json.dumps(document))
    assert_same(fastzarr.open_array(tmp_path)[...], array[...])


LAYOUTS: dict[str, dict[str, Any]] = {
    "v2": {"zarr_format": 2},
    "v2, order F": {"zarr_format": 2, "order": "F"},
    "v3": {},
    "sharded": {"shards": True},
}


def laid_out(layout: str, chunks: tuple[int, ...]) -> dict[str, Any]:
    options = dict(LAYOUTS[layout])
    if options.pop("shards", False):
        options["shards"] = tuple(2 * size for size in chunks)
    return options | {"chunks": chunks}


# zarr-python#1977, #150, #187, #972, #303; dask/dask PR#12366
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("shape", [(0,), (3, 0), (0, 3), (0, 0, 2)])
def test_arrays_without_elements(shape: tuple[int, ...], layout: str, tmp_path: Path) -> None:
    options = laid_out(layout, tuple(max(size, 1) for size in shape))
    array = fastzarr.create_array(tmp_path, shape=shape, dtype="f8", fill_value=1, **options)
    documents = files(tmp_path)
    array[:] = 2
    array[...] = np.zeros(shape)
    array[0:0] = 3
    assert array[:].shape == array[...].shape == np.asarray(array).shape == shape
    assert [row.shape for row in array] == [shape[1:]] * shape[0]
    assert (array.nchunks, array.size, array.nbytes) == (0, 0, 0)
    assert files(tmp_path) == documents, "no chunk is written"
    assert read_by_zarr(tmp_path).shape == read_by_tensorstore(tmp_path).shape == shape
    assert fastzarr.open_array(tmp_path)[...].shape == shape


# zarr-python#1976, #3469, #3966, #2718; manzt/zarrita.js#380
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", ["f8", ">i2", "bool"])
def test_arrays_without_dimensions(dtype: str, layout: str, tmp_path: Path) -> None:
    array = fastzarr.create_array(tmp_path, shape=(), dtype=dtype, fill_value=1, **laid_out(layout, ()))
    key = "0" if layout.startswith("v2") else "c"
    value = np.array(0, array.dtype)
    array[...] = value
    assert list(chunk_files(tmp_path)) == [key]
    by_zarr = layout != "sharded"  # zarr-python 3.1 raises IndexError
    for reader in (fastzarr.open_array, read_by_tensorstore, *[read_by_zarr] * by_zarr):
        opened = reader(tmp_path)
        for found in (opened[()], opened[...]):
            assert bits(found) == bits(value)
    assert isinstance(array[()], np.generic)
    assert np.ndim(array[...]) == 0
    array[()] = array.fill_value
    assert not chunk_files(tmp_path)
    if by_zarr:
        zarr.open_array(tmp_path)[...] = 0
        assert array[()] == 0


def edges(shape: tuple[int, ...]) -> list[Any]:
    """Selections along the far edge of each dimension."""
    whole = [slice(None)] * len(shape)
    return [(*whole[:axis], slice(size - 1, None), *whole[axis + 1 :]) for axis, size in enumerate(shape)]


# zarr-python#757, #2851
@pytest.mark.parametrize("layout", ["v2", "v2, order F", "v3"])
def test_the_padding_of_edge_chunks_is_the_fill_value(layout: str, tmp_path: Path) -> None:
    shape, chunks = (10, 7), (4, 5)
    order: Any = LAYOUTS[layout].get("order", "C")
    array = fastzarr.create_array(
        tmp_path, shape=shape, dtype="<i2", fill_value=7, **laid_out(layout, chunks), **PLAIN
    )
    padded = np.full((12, 10), 7, "<i2")
    separator = "." if layout.startswith("v2") else "/"

    def assert_stored() -> None:
        for row, column in itertools.product(range(3), range(2)):
            key = separator.join(["c"] * (separator == "/") + [str(row), str(column)])
            chunk = padded[4 * row :, 5 * column :][:4, :5]
            stored = chunk_files(tmp_path).get(key)
            assert stored == (None if (chunk == 7).all() else chunk.tobytes(order=order)), key

    for number, selection in enumerate([np.s_[8:10], np.s_[:, 5:7], *edges(shape), np.s_[9, 6]], 1):
        array[selection] = padded[:10, :7][selection] = number
        assert_stored()
    array[...] = padded[:10, :7] = np.arange(70).reshape(shape)
    assert_stored()


# zarr-python#757, #2851: what covers all of an edge chunk that lies in the array doesn't need the old chunk
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("compressors", [None, "auto"])
def test_an_edge_chunk_written_whole_is_not_read(layout: str, compressors: Any, tmp_path: Path) -> None:
    shape = (10, 7)
    array = fastzarr.create_array(
        tmp_path, shape=shape, dtype="i4", compressors=compressors, **laid_out(layout, (4, 5))
    )
    array[...] = 1
    for path in chunk_files(tmp_path):
        (tmp_path / path).write_bytes(b"poison")
    expected = values(shape, "i4")
    array[:8], array[8:10] = expected[:8], expected[8:10]
    assert_same(array[...], expected)
    assert_same(read_by_zarr(tmp_path), expected)


def raw_spec(root: Path, chunks: tuple[int, ...], shape: tuple[int, ...], driver: str) -> dict[str, Any]:
    metadata: dict[str, Any] = {"shape": list(shape)}
    if driver == "zarr":
        metadata |= {"chunks": list(chunks), "dtype": "<i4", "compressor": None}
    else:
        grid = {"name": "regular", "configuration": {"chunk_shape": list(chunks)}}
        codecs = [{"name": "bytes", "configuration": {"endian": "little"}}]  # or else it makes shards
        metadata |= {"chunk_grid": grid, "data_type": "int32", "codecs": codecs}
    return {"driver": driver, "kvstore": {"driver": "file", "path": f"{root}/"}, "metadata": metadata}


# Unidata/netcdf-c#2252, #2484, #2449: wrong strides; acquire-project/acquire-zarr#225: chunk shapes cut down
@FORMATS
@pytest.mark.parametrize(
    ("shape", "chunks"), [((10,), (100,)), ((5, 7), (3, 4)), ((2, 3), (100, 2)), ((1, 1, 3), (2, 5, 2))]
)
def test_chunks_that_reach_beyond_the_array(
    shape: tuple[int, ...], chunks: tuple[int, ...], zarr_format: int, tmp_path: Path
) -> None:
    data = values(shape, "i4")

    def by_fastzarr(root: Path) -> None:
        array = fastzarr.create_array(root, shape=shape, chunks=chunks, dtype="<i4", zarr_format=zarr_format)
        assert array.chunks == chunks
        array[...] = 1
        array[tuple(size - 1 for size in shape)] = 5
        array[...] = data

    def by_zarr(root: Path) -> None:
        array = zarr.create_array(root, shape=shape, chunks=chunks, dtype="<i4", zarr_format=zarr_format)
        array[...] = data

    def by_tensorstore(root: Path) -> None:
        spec = raw_spec(root, chunks, shape, "zarr" if zarr_format == 2 else "zarr3")
        ts.open(spec, create=True).result().write(data).result()

    for write in (by_fastzarr, by_zarr, by_tensorstore):
        root = tmp_path / write.__name__
        write(root)
        array = fastzarr.open_array(root)
        assert array.chunks == array.metadata.chunks == chunks
        assert_same(array[...], data)
        for selection in edges(shape):
            assert_same(array[selection], data[selection])
        assert_same(read_by_zarr(root), data)
        assert_same(read_by_tensorstore(root), data)
        array.attrs["changed"] = True
        assert fastzarr.open_array(root).chunks == chunks


# zarr-specs#379, zarr-python#3899, LDeakin/zarrs#352
@FORMATS
def test_chunks_of_size_zero_are_refused_and_shapes_of_size_zero_are_not(zarr_format: int) -> None:
    store: dict[str, bytes] = {}
    fastzarr.create_array(store, shape=(0, 4), chunks=(1, 2), dtype="i4", zarr_format=zarr_format)
    assert fastzarr.open_array(store).shape == (0, 4)
    key = ".zarray" if zarr_format == 2 else "zarr.json"
    text = store[key].decode()
    document = json.loads(text)
    if zarr_format == 2:
        document["chunks"] = [0, 2]
    else:
        document["chunk_grid"]["configuration"]["chunk_shape"] = [0, 2]
    store[key] = json.dumps(document).encode()
    with pytest.raises(MetadataError, match=r"got \[0, 2\]"):
        fastzarr.open_array(store)
    for chunks in ((0, 2), (1, 0)):
        with pytest.raises(MetadataError, match="chunks"):
            fastzarr.create_array({}, shape=(0, 4), chunks=chunks, dtype="i4", zarr_format=zarr_format)
    if zarr_format == 3:
        with pytest.raises(MetadataError, match="shards"):
            fastzarr.create_array({}, shape=(4,), chunks=(1,), shards=(0,), dtype="i4")


def poisoned(shape: Any, dtype: Any = float, order: Any = "C", **options: Any) -> NDArray[Any]:
    made = EMPTY(shape, dtype, order, **options)
    made.reshape(-1, order="A").view(np.uint8)[...] = 0xA5
    return made


EMPTY = np.empty


# zarr-python#2755
@pytest.mark.parametrize("compressors", [None, "auto"])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_what_was_never_written_is_the_fill_value(
    layout: str, compressors: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where new memory holds anything: stored bytes are the same as with memory that holds zeros."""
    stored = []
    for name, empty in (("poisoned", poisoned), ("clean", np.zeros)):
        root = tmp_path / name
        with monkeypatch.context() as patch:
            patch.setattr(np, "empty", empty)
            array = fastzarr.create_array(
                *(root,),
                shape=(10, 7),
                dtype="f4",
                fill_value=3,
                compressors=compressors,
                **laid_out(layout, (4, 5)),
            )
            expected = np.full((10, 7), 3, "f4")
            for selection in (np.s_[1:3, 2], np.s_[9], np.s_[::4, 6], np.s_[5:5]):
                array[selection] = expected[selection] = 8
                assert_same(array[...], expected)
                assert_same(array[4:10:3, 1:], expected[4:10:3, 1:])
        assert_same(read_by_zarr(root), expected)
        stored.append(files(root))
    assert stored[0] == stored[1]


# CliMA/Oceananigans.jl#5776
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("compressors", [None, "auto"])
@pytest.mark.parametrize("rank", range(5))
@pytest.mark.parametrize("dtype", ["bool", "u1", ">i2", "f4", "c16"])
def test_stores_get_flat_bytes(dtype: str, rank: int, compressors: Any, layout: str) -> None:
    class Checking(fastzarr.MemoryStore):
        def set(self, key: str, data: Any) -> None:
            view = memoryview(data)
            assert (view.ndim, view.format, view.contiguous) == (1, "B", True)
            super().set(key, data)

    chunks, shape = (2,) * rank, (3,) * rank
    options = laid_out(layout, chunks)
    array = fastzarr.create_array(Checking(), shape=shape, dtype=dtype, compressors=compressors, **options)
    data = values(shape, array.dtype)
    for value in (data, data.copy("F"), data[(slice(None, None, -1),) * rank]):
        array[...] = value
        assert_same(array[...], value)
    array[(0,) * rank] = 1
    assert array[(0,) * rank] == 1
