"""Every row of `docs/differences.md`, against the installed zarr-python: the test has the row's name."""

import json
import pickle
import re
import zipfile
from collections import UserDict
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numcodecs
import numpy as np
import pytest
import zarr
from numpy.typing import NDArray
from oracle import bits, written_by_fastzarr, written_by_zarr
from zarr.codecs import BytesCodec, ZstdCodec
from zarr.core.buffer.cpu import Buffer
from zarr.storage import MemoryStore

import fastzarr
from fastzarr import result_memory
from fastzarr.errors import BufferMismatchError, ChunkError, MetadataError, SelectionError, StoreError
from fastzarr.stores.registry import open_store

DOCUMENT = Path(__file__).parents[1] / "docs" / "differences.md"
OLDEST = zarr.__version__.startswith("3.1.")
"""What the rows tell of 3.1 can be seen."""
PAYLOAD = np.uint32(0x7FC00001).view(np.float32)


def theirs(**arguments: Any) -> zarr.Array[Any]:
    return zarr.create_array(MemoryStore(), **{"shape": 4, "dtype": "f4"} | arguments)


def ours(**arguments: Any) -> fastzarr.Array:
    return fastzarr.create_array(None, **{"shape": 4, "dtype": "f4"} | arguments)


def document(call: Callable[[Any, Any], object], library: Any = fastzarr) -> Any:
    objects = written_by_fastzarr(call) if library is fastzarr else written_by_zarr(call)
    return json.loads(objects["zarr.json" if "zarr.json" in objects else ".zarray"])


def test_every_row_has_a_test_and_every_test_a_row() -> None:
    rows = re.findall(r"^\| ([^|]+?) \|", DOCUMENT.read_text(encoding="utf-8"), re.MULTILINE)
    named = {re.sub(r"\W+", "_", row.lower()) for row in rows if row != "difference"}
    tests = {name.removeprefix("test_") for name in globals() if name.startswith("test_")}
    assert tests - {"every_row_has_a_test_and_every_test_a_row"} == named


def test_fill_values_that_do_not_fit() -> None:
    for dtype, value, becomes in (("int32", 1.5, 1), ("bool", 2, True), ("int8", "3", 3)):
        assert theirs(dtype=dtype, fill_value=value).fill_value == becomes
        with pytest.raises(MetadataError, match="fill_value"):
            ours(dtype=dtype, fill_value=value)


def test_values_of_another_shape() -> None:
    array = theirs()
    array[0:2] = [1, 2, 3]
    assert np.asarray(array[...]).tolist() == [1, 2, 0, 0]
    with pytest.raises(BufferMismatchError):
        ours()[0:2] = [1, 2, 3]
    with pytest.raises(ValueError):
        np.zeros(4)[0:2] = [1, 2, 3]


def test_chunks_of_size_zero() -> None:
    if OLDEST:
        assert theirs(chunks=(0,)).chunks == (0,)
    with pytest.raises(MetadataError, match="chunks"):
        ours(chunks=(0,))


def test_chunks_for_some_dimensions() -> None:
    if OLDEST:
        assert zarr.create((10, 11), chunks=(3,), store=MemoryStore()).chunks == (3, 11)
    with pytest.raises(MetadataError, match="chunks"):
        fastzarr.create((10, 11), chunks=(3,))


def test_an_empty_list_of_dimension_names() -> None:
    given: dict[str, Any] = {"shape": (2, 2), "dtype": "f4", "dimension_names": []}
    assert "dimension_names" not in document(
        lambda library, store: library.create_array(store, **given), zarr
    )
    with pytest.raises(MetadataError, match="dimension_names"):
        ours(**given)
    assert ours(shape=(), dimension_names=[]).metadata.dimension_names == ()


def test_bytes_codec_without_byte_order() -> None:
    if OLDEST:
        assert theirs(serializer={"name": "bytes"}).serializer == BytesCodec(endian="little")
    with pytest.raises(MetadataError, match="endian"):
        ours(serializer={"name": "bytes"})


@pytest.mark.filterwarnings("ignore")
def test_keywords_without_effect() -> None:
    for name in ("synchronizer", "chunk_store", "cache_attrs", "object_codec", "meta_array"):
        zarr.create(3, store=MemoryStore(), **{name: None})
        with pytest.raises(TypeError, match=name):
            fastzarr.create(3, **{name: None})


