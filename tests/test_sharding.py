"""Shards: bytes as other libraries write them, what is fetched, what is kept, what is refused."""

import json
import struct
import tracemalloc
import warnings
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorstore as ts
import zarr
from hypothesis import given, settings
from hypothesis import strategies as st
from oracle import assert_same, read_by_tensorstore, read_by_zarr, values

import fastzarr
from fastzarr import errors
from fastzarr.codecs import BytesCodec, Crc32cCodec, GzipCodec, TransposeCodec, ZstdCodec
from fastzarr.sharding import ShardingCodec
from fastzarr.testing import strategies

ABSENT = 2**64 - 1


class CountingStore(fastzarr.MemoryStore):
    """Notes every range that is asked for."""

    range_gap = 1 << 20
    snapshot: Any = None

    def __init__(self) -> None:
        super().__init__()
        self.calls: list[Any] = []

    def get(self, key: str) -> Any:
        self.calls.append((key, None, None))
        return super().get(key)

    def get_range(self, key: str, start: int, length: int) -> Any:
        noted = [*self.calls, (key, start, length)]
        data = super().get_range(key, start, length)
        self.calls = noted
        return data

    def set(self, key: str, data: Any) -> None:
        self.calls.append((key, "set", len(data)))
        super().set(key, data)


def index_of(
    shard: bytes, counts: int, *, start: bool = False, checksum: bool = True
) -> list[tuple[int, int]]:
    size = 16 * counts + 4 * checksum
    index = shard[:size] if start else shard[-size:]
    return list(struct.iter_unpack("<QQ", index[: 16 * counts]))


@pytest.mark.parametrize("location", ["start", "end"])
@pytest.mark.parametrize("checksum", [True, False])
@pytest.mark.parametrize("endian", ["little", "big"])
@pytest.mark.parametrize("compressor", [None, "zstd", "gzip", "blosc"])
def test_both_ways_with_other_libraries(
    tmp_path: Path, location: str, checksum: bool, endian: str, compressor: str | None
) -> None:
    inner: list[dict[str, Any]] = [{"name": "bytes", "configuration": {"endian": endian}}]
    settings_of = {
        "zstd": {"level": 1, "checksum": True},
        "gzip": {"level": 1},
        "blosc": {"cname": "lz4", "clevel": 1, "shuffle": "shuffle", "typesize": 4, "blocksize": 0},
    }
    if compressor is not None:
        inner.append({"name": compressor, "configuration": settings_of[compressor]})
    index: list[dict[str, Any]] = [{"name": "bytes", "configuration": {"endian": endian}}]
    if checksum:
        index.append({"name": "crc32c"})
    configuration = {
        "chunk_shape": [3, 4],
        "codecs": inner,
        "index_codecs": index,
        "index_location": location,
    }
    document = {
        "zarr_format": 3,
        "node_type": "array",
        "shape": [14, 20],
        "data_type": "float32",
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [6, 8]}},
        "chunk_key_encoding": {"name": "default"},
        "fill_value": "NaN",
        "codecs": [{"name": "sharding_indexed", "configuration": configuration}],
    }
    data = values((14, 20), "f4")
    data[:6, :4] = np.float32("nan")
    for writer, reader in ((zarr, fastzarr), (fastzarr, zarr), (fastzarr, fastzarr)):
        root = tmp_path / f"{writer.__name__}-{reader.__name__}"
        root.mkdir()
        (root / "zarr.json").write_text(json.dumps(document))
        array = writer.open_array(root, mode="r+")
        array[...] = data
        array[2:9, 5] = 7
        expected = data.copy()
        expected[2:9, 5] = 7
        assert_same(reader.open_array(root, mode="r")[...], expected)
        assert_same(reader.open_array(root, mode="r")[3:13, 2:19], expected[3:13, 2:19])
        assert_same(read_by_tensorstore(root), expected)


def test_documents_are_those_of_zarr_python(tmp_path: Path) -> None:
    for library in (zarr, fastzarr):
        library.create_array(
            tmp_path / library.__name__, shape=(20, 30), chunks=(2, 3), shards=(10, 15), dtype="f8"
        )
    ours, theirs = ((tmp_path / name / "zarr.json").read_text() for name in ("fastzarr", "zarr"))
    assert json.loads(ours) == json.loads(theirs)


