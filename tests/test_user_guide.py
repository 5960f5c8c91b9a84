"""What the user guide of zarr-python shows, done with `zarr` and with `fastzarr` as `zarr`, alike."""

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import zarr as zarr_python
from oracle import documents, files

import fastzarr

Script = Callable[[Any, Path, Any], Any]
"""Takes the library, an empty directory and a format; returns what is to be compared."""

SCRIPTS: list[Script] = []


def script(function: Script) -> Script:
    SCRIPTS.append(function)
    return function


@script
def arrays_are_made_written_and_read(zarr: Any, root: Path, zarr_format: Any) -> Any:
    z = zarr.create_array(
        store=str(root / "z.zarr"), shape=(40, 30), chunks=(10, 10), dtype="int32", zarr_format=zarr_format
    )
    z[:] = 42
    z[0, :] = np.arange(30)
    z[:, 0] = np.arange(40)
    return [
        z.shape,
        z.chunks,
        z.dtype.str,
        z.ndim,
        z.size,
        z.nbytes,
        z[0, 0],
        z[-1, -1],
        z[0, :],
        z[:, 0],
        z[:],
    ]


@script
def arrays_are_opened_again(zarr: Any, root: Path, zarr_format: Any) -> Any:
    first = zarr.open(
        store=str(root / "z"), mode="w", shape=(20, 20), chunks=(7, 8), dtype="f8", zarr_format=zarr_format
    )
    first[...] = np.arange(400.0).reshape(20, 20)
    again = zarr.open_array(str(root / "z"), mode="r")
    also = zarr.open(str(root / "z"), mode="r+")
    also[3:5] = -1
    return [np.all(first[:] == again[:]), again[2:6, ::3], zarr.load(str(root / "z"))[4]]


@script
def arrays_are_saved_and_loaded(zarr: Any, root: Path, zarr_format: Any) -> Any:
    a, b = np.arange(10, dtype="u2"), np.linspace(0, 1, 5)
    zarr.save(str(root / "one"), a, zarr_format=zarr_format)
    zarr.save(str(root / "many"), x=a, y=b, zarr_format=zarr_format)
    zarr.save(str(root / "numbered"), a, b, zarr_format=zarr_format)
    zarr.save_array(str(root / "array"), b, zarr_format=zarr_format)
    zarr.save_group(str(root / "group"), a, named=b, zarr_format=zarr_format)
    groups = [zarr.open_group(str(root / name), mode="r") for name in ("many", "numbered", "group")]
    return [
        zarr.load(str(root / "one")),
        zarr.load(str(root / "array")),
        [sorted((name, node[name][:].tolist()) for name in node) for node in groups],
    ]


@script
def arrays_grow_and_shrink(zarr: Any, root: Path, zarr_format: Any) -> Any:
    z = zarr.create_array(root, data=np.arange(24).reshape(4, 6), chunks=(3, 3), zarr_format=zarr_format)
    facts: list[Any] = [z.append(np.full((2, 6), 7)), z[:]]
    facts += [z.append(np.zeros((6, 1), int), axis=1), z[:]]
    z.resize((8, 3))
    facts += [z.shape, z[:], z.nchunks, z.nchunks_initialized]
    z.resize((2, 2))
    return [*facts, z[:], z.nchunks_initialized]


@script
def arrays_of_one_value_and_like_others(zarr: Any, root: Path, zarr_format: Any) -> Any:
    made = [
        zarr.zeros((4, 5), chunks=(2, 2), dtype="i4", store=root / "zeros", zarr_format=zarr_format),
        zarr.ones(3, store=root / "ones", zarr_format=zarr_format),
        zarr.full((2, 2), 9, dtype="u1", store=root / "full", zarr_format=zarr_format),
        zarr.array(np.eye(3), chunks=(2, 2), store=root / "array", zarr_format=zarr_format),
    ]
    made += [
        zarr.zeros_like(made[2], store=root / "0", zarr_format=zarr_format),
        zarr.ones_like(made[0], store=root / "1", zarr_format=zarr_format),
    ]
    made += [zarr.full_like(made[0], fill_value=3, store=root / "3", zarr_format=zarr_format)]
    return [(z.shape, z.dtype.str, z[...]) for z in made]


@script
def attributes_are_set_read_and_removed(zarr: Any, root: Path, zarr_format: Any) -> Any:
    group = zarr.create_group(root, zarr_format=zarr_format)
    group.attrs["foo"] = "bar"
    z = group.create_array("zzz", shape=(10, 10), dtype="int32")
    z.attrs["baz"] = 42
    z.attrs["qux"] = [1, 4, 7, 12]
    z.attrs.update({"more": {"a": None}, "flag": True})
    del z.attrs["baz"]
    group.update_attributes({"x": 1})
    z = z.update_attributes({"last": 1.5})
    again = zarr.open_group(root, mode="r")
    facts = [sorted(z.attrs), "foo" in group.attrs, "baz" in z.attrs, len(z.attrs), dict(again.attrs)]
    z.attrs.put({"only": 1})
    return [*facts, again["zzz"].attrs.asdict(), zarr.open_array(root, path="zzz").attrs["only"]]