def test_attributes_that_json_cannot_say() -> None:
    def call(library: Any, store: Any) -> None:
        library.create_array(store, name="g/a", shape=1, dtype="f4", attributes={"x": object()})

    objects: dict[str, bytes] = {}
    with pytest.raises(MetadataError, match="attributes: 'x'"):
        call(fastzarr, objects)
    assert not objects
    with pytest.raises(TypeError):
        call(zarr, MemoryStore())


def test_damaged_chunks() -> None:
    array, objects = theirs(compressors=None, fill_value=1), dict[str, bytes]()
    array[...] = 0
    array.store._store_dict["c/0"] = Buffer.from_bytes(b"???")
    with pytest.raises(ValueError) as caught:
        array[...]
    assert "c/0" not in str(caught.value)
    fastzarr.create_array(objects, data=np.ones(4, "f4"), compressors=None)
    objects["c/0"] = b"???"
    with pytest.raises(ChunkError, match="c/0"):
        fastzarr.open_array(objects)[...]


def test_payload_of_a_nan_as_fill_value() -> None:
    def call(library: Any, store: Any) -> None:
        library.create_array(store, shape=1, dtype="f4", fill_value=PAYLOAD)

    assert document(call, zarr)["fill_value"] == "NaN"
    assert document(call)["fill_value"] == "0x7fc00001"


def test_nan_with_another_payload() -> None:
    value = np.full(4, PAYLOAD)
    found: list[NDArray[Any]] = []
    for array in (theirs(fill_value=np.nan), ours(fill_value=np.nan)):
        array[...] = value
        found.append(np.asarray(array[...]))
    assert bits(found[0]) != bits(value)
    assert bits(found[1]) == bits(value)


def test_an_integer_for_every_dimension() -> None:
    assert isinstance(theirs()[0], np.ndarray)
    assert isinstance(ours()[0], np.float32)


def test_big_endian_data_types_in_v3() -> None:
    made = zarr.create_array(store := MemoryStore(), shape=4, dtype=">f4")
    assert made.dtype == np.dtype(">f4")
    assert zarr.open_array(store).dtype == np.dtype("f4")
    assert ours(dtype=">f4").dtype == np.dtype("f4")


def test_short_forms_of_chunks() -> None:
    shape = (10, 11)
    whole = ours(shape=shape).chunks
    for chunks, expected in (
        (3, (3, 3)),
        (-1, shape),
        ((-1, 3), (10, 3)),
        (True, whole),
        (None, whole),
        (False, shape),
    ):
        assert ours(shape=shape, chunks=chunks).chunks == expected
    if OLDEST:
        with pytest.raises(ValueError):
            theirs(shape=shape, chunks=3)


def test_short_forms_of_chunk_key_encodings() -> None:
    for given in ("v2", ("v2", "."), {"name": "v2"}):
        assert ours(chunk_key_encoding=given).metadata.document["chunk_key_encoding"] == {
            "name": "v2",
            "configuration": {"separator": "."},
        }
    for given in ("v2", ("v2", ".")):
        with pytest.raises(TypeError):
            theirs(chunk_key_encoding=given)


def test_fill_values_as_documents_write_them() -> None:
    for dtype, value in (("f4", "0x7fc00001"), ("c8", ["NaN", 0.0])):
        assert ours(dtype=dtype, fill_value=value).metadata.document["fill_value"] == value
        with pytest.raises(TypeError):
            theirs(dtype=dtype, fill_value=value)


def test_codecs_of_the_other_format() -> None:
    for codec in (fastzarr.codecs.ZstdCodec(level=3), ZstdCodec(level=3)):
        made = ours(compressors=codec, zarr_format=2)
        assert made.metadata.document["compressor"] == {"id": "zstd", "level": 3}
    with pytest.raises(ValueError):
        theirs(compressors=ZstdCodec(level=3), zarr_format=2)


def test_no_compressor_by_the_older_keyword_in_v3() -> None:
    assert fastzarr.create(3, compressor=None).compressors == ()
    with pytest.raises(ValueError):
        zarr.create(3, store=MemoryStore(), compressor=None)


def test_records_of_v3_with_fields_that_are_arrays() -> None:
    dtype = np.dtype([("a", "<i4", (2,))])
    with pytest.raises(TypeError if OLDEST else ValueError):
        theirs(dtype=dtype)
    with pytest.raises(MetadataError, match="subarrays"):
        ours(dtype=dtype)
    assert ours(dtype=dtype, zarr_format=2).dtype == dtype