def test_bytes_of_a_shard() -> None:
    store: dict[str, bytes] = {}
    array = fastzarr.create_array(store, shape=6, chunks=1, shards=3, dtype="u1", compressors=None)
    array[:3] = [5, 0, 7]
    shard = store["c/0"]
    assert shard[:2] == bytes([5, 7])
    assert index_of(shard, 3) == [(0, 1), (ABSENT, ABSENT), (1, 1)]
    assert len(shard) == 2 + 3 * 16 + 4
    assert "c/1" not in store


def test_offsets_count_from_the_start_of_the_shard() -> None:
    store: dict[str, bytes] = {}
    array = fastzarr.create_array(
        store,
        shape=3,
        chunks=1,
        shards={"shape": (3,), "index_location": "start"},
        dtype="u1",
        compressors=None,
    )
    array[...] = [0, 6, 7]
    size = 3 * 16 + 4
    assert index_of(store["c/0"], 3, start=True) == [(ABSENT, ABSENT), (size, 1), (size + 1, 1)]
    assert store["c/0"][size:] == bytes([6, 7])


def test_a_partial_read_fetches_the_index_once_and_what_is_asked_for() -> None:
    store = CountingStore()
    array = fastzarr.create_array(
        store, shape=(8, 8), chunks=(2, 2), shards=(8, 8), dtype="u1", compressors=None
    )
    array[...] = values((8, 8), "u1") | 1
    store.calls.clear()
    size = 16 * 16 + 4
    array[0:2, 2:6]
    assert store.calls == [("c/0/0", -size, size), ("c/0/0", 4, 8)]


def test_near_ranges_are_merged_and_far_ones_are_not(monkeypatch: pytest.MonkeyPatch) -> None:
    store = CountingStore()
    megabyte = 1 << 20
    array = fastzarr.create_array(
        store, shape=8 * megabyte, chunks=megabyte, shards=8 * megabyte, dtype="u1", compressors=None
    )
    array[...] = 1
    store.calls.clear()
    picked = [0, 2, 7]
    for threads in ("1", "4"):
        monkeypatch.setenv("FASTZARR_THREADS", threads)
        store.calls.clear()
        array.oindex[[chunk * megabyte for chunk in picked]]
        last = megabyte + 8 * 16 + 4  # with the index behind it
        assert sorted(store.calls[1:]) == [("c/0", 0, 3 * megabyte), ("c/0", 7 * megabyte, last)]


def test_a_partial_write_keeps_the_bytes_of_untouched_inner_chunks() -> None:
    store: dict[str, bytes] = {}
    compressors = [ZstdCodec(level=19)]
    array = fastzarr.create_array(
        store, shape=400, chunks=100, shards=400, dtype="i4", compressors=compressors
    )
    array[...] = np.arange(400) % 7
    before = store["c/0"]
    kept = [before[offset : offset + size] for offset, size in index_of(before, 4)]
    other = fastzarr.open_array(store)
    other[105] = 1000
    after = store["c/0"]
    now = [after[offset : offset + size] for offset, size in index_of(after, 4)]
    assert [now[n] == kept[n] for n in range(4)] == [True, False, True, True]
    expected = np.arange(400) % 7
    expected[105] = 1000
    np.testing.assert_array_equal(array[...], expected)


def test_a_whole_shard_is_written_without_a_look_at_the_old_one() -> None:
    store = CountingStore()
    array = fastzarr.create_array(store, shape=5, chunks=2, shards=4, dtype="i4")
    store.set("c/0", b"junk")
    store.set("c/1", b"junk")
    store.calls.clear()
    array[...] = np.arange(1, 6)
    assert [call[:2] for call in sorted(store.calls)] == [("c/0", "set"), ("c/1", "set")]
    np.testing.assert_array_equal(array[...], np.arange(1, 6))


def test_a_shard_of_the_fill_value_is_erased_unless_empty_chunks_are_written() -> None:
    store: dict[str, bytes] = {}
    array = fastzarr.create_array(store, shape=8, chunks=2, shards=4, dtype="i4", fill_value=3)
    array[...] = 5
    array[:3] = 3
    assert index_of(store["c/0"], 2)[0] == (ABSENT, ABSENT)
    array[3] = 3
    assert "c/0" not in store
    np.testing.assert_array_equal(array[...], [3, 3, 3, 3, 5, 5, 5, 5])
    full = fastzarr.open_array(store, config={"write_empty_chunks": True})
    full[:4] = 3
    assert all(size != ABSENT for _, size in index_of(store["c/0"], 2))


