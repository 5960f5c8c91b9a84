"""`Volume`: voxels of any array in the order of the wire, against slices of NumPy."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import fastzarr
from fastzarr.errors import ChunkError, SelectionError
from fastzarr.serve.cache import BucketCache
from fastzarr.serve.volume import Volume
from fastzarr.volumes.boxes import BoundingBox

SHAPE = (70, 50, 40)
WEBKNOSSOS = {"filters": [fastzarr.codecs.TransposeCodec(order=(3, 2, 1, 0))]}
LAYOUTS: dict[str, tuple[str, dict[str, Any]]] = {
    "as webknossos writes": ("cxyz", {"chunks": 32, "shards": 64, **WEBKNOSSOS}),
    "unsharded": ("cxyz", {"chunks": 32, **WEBKNOSSOS}),
    "OME": ("czyx", {"chunks": 32, "shards": 64}),
    "OME, no codec": ("czyx", {"chunks": 32, "compressors": None}),
    "channels last": ("zyxc", {"chunks": 32}),
    "v2": ("czyx", {"chunks": 32, "zarr_format": 2}),
    "v2, order F": ("cxyz", {"chunks": 32, "zarr_format": 2, "order": "F"}),
    "smaller chunks": ("cxyz", {"chunks": 16, **WEBKNOSSOS}),
    "larger chunks": ("xyzc", {"chunks": 64}),
    "uneven chunks": ("yxcz", {"chunks": (13, 70, 0, 9)}),
}


def made(
    path: Path, axes: str, data: NDArray[Any], *, chunks: Any, shards: int | None = None, **more: Any
) -> fastzarr.Array:
    """`data` [c, x, y, z] stored with other axes."""
    turned = data.transpose(["cxyz".index(axis) for axis in axes])
    length = dict(zip(axes, turned.shape, strict=True))

    def shape(edge: Any) -> tuple[int, ...]:
        sizes = edge if isinstance(edge, tuple) else (edge,) * len(axes)
        return tuple(length["c"] if a == "c" else size for a, size in zip(axes, sizes, strict=True))

    given = {"chunks": shape(chunks)} | ({} if shards is None else {"shards": shape(shards)})
    array = fastzarr.create_array(path, shape=turned.shape, dtype=data.dtype, fill_value=0, **given, **more)
    array[...] = turned
    return array


def noise(channels: int, dtype: str, shape: tuple[int, ...] = SHAPE) -> NDArray[Any]:
    values = np.random.default_rng(7).integers(0, 200, (channels, *shape))
    return values.astype(dtype)


def wire(data: NDArray[Any], offset: tuple[int, ...], size: tuple[int, ...]) -> bytes:
    """Voxels of `data` [c, x, y, z] as the wire has them; zero outside."""
    out = np.zeros((data.shape[0], *size), data.dtype.newbyteorder("<"))
    low = [max(0, o) for o in offset]
    high = [min(n, o + s) for n, o, s in zip(data.shape[1:], offset, size, strict=True)]
    if all(a < b for a, b in zip(low, high, strict=True)):
        part = data[(slice(None), *(slice(a, b) for a, b in zip(low, high, strict=True)))]
        out[(slice(None), *(slice(a - o, b - o) for a, b, o in zip(low, high, offset, strict=True)))] = part
    return out.tobytes(order="F")


CUTOUTS = {
    "aligned": ((32, 0, 0), (32, 32, 32)),
    "inside": ((3, 5, 7), (11, 13, 17)),
    "edge": ((60, 40, 30), (32, 32, 32)),
    "around": ((-5, -6, -7), (90, 80, 70)),
    "outside": ((70, 0, 0), (8, 8, 8)),
    "before": ((-9, 0, 0), (8, 8, 8)),
    "one voxel": ((69, 49, 39), (1, 1, 1)),
}


@pytest.mark.parametrize("cutout", CUTOUTS)
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("channels", [1, 3])
def test_cutout_is_a_slice(tmp_path: Path, layout: str, cutout: str, channels: int) -> None:
    axes, how = LAYOUTS[layout]
    data = noise(channels, "uint16")
    volume = Volume(made(tmp_path / "a", axes, data, **how), axes)
    offset, size = CUTOUTS[cutout]
    assert bytes(volume.read(offset, size)) == wire(data, offset, size)


@pytest.mark.parametrize("edge", [32, 16, 20])
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("channels", [1, 3])
def test_buckets_are_slices(tmp_path: Path, layout: str, edge: int, channels: int) -> None:
    axes, how = LAYOUTS[layout]
    data = noise(channels, "uint32")
    volume = Volume(made(tmp_path / "a", axes, data, **how), axes)
    coords = [(0, 0, 0), (2, 1, 1), (1, 0, 1), (-1, 0, 0), (9, 9, 9), (1, 0, 1)]
    found = volume.buckets(coords, edge)
    for point, bucket in zip(coords, found, strict=True):
        offset = tuple(edge * n for n in point)
        inside = all(0 <= o < n for o, n in zip(offset, SHAPE, strict=True))
        assert bucket == (wire(data, offset, (edge,) * 3) if inside else None)


@pytest.mark.parametrize(
    "dtype", ["u1", "i1", "<u2", ">u2", ">i4", "<u8", ">f4", "<f4", ">f8", "<f8", "i8", "bool"]
)
@pytest.mark.parametrize("layout", ["v2", "v2, order F"])
def test_data_types(tmp_path: Path, layout: str, dtype: str) -> None:
    axes, how = LAYOUTS[layout]
    data = noise(1, dtype)
    volume = Volume(made(tmp_path / "a", axes, data, **how), axes)
    as_wire = data.astype("u1") if dtype == "bool" else data
    assert volume.dtype == as_wire.dtype.newbyteorder("<")
    assert bytes(volume.read((1, 2, 3), (40, 30, 20))) == wire(as_wire, (1, 2, 3), (40, 30, 20))
    assert volume.buckets([(1, 1, 1), (0, 0, 0)]) == [
        wire(as_wire, (32, 32, 32), (32, 32, 32)),
        wire(as_wire, (0, 0, 0), (32, 32, 32)),
    ]


@pytest.mark.parametrize("layout", ["as webknossos writes", "smaller chunks", "v2"])
def test_outside_of_the_box_is_zero_though_it_is_stored(tmp_path: Path, layout: str) -> None:
    axes, how = LAYOUTS[layout]
    data = noise(1, "uint8") + np.uint8(1)
    box = BoundingBox(offset=(5, 6, 7), size=(40, 30, 20))
    volume = Volume(made(tmp_path / "a", axes, data, **how), axes, box=box)
    clipped = np.zeros_like(data)
    inside = (slice(None), *box.slices())
    clipped[inside] = data[inside]
    assert bytes(volume.read((-3, 0, 0), (80, 60, 50))) == wire(clipped, (-3, 0, 0), (80, 60, 50))
    assert volume.buckets([(0, 0, 0), (1, 1, 0), (2, 0, 0), (0, 0, 1)]) == [
        wire(clipped, (0, 0, 0), (32, 32, 32)),
        wire(clipped, (32, 32, 0), (32, 32, 32)),
        None,
        None,
    ]


def test_padding_of_chunks_at_the_edge_is_zero(tmp_path: Path) -> None:
    """Also where an array was larger once, and what it had there is still in its chunks."""
    data = noise(1, "uint8", (64, 64, 64)) + np.uint8(1)
    array = made(tmp_path / "a", "cxyz", data, chunks=32, **WEBKNOSSOS)
    array.resize((1, 40, 64, 64))
    assert Volume(array, "cxyz").buckets([(1, 0, 0)]) == [wire(data[:, :40], (32, 0, 0), (32, 32, 32))]


@pytest.mark.parametrize("layout", ["as webknossos writes", "v2", "smaller chunks", "larger chunks"])
def test_what_is_not_stored_is_missing(tmp_path: Path, layout: str) -> None:
    axes, how = LAYOUTS[layout]
    data = np.zeros((1, 128, 64, 64), "uint8")
    data[0, 5, 5, 5] = 9
    volume = Volume(made(tmp_path / "a", axes, data, **how), axes)
    assert volume.buckets([(0, 0, 0), (2, 0, 0), (3, 1, 1)]) == [
        wire(data, (0, 0, 0), (32, 32, 32)),
        None,
        None,
    ]


@pytest.mark.parametrize("chunks", [32, 16])
def test_a_fill_value_that_is_not_zero_is_never_missing(tmp_path: Path, chunks: int) -> None:
    array = fastzarr.create_array(
        tmp_path / "a", shape=(40, 64, 64), chunks=(chunks,) * 3, dtype="int16", fill_value=-3
    )
    expected = np.full((1, 64, 64, 40), -3, "int16")
    volume = Volume(array, "zyx")
    assert volume.buckets([(0, 0, 0), (1, 1, 1)]) == [
        wire(expected, (0, 0, 0), (32, 32, 32)),
        wire(expected, (32, 32, 32), (32, 32, 32)),
    ]


@pytest.mark.parametrize("chunks", [32, 16, 64])
@pytest.mark.parametrize("times", [1, 2])
def test_additional_axes(tmp_path: Path, chunks: int, times: int) -> None:
    data = np.random.default_rng(1).integers(0, 99, (3, 2, 64, 64, 64)).astype("uint16")
    array = fastzarr.create_array(
        tmp_path / "a", shape=data.shape, chunks=(times, 1, chunks, chunks, chunks), dtype="uint16"
    )
    array[...] = data
    volume = Volume(array, ("t", "c", "z", "y", "x"), channel=1)
    assert volume.additional == (("t", 3),)
    assert volume.channels == 1
    for index in range(3):
        expected = wire(data[index, 1:].transpose(0, 3, 2, 1), (32, 0, 32), (32, 32, 32))
        assert volume.buckets([(1, 0, 1)], 32, {"t": index}) == [expected]
        assert bytes(volume.read((32, 0, 32), (32, 32, 32), {"t": index})) == expected
    assert volume.buckets([(0, 0, 0)]) == volume.buckets([(0, 0, 0)], 32, {"t": 0})
    with pytest.raises(SelectionError, match="'t': got 3, expected t below 3"):
        volume.buckets([(0, 0, 0)], 32, {"t": 3})
    with pytest.raises(SelectionError, match="'w': got 0"):
        volume.read((0, 0, 0), (1, 1, 1), {"w": 0})


def test_planes_have_one_voxel_along_z(tmp_path: Path) -> None:
    data = noise(3, "uint8", (70, 50, 1))
    array = fastzarr.create_array(tmp_path / "a", data=np.ascontiguousarray(data[..., 0].transpose(2, 1, 0)))
    volume = Volume(array, "yxc")
    assert volume.extent == (70, 50, 1)
    assert bytes(volume.read((60, 40, 0), (20, 20, 2))) == wire(data, (60, 40, 0), (20, 20, 2))


def test_axes_that_do_not_fit_are_refused(tmp_path: Path) -> None:
    array = fastzarr.create_array(tmp_path / "a", shape=(4, 4, 4), dtype="u1")
    with pytest.raises(SelectionError, match=r"axes: got \('c', 'y', 'x', 'z'\) for the shape \(4, 4, 4\)"):
        Volume(array, "cyxz")
    with pytest.raises(SelectionError, match="expected x, y and others"):
        Volume(array, "zyc")


@pytest.mark.parametrize("layout", ["as webknossos writes", "smaller chunks", "v2"])
def test_damaged_chunks_raise(tmp_path: Path, layout: str) -> None:
    axes, how = LAYOUTS[layout]
    volume = Volume(made(tmp_path / "a", axes, noise(1, "uint8"), **how), axes)
    path, _ = [p for p in map(Path, volume.paths((0, 0, 0), 8) or ()) if p.exists()]
    path.write_bytes(path.read_bytes()[:-3])
    with pytest.raises(ChunkError):
        volume.buckets([(0, 0, 0)])
    with pytest.raises(ChunkError):
        volume.read((0, 0, 0), (4, 4, 4))


def test_paths_are_the_files_that_a_bucket_is_from(tmp_path: Path) -> None:
    array = made(tmp_path / "100%d", "cxyz", noise(1, "uint8"), chunks=16)
    volume = Volume(array, "cxyz")
    paths = volume.paths((2, 1, 1)) or ()
    names = sorted(str(Path(path).relative_to(tmp_path)) for path in paths)
    assert names == ["100%d/c/0/4/2/2", "100%d/c/0/4/3/2", "100%d/zarr.json"]  # the rest is outside
    assert all(Path(path).exists() for path in paths)
    of_many = Volume(made(tmp_path / "many", "cxyz", noise(1, "uint8"), chunks=8), "cxyz")
    assert of_many.paths((0, 0, 0), 64) is None
    assert volume.paths((99, 0, 0)) == ()


@pytest.mark.parametrize("channels", [1, 3])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_buckets_that_are_chunks_are_read_in_one_call(
    tmp_path: Path, layout: str, channels: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    axes, how = LAYOUTS[layout]
    volume = Volume(made(tmp_path / "a", axes, noise(channels, "uint8"), **how), axes)
    calls: list[int] = []
    read_chunks = fastzarr.Array.read_chunks

    def counting(array: fastzarr.Array, coords: Any) -> Any:
        calls.append(len(coords))
        return read_chunks(array, coords)

    monkeypatch.setattr(fastzarr.Array, "read_chunks", counting)
    volume.buckets([(0, 0, 0), (1, 1, 1), (7, 7, 7)])
    x_first = layout in ("as webknossos writes", "unsharded", "v2, order F", "channels last")
    same = x_first or (channels == 1 and layout in ("OME", "OME, no codec", "v2"))
    assert calls == ([2] if same else [])


@pytest.mark.parametrize("boxed", [False, True])
@pytest.mark.parametrize("chunks", [(64, 64, 64), (48, 70, 9), (20, 50, 40), (70, 50, 1), (16, 64, 16)])
def test_buckets_in_the_same_chunks_are_read_with_one(
    tmp_path: Path, chunks: tuple[int, ...], boxed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The cache then has them as `buckets` gives them."""
    data = noise(1, "uint16")
    data[:, :, :, 24:32] = 0
    array = made(tmp_path / "a", "cxyz", data, chunks=(0, *chunks))
    box = BoundingBox(offset=(9, 5, 3), size=(50, 40, 35)) if boxed else None
    volume = Volume(array, "cxyz", box=box)
    every = [(x, y, z) for x in range(-1, 10) for y in range(-1, 8) for z in range(-1, 6)]
    expected = dict(zip(every, volume.buckets(every, 8), strict=True))
    selections: list[Any] = []
    read_into = fastzarr.Array.read_into

    def counting(array: fastzarr.Array, out: NDArray[Any], *, selection: Any) -> None:
        selections.append(selection)
        read_into(array, out, selection=selection)

    monkeypatch.setattr(fastzarr.Array, "read_into", counting)
    for most in (1 << 20, 1 << 14, 1 << 11):
        for start in (*every[::17], *every[::-13]):
            cache = BucketCache(4 * most)
            assert cache.read(volume, [start], 8) == [expected[start]]
            for key, entry in cache._entries.items():
                assert entry.data == expected[key[2:]], (start, key)
    selections.clear()
    cache = BucketCache(1 << 24)
    assert [cache.read(volume, [point], 8)[0] for point in every] == list(expected.values())
    inside = sum(bucket is not None for bucket in expected.values())
    assert len(selections) < inside / 3


@pytest.mark.parametrize("axis", [0, 1, 3])
@pytest.mark.parametrize("edge", [8, 32])
def test_an_array_without_elements_is_outside_of_its_box(tmp_path: Path, axis: int, edge: int) -> None:
    shape = [1, 64, 64, 64]
    shape[axis] = 0
    array = fastzarr.create_array(tmp_path / "a", shape=shape, chunks=(1, 32, 32, 32), dtype="uint16")
    volume = Volume(array, "cxyz")
    assert volume.box.size == (0, 0, 0)
    assert volume.buckets([(0, 0, 0), (1, 1, 1)], edge) == [None, None]
    assert volume.read((0, 0, 0), (3, 3, 3)) == bytes(27 * volume.voxel_bytes)
    assert not volume.touches((0, 0, 0), (3, 3, 3))