@pytest.mark.filterwarnings("ignore")
def test_the_default_fill_value_of_records() -> None:
    dtype = np.dtype([("s", "S2"), ("u", "<U2")])
    if OLDEST:
        assert theirs(dtype=dtype, zarr_format=2).fill_value.item() == (b"0", "0")
    assert ours(dtype=dtype, zarr_format=2).fill_value.item() == (b"", "")
    assert ours(dtype=dtype).fill_value.item() == (b"", "")


@pytest.mark.filterwarnings("ignore")
def test_byte_order_of_fields_of_a_record_in_v3() -> None:
    data = np.array([(1,)], [("a", ">i4")])

    def call(library: Any, store: Any) -> None:
        library.create_array(store, shape=1, dtype=data.dtype, compressors=None, fill_value=(0,))[...] = data

    if OLDEST:
        assert written_by_zarr(call)["c/0"] == b"\0\0\0\1"
    assert written_by_fastzarr(call)["c/0"] == b"\1\0\0\0"


def v2_document(dtype: Any, fill_value: Any, filters: Any = None) -> bytes:
    document = {"zarr_format": 2, "shape": [1], "chunks": [1], "dtype": dtype, "fill_value": fill_value}
    return json.dumps(document | {"order": "C", "compressor": None, "filters": filters}).encode()


def read_v2(library: Any, document: bytes) -> Any:
    if library is fastzarr:
        return fastzarr.open_array({".zarray": document})[...]
    return zarr.open_array(MemoryStore({".zarray": Buffer.from_bytes(document)}), mode="r")[...]


def test_fill_values_0_of_v2_texts() -> None:
    document = v2_document("|O", 0, [{"id": "vlen-utf8"}])
    assert read_v2(zarr, document).tolist() == ["0"]
    assert read_v2(fastzarr, document).tolist() == [""]


def test_objects_of_v2() -> None:
    document = v2_document("|O", None, [{"id": "vlen-array", "dtype": "<i4"}])
    with pytest.raises(ValueError, match="No Zarr data type found"):
        read_v2(zarr, document)
    assert read_v2(fastzarr, document)[0].tolist() == []


def test_nested_records_of_v2() -> None:
    document = v2_document([["a", "<i4"], ["n", [["x", "<i2"], ["y", "|u1"]]]], None)
    if OLDEST:
        with pytest.raises(ValueError, match="No Zarr data type found"):
            read_v2(zarr, document)
    assert read_v2(fastzarr, document).tolist() == [(0, (0, 0))]


def test_subarrays_in_records_of_v2() -> None:
    document = v2_document([["a", "<i4", [2]]], None)
    with pytest.raises(ValueError, match="No Zarr data type found"):
        read_v2(zarr, document)
    assert read_v2(fastzarr, document)["a"].tolist() == [[0, 0]]


def test_fill_values_of_v2_that_older_writers_left() -> None:
    for dtype, fill in (
        ("|S2", 0),
        ("<U2", 0),
        ("|V2", 0),
        ([["a", "<i4"]], 0),
        ("|S2", [88]),
        ([["a", "<i4"]], [5]),
    ):
        with pytest.raises(TypeError):
            read_v2(zarr, v2_document(dtype, fill))
        assert read_v2(fastzarr, v2_document(dtype, fill)).shape == (1,)


@pytest.mark.filterwarnings("ignore")
def test_other_names_of_data_types() -> None:
    json_form = {"name": "numpy.datetime64", "configuration": {"unit": "s", "scale_factor": 1}}
    for dtype, zarr_format in ((bytes, 3), (np.dtypes.StringDType, 3), ("r16", 3), (json_form, 2)):
        with pytest.raises((TypeError, ValueError)):
            theirs(dtype=dtype, zarr_format=zarr_format)
        assert ours(dtype=dtype, zarr_format=zarr_format).shape == (4,)


def test_small_floats_and_integers() -> None:
    ml_dtypes = pytest.importorskip("ml_dtypes")
    with pytest.raises((TypeError, ValueError)):
        theirs(dtype=np.dtype(ml_dtypes.float8_e5m2))
    assert ours(dtype=np.dtype(ml_dtypes.float8_e5m2)).metadata.data_type.name == "float8_e5m2"