def nested(outer: list[Any], inner: list[Any]) -> list[Any]:
    return [
        ShardingCodec(chunk_shape=(4, 4), codecs=(ShardingCodec(chunk_shape=(2, 1), codecs=inner), *outer))
    ]


CHAINS: dict[str, list[Any]] = {
    "nested": nested([], [BytesCodec(), ZstdCodec()]),
    "nested and compressed": nested([GzipCodec()], [BytesCodec()]),
    "checksum around": [ShardingCodec(chunk_shape=(4, 2)), Crc32cCodec()],
    "transposed": [TransposeCodec(order=(1, 0)), ShardingCodec(chunk_shape=(2, 8))],
    "transposed within": [
        ShardingCodec(chunk_shape=(4, 2), codecs=[TransposeCodec(order=(1, 0)), BytesCodec()])
    ],
}


@pytest.mark.parametrize("chain", CHAINS)
def test_chains_with_shards_in_them(tmp_path: Path, chain: str) -> None:
    array = fastzarr.create(
        store=tmp_path, shape=(15, 30), chunks=(8, 8), dtype="i2", codecs=CHAINS[chain], zarr_format=3
    )
    expected = np.zeros((15, 30), "i2")
    for part in (np.s_[...], np.s_[3:9, 7:20], np.s_[14], np.s_[:, 29], np.s_[::3, 1::5]):
        expected[part] = array[part] = values(expected[part].shape, "i2", seed=expected.sum() % 1000)
        assert_same(fastzarr.open_array(tmp_path)[...], expected)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Combining a `sharding_indexed` codec")
        assert_same(read_by_zarr(tmp_path), expected)
        zarr.open_array(tmp_path, mode="r+")[2:13, 3:28] = 11
    expected[2:13, 3:28] = 11
    if "around" not in chain and "compressed" not in chain:
        assert_same(read_by_tensorstore(tmp_path), expected)
    assert_same(array[...], expected)
    assert_same(array[4:9, 2], expected[4:9, 2])


def test_middle_shards_may_be_missing() -> None:
    array = fastzarr.create(
        store={},
        shape=(24, 8),
        chunks=(8, 8),
        dtype="i2",
        codecs=CHAINS["nested"],
        zarr_format=3,
        fill_value=9,
    )
    array[:4] = 1
    array[20:] = 2
    expected = np.full((24, 8), 9)
    expected[:4], expected[20:] = 1, 2
    np.testing.assert_array_equal(array[...], expected)


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_sharded_arrays_are_as_numpy(data: st.DataObject) -> None:
    shape = data.draw(strategies.shapes())
    chunks = tuple(data.draw(st.integers(1, 4)) for _ in shape)
    shards = tuple(chunk * data.draw(st.integers(1, 3)) for chunk in chunks)
    dtype = data.draw(strategies.dtypes())
    array = fastzarr.create_array({}, shape=shape, chunks=chunks, shards=shards, dtype=dtype, fill_value=1)
    expected = np.ones(shape, array.dtype)
    for _ in range(3):
        selection = data.draw(strategies.selections(shape))
        value = data.draw(strategies.arrays(dtype, expected[selection].shape))
        expected[selection] = array[selection] = value
        selection = data.draw(strategies.selections(shape))
        assert_same(array[selection], expected[selection])
    assert_same(array[...], expected)


@pytest.mark.parametrize("shape", [(0,), (3, 0), (0, 0, 2), ()])
def test_no_elements_and_no_dimensions(tmp_path: Path, shape: tuple[int, ...]) -> None:
    ones = (1,) * len(shape)
    array = fastzarr.create_array(tmp_path, shape=shape, chunks=ones, shards=ones, dtype="i4")
    array[...] = 4
    expected = np.full(shape, 4, "i4")
    assert_same(array[...], expected)
    assert_same(read_by_zarr(tmp_path), expected)
    assert [p.name for p in tmp_path.iterdir()] == (
        ["zarr.json"] if shape else ["c", "zarr.json"]
    ) or not shape