@script
def groups_are_nested(zarr: Any, root: Path, zarr_format: Any) -> Any:
    top = zarr.group(store=str(root), zarr_format=zarr_format)
    foo = top.create_group("foo")
    bar = foo.create_group("bar")
    z1 = bar.create_array(name="baz", shape=(20, 20), chunks=(10, 10), dtype="int32")
    z1[2:4] = 5
    bar.require_array("baz", shape=(20, 20), dtype="int32")
    top.require_group("foo/quux")
    members = top.members(max_depth=None)
    return [
        [z1.name, z1.path, z1.basename, bar.name, top["foo/bar/baz"].shape, top["foo"]["bar"]["baz"][3, 3]],
        sorted(path for path, _ in members),
        ["foo" in top, "foo/bar/baz" in top, "nothing" in top, len(foo), list(top), sorted(foo.keys())],
        sorted(name for name, _ in foo.groups()),
        [name for name, _ in bar.arrays()],
        [foo.nmembers(), top.nmembers(max_depth=None)],
    ]


@script
def members_are_deleted(zarr: Any, root: Path, zarr_format: Any) -> Any:
    top = zarr.create_group(root, zarr_format=zarr_format)
    for name in ("a", "b", "c/d"):
        top.create_array(name, data=np.arange(3))
    del top["a"]
    del top["c"]
    return [list(top), len(top), sorted(key for key in files(root) if not key.startswith("b"))]


@script
def metadata_is_consolidated(zarr: Any, root: Path, zarr_format: Any) -> Any:
    top = zarr.create_group(root, zarr_format=zarr_format)
    top.create_array("a", shape=(1,), dtype="float64")
    child = top.create_group("child", attributes={"kind": "child"})
    child.create_group("grand").create_array("x", shape=(2, 2), dtype="i1", chunks=(1, 2))
    zarr.consolidate_metadata(root, zarr_format=zarr_format)
    again = zarr.open_group(root, mode="r")
    plain = zarr.open_group(root, mode="r", use_consolidated=False)
    top.create_array("late", shape=1, dtype="i1")
    return [
        sorted(path for path, _ in again.members(max_depth=None)),
        sorted(path for path, _ in plain.members(max_depth=None)),
        [group.metadata.consolidated_metadata is None for group in (again, plain)],
        sorted(zarr.open_consolidated(root)),
        again["child/grand"]["x"].chunks,
        dict(again["child"].attrs),
    ]


@script
def selections_of_many_kinds(zarr: Any, root: Path, zarr_format: Any) -> Any:
    z = zarr.create_array(root, data=np.arange(100).reshape(10, 10), chunks=(3, 4), zarr_format=zarr_format)
    z.set_coordinate_selection(([0, 2], [1, 9]), [-1, -2])
    z.set_orthogonal_selection(([4, 5], [0, 3]), 77)
    z.vindex[[7, 8], [7, 8]] = -5
    z.blocks[1, 1] = 11
    mask = np.zeros((10, 10), bool)
    mask[1, 2] = mask[9, 9] = True
    return [
        z[:],
        z.get_coordinate_selection(([0, 1, 2], [3, 4, 5])),
        z.vindex[[0, 2], [1, 9]],
        z.oindex[[0, 4], 2:5],
        z.oindex[:, np.arange(10) % 2 == 0],
        z.get_mask_selection(mask),
        z.get_basic_selection((slice(2, 5), 3)),
        z.blocks[0],
        z.get_block_selection((1, slice(0, 2))),
    ]


@script
def stores_of_many_kinds(zarr: Any, root: Path, zarr_format: Any) -> Any:
    found = []
    memory: dict[str, Any] = {}
    for store in (str(root / "text"), root / "path", memory, zarr.storage.LocalStore(root / "local")):
        zarr.create_array(store, name="g/a", data=np.arange(5), zarr_format=zarr_format)
        found.append(zarr.open_group(store, mode="r")["g/a"][:])
    kept = zarr.storage.MemoryStore()
    zarr.create_group(kept, zarr_format=zarr_format).create_array("x", data=np.ones(2))
    archive = zarr.storage.ZipStore(root / "all.zip", mode="w")
    zarr.create_array(archive, data=np.arange(6), chunks=(4,), zarr_format=zarr_format)
    archive.close()
    opened = zarr.storage.ZipStore(root / "all.zip", mode="r")
    found.append(zarr.open_array(opened, mode="r")[:])
    opened.close()
    (root / "all.zip").unlink()  # it has the time of its writing
    return [*found, zarr.open_group(kept)["x"][:], sorted(memory)]