def test_errors_of_selections() -> None:
    for selection in (np.s_[::0], ([0, 1], [0, 1, 2])):
        with pytest.raises(ValueError):
            theirs(shape=(4, 4))[selection]
        with pytest.raises(SelectionError) as caught:
            ours(shape=(4, 4))[selection]
        assert isinstance(caught.value, IndexError)


def test_negative_steps() -> None:
    with pytest.raises(zarr.errors.NegativeStepError):
        theirs()[::-1]
    array = ours()
    array[::-1] = [1, 2, 3, 4]
    assert array[...].tolist() == [4, 3, 2, 1]
    assert array[2:0:-1].tolist() == [2, 3]
    assert not array[::-1].flags.owndata


def test_more_selections_by_arrays() -> None:
    other, mine, elements = theirs(shape=(4, 5)), ours(shape=(4, 5)), np.arange(20, dtype="f4").reshape(4, 5)
    other[...] = mine[...] = elements
    for selection in ([], ([0, 1], ...), np.array([True, False, True, False]), ([[0], [1]], [0, 1])):
        with pytest.raises(IndexError):
            other[selection]
        np.testing.assert_array_equal(mine[selection], elements[selection])


def test_slices_of_blocks_beyond_the_grid() -> None:
    with pytest.raises(zarr.errors.BoundsCheckError):
        theirs(chunks=(2,)).blocks[2:]
    assert ours(chunks=(2,)).blocks[2:].shape == (0,)


@pytest.mark.filterwarnings("ignore")
def test_fields_of_records() -> None:
    elements = np.zeros((3, 2), [("a", "i2"), ("b", "f4")])
    elements["a"] = [[1, 2], [3, 4], [5, 6]]
    array = ours(shape=None, dtype=None, data=elements, chunks=(2, 2))
    assert array["a"].tolist() == elements["a"].tolist()
    assert array.vindex["a", [2, 0], [1, 0]].tolist() == [6, 1]
    array["b"] = 1
    assert (array[...]["a"] == elements["a"]).all()
    if OLDEST:
        with pytest.raises(TypeError):
            theirs(shape=None, dtype=None, data=elements, chunks=(2, 2))["a"]


def test_rectilinear_grids_without_a_switch() -> None:
    with pytest.raises((TypeError, ValueError)):
        theirs(chunks=[[1, 3]])
    assert ours(chunks=[[1, 3]]).read_chunk_sizes == ((1, 3),)


def test_mappings() -> None:
    objects: UserDict[str, bytes] = UserDict()
    with pytest.raises(TypeError, match="UserDict"):
        zarr.create_array(objects, shape=4, dtype="f4")
    fastzarr.create_array(objects, shape=4, dtype="f4")
    assert list(objects) == ["zarr.json"]


def test_options_of_urls() -> None:
    store = open_store("s3://bucket", {"anon": True, "region": "us-east-1"})
    assert isinstance(store, fastzarr.storage.ObjectStore)
    assert store.store.config == {"bucket": "bucket", "region": "us-east-1", "skip_signature": "true"}
    with pytest.raises(ValueError, match="Configuration key: 'client_kwargs'"):
        open_store("s3://bucket", {"client_kwargs": "x"})


def test_urls_of_http_servers() -> None:
    assert not zarr.storage.FsspecStore.from_url("http://localhost:9").read_only
    assert open_store("http://localhost:9").read_only


def test_entries_written_twice_in_zip_archives(tmp_path: Path) -> None:
    for library, count in ((zarr, 2), (fastzarr, 1)):
        path = tmp_path / f"{library.__name__}.zip"
        store = library.storage.ZipStore(path, mode="w")
        array = library.create_array(store, shape=4, dtype="f4")
        array[...] = 1
        with pytest.warns(UserWarning, match="Duplicate name") if library is zarr else nullcontext():
            array[...] = 2
        store.close()
        with zipfile.ZipFile(path) as archive:
            assert archive.namelist().count("c/0") == count


def test_erasing_in_zip_archives(tmp_path: Path) -> None:
    their_store = zarr.storage.ZipStore(tmp_path / "a.zip", mode="w")
    zarr.create_array(their_store, shape=4, dtype="f4")
    with pytest.raises(zarr.errors.ContainsArrayError):
        zarr.create_array(their_store, shape=5, dtype="f4", overwrite=True)
    their_store.close()
    with fastzarr.storage.ZipStore(tmp_path / "b.zip", mode="w") as store:
        fastzarr.create_array(store, data=np.ones(4))
        fastzarr.create_array(store, shape=5, dtype="f4", overwrite=True)
    with zipfile.ZipFile(tmp_path / "b.zip") as archive:
        assert archive.namelist() == ["zarr.json"]


