"""The compiled kernel gives the same elements and stores the same files as Python alone does."""

import contextlib
import functools
import math
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from kernel_paths import needs_kernel, noted, without_kernel
from numpy.typing import NDArray
from oracle import assert_same, bits, chunk_files, files, read_by_zarr

import fastzarr
from fastzarr.codecs.blosc import BloscCodec
from fastzarr.testing import strategies

pytestmark = needs_kernel

SAMPLES: dict[Any, tuple[Any, ...]] = {
    "?": (False, True),
    "u1": (0, 255),
    "<f2": (0, -0.0, np.nan),
    "<i4": (0, -7),
    "<f4": (0, -0.0, np.nan, 1.5),
    "<i8": (0, 2**40),
    "<c8": (0, complex(-0.0, np.nan)),
    "<c16": (0, 1 - 2j),
    "<M8[ns]": ("1970-01-01", "NaT"),
    "<m8[10us]": (0, 5),
    "<U4": ("", "é\0b", "abcd"),
    "S3": (b"", b"ab", b"\xff\0c"),
    "V3": (b"\0\0\0", b"abc"),
    "V32": (b"\0" * 32, bytes(range(32))),
    (("a", "<i4"), ("b", "u1")): ((0, 0), (-1, 255)),
    (("a", "<f4"), ("u", "<U2"), ("t", "<M8[ms]"), ("r", "V12")): (
        (0, "", 0, b"\0" * 12),
        (-0.0, "é", 5, b"\1" * 12),
    ),
}
"""Data types of elements of 1 to 32 bytes, and elements, of which one is the fill value."""

CODECS: list[dict[str, Any] | None] = [
    None,
    {"name": "zstd", "configuration": {"level": 0, "checksum": False}},
    {"name": "zstd", "configuration": {"level": -5, "checksum": True}},
    {"name": "zstd", "configuration": {"level": 9, "checksum": True}},
    *(
        {"name": "blosc", "configuration": {"cname": cname, "clevel": level, "shuffle": shuffle}}
        for cname in ("blosclz", "lz4", "lz4hc", "zlib", "zstd")
        for shuffle, level in (("noshuffle", 1), ("shuffle", 5), ("bitshuffle", 9))
    ),
    {"name": "numcodecs.lz4", "configuration": {"acceleration": 1}},
]


@pytest.fixture(autouse=True, scope="module")
def _poisoned_memory() -> Iterator[None]:
    """New memory is never zero by chance: what is not written would show."""

    def empty(shape: Any, dtype: Any = float, order: Any = "C") -> NDArray[Any]:
        made = real(shape, dtype, order)
        made.reshape(-1, order="A").view(np.uint8)[...] = 0xA5
        return made

    real = np.empty
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(np, "empty", functools.wraps(real)(empty))
        yield


@dataclass
class Write:
    """Elements that are written to a selection."""

    selection: Any
    seed: int
    filled: float
    """How many of them are the fill value."""
    repeated: bool
    """Whether all are one element, with strides of 0."""

    def values(self, shape: tuple[int, ...], case: "Case") -> NDArray[Any]:
        """Of any bits, where the data type has an element for all of them."""
        generator = np.random.default_rng(self.seed)
        count, samples = math.prod(shape), case.samples
        if samples.dtype.kind in "iufcmMV" and not samples.dtype.names:
            flat = np.frombuffer(generator.bytes(count * samples.itemsize), samples.dtype).copy()
        else:
            flat = samples[generator.integers(0, len(samples), count)]
        flat[generator.random(count) < self.filled] = case.arguments["fill_value"]
        if self.repeated and count:
            return np.broadcast_to(flat[0], shape)
        return placed(flat.reshape(shape), case.layout)


@dataclass
class Case:
    """What is done to an array that is made with `arguments`, with values and results of a layout."""

    arguments: dict[str, Any]
    samples: NDArray[Any]
    writes: list[Write]
    reads: list[Any]
    layout: str


