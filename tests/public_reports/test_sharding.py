"""Shards, their indices and their inner chunks: as reported elsewhere."""

import itertools
import json
import struct
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorstore as ts
import zarr
from oracle import assert_same, read_by_tensorstore, read_by_zarr, values

import fastzarr
from fastzarr import chunk_io
from fastzarr.codecs import Crc32cCodec
from fastzarr.errors import ChunkError

ABSENT = 2**64 - 1
LOCATIONS = pytest.mark.parametrize("location", ["start", "end"])


def bytes_codec(endian: str = "little") -> dict[str, Any]:
    return {"name": "bytes", "configuration": {"endian": endian}}


CRC: dict[str, Any] = {"name": "crc32c"}
ZSTD: dict[str, Any] = {"name": "zstd", "configuration": {"level": 1, "checksum": False}}
TRANSPOSE: dict[str, Any] = {"name": "transpose", "configuration": {"order": [1, 0]}}


def sharding(
    chunk_shape: list[int],
    codecs: list[Any],
    index_codecs: list[Any] | None = None,
    location: str = "end",
) -> dict[str, Any]:
    configuration = {
        "chunk_shape": chunk_shape,
        "codecs": codecs,
        "index_codecs": [bytes_codec(), CRC] if index_codecs is None else index_codecs,
        "index_location": location,
    }
    return {"name": "sharding_indexed", "configuration": configuration}


def write_document(
    root: Path, *, shape: Any, chunks: Any, codecs: list[Any], dtype: str = "uint16", fill_value: Any = 0
) -> Path:
    document = {
        "zarr_format": 3,
        "node_type": "array",
        "shape": list(shape),
        "data_type": dtype,
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": list(chunks)}},
        "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}},
        "fill_value": fill_value,
        "codecs": codecs,
    }
    root.mkdir(parents=True)
    (root / "zarr.json").write_text(json.dumps(document))
    return root


def index_of(
    shard: bytes, count: int, *, location: str = "end", endian: str = "little", checksum: bool = True
) -> list[tuple[int, int]]:
    """Offset and size of each inner chunk, from the shard's bytes alone."""
    size = 16 * count + 4 * checksum
    index = shard[:size] if location == "start" else shard[-size:]
    return list(struct.iter_unpack("<QQ" if endian == "little" else ">QQ", index[: 16 * count]))


# zarr-python PR#2336, zarr-python#2302, manzt/zarrita.js PR#16, JuliaIO/Zarr.jl#241
@LOCATIONS
@pytest.mark.parametrize("writer", [zarr, fastzarr])
def test_offsets_count_from_the_start_of_the_shard_and_empty_chunks_are_marked(
    writer: Any, location: str, tmp_path: Path
) -> None:
    codecs = [sharding([2], [bytes_codec()], location=location)]
    root = write_document(tmp_path / "a", shape=[8], chunks=[8], codecs=codecs)
    data = np.array([0, 0, 1, 2, 0, 0, 3, 4], "u2")
    writer.open_array(root, mode="r+")[...] = data
    shard = (root / "c/0").read_bytes()
    first = 4 * 16 + 4 if location == "start" else 0
    absent = (ABSENT, ABSENT)
    assert index_of(shard, 4, location=location) == [absent, (first, 4), absent, (first + 4, 4)]
    assert shard[first:][:8] == np.array([1, 2, 3, 4], "<u2").tobytes()
    array = fastzarr.open_array(root)
    for part in (np.s_[...], np.s_[:2], np.s_[1:3], np.s_[3:7], np.s_[4:6], np.s_[7:]):
        assert_same(array[part], data[part])
    array[0] = 9
    data[0] = 9
    array[6:] = data[6:] = 0
    for read in (read_by_zarr, read_by_tensorstore):
        assert_same(read(root), data)
    entries = index_of((root / "c/0").read_bytes(), 4, location=location)
    assert [entry == absent for entry in entries] == [False, False, True, True]
    assert min(offset for offset, _ in entries) == first