def test_pickled_zip_stores_open_for_writing(tmp_path: Path) -> None:
    their_store = zarr.storage.ZipStore(tmp_path / "a.zip", mode="w")
    zarr.create_array(their_store, data=np.ones(4))
    their_store.close()
    pickle.loads(pickle.dumps(their_store)).close()
    if OLDEST:
        with zipfile.ZipFile(tmp_path / "a.zip") as archive:
            assert archive.namelist() == []
    with fastzarr.storage.ZipStore(tmp_path / "b.zip", mode="w") as store, pytest.raises(TypeError):
        pickle.dumps(store)


def test_damaged_entries_of_zip_archives(tmp_path: Path) -> None:
    path = tmp_path / "a.zip"
    with fastzarr.storage.ZipStore(path, mode="w") as store:
        fastzarr.create_array(store, data=np.full(100, 7, "u1"), compressors=None)
    data = path.read_bytes()
    path.write_bytes(data.replace(b"\x07" * 100, b"\x08" * 100))
    their_store = zarr.storage.ZipStore(path, mode="r")
    with pytest.raises(zipfile.BadZipFile):
        zarr.open_array(their_store, mode="r")[...]
    their_store.close()
    with fastzarr.storage.ZipStore(path) as store, pytest.raises(StoreError, match="'c/0'"):
        fastzarr.open_array(store, mode="r")[...]


def test_files_given_for_directories(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"")
    with pytest.raises(FileNotFoundError):
        zarr.open_array(tmp_path / "a", mode="r")
    with pytest.raises(NotADirectoryError, match="ZipStore"):
        fastzarr.open_array(tmp_path / "a", mode="r")


def test_deleting_what_is_not_there() -> None:
    del zarr.create_group(MemoryStore())["x"]
    with pytest.raises(KeyError, match="'x'"):
        del fastzarr.create_group({})["x"]


def test_arrays_that_a_group_of_v2_makes() -> None:
    def make(library: Any, store: Any) -> Any:
        return library.create_group(store, zarr_format=2).zeros(name="a", shape=(2,))

    if OLDEST:
        assert make(zarr, MemoryStore()).metadata.zarr_format == 3
    assert make(fastzarr, {}).metadata.zarr_format == 2


def test_consolidated_groups_of_v2() -> None:
    def make(library: Any, store: Any) -> None:
        library.create_group(store, path="g", zarr_format=2)
        library.consolidate_metadata(store, zarr_format=2)

    for written, members in ((written_by_zarr, True), (written_by_fastzarr, False)):
        below = json.loads(written(make)[".zmetadata"])["metadata"]["g/.zgroup"]
        if OLDEST or written is written_by_fastzarr:
            assert ("consolidated_metadata" in below) == members


def test_mode_w_of_open(tmp_path: Path) -> None:
    with pytest.raises(TypeError, match="shape"):
        zarr.open(tmp_path / "a", mode="w-")
    assert isinstance(fastzarr.open(tmp_path / "b", mode="w-"), fastzarr.Group)
    assert isinstance(fastzarr.open_group(tmp_path / "c", mode="w-"), fastzarr.Group)


def test_loading_of_groups(tmp_path: Path) -> None:
    fastzarr.save(tmp_path, x=np.arange(3), y=np.arange(2))
    with pytest.raises(NotImplementedError):
        zarr.load(tmp_path)
    loaded = fastzarr.load(tmp_path)
    assert {name: values.tolist() for name, values in loaded.items()} == {"x": [0, 1, 2], "y": [0, 1]}


def test_copying(tmp_path: Path) -> None:
    fastzarr.create_group(tmp_path / "a").create_array("g/x", data=np.arange(3), attributes={"unit": "K"})
    source, dest = zarr.open_group(tmp_path / "a"), zarr.create_group(tmp_path / "b")
    with pytest.raises(NotImplementedError):
        zarr.copy(source["g"], dest)
    with pytest.raises(NotImplementedError):
        zarr.copy_all(source, dest)
    with pytest.raises(NotImplementedError):
        zarr.copy_store(source.store, dest.store)
    fastzarr.copy(fastzarr.open_group(tmp_path / "a")["g"], fastzarr.open_group(tmp_path / "b"))
    fastzarr.copy_all(fastzarr.open_group(tmp_path / "a"), fastzarr.create_group(tmp_path / "c"))
    fastzarr.copy_store(tmp_path / "a", tmp_path / "d")
    for copied in "bcd":
        array = zarr.open_array(tmp_path / copied, path="g/x", mode="r")
        assert (np.asarray(array[...]).tolist(), array.attrs["unit"]) == ([0, 1, 2], "K")