@script
def chunks_order_and_empty_chunks(zarr: Any, root: Path, zarr_format: Any) -> Any:
    options = {"dtype": "i4", "fill_value": 0, "zarr_format": zarr_format, "compressors": None}
    facts: list[Any] = []
    for write_empty_chunks in (True, False):
        z = zarr.create_array(
            root / str(write_empty_chunks),
            shape=(40, 40),
            chunks=(10, 40),
            config={"write_empty_chunks": write_empty_chunks},
            **options,
        )
        z[:] = 0
        facts.append(z.nchunks_initialized)
        z[:15] = np.arange(600).reshape(15, 40)
        facts.append((z.nchunks_initialized, z.nbytes_stored() > 15 * 160))
    whole = zarr.create_array(root / "whole", shape=(7, 9), chunks=(7, 9), **options)
    ordered = zarr.create_array(root / "F", shape=(4, 6), chunks=(2, 3), config={"order": "F"}, **options)
    ordered[:] = np.arange(24).reshape(4, 6)
    return [*facts, whole.nchunks, ordered.order, ordered[:].flags.f_contiguous, ordered[:]]


@script
def compressors_are_chosen(zarr: Any, root: Path, zarr_format: Any) -> Any:
    import numcodecs

    data = np.arange(1000, dtype="i4").reshape(50, 20)
    if zarr_format == 2:
        chosen: list[Any] = [numcodecs.Zstd(3), numcodecs.Blosc("lz4", 5, 1), numcodecs.GZip(5), None]
    else:
        v3 = zarr_python.codecs
        chosen = [v3.ZstdCodec(level=3), v3.BloscCodec(cname="lz4", clevel=5), v3.GzipCodec(level=5), None]
    found = []
    for number, compressor in enumerate(chosen):
        given = {"compressors": compressor, "zarr_format": zarr_format, "chunks": (10, 20)}
        z = zarr.create_array(root / str(number), data=data, **given)
        found.append((z[:], len(z.compressors)))
    return found


@script
def shards_hold_many_chunks(zarr: Any, root: Path, zarr_format: Any) -> Any:
    if zarr_format == 2:
        return None
    z = zarr.create_array(root, shape=(40, 30), shards=(20, 20), chunks=(5, 10), dtype="u1")
    z[:] = (np.arange(1200) % 251).reshape(40, 30)
    z[3:9, 11:25] = 0
    return [z.chunks, z.shards, z[:], z.nchunks]


@script
def a_hierarchy_from_metadata(zarr: Any, root: Path, zarr_format: Any) -> Any:
    top = zarr.create_group(root / "source", zarr_format=zarr_format, attributes={"top": 1})
    top.create_group("a/b", attributes={"deep": True}).create_array("x", shape=(3,), dtype="i2")
    nodes = {path: node.metadata for path, node in top.members(max_depth=None)}
    store = zarr.storage.LocalStore(root / "copy")
    made = dict(zarr.create_hierarchy(store=store, nodes={"": top.metadata, **nodes}))
    again = zarr.open_group(root / "copy", mode="r")
    below = zarr.create_group(root / "other", zarr_format=zarr_format).create_hierarchy(nodes)
    return [
        sorted(made),
        sorted(path for path, _ in again.members(max_depth=None)),
        again["a/b/x"].shape,
        again.attrs["top"],
        sorted(path for path, _ in below),
    ]


@script
def text_and_times(zarr: Any, root: Path, zarr_format: Any) -> Any:
    words = zarr.create_array(root / "words", shape=(4,), chunks=(2,), dtype="str", zarr_format=zarr_format)
    words[:3] = np.array(["one", "zwei", "三"], dtype=np.dtypes.StringDType())
    days = np.array(["2020-01-01", "NaT", "1969-12-31"], "M8[D]")
    times = zarr.create_array(root / "days", data=days, zarr_format=zarr_format)
    return [words[:].tolist(), times[:].tolist(), times.dtype.str]


@script
def handles_are_pickled(zarr: Any, root: Path, zarr_format: Any) -> Any:
    import pickle

    top = zarr.create_group(root, zarr_format=zarr_format)
    z = top.create_array("z", data=np.arange(7))
    again, group = pickle.loads(pickle.dumps((z, top)))
    again[0] = 100
    return [z[:], list(group), again == z]


def comparable(result: Any) -> Any:
    """Arrays as lists, scalars of NumPy as those of Python."""
    if isinstance(result, list | tuple):
        return [comparable(entry) for entry in result]
    return result.tolist() if isinstance(result, np.ndarray | np.generic) else result


@pytest.mark.parametrize("zarr_format", [2, 3])
@pytest.mark.parametrize("do", SCRIPTS, ids=lambda do: do.__name__)
def test_scripts(do: Script, zarr_format: int, tmp_path: Path) -> None:
    found = {}
    for library in (zarr_python, fastzarr):
        root = tmp_path / library.__name__
        root.mkdir()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore" if library is zarr_python else "error")
            result = comparable(do(library, root, zarr_format))
        found[library.__name__] = (result, documents(files(root)).keys())
    assert found["fastzarr"] == found["zarr"]