# manzt/zarrita.js#426
@LOCATIONS
@pytest.mark.parametrize("endian", ["little", "big"])
@pytest.mark.parametrize("checksum", [True, False])
@pytest.mark.parametrize("writer", [zarr, fastzarr])
def test_an_index_is_as_long_as_its_codecs_make_it(
    writer: Any, checksum: bool, endian: str, location: str, tmp_path: Path
) -> None:
    index_codecs = [bytes_codec(endian), *[CRC] * checksum]
    codecs = [sharding([2, 2], [bytes_codec()], index_codecs, location)]
    root = write_document(tmp_path / "a", shape=[4, 6], chunks=[4, 6], codecs=codecs)
    data = np.arange(1, 25, dtype="u2").reshape(4, 6)
    writer.open_array(root, mode="r+")[...] = data
    shard = (root / "c/0/0").read_bytes()
    assert len(shard) == data.nbytes + 16 * 6 + 4 * checksum
    entries = index_of(shard, 6, location=location, endian=endian, checksum=checksum)
    for (offset, size), (row, column) in zip(entries, itertools.product(range(2), range(3)), strict=True):
        inner = data[2 * row :, 2 * column :][:2, :2]
        assert shard[offset : offset + size] == inner.tobytes()
    array = fastzarr.open_array(root)
    assert_same(array[...], data)
    assert_same(array[1:3, 5], data[1:3, 5])
    array[3, 1:4] = data[3, 1:4] = 99
    for read in (read_by_zarr, read_by_tensorstore):
        assert_same(read(root), data)


# zarr-python#3652, PR#3655
@LOCATIONS
@pytest.mark.parametrize("writer", [zarr, fastzarr])
@pytest.mark.filterwarnings("ignore:Combining a `sharding_indexed` codec")
def test_shards_in_shards(writer: Any, location: str, tmp_path: Path) -> None:
    inner = sharding([2, 3], [bytes_codec(), ZSTD], location=location)
    codecs = [sharding([4, 6], [inner], location="end")]
    root = write_document(tmp_path / "a", shape=[24, 12], chunks=[8, 12], codecs=codecs, fill_value=7)
    expected = np.full((24, 12), 7, "u2")
    array = writer.open_array(root, mode="r+")
    for part in (np.s_[:8], np.s_[16:, :6]):  # the middle shard is missing, and shards within the last
        array[part] = expected[part] = values(expected[part].shape, "u2")
    assert not (root / "c/1").exists()
    ours = fastzarr.open_array(root)
    for part in (np.s_[...], np.s_[7:17], np.s_[3:5, 5:7], np.s_[23, 11], np.s_[8:16], np.s_[::5, ::4]):
        assert_same(ours[part], expected[part])
    ours[9:18, 4:7] = expected[9:18, 4:7] = 55
    ours[0, 0] = expected[0, 0] = 7
    assert_same(fastzarr.open_array(root)[...], expected)
    assert_same(read_by_tensorstore(root), expected)
    assert_same(read_by_zarr(root), expected)


# zarr-python#2050, google/tensorstore#294
@pytest.mark.parametrize(
    ("writer", "inner"),
    [("fastzarr", [16, 5]), ("tensorstore", [16, 5]), ("fastzarr", [16, 15]), ("zarr", [8, 5])],
)
@pytest.mark.filterwarnings("ignore:Combining a `sharding_indexed` codec")
def test_inner_chunks_of_a_transposed_shard_are_transposed(
    writer: str, inner: list[int], tmp_path: Path
) -> None:
    shape = (40, 40) if writer == "zarr" else (15, 32)  # zarr-python 3.1 takes them for not transposed
    codecs = [TRANSPOSE, sharding(inner, [bytes_codec(), ZSTD])]
    root = write_document(tmp_path / "a", shape=shape, chunks=shape, codecs=codecs)
    data = values(shape, "u2")
    if writer == "tensorstore":
        spec = {"driver": "zarr3", "kvstore": {"driver": "file", "path": f"{root}/"}}
        ts.open(spec, open=True).result().write(data).result()
    else:
        {"fastzarr": fastzarr, "zarr": zarr}[writer].open_array(root, mode="r+")[...] = data
    array = fastzarr.open_array(root)
    for part in (np.s_[...], np.s_[4:6], np.s_[:, 15:17], np.s_[14, 31], np.s_[::7, 3::9]):
        assert_same(array[part], data[part])
    array[4:11, 14:18] = data[4:11, 14:18] = 3
    assert_same(array[...], data)
    assert_same(read_by_tensorstore(root), data)
    if writer == "zarr":
        assert_same(read_by_zarr(root), data)