def test_writers_of_parts_of_a_shard_lose_nothing(tmp_path: Path) -> None:
    handles = [fastzarr.create_array(tmp_path, shape=(8, 40), chunks=(1, 5), shards=(8, 40), dtype="i4")]
    handles.append(fastzarr.open_array(tmp_path))
    with ThreadPoolExecutor(8) as pool:
        for turn in range(1, 26):

            def work(row: int, turn: int = turn) -> None:
                for column in range(0, 40, 10):
                    handles[row % 2][row, column : column + 10] = row * 1000 + turn

            list(pool.map(work, range(8)))
            expected = np.repeat(np.arange(8)[:, None] * 1000 + turn, 40, axis=1)
            np.testing.assert_array_equal(handles[0][...], expected)


def damaged(change: str) -> dict[str, bytes]:
    store: dict[str, bytes] = {}
    compressors = None if "inner" not in change else [Crc32cCodec()]
    array = fastzarr.create_array(store, shape=8, chunks=2, shards=8, dtype="u1", compressors=compressors)
    array[...] = np.arange(1, 9)
    shard = bytearray(store["c/0"])
    size = 4 * 16 + 4

    def put(*entries: tuple[int, int]) -> None:
        index = np.array(entries, "<u8").tobytes()
        shard[-size:] = bytes(Crc32cCodec().encode(index))

    match change:
        case "bit of the index":
            shard[-20] ^= 1
        case "bit of an inner chunk":
            shard[1] ^= 1
        case "truncated":
            del shard[3:]
        case "empty":
            shard.clear()
        case "one byte more":
            shard += b"x"
        case "content is shorter than the index tells":
            del shard[:2]
        case "overlap":
            put((0, 2), (1, 2), (4, 2), (6, 2))
        case "twice the same":
            put((0, 2), (0, 2), (4, 2), (6, 2))
        case "offset without size":
            put((0, 2), (2, ABSENT), (4, 2), (6, 2))
        case "beyond the shard":
            put((0, 2), (2, 2), (4, 2), (1000, 2))
        case "enormous":
            put((0, 2), (2, 2), (4, 2), (6, 2**63 + 5))
        case "inner chunk of another size":
            put((0, 2), (2, 1), (4, 2), (6, 2))
    store["c/0"] = bytes(shard)
    return store


CHANGES = (
    *("bit of the index", "bit of an inner chunk", "truncated", "empty", "one byte more", "overlap"),
    *("content is shorter than the index tells", "twice the same", "offset without size"),
    *("beyond the shard", "enormous", "inner chunk of another size"),
)


@pytest.mark.parametrize("change", CHANGES)
def test_damaged_shards_raise_and_name_the_key(change: str) -> None:
    store = damaged(change)
    before = dict(store)
    array = fastzarr.open_array(store)
    with pytest.raises(errors.ChunkError, match="c/0") as caught:
        array[...]
    assert caught.value.key == "c/0"
    if "inner" not in change:
        with pytest.raises(errors.ChunkError, match="c/0"):
            array[1:4] = 5
        assert store == before


@pytest.mark.parametrize(
    ("options", "match"),
    [
        (
            {"chunks": (3,), "shards": (10,)},
            r"shards: got \(10,\), expected multiples of the chunk shape \(3,\)",
        ),
        ({"chunks": (3,), "shards": (3, 3)}, r"shards: got \(3, 3\), expected multiples"),
        ({"chunks": (3,), "shards": (0,)}, r"shards: got \(0,\), expected multiples"),
        ({"chunks": (3,), "shards": "x"}, r"shards: got 'x', expected 'auto' or 1 integers"),
        ({"chunks": (3,), "shards": (6,), "zarr_format": 2}, "shards: expected nothing for zarr_format=2"),
    ],
)
def test_shards_that_can_not_be(options: dict[str, Any], match: str) -> None:
    store: dict[str, bytes] = {}
    with pytest.raises(errors.MetadataError, match=match):
        fastzarr.create_array(store, shape=12, dtype="i4", **options)
    assert not store