def placed(values: NDArray[Any], layout: str) -> NDArray[Any]:
    """The same values at other strides."""
    match layout if values.ndim else "C":
        case "F":
            return values.copy(order="F")
        case "reversed":
            backwards = (slice(None, None, -1),) * values.ndim
            return values[backwards].copy()[backwards]
        case "gaps":
            wide = np.empty([2 * size + 1 for size in values.shape], values.dtype)
            view = wide[tuple(slice(1, None, 2) for _ in values.shape)]
            view[...] = values
            return view
        case "last first":
            return np.moveaxis(np.moveaxis(values, -1, 0).copy(), 0, -1)
    return values


LAYOUTS = ("C", "F", "reversed", "gaps", "last first")


@st.composite
def cases(draw: st.DrawFn) -> Case:
    ndim = draw(st.integers(1, 5))
    shape = tuple(draw(st.integers(1, (40, 12, 7, 5, 4)[ndim - 1])) for _ in range(ndim))
    name = draw(st.sampled_from(list(SAMPLES)))
    dtype = np.dtype(list(name) if isinstance(name, tuple) else name)
    samples = np.array(list(SAMPLES[name]), dtype)
    fill = draw(st.integers(0, len(samples) - 1))
    zarr_format = draw(st.sampled_from([2, 3, 3]))
    codec = draw(st.just(None) | st.sampled_from(CODECS))
    chunks = draw(strategies.chunk_shapes(shape))
    arguments: dict[str, Any] = {
        "shape": shape,
        "dtype": dtype,
        "zarr_format": zarr_format,
        "fill_value": samples[fill],
        "config": {"write_empty_chunks": draw(st.booleans()), "threads": draw(st.sampled_from([1, 3]))},
        "compressors": codec,
        "chunks": chunks,
    }
    if zarr_format == 2:
        arguments["order"] = draw(st.sampled_from("CF"))
        arguments["chunk_key_encoding"] = ("v2", draw(st.sampled_from("./")))
        if codec is not None:
            name = codec["name"].removeprefix("numcodecs.")
            arguments["compressors"] = {"id": name, **codec["configuration"]}
            if codec["name"] == "blosc":
                shuffles = ("noshuffle", "shuffle", "bitshuffle")
                arguments["compressors"]["shuffle"] = shuffles.index(codec["configuration"]["shuffle"])
    else:
        arguments["chunk_key_encoding"] = draw(
            st.sampled_from([("default", "/"), ("default", "."), ("v2", ".")])
        )
        if draw(st.booleans()):
            order = list(draw(st.permutations(range(len(shape)))))
            arguments["filters"] = {"name": "transpose", "configuration": {"order": order}}
        if draw(st.booleans()):
            shards = [size * draw(st.integers(1, 3)) for size in chunks]
            arguments["shards"] = {"shape": shards, "index_location": draw(st.sampled_from(["start", "end"]))}
    writes = st.builds(
        Write,
        strategies.selections(shape) | st.just(...),
        st.integers(0, 99),
        st.sampled_from([0.0, 0.5, 0.95, 1.0]),
        st.booleans(),
    )
    reads = draw(st.lists(strategies.selections(shape), min_size=1, max_size=3))
    return Case(
        arguments, samples, draw(st.lists(writes, max_size=3)), [..., *reads], draw(st.sampled_from(LAYOUTS))
    )