def put_index(shard: bytes, *entries: tuple[int, int]) -> bytes:
    size = 16 * len(entries) + 4
    return shard[:-size] + bytes(Crc32cCodec().encode(np.array(entries, "<u8").tobytes()))


# zarr-python PR#4203: an index that tells of the same bytes twice
@pytest.mark.parametrize(
    "entries",
    [
        [(0, 2), (0, 2), (4, 2), (6, 2)],
        [(0, 2), (1, 2), (4, 2), (6, 2)],
        [(0, 8), (2, 2), (4, 2), (6, 2)],
        [(2, 2), (1, 2), (4, 2), (ABSENT, ABSENT)],
        [(0, 2), (2, 2), (4, 2), (2**64 - 2, 4)],
    ],
)
@pytest.mark.parametrize("selection", [np.s_[...], np.s_[1:4], np.s_[::3]])
def test_inner_chunks_that_overlap_are_refused(entries: Any, selection: Any) -> None:
    store: dict[str, bytes] = {}
    array = fastzarr.create_array(store, shape=8, chunks=2, shards=8, dtype="u1", compressors=None)
    array[...] = np.arange(1, 9)
    store["c/0"] = put_index(store["c/0"], *entries)
    with pytest.raises(ChunkError, match="c/0"):
        array[selection]
    before = dict(store)
    with pytest.raises(ChunkError, match="c/0"):
        array[1] = 1
    assert store == before


# zarr-python PR#4203: the order of inner chunks in the shard is the writer's choice
def test_inner_chunks_in_any_order_are_read_and_kept() -> None:
    store: dict[str, bytes] = {}
    array = fastzarr.create_array(store, shape=8, chunks=2, shards=8, dtype="u1", compressors=None)
    array[...] = 1
    content = bytes([5, 6, 255, 1, 2, 7, 8, 3, 4])  # with a byte between that belongs to none
    shard = content + bytes(16 * 4 + 4)
    store["c/0"] = put_index(shard, (3, 2), (7, 2), (0, 2), (5, 2))
    expected = np.arange(1, 9, dtype="u1")
    for selection in (np.s_[...], np.s_[1:4], np.s_[::3], np.s_[6:]):
        assert_same(array[selection], expected[selection])
    array[2] = expected[2] = 100
    assert_same(fastzarr.open_array(store)[...], expected)


# zarr-python#2018
@pytest.mark.parametrize("shape", [(16,), (10, 14), (7, 5, 6)])
def test_sharded_is_unsharded_is_numpy(shape: tuple[int, ...]) -> None:
    rank = len(shape)
    options: dict[str, Any] = {"shape": shape, "chunks": (2,) * rank, "dtype": "i4"}
    sharded = fastzarr.create_array(None, shards=(4,) * rank, **options)
    plain = fastzarr.create_array(None, **options)
    data = values(shape, "i4")
    sharded[...] = plain[...] = data
    items = [2, -1, np.int64(1), slice(None), slice(1, 4), slice(3, None, 2), slice(0, 0), slice(2, 3)]
    for selection in itertools.islice(itertools.product(items, repeat=rank), 600):
        assert_same(sharded[selection], data[selection])
        assert_same(plain[selection], data[selection])
    assert_same(sharded[..., 1], data[..., 1])
    assert_same(sharded[1, ...], data[1, ...])