@pytest.mark.parametrize(
    ("change", "match"),
    [
        ({"chunk_shape": [3]}, r"chunk_shape: got \(3,\), expected sizes that divide the shard's, \(8,\)"),
        ({"chunk_shape": [0]}, r"chunk_shape: got \[0\], expected a list of integers of 1 or more"),
        ({"chunk_shape": [2, 2]}, "expected sizes that divide"),
        ({"index_location": "middle"}, "index_location: got 'middle', expected 'start' or 'end'"),
        ({"codecs": []}, r"codecs: got \[\], expected a list with at least one codec"),
        ({"codecs": [{"name": "nope"}]}, "got unknown codec 'nope'"),
        ({"index_codecs": [{"name": "bytes"}]}, "endian is missing"),
        (
            {"index_codecs": [{"name": "bytes", "configuration": {"endian": "little"}}, {"name": "gzip"}]},
            "index_codecs: got .*, expected codecs of fixed size",
        ),
        ({"extra": 1}, r"got members \['extra'\]"),
    ],
)
def test_configurations_that_are_refused(change: dict[str, Any], match: str) -> None:
    store: dict[str, bytes] = {}
    fastzarr.create_array(store, shape=8, chunks=2, shards=8, dtype="u1")
    document = json.loads(store["zarr.json"])
    document["codecs"][0]["configuration"].update(change)
    store["zarr.json"] = json.dumps(document).encode()
    with pytest.raises(errors.MetadataError, match=match):
        fastzarr.open_array(store)


def test_codecs_by_their_names_alone(tmp_path: Path) -> None:
    """As the specification allows; zarr-python reads the same chunks where the names are spelled out."""
    little = {"name": "bytes", "configuration": {"endian": "little"}}
    fastzarr.create_array(tmp_path, shape=8, chunks=2, shards=4, dtype="u1", fill_value=0)
    file = tmp_path / "zarr.json"
    document = json.loads(file.read_text())

    def describe(plain: Any, checksum: Any) -> None:
        nested = {"chunk_shape": [1], "codecs": [plain], "index_codecs": [little, checksum]}
        document["codecs"][0]["configuration"] |= {
            "codecs": [{"name": "sharding_indexed", "configuration": nested}, checksum],
            "index_codecs": [little, checksum],
        }
        file.write_text(json.dumps(document))

    describe("bytes", "crc32c")
    fastzarr.open_array(tmp_path, mode="r+")[1:7] = np.arange(6, dtype="u1")
    assert fastzarr.open_array(tmp_path, mode="r")[...].tolist() == [0, 0, 1, 2, 3, 4, 5, 0]
    describe({"name": "bytes"}, {"name": "crc32c"})
    assert read_by_zarr(tmp_path).tolist() == [0, 0, 1, 2, 3, 4, 5, 0]


def test_chunks_and_shards_of_an_array() -> None:
    array = fastzarr.create_array({}, shape=(10, 9), chunks=(2, 3), shards=(4, 6), dtype="i4")
    assert (array.chunks, array.shards) == ((2, 3), (4, 6))
    assert array.cdata_shape == (5, 3)
    assert array.nchunks == 15
    assert "(4, 6)" in repr(array.info)
    plain = fastzarr.create_array({}, shape=10, chunks=2, dtype="i4")
    assert plain.shards is None


def test_the_codec_is_a_value() -> None:
    codec = ShardingCodec(chunk_shape=(2, 3), codecs=[BytesCodec(), ZstdCodec(level=3)])
    assert ShardingCodec.from_config(codec.config()) == codec
    assert hash(ShardingCodec.from_config(codec.config())) == hash(codec)
    theirs = zarr.codecs.ShardingCodec(
        chunk_shape=(2, 3), codecs=[zarr.codecs.BytesCodec(), zarr.codecs.ZstdCodec(level=3)]
    )
    assert codec.to_dict() == theirs.to_dict() | {"configuration": json.loads(json.dumps(codec.config()))}


def test_shards_written_by_tensorstore_are_read(tmp_path: Path) -> None:
    spec = {
        "driver": "zarr3",
        "kvstore": {"driver": "file", "path": f"{tmp_path}/"},
        "metadata": {
            "shape": [15, 32],
            "data_type": "uint16",
            "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [15, 32]}},
            "codecs": [
                {"name": "transpose", "configuration": {"order": [1, 0]}},
                {
                    "name": "sharding_indexed",
                    "configuration": {"chunk_shape": [16, 5], "codecs": ["bytes", "gzip"]},
                },
            ],
        },
    }
    data = values((15, 32), "u2")
    ts.open(spec, create=True).result().write(data).result()
    assert_same(fastzarr.open_array(tmp_path)[...], data)
    assert_same(fastzarr.open_array(tmp_path)[3:9, 7:20], data[3:9, 7:20])


