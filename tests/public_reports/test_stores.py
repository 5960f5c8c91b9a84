"""Names, links, archives, failing stores, and what others make of our defaults: as reported elsewhere."""

import itertools
import pickle
import warnings
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorstore as ts
import zarr
from oracle import assert_same, files, read_by_tensorstore, values

import fastzarr
from fastzarr.errors import ChunkNotFoundError, KeyNameError, StoreError
from fastzarr.storage import ZipStore

SHARDED = pytest.mark.parametrize("sharded", [False, True], ids=["chunks", "shards"])

NUMBERS = (
    *("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
    *("float16", "float32", "float64", "complex64", "complex128"),
)


class FailingStore(fastzarr.MemoryStore):
    """Its reads of chunks fail, as a network's do."""

    failing = False
    snapshot: Any = None

    def _fail(self, key: str) -> None:
        if self.failing and key.startswith("c/"):
            raise StoreError(f"{key!r}: 503 Service Unavailable")

    def get(self, key: str) -> Any:
        self._fail(key)
        return super().get(key)

    def get_into(self, key: str, out: memoryview) -> int | None:
        self._fail(key)
        return super().get_into(key, out)

    def get_range(self, key: str, start: int, length: int) -> Any:
        self._fail(key)
        return super().get_range(key, start, length)


# zarr-python#486, PR#3748; pydata/xarray#9701
@SHARDED
@pytest.mark.parametrize("compressors", [None, "auto"])
def test_a_failed_read_is_no_missing_chunk(compressors: Any, sharded: bool) -> None:
    store = FailingStore()
    options: dict[str, Any] = {"shards": (4,)} if sharded else {}
    array = fastzarr.create_array(
        store, data=np.arange(1, 9), chunks=2, compressors=compressors, fill_value=-1, **options
    )
    stored = {key: store.get(key) for key in store.list_prefix("")}
    store.failing = True
    for selection in (np.s_[...], 1, np.s_[2:7], np.s_[::3]):
        with pytest.raises(StoreError, match="c/"):
            array[selection]
    with pytest.raises(StoreError, match="c/0"):
        array[1] = 5
    store.failing = False
    assert {key: store.get(key) for key in store.list_prefix("")} == stored
    store.erase("c/0")
    assert (array[:2] == -1).all()


# zarr-python#486, PR#3748; pydata/xarray#9701
@SHARDED
@pytest.mark.parametrize("compressors", [None, "auto"])
@pytest.mark.parametrize("zarr_format", [2, 3])
def test_missing_chunks_raise_where_asked_for(zarr_format: Any, compressors: Any, sharded: bool) -> None:
    store = fastzarr.MemoryStore()
    options: dict[str, Any] = {"shards": (4,)} if sharded and zarr_format == 3 else {}
    array = fastzarr.create_array(
        *(store,),
        name="a",
        shape=11,
        chunks=2,
        dtype="i4",
        compressors=compressors,
        fill_value=7,
        zarr_format=zarr_format,
        config={"read_missing_chunks": False},
        **options,
    )
    array[:4] = [1, 2, 3, 4]
    array[4] = 5  # the rest of a new chunk is the fill value
    last = {(2, False): "a/5", (3, False): "a/c/5", (3, True): "a/c/2"}[zarr_format, bool(options)]
    for opened in (array, pickle.loads(pickle.dumps(array)), array.with_config({"order": "F"})):
        np.testing.assert_array_equal(opened[:6], [1, 2, 3, 4, 5, 7])
        for selection in (-1, slice(10, 11), [0, 10]):
            with pytest.raises(ChunkNotFoundError, match=rf"chunk '{last}': is not stored; config") as caught:
                opened[selection]
            assert (caught.value.key, caught.value.kind) == (last, "chunk-not-found")
            assert isinstance(caught.value, ValueError)
        with pytest.raises(ChunkNotFoundError):
            opened[...]
    filled = array.with_config({"read_missing_chunks": True})
    np.testing.assert_array_equal(filled[...], [1, 2, 3, 4, 5, *[7] * 6])


# zarr-python#2357, PR#2384, PR#2850, PR#3926
@pytest.mark.parametrize("zarr_format", [2, 3])
def test_no_name_leads_out_of_the_store(zarr_format: Any, tmp_path: Path) -> None:
    root = tmp_path / "parent" / "store"
    for name in ("/foo", "a//b", "a\\c", "/d/e/", "0..0", "...", "..a", "a.."):
        fastzarr.create_array(root, name=name, data=np.arange(3), zarr_format=zarr_format)
    document = "zarr.json" if zarr_format == 3 else ".zarray"
    for path in ("foo", "a/b", "a/c", "d/e", "0..0", "...", "..a", "a.."):
        assert (root / path / document).is_file()
    before = files(tmp_path)
    parts = ["..", ".", "x", "..\\x", "/.."]
    calls = (
        lambda name: fastzarr.create_array(root, name=name, shape=1, dtype="i4", overwrite=True),
        lambda name: fastzarr.create(1, store=root, path=name, overwrite=True),
        lambda name: fastzarr.open_array(root, path=name, mode="w", shape=1),
        lambda name: fastzarr.open_array(root, path=name, mode="r"),
    )
    for name in {"/".join(names) for names in itertools.product(parts, repeat=2)} - {"x/x"}:
        for call in calls:
            with pytest.raises(KeyNameError) as caught:
                call(name)
            assert isinstance(caught.value, ValueError)
    assert files(tmp_path) == before
    assert sorted(path.name for path in (tmp_path / "parent").iterdir()) == ["store"]


# symbolic links: a root that is one, a chunk that is one, and one that leads back
@SHARDED
def test_links(sharded: bool, tmp_path: Path) -> None:
    real = tmp_path / "real"
    options: dict[str, Any] = {"shards": (4,)} if sharded else {}
    fastzarr.create_array(real, data=np.arange(1, 9), chunks=2, **options)
    (tmp_path / "link").symlink_to("real")
    array = fastzarr.open_array(tmp_path / "link")
    assert array == fastzarr.open_array(real)
    (real / "kept").mkdir()
    (real / "c" / "0").rename(real / "kept" / "0")
    (real / "c" / "0").symlink_to("../kept/0")
    old = (real / "kept" / "0").read_bytes()
    np.testing.assert_array_equal(array[...], np.arange(1, 9))
    assert array[1] == 2
    array[0] = 100
    assert not (real / "c" / "0").is_symlink(), "the link is replaced"
    assert (real / "kept" / "0").read_bytes() == old, "what it led to is as it was"
    assert array[0] == 100
    (real / "c" / "up").symlink_to("..")
    keys = list(itertools.islice(array.store.list_prefix(""), 1000))
    assert len(keys) < 100
    assert {"zarr.json", "c/0", "c/1", "kept/0"} <= set(keys)
    (real / "c" / "1").unlink()
    (real / "c" / "1").symlink_to("1")
    with pytest.raises(OSError, match="c/1"):
        array[...]


def pack(path: Path, root: Path, *, within: str, directories: bool) -> None:
    """As `zip -r` in the directory itself or in the one above it, which has entries of directories."""
    with zipfile.ZipFile(path, "w") as archive:
        for found in sorted([root, *root.rglob("*")]):
            name = (Path(within) / found.relative_to(root)).as_posix()
            if name != "." and (directories or found.is_file()):
                archive.write(found, name)


# zarr-python#2758, #3846, #2807
@SHARDED
@pytest.mark.parametrize("within", ["", "data.zarr"])
@pytest.mark.parametrize("directories", [True, False])
@pytest.mark.parametrize("zarr_format", [2, 3])
def test_archives_packed_by_others(
    zarr_format: Any, directories: bool, within: str, sharded: bool, tmp_path: Path
) -> None:
    data = values((5, 7), "i4")
    options: dict[str, Any] = {"shards": (4, 6)} if sharded and zarr_format == 3 else {}
    zarr.create_group(tmp_path / "data.zarr", zarr_format=zarr_format).create_array(
        "a", data=data, chunks=(2, 3), **options
    )
    path = tmp_path / "packed.zip"
    pack(path, tmp_path / "data.zarr", within=within, directories=directories)
    prefix = f"{within}/" if within else ""
    with ZipStore(path) as store:
        assert list(store.list_dir(prefix + "a/")) != [], "listed before anything is read"
        listed = list(store.list_prefix(""))
        assert len(listed) == len(set(listed))
        assert not [key for key in listed if key.endswith("/")]
        array = fastzarr.open_array(store, path=prefix + "a", mode="r")
        assert_same(array[...], data)
        assert_same(array[1:4, 2], data[1:4, 2])
        copied = pickle.loads(pickle.dumps(array))
    assert_same(copied[...], data)


# zarr-python#2758: chunks written twice are in the archive twice
@pytest.mark.filterwarnings("ignore:Duplicate name:UserWarning")
@pytest.mark.parametrize("writer", ["fastzarr", "zarr"])
def test_the_last_of_entries_with_one_name_counts(writer: str, tmp_path: Path) -> None:
    path = tmp_path / "a.zip"
    if writer == "zarr":
        theirs = zarr.storage.ZipStore(path, mode="w")
        array: Any = zarr.create_array(theirs, shape=(6,), chunks=(3,), dtype="i4")
    else:
        theirs = ZipStore(path, mode="w")
        array = fastzarr.create_array(theirs, shape=6, chunks=3, dtype="i4")
    for number in range(1, 4):
        array[:] = number
    array[4:] = 9
    theirs.close()
    with ZipStore(path) as store:
        found = fastzarr.open_array(store, mode="r")
        np.testing.assert_array_equal(found[...], [3, 3, 3, 3, 9, 9])
    opened = zarr.open_array(zarr.storage.ZipStore(path, mode="r"), mode="r")
    np.testing.assert_array_equal(opened[...], [3, 3, 3, 3, 9, 9])


# OSGeo/gdal#13782, #13912; Unidata/netcdf-c#3214: documents that others can't read
@SHARDED
@pytest.mark.parametrize("zarr_format", [2, 3])
@pytest.mark.parametrize("dtype", NUMBERS)
def test_default_documents_are_read_by_others_without_a_warning(
    dtype: str, zarr_format: Any, sharded: bool, tmp_path: Path
) -> None:
    data = values((5, 7), dtype)
    options: dict[str, Any] = {"shards": (4, 6)} if sharded and zarr_format == 3 else {}
    fastzarr.create_array(tmp_path, data=data, chunks=(2, 3), zarr_format=zarr_format, **options)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert_same(np.asarray(zarr.open_array(tmp_path, mode="r")[...]), data)
        assert_same(read_by_tensorstore(tmp_path), data)
        spec = {
            "driver": "zarr3" if zarr_format == 3 else "zarr2",
            "kvstore": {"driver": "file", "path": f"{tmp_path}/"},
        }
        ts.open(spec, open=True).result()[0].write(data[0]).result()
        zarr.open_array(tmp_path, mode="r+")[4] = data[4]
    assert_same(fastzarr.open_array(tmp_path)[...], data)