def assert_same_by_both(case: Case, root: Path) -> None:
    expected = np.full(case.arguments["shape"], case.arguments["fill_value"], case.arguments["dtype"])
    ours = fastzarr.create_array(root / "ours", **case.arguments)
    with without_kernel():
        pure = fastzarr.create_array(root / "pure", **case.arguments)
    for write in case.writes:
        values = write.values(expected[write.selection].shape, case)
        for array in (expected, ours, pure):
            array[write.selection] = values
    stored, stored_by_pure = (chunk_files(files(root / name)) for name in ("ours", "pure"))
    if case.arguments["compressors"] is None:
        assert stored == stored_by_pure
    assert stored.keys() == stored_by_pure.keys()
    with without_kernel():
        ours_by_pure = fastzarr.open_array(root / "ours", mode="r")
    pure_by_ours = fastzarr.open_array(root / "pure", mode="r")
    for selection in case.reads:
        wanted = np.asarray(expected[selection], expected.dtype)
        for array in (ours, pure, ours_by_pure, pure_by_ours):
            assert_same(np.asarray(array[selection], expected.dtype), wanted)
            out = placed(np.empty_like(wanted), case.layout)
            array.read_into(out, selection=selection)
            assert_same(out, wanted)
    # zarr-python has no v3 data type `struct`, and can't hash raw fill values for its shards.
    if expected.dtype.kind != "V" or case.arguments["zarr_format"] == 2:
        assert bits(read_by_zarr(root / "ours")) == bits(expected)


@settings(max_examples=250, derandomize=True)
@given(cases())
def test_any_array_is_read_and_stored_the_same(case: Case) -> None:
    with tempfile.TemporaryDirectory() as root:
        assert_same_by_both(case, Path(root))