LITTLE = {"name": "bytes", "configuration": {"endian": "little"}}


def document(
    shard: list[int],
    *,
    codecs: list[Any] | None = None,
    index_codecs: tuple[Any, ...] = (LITTLE,),
) -> dict[str, bytes]:
    """A store with an array of one shard, whose inner chunks are single bytes."""
    configuration = {
        "chunk_shape": [1] * len(shard),
        "codecs": codecs or [{"name": "bytes"}],
        "index_codecs": index_codecs,
    }
    members = {
        "zarr_format": 3,
        "node_type": "array",
        "shape": shard,
        "data_type": "uint8",
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": shard}},
        "chunk_key_encoding": {"name": "default"},
        "fill_value": 7,
        "codecs": [{"name": "sharding_indexed", "configuration": configuration}],
    }
    return {"zarr.json": json.dumps(members).encode()}


def within_each_other(count: int) -> list[Any]:
    """Codecs of that many shards, each the only inner chunk of the one before."""
    codecs: list[Any] = [{"name": "bytes"}]
    for _ in range(count):
        members = {"chunk_shape": [1], "codecs": codecs, "index_codecs": [LITTLE]}
        codecs = [{"name": "sharding_indexed", "configuration": members}]
    return codecs


@pytest.mark.parametrize("shard", [[3 * 10**7], [10**5, 10**4], [2**58]])
def test_large_indexes_are_not_made_to_open_an_array(shard: list[int]) -> None:
    objects = document(shard)
    tracemalloc.start()
    try:
        array = fastzarr.open_array(objects)
        assert array[(0,) * array.ndim] == 7
        objects["c/0" if array.ndim == 1 else "c/0/0"] = bytes(100)
        with pytest.raises(errors.ChunkError, match=f"expected {16 * array.size}$"):
            array[(0,) * array.ndim]
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 20e6


@pytest.mark.parametrize("index_codecs", [["bytes"], ["bytes", "crc32c"], ["transpose", "bytes", "crc32c"]])
def test_the_size_of_a_large_index_is_that_of_its_bytes(index_codecs: list[str]) -> None:
    known: dict[str, Any] = {"bytes": {"endian": "little"}, "crc32c": {}, "transpose": {"order": [2, 0, 1]}}
    listed = tuple({"name": name, "configuration": known[name]} for name in index_codecs)
    objects = document([150, 200], index_codecs=listed)
    array = fastzarr.open_array(objects)
    array[149, 199] = 1
    whole = objects["c/0/0"]
    assert len(whole) == 1 + 150 * 200 * 16 + 4 * ("crc32c" in index_codecs)
    assert fastzarr.open_array(objects)[149, 198:].tolist() == [7, 1]


@pytest.mark.parametrize(
    ("objects", "match"),
    [
        (document([2**59]), "expected an index of less than 2..63 bytes"),
        (document([2**30, 2**30]), "expected an index of less than 2..63 bytes"),
        (document([1] * 64), "expected at most 63 dimensions"),
        (document([1], codecs=within_each_other(16)), "nested deeper than 16"),
        (document([1], codecs=within_each_other(300)), "nested deeper than 16"),
        (document([10**5], index_codecs=(LITTLE, {"name": "gzip"})), "expected codecs of fixed size"),
    ],
    ids=["index", "index of 2 dimensions", "dimensions", "17 nested", "301 nested", "gzip"],
)
def test_documents_of_shards_that_can_not_be(objects: dict[str, bytes], match: str) -> None:
    with pytest.raises(errors.MetadataError, match=match):
        fastzarr.open_array(objects)


def test_as_many_dimensions_and_shards_as_are_taken() -> None:
    array = fastzarr.open_array(document([1] * 63))
    array[...] = 3
    assert array[...].item() == 3
    array = fastzarr.open_array(document([1], codecs=within_each_other(15)))
    array[...] = 3
    assert array[...].item() == 3