def test_the_fill_value_of_from_array() -> None:
    source = zarr.create_array(MemoryStore(), shape=4, dtype="i4", fill_value=7)
    if OLDEST:
        assert zarr.from_array(MemoryStore(), data=source).fill_value == 0
    assert fastzarr.from_array({}, data=ours(dtype="i4", fill_value=7)).fill_value == 7


@pytest.mark.filterwarnings("ignore")
def test_order_in_v3() -> None:
    arguments: dict[str, Any] = {"shape": (2, 3), "order": "F"}
    assert theirs(**arguments)[...].flags.c_contiguous
    assert ours(**arguments)[...].flags.f_contiguous
    assert ours(shape=(2, 3), config={"order": "F"})[...].flags.f_contiguous


NO_COMPRESSOR = {"compressor": None, "order": "C"}


def test_filters_of_v2_arrays() -> None:
    arguments = {"dtype": "i4", "zarr_format": 2, "filters": [numcodecs.Delta(dtype="<i4")]}
    with_filter = ours(**arguments, compressors=numcodecs.Zstd())
    assert theirs(**arguments).filters == (numcodecs.Delta(dtype="<i4"),)
    (codec,) = with_filter.filters
    assert codec.config() == {"filters": [{"id": "delta", "dtype": "<i4", "astype": "<i4"}]} | NO_COMPRESSOR
    assert with_filter.compressors == (fastzarr.codecs.numcodecs.Zstd(),)
    assert "Compressors : (Zstd(level=" in str(with_filter.info)
    assert ours(**arguments, compressors=None).compressors == ()
    assert ours(zarr_format=2, compressors=numcodecs.Zstd()).compressors == (fastzarr.codecs.ZstdCodec(),)


def not_there(names: dict[Any, str]) -> None:
    twins = {zarr: fastzarr, zarr.Array: fastzarr.Array, zarr.Group: fastzarr.Group}
    for theirs_, text in names.items():
        for name in text.split():
            assert hasattr(theirs_, name)
            assert not hasattr(twins[theirs_], name)


@pytest.mark.skipif(not result_memory._COUNTED, reason="reference counts tell nothing here")
def test_memory_of_results(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(result_memory, "_blocks", [])
    shape = (2, 1 << 18)
    array = ours(shape=shape, chunks=shape)  # of one chunk: no other thread may still hold a result
    found, other = array[...], theirs(shape=shape)[...]
    assert isinstance(other, np.ndarray)
    assert (found.base.dtype, found.base.ndim) == ("u1", 1)
    assert other.base is None or other.base.dtype == "f4"
    place = found.ctypes.data
    del found
    assert [array[...].ctypes.data for _ in range(3)] == [place] * 3
    assert len(result_memory._blocks) == 1


def test_asynchronous_twins() -> None:
    not_there({zarr: "AsyncArray AsyncGroup", zarr.Array: "async_array"})


def test_settings_of_the_library() -> None:
    not_there({zarr: "config"})


def test_names_deprecated_by_zarr_python() -> None:
    not_there({zarr.Array: "compressor"})
    if OLDEST:
        not_there({zarr.Group: "create_dataset require_dataset array"})


def test_places_of_nodes() -> None:
    not_there({zarr.Group: "store_path", zarr.Array: "store_path"})


@pytest.mark.filterwarnings("ignore")
def test_records_in_v3(tmp_path: Path) -> None:
    fastzarr.create_array(tmp_path, data=np.array([(1, 2.5)], [("i", "<i4"), ("f", "<f8")]))
    assert json.loads((tmp_path / "zarr.json").read_bytes())["data_type"]["name"] == "struct"
    if OLDEST:
        with pytest.raises(ValueError, match="No Zarr data type found"):
            zarr.open_array(tmp_path)
    else:
        assert np.asarray(zarr.open_array(tmp_path)[...]).tolist() == [(1, 2.5)]