LARGE: list[tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]] = [
    ((900_000,), (400_000,), (1,)),
    ((900_000,), (400_000,), (3,)),
    ((3000, 300), (1300, 300), (1, 1)),
    ((3000, 300), (1300, 299), (2, 1)),
    ((3000, 300), (1300, 150), (1, 2)),
    ((4, 500_000), (3, 300_000), (1, 1)),
    ((4, 500_000), (2, 500_000), (2, 7)),
    ((60_000, 17), (50_000, 16), (1, 1)),
    ((5, 900, 300), (2, 700, 280), (1, 1, 1)),
    ((5, 900, 300), (5, 90, 300), (2, 3, 1)),
    ((70, 130, 130), (64, 64, 64), (1, 1, 1)),
    ((70, 130, 130), (33, 65, 129), (1, 2, 1)),
    ((3, 5, 40, 1500), (2, 5, 39, 1400), (1, 1, 1, 1)),
]
"""Array, chunks and steps with rows, and boxes of rows, shorter and longer than the pieces that are moved."""


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize(("shape", "chunks", "steps"), LARGE, ids=str)
def test_rows_and_boxes_of_any_size(
    tmp_path: Path, shape: tuple[int, ...], chunks: tuple[int, ...], steps: tuple[int, ...], order: str
) -> None:
    data = np.random.default_rng(1).integers(1, 256, shape, np.uint8)
    arguments: dict[str, Any] = {"shape": shape, "chunks": chunks, "dtype": "u1", "zarr_format": 2}
    arguments |= {"order": order, "compressors": None, "fill_value": 9}
    with noted() as notes:
        array = fastzarr.create_array(tmp_path / "ours", **arguments)
        array[...] = placed(data, "last first")
        selections = [
            tuple(
                slice(1, size - 1, step) if size > 3 else slice(None)
                for size, step in zip(shape, steps, strict=True)
            ),
            tuple(slice(None, None, -step) for step in steps),
            tuple(slice(size // 3, size // 3 + 1 + size // 2) for size in shape),
        ]
        for selection in (..., *selections):
            assert_same(array[selection], data[selection])
            for layout in LAYOUTS:
                out = placed(np.empty_like(data[selection]), layout)
                array.read_into(out, selection=selection)
                assert_same(out, data[selection])
        assert notes.given["write"] == array.nchunks
        assert notes.left == []
    with without_kernel():
        fastzarr.create_array(tmp_path / "pure", **arguments)[...] = data
    assert files(tmp_path / "ours") == files(tmp_path / "pure")


@pytest.mark.parametrize("codec", CODECS, ids=str)
def test_the_kernel_leaves_nothing_of_what_is_usual(tmp_path: Path, codec: dict[str, Any] | None) -> None:
    data = np.arange(37 * 41, dtype="<i4").reshape(37, 41)
    with noted() as notes:
        plain = fastzarr.create_array(
            tmp_path / "plain", shape=(37, 41), chunks=(8, 10), dtype="i4", compressors=codec
        )
        sharded = fastzarr.create_array(
            tmp_path / "sharded",
            shape=(37, 41),
            chunks=(4, 5),
            shards=(16, 20),
            dtype="i4",
            compressors=codec,
        )
        for array in (plain, sharded):
            array[...] = data
            assert_same(array[...], data)
            assert_same(array[1:30:3, ::-2], data[1:30:3, ::-2])
    assert notes.left == []
    inner = 10 * 9
    assert notes.given["write"] == plain.nchunks + (inner if codec is None else 0)
    assert notes.given["encode"] == (0 if codec is None else inner)
    assert notes.given["read"] > plain.nchunks + inner


@pytest.mark.parametrize("codec", [CODECS[0], CODECS[1], CODECS[4]], ids=str)
@pytest.mark.parametrize("write_empty", [False, True])
@pytest.mark.parametrize("fill", [0.0, -0.0, np.nan, 1.5])
def test_chunks_of_fill_values_are_left_out_or_stored(
    tmp_path: Path, fill: float, write_empty: bool, codec: dict[str, Any] | None
) -> None:
    """Bit by bit: a zero of the other sign is no fill value, and what is beyond the array no element."""
    data = np.full((10, 12), fill, "f4")
    data[0, 0] = 5
    data[9, 11] = -0.0 if fill == 0 and not np.signbit(fill) else 0.0
    stored = {}
    for name, path in (("ours", contextlib.nullcontext()), ("pure", without_kernel())):
        with path:
            for chunks, shards in (((4, 4), None), ((2, 2), (4, 4))):
                array = fastzarr.create_array(
                    tmp_path / name / str(chunks[0]),
                    shape=data.shape,
                    dtype="f4",
                    chunks=chunks,
                    shards=shards,
                    fill_value=fill,
                    compressors=codec,
                    config={"write_empty_chunks": write_empty},
                )
                array[...] = 9
                array[...] = data
                assert_same(array[...], data)
        stored[name] = set(chunk_files(files(tmp_path / name)))
    grid = {"c/0/0", "c/2/2"}
    if write_empty:
        grid = {f"c/{row}/{column}" for row in range(3) for column in range(3)}
    assert stored["ours"] == stored["pure"] == {f"{chunk}/{key}" for chunk in (2, 4) for key in grid}


def test_codecs_have_their_parameters(tmp_path: Path) -> None:
    values = np.random.default_rng(5).integers(0, 60, (200, 200)).astype("<i4")

    def first_file(codec: str, **configuration: Any) -> bytes:
        root = tmp_path / str(len(list(tmp_path.iterdir())))
        compressors = {"name": codec, "configuration": configuration}
        with noted() as notes:
            array = fastzarr.create_array(root, data=values, chunks=(100, 100), compressors=compressors)
        assert notes.given["write"] == 4
        assert (array[...] == values).all()
        return (root / "c/0/0").read_bytes()

    quick, good = (first_file("zstd", level=level, checksum=False) for level in (-50, 19))
    assert len(good) < len(quick)
    checked = first_file("zstd", level=19, checksum=True)
    assert (quick[4] & 4, good[4] & 4, checked[4] & 4) == (0, 0, 4), "the frame header's flag"
    assert len(checked) == len(good) + 4
    for cname in ("blosclz", "lz4", "zlib", "zstd"):
        for shuffle in ("noshuffle", "shuffle", "bitshuffle"):
            for others in ({"clevel": 1, "typesize": 4}, {"clevel": 9, "typesize": 2, "blocksize": 4096}):
                configuration = {"cname": cname, "shuffle": shuffle} | others
                found = first_file("blosc", **configuration)
                codec = BloscCodec(**configuration)
                assert found == bytes(codec.encode(values[:100, :100].tobytes()))