# zarr-python#3479, #3422: half of the chunks of `data` were written
@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_all_of_data_is_written_to_shards(dtype: str, tmp_path: Path) -> None:
    data = np.ones((2000, 2000), dtype)
    array = fastzarr.create_array(
        *(tmp_path,), data=data, chunks=(1000, 1000), shards=(2000, 1000), fill_value=np.nan, compressors=None
    )
    assert not np.isnan(array[...]).any()
    assert not np.isnan(read_by_zarr(tmp_path)).any()


# zarr-python#3169, earth-mover/icechunk#1019: races between the writers of shards
@pytest.mark.parametrize("threads", ["1", "4"])
def test_shards_written_again_and_again_are_whole(
    threads: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(chunk_io.THREADS_VARIABLE, threads)
    data = np.arange(1, 1002, dtype="i4")

    def write(number: int) -> None:
        root = tmp_path / str(number % 8)
        with places[number % 8]:
            array = fastzarr.create_array(root, data=data, chunks=10, shards=100, overwrite=True)
            np.testing.assert_array_equal(array[...], data)

    places = [threading.Lock() for _ in range(8)]
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(write, range(200)))
    np.testing.assert_array_equal(read_by_zarr(tmp_path / "0"), data)


# acquire-project/acquire-zarr#159, #158
@LOCATIONS
@pytest.mark.parametrize("frames", [1, 5, 7, 8])
def test_a_last_shard_that_is_not_full_has_an_index(frames: int, location: str, tmp_path: Path) -> None:
    data = np.arange(1, 1 + frames * 12, dtype="u2").reshape(frames, 3, 4)
    codecs = [sharding([1, 3, 4], [bytes_codec()], location=location)]
    root = write_document(tmp_path / "a", shape=data.shape, chunks=[4, 3, 4], codecs=codecs)
    array = fastzarr.open_array(root)
    for number, frame in enumerate(data):
        array[number] = frame
    last = (frames - 1) // 4
    shard = (root / f"c/{last}/0/0").read_bytes()
    index = shard[: 4 * 16 + 4] if location == "start" else shard[-(4 * 16 + 4) :]
    assert Crc32cCodec().encode(index[:-4]) == index
    entries = index_of(shard, 4, location=location)
    filled = frames - 4 * last
    assert [offset != ABSENT for offset, _ in entries] == [True] * filled + [False] * (4 - filled)
    for read in (read_by_zarr, read_by_tensorstore):
        assert_same(read(root), data)
    assert_same(zarr.open_array(root, mode="r")[frames - 1], data[-1])


# acquire-project/acquire-zarr#159, #158: what it writes
@pytest.mark.parametrize("frames", [1, 6, 8])
def test_shards_of_a_stream_that_ended_early_are_read(frames: int, tmp_path: Path) -> None:
    az = pytest.importorskip("acquire_zarr")
    time, space = az.DimensionType.TIME, az.DimensionType.SPACE
    dimensions = [
        az.Dimension(name="t", kind=time, array_size_px=0, chunk_size_px=2, shard_size_chunks=2),
        az.Dimension(name="y", kind=space, array_size_px=6, chunk_size_px=3, shard_size_chunks=2),
        az.Dimension(name="x", kind=space, array_size_px=10, chunk_size_px=4, shard_size_chunks=1),
    ]
    settings = az.ArraySettings(output_key="a", data_type=np.dtype("u2"), dimensions=dimensions)
    stream = az.ZarrStream(
        az.StreamSettings(store_path=str(tmp_path / "s"), arrays=[settings], overwrite=True)
    )
    data = np.arange(frames * 60, dtype="u2").reshape(frames, 6, 10)
    stream.append(data)
    stream.close()
    array = fastzarr.open_array(tmp_path / "s" / "a")
    assert_same(array[:frames], data)
    assert_same(array[frames - 1, 2:5, 3:9], data[-1, 2:5, 3:9])
