"""Volumes converted to WKW, Zarr v2 and sharded Zarr v3, as other libraries read them."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from oracle import assert_same, read_by_tensorstore, read_by_zarr
from volume_oracles import labels, read_by_wkw, smooth

import fastzarr
from fastzarr import wkw
from fastzarr.errors import MetadataError, NodeExistsError, NodeNotFoundError
from fastzarr.volumes import Format, Options, convert, ome, properties
from fastzarr.volumes.boxes import BoundingBox
from fastzarr.volumes.casting import CastError
from fastzarr.volumes.element_class import DTYPES
from fastzarr.volumes.transfer import MemoryLimitError, Transfer

SMALL = {to: Format(to=to, chunk=8, shard=32) for to in ("wkw", "zarr2", "zarr3")}
FORMATS = [
    *(Format(to="wkw", codec=codec, chunk=8, shard=32) for codec in ("raw", "lz4", "lz4hc")),
    *(
        Format(to=to, codec=codec, chunk=8, shard=32)
        for to in ("zarr2", "zarr3")
        for codec in ("zstd", "gzip", "blosc", "lz4", "none")
    ),
]


def named(chosen: Format) -> str:
    return f"{chosen.to}-{chosen.name}"


def read(path: Path, box: BoundingBox) -> Any:
    """Voxels of a magnification as others read them: the wheel wkw, or zarr-python."""
    if (path / "header.wkw").exists():
        return read_by_wkw(path, box.offset, box.size)
    return read_by_zarr(path)[(slice(None), *box.slices())]


def whole(values: Any) -> BoundingBox:
    x, y, z = values.shape[-3:]
    return BoundingBox(offset=(0, 0, 0), size=(x, y, z))


@pytest.mark.parametrize("chosen", FORMATS, ids=named)
def test_every_codec_is_read_by_others(chosen: Format, tmp_path: Path) -> None:
    values = smooth((2, 50, 37, 41), "u2")
    report = convert(values, tmp_path / "out", format=chosen, axes="cxyz", voxel_size=(4, 4, 30))
    assert_same(read(tmp_path / "out/color/1", whole(values)), values)
    (mag,) = report.mags
    assert (mag.layer, mag.mag, mag.nbytes) == ("color", (1, 1, 1), values.nbytes)
    assert mag.written > 0
    assert mag.nbytes_stored == sum(
        f.stat().st_size for f in (tmp_path / "out/color/1").rglob("*") if f.is_file()
    )
    if chosen.to != "wkw" and chosen.codec != "lz4":
        padded = read_by_tensorstore(tmp_path / "out/color/1")
        assert_same(padded[:, :50, :37, :41], values)
        assert not padded[:, 50:].any()
    assert sorted(p.name for p in (tmp_path / "out").iterdir() if not p.name.startswith((".z", "zarr."))) == [
        "color",
        properties.DOCUMENT,
    ]


@pytest.mark.parametrize("to", SMALL)
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_every_data_type_keeps_every_bit(to: str, dtype: np.dtype[Any], tmp_path: Path) -> None:
    values = smooth((1, 20, 9, 33), dtype)
    if dtype.kind == "f":
        values[0, 0, 0, :5] = [np.nan, np.inf, -np.inf, -0.0, np.finfo(dtype).smallest_subnormal]
        values[0, 17, 0, :8] = -0.0
    convert(values, tmp_path, format=SMALL[to], axes="cxyz", voxel_size=(1, 1, 1))
    assert_same(read(tmp_path / "color/1", whole(values)), values)


@pytest.mark.parametrize("to", SMALL)
def test_little_memory_gives_the_same_voxels(to: str, tmp_path: Path) -> None:
    """Files are written tile by tile then, in blocks that the box only touches too."""
    values = smooth((3, 100, 70, 61), "u1")
    box = BoundingBox(offset=(5, 3, 2), size=(90, 60, 50))
    chosen = Format(to=to, chunk=8, shard=64)
    for name, memory in (("much", 1 << 30), ("little", 200_000)):
        convert(
            values,
            tmp_path / name,
            format=chosen,
            axes="cxyz",
            bounding_box=box,
            memory=memory,
            workers=2,
            voxel_size=(1, 1, 1),
            verify="full",
        )
        found = read(tmp_path / name / "color/1", BoundingBox(offset=(0, 0, 0), size=(100, 70, 61)))[
            :, : 96 if to == "zarr2" else None
        ]
        expected = np.zeros_like(values)
        expected[(slice(None), *box.slices())] = values[(slice(None), *box.slices())]
        assert_same(found, expected[:, : found.shape[1], : found.shape[2], : found.shape[3]])
    names = [
        {f.relative_to(tmp_path / name) for f in (tmp_path / name).rglob("*")} for name in ("much", "little")
    ]
    assert names[0] == names[1]


def test_too_little_memory_is_refused(tmp_path: Path) -> None:
    values = np.ones((40, 40, 40), "u1")
    with pytest.raises(
        MemoryLimitError, match=r"memory: got 1000 bytes, expected at least \d+ for 2 workers"
    ):
        convert(values, tmp_path, memory=1000, workers=2)
    assert not (tmp_path / "color").exists()


def test_memory_for_all_magnifications_is_looked_at_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    values = np.ones((40, 40, 40), "u1")
    options: dict[str, Any] = {"workers": 1, "axes": "xyz", "format": SMALL["zarr3"], "downsample": 1}
    written: list[str] = []
    run = Transfer.run

    def noted(transfer: Transfer) -> Any:
        written.append("mag")
        return run(transfer)

    monkeypatch.setattr(Transfer, "run", noted)
    with pytest.raises(MemoryLimitError, match=r"chunks of color/2$"):
        convert(values, tmp_path / "out", memory=20_000, **options)
    assert written == []
    assert not (tmp_path / "out").exists()
    convert(values, tmp_path / "out", memory=20_000, **(options | {"downsample": 0}))
    assert written == ["mag"]


def test_layout_is_that_of_webknossos(tmp_path: Path) -> None:
    """The documents that the package webknossos 4.3.3 writes for the same layer."""
    values = labels((70, 60, 50), "u4")
    convert(
        values,
        tmp_path,
        axes="xyz",
        format=Format(shard=64),
        category="segmentation",
        layer="seg",
        voxel_size=(11.24, 11.24, 25.0),
        offset=(10, 20, 30),
        downsample=1,
    )
    array = {
        "chunk_grid": {"configuration": {"chunk_shape": [1, 64, 64, 64]}, "name": "regular"},
        "codecs": [
            {
                "configuration": {
                    "chunk_shape": [1, 32, 32, 32],
                    "codecs": [
                        {"configuration": {"order": [3, 2, 1, 0]}, "name": "transpose"},
                        {"configuration": {"endian": "little"}, "name": "bytes"},
                        {"configuration": {"checksum": True, "level": 5}, "name": "zstd"},
                    ],
                    "index_codecs": [
                        {"configuration": {"endian": "little"}, "name": "bytes"},
                        {"name": "crc32c"},
                    ],
                    "index_location": "end",
                },
                "name": "sharding_indexed",
            }
        ],
        "data_type": "uint32",
        "dimension_names": ["c", "x", "y", "z"],
        "fill_value": 0,
        "node_type": "array",
        "shape": [1, 128, 128, 128],
        "zarr_format": 3,
    }
    found = json.loads((tmp_path / "seg/1/zarr.json").read_text())
    assert (found.pop("attributes"), found.pop("storage_transformers")) == ({}, [])
    encoding = found.pop("chunk_key_encoding")
    assert encoding in (
        {"name": "default"},
        {"name": "default", "configuration": {"separator": "/"}},
    )
    assert found == array
    space = [{"name": axis, "type": "space", "unit": "nanometer"} for axis in "xyz"]
    scales = {"1": [1.0, 11.24, 11.24, 25.0], "2-2-1": [1.0, 22.48, 22.48, 25.0]}
    group = json.loads((tmp_path / "seg/zarr.json").read_text())
    assert (group["zarr_format"], group["node_type"]) == (3, "group")
    assert group["attributes"]["ome"] == {
        "version": "0.5",
        "multiscales": [
            {
                "axes": [{"name": "c", "type": "channel"}, *space],
                "datasets": [
                    {"path": path, "coordinateTransformations": [{"type": "scale", "scale": scale}]}
                    for path, scale in scales.items()
                ],
            }
        ],
    }
    order = {"c": 0, "x": 1, "y": 2, "z": 3}
    assert json.loads((tmp_path / properties.DOCUMENT).read_text()) == {
        "id": {"name": tmp_path.name, "team": ""},
        "scale": {"factor": [11.24, 11.24, 25.0], "unit": "nanometer"},
        "dataLayers": [
            {
                "name": "seg",
                "category": "segmentation",
                "boundingBox": {"topLeft": [10, 20, 30], "width": 70, "height": 60, "depth": 50},
                "dataFormat": "zarr3",
                "mags": [
                    {"mag": [1, 1, 1], "path": "./seg/1", "axisOrder": order},
                    {"mag": [2, 2, 1], "path": "./seg/2-2-1", "axisOrder": order},
                ],
                "largestSegmentId": int(values.max()),
                "numChannels": 1,
                "elementClass": "uint32",
            }
        ],
        "version": 1,
    }


def test_layout_of_zarr_v2_is_that_of_webknossos(tmp_path: Path) -> None:
    convert(labels((70, 60, 50), "u1"), tmp_path, axes="xyz", format=Format(to="zarr2"), voxel_size=(1, 2, 3))
    assert json.loads((tmp_path / "color/1/.zarray").read_text()) == {
        "chunks": [1, 32, 32, 32],
        "compressor": {"id": "zstd", "level": 5},
        "dimension_separator": "/",
        "dtype": "|u1",
        "fill_value": 0,
        "filters": None,
        "order": "F",
        "shape": [1, 96, 64, 64],
        "zarr_format": 2,
    }
    (image,) = ome.parse(json.loads((tmp_path / "color/.zattrs").read_text()), "here")
    assert (image.version, image.voxel_size) == ("0.4", (1.0, 2.0, 3.0))
    assert json.loads((tmp_path / ".zgroup").read_text()) == {"zarr_format": 2}


@pytest.mark.parametrize("first", SMALL)
@pytest.mark.parametrize("second", SMALL)
def test_dataset_layer_and_magnification_convert_to_every_format(
    first: str, second: str, tmp_path: Path
) -> None:
    color, seg = smooth((3, 40, 33, 20), "u1"), labels((40, 33, 20), "u4")
    start = tmp_path / "first"
    common: dict[str, Any] = {"format": SMALL[first], "voxel_size": (10, 10, 40), "offset": (3, 2, 1)}
    convert(color, start, axes="cxyz", layer="raw", downsample=1, **common)
    convert(seg, start, axes="xyz", layer="seg", category="segmentation", **common)
    expected = properties.read(start)
    assert [layer.name for layer in expected.layers] == ["raw", "seg"]
    place = (slice(None), slice(3, 43), slice(2, 35), slice(1, 21))

    convert(start, tmp_path / "all", format=SMALL[second])
    found = properties.read(tmp_path / "all")
    assert [(la.name, la.category, la.dtype, la.channels, la.bounding_box) for la in found.layers] == [
        (la.name, la.category, la.dtype, la.channels, la.bounding_box) for la in expected.layers
    ]
    assert [[m.mag for m in la.mags] for la in found.layers] == [[(1, 1, 1), (2, 2, 1)], [(1, 1, 1)]]
    assert found.voxel_size == (10.0, 10.0, 40.0)
    assert found.layers[1].largest_segment_id == seg.max()
    box = BoundingBox(offset=(0, 0, 0), size=(43, 35, 21))
    assert_same(read(tmp_path / "all/raw/1", box)[place], color)
    assert_same(read(tmp_path / "all/seg/1", box)[place], seg[None])
    half = box.in_mag((2, 2, 1))
    assert_same(read(tmp_path / "all/raw/2-2-1", half), read(start / "raw/2-2-1", half))

    convert(start / "seg", tmp_path / "layer", format=SMALL[second])
    (layer,) = properties.read(tmp_path / "layer").layers
    assert (layer.name, layer.category, layer.bounding_box) == (
        "seg",
        "segmentation",
        expected.layers[1].bounding_box,
    )
    assert_same(read(tmp_path / "layer/seg/1", box)[place], seg[None])

    convert(start / "raw/2-2-1", tmp_path / "mag", format=SMALL[second])
    (layer,) = properties.read(tmp_path / "mag").layers
    assert [m.mag for m in layer.mags] == [(2, 2, 1)]
    assert_same(read(tmp_path / "mag/raw/2-2-1", half), read(start / "raw/2-2-1", half))


def test_wkw_without_a_dataset_document(tmp_path: Path) -> None:
    values = smooth((1, 30, 20, 10), "i2")
    for mag, step in (("1", 1), ("2", 2)):
        array = wkw.create(tmp_path / f"em/{mag}", dtype="i2", block_len=8, file_len=4, block_type="lz4")
        array[:, : 30 // step, : 20 // step, : 10 // step] = values[:, ::step, ::step, ::step]
    report = convert(tmp_path / "em", tmp_path / "layer", format=SMALL["zarr3"])
    assert report.notes == ("the source tells no voxel size; 1 nm is taken, give voxel_size for another",)
    (layer,) = properties.read(tmp_path / "layer").layers
    assert (layer.name, [m.mag for m in layer.mags]) == ("em", [(1, 1, 1), (2, 2, 2)])
    assert layer.bounding_box == BoundingBox(offset=(0, 0, 0), size=(32, 32, 32))
    assert_same(read_by_zarr(tmp_path / "layer/em/1")[:, :30, :20, :10], values)
    assert_same(read_by_zarr(tmp_path / "layer/em/2")[:, :15, :10, :5], values[:, ::2, ::2, ::2])


@pytest.mark.parametrize("zarr_format", [2, 3])
def test_plain_zarr_arrays_have_the_axes_of_ome_zarr_or_those_given(zarr_format: Any, tmp_path: Path) -> None:
    values = smooth((1, 17, 12, 9), "u2")[0]
    fastzarr.create_array(
        tmp_path / "zyx.zarr", data=values.transpose(2, 1, 0), chunks=(4, 4, 4), zarr_format=zarr_format
    )
    fastzarr.create_array(tmp_path / "xyz.zarr", data=values, chunks=(4, 4, 4), zarr_format=zarr_format)
    convert(tmp_path / "zyx.zarr", tmp_path / "a", format=SMALL["wkw"])
    convert(tmp_path / "xyz.zarr", tmp_path / "b", format=SMALL["wkw"], axes="xyz")
    assert_same(read(tmp_path / "a/zyx/1", whole(values))[0], values)
    assert_same(read(tmp_path / "b/xyz/1", whole(values))[0], values)


@pytest.mark.parametrize("order", [(2, 1, 0), None])
def test_without_names_the_axis_that_is_fastest_in_chunks_is_x(tmp_path: Path, order: Any) -> None:
    stored = labels((50, 60, 70), "u1")
    filters = [fastzarr.codecs.TransposeCodec(order=order)] if order else None
    fastzarr.create_array(tmp_path / "a.zarr", data=stored, chunks=(50, 60, 70), filters=filters)
    convert(tmp_path / "a.zarr", tmp_path / "out", format=SMALL["wkw"])
    (place,) = (tmp_path / "out").glob("*/1")
    expected = stored if order else stored.T
    extent = tuple(slice(0, size) for size in expected.shape)
    assert np.array_equal(wkw.open(place, mode="r")[(0, *extent)], expected)


def test_dimension_names_are_heeded(tmp_path: Path) -> None:
    values = smooth((2, 17, 12, 9), "u2")
    stored = values.transpose(1, 3, 0, 2)
    fastzarr.create_array(
        tmp_path / "a.zarr", data=stored, chunks=(4, 4, 2, 4), dimension_names=["x", "z", "c", "y"]
    )
    convert(tmp_path / "a.zarr", tmp_path / "out", format=SMALL["wkw"], layer="a")
    assert_same(read(tmp_path / "out/a/1", whole(values)), values)


def test_image_of_ome_zarr_with_time_translation_and_levels(tmp_path: Path) -> None:
    values = smooth((1, 16, 12, 8), "u1")[0]
    coarse = values[::2, ::2, :]
    group = fastzarr.create_group(tmp_path / "image.zarr")
    datasets = []
    for path, data, scale in (("0", values, [1, 2, 0.5, 0.5]), ("1", coarse, [1, 2, 1, 1])):
        stored = np.stack([np.zeros_like(data), data]).transpose(0, 3, 2, 1)
        group.create_array(path, data=stored, chunks=(1, 4, 4, 4))
        steps = [
            {"type": "scale", "scale": scale},
            {"type": "translation", "translation": [0, 8, 2, 1]},
        ]
        datasets.append({"path": path, "coordinateTransformations": steps})
    axes = [{"name": "t", "type": "time"}]
    axes += [{"name": a, "type": "space", "unit": "micrometer"} for a in "zyx"]
    group.update_attributes(
        {"ome": {"version": "0.5", "multiscales": [{"axes": axes, "datasets": datasets, "name": "brain"}]}}
    )
    with pytest.raises(
        MetadataError, match="axis 't': got length 2, expected length 1; with more choose one"
    ):
        convert(tmp_path / "image.zarr", tmp_path / "out")
    convert(tmp_path / "image.zarr", tmp_path / "out", time=1, format=SMALL["wkw"])
    dataset = properties.read(tmp_path / "out")
    assert dataset.voxel_size == (500.0, 500.0, 2000.0)
    (layer,) = dataset.layers
    assert layer.bounding_box == BoundingBox(offset=(2, 4, 4), size=(16, 12, 8))
    assert [mag.mag for mag in layer.mags] == [(1, 1, 1), (2, 2, 1)]
    assert_same(read_by_wkw(tmp_path / "out/brain/1", (2, 4, 4), (16, 12, 8))[0], values)
    assert_same(read_by_wkw(tmp_path / "out/brain/2-2-1", (1, 2, 4), (8, 6, 8))[0], coarse)

    convert(tmp_path / "image.zarr/1", tmp_path / "one", time=1, format=SMALL["wkw"], offset=(4, 0, 0))
    (layer,) = properties.read(tmp_path / "one").layers
    assert layer.bounding_box == BoundingBox(offset=(4, 0, 0), size=(16, 12, 8))
    assert_same(read_by_wkw(tmp_path / "one/brain/2-2-1", (2, 0, 0), (8, 6, 8))[0], coarse)


def test_bounding_box_layers_and_magnifications_are_chosen(tmp_path: Path) -> None:
    values = smooth((1, 40, 40, 40), "u1")
    for layer in ("a", "b"):
        convert(
            values,
            tmp_path / "all",
            axes="cxyz",
            layer=layer,
            downsample=2,
            voxel_size=(1, 1, 1),
            format=SMALL["wkw"],
        )
    box = BoundingBox(offset=(11, 9, 8), size=(21, 7, 9))
    convert(
        tmp_path / "all",
        tmp_path / "part",
        layers=("b",),
        mags=((1, 1, 1), (4, 4, 4)),
        bounding_box=box,
        format=SMALL["zarr3"],
    )
    (layer,) = properties.read(tmp_path / "part").layers
    assert (layer.name, layer.bounding_box, [m.mag for m in layer.mags]) == ("b", box, [(1, 1, 1), (4, 4, 4)])
    found = read_by_zarr(tmp_path / "part/b/1")
    assert_same(found[(slice(None), *box.slices())], values[(slice(None), *box.slices())])
    assert found.astype(bool).sum() == values[(slice(None), *box.slices())].astype(bool).sum()
    with pytest.raises(MetadataError, match="layers: got 'c', expected some of a, b"):
        convert(tmp_path / "all", tmp_path / "none", layers=("c",))
    with pytest.raises(MetadataError, match="mags: got 8, expected some of 1, 2, 4"):
        convert(tmp_path / "all", tmp_path / "none", mags=((8, 8, 8),))
    with pytest.raises(MetadataError, match=r"bounding_box: got .* expected a part of"):
        convert(
            tmp_path / "all", tmp_path / "none", bounding_box=BoundingBox(offset=(50, 0, 0), size=(1, 1, 1))
        )
    with pytest.raises(MetadataError, match="layer: got one name for the layers a, b"):
        convert(tmp_path / "all", tmp_path / "none", layer="c")
    assert not (tmp_path / "none").exists()


def test_what_is_in_the_way_stays(tmp_path: Path) -> None:
    first, second = np.full((9, 9, 9), 1, "u1"), np.full((9, 9, 9), 2, "u1")
    convert(first, tmp_path / "out", format=SMALL["wkw"], voxel_size=(1, 1, 1))
    with pytest.raises(NodeExistsError, match="color: is there already; overwrite, or choose another layer"):
        convert(second, tmp_path / "out", format=SMALL["wkw"])
    with pytest.raises(MetadataError, match=r"voxel_size: got \(2, 2, 2\) nm, expected \(1.0, 1.0, 1.0\) nm"):
        convert(second, tmp_path / "out", layer="b", voxel_size=(2, 2, 2))
    assert_same(read(tmp_path / "out/color/1", whole(first))[0], first)
    convert(second, tmp_path / "out", format=SMALL["zarr3"], overwrite=True)
    assert_same(read(tmp_path / "out/color/1", whole(second))[0], second)
    assert not (tmp_path / "out/color/1/header.wkw").exists()
    with pytest.raises(NodeExistsError, match="is the source itself"):
        convert(tmp_path / "out/color", tmp_path / "out", overwrite=True, format=SMALL["wkw"])
    (tmp_path / "file").write_text("")
    with pytest.raises(NodeExistsError, match="file: got a file, expected a directory"):
        convert(second, tmp_path / "file")


def test_overwriting_removes_nothing_but_layers(tmp_path: Path) -> None:
    values = np.ones((9, 9, 9), "u1")
    out = tmp_path / "out"
    (out / "full/1").mkdir(parents=True)
    (out / "full/1/notes.txt").write_text("mine")
    (out / "color").write_text("mine")
    (out / "gone").symlink_to(tmp_path / "nothing")
    for name in ("color", "full", "gone"):
        with pytest.raises(NodeExistsError, match=f"{name}: is there already; overwrite, or choose"):
            convert(values, out, layer=name)
        with pytest.raises(NodeExistsError, match=f"{name}: got what is no layer, expected one to overwrite"):
            convert(values, out, layer=name, overwrite=True)
    assert (out / "color").read_text() == (out / "full/1/notes.txt").read_text() == "mine"
    assert (out / "gone").is_symlink()
    (out / ".convert").mkdir()
    (out / ".convert/notes.txt").write_text("mine")
    with pytest.raises(NodeExistsError, match=r"\.convert: got notes.txt, expected what a conversion leaves"):
        convert(values, out, overwrite=True)
    assert (out / ".convert/notes.txt").read_text() == "mine"


def test_datasets_are_not_made_in_arrays(tmp_path: Path) -> None:
    values = np.ones((9, 9, 9), "u1")
    for zarr_format in (2, 3):
        path = tmp_path / str(zarr_format)
        fastzarr.create_array(path, data=values, zarr_format=zarr_format)
        with pytest.raises(NodeExistsError, match="got an array, expected a dataset, or nothing yet"):
            convert(values, path)
    wkw.create(tmp_path / "wkw", dtype="u1")
    with pytest.raises(NodeExistsError, match="got an array, expected a dataset, or nothing yet"):
        convert(values, tmp_path / "wkw")


def test_what_fails_before_voxels_are_written_leaves_nothing(tmp_path: Path) -> None:
    many = np.ones((300, 4, 4, 4), "u1")
    with pytest.raises(MetadataError, match="channels: got 300, expected 1 to 255"):
        convert(many, tmp_path / "out", axes="cxyz", format=SMALL["wkw"])
    with pytest.raises(MetadataError, match="source: got no voxels in layer 'color'"):
        convert(np.ones((0, 4, 4), "u1"), tmp_path / "out")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("leftover", ["a file", "a link"])
def test_what_stands_where_layers_are_written_stays(leftover: str, tmp_path: Path) -> None:
    stage = tmp_path / "out/.convert"
    stage.parent.mkdir()
    (tmp_path / "other").mkdir()
    if leftover == "a file":
        stage.write_text("mine")
    else:
        stage.symlink_to(tmp_path / "other")
    with pytest.raises(NodeExistsError, match=f"convert: got {leftover}, expected a directory; remove it"):
        convert(np.ones((4, 4, 4), "u1"), tmp_path / "out", overwrite=True)
    assert stage.is_symlink() or stage.read_text() == "mine"
    assert not [*(tmp_path / "other").iterdir()]


@pytest.mark.parametrize(
    ("members", "text"),
    [
        ({"downsample": "all"}, "downsample: got 'all', expected 'auto' or 0 to 16"),
        ({"downsample": 1.5}, "downsample: got 1.5, expected 'auto' or 0 to 16"),
        ({"offset": (1, 2)}, r"offset: got \(1, 2\), expected three numbers of 0 or more"),
        ({"voxel_size": ("a", 1, 1)}, r"voxel_size: got \('a', 1, 1\), expected three numbers"),
        ({"voxel_size": (1, 1)}, r"voxel_size: got \(1, 1\), expected three numbers"),
        ({"layer": "zarr.json"}, "layer: got 'zarr.json', expected letters, .* no document's name"),
        ({"layer": properties.DOCUMENT}, "layer: got 'datasource-properties.json', expected letters"),
    ],
)
def test_options_that_can_not_be(members: dict[str, Any], text: str) -> None:
    with pytest.raises(MetadataError, match=text):
        Options(**members)


def test_links_to_nothing_are_refused(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "nothing")
    with pytest.raises(NodeExistsError, match=r"link: got a link to .*nothing, which is not there, expected"):
        convert(np.ones((9, 9, 9), "u1"), tmp_path / "link")
    (tmp_path / "nothing").mkdir()
    convert(np.ones((9, 9, 9), "u1"), tmp_path / "link")
    assert properties.read(tmp_path / "nothing").layers[0].name == "color"


@pytest.mark.parametrize("to", ["wkw", "zarr2", "zarr3"])
def test_positions_beyond_what_an_array_has(to: str, tmp_path: Path) -> None:
    for offset in (2**63, 2**63 - 5, 10**30):
        with pytest.raises(
            MetadataError, match=r"layer 'color': offset: got voxels up to .* less than 2\*\*63"
        ):
            convert(np.ones((9, 9, 9), "u1"), tmp_path / "out", format=SMALL[to], offset=(0, offset, 0))
    assert not (tmp_path / "out").exists()


def test_sources_that_are_not_there_or_not_understood(tmp_path: Path) -> None:
    with pytest.raises(NodeNotFoundError, match="nothing: no such file or directory"):
        convert(tmp_path / "nothing", tmp_path / "out")
    (tmp_path / "text.txt").write_text("")
    with pytest.raises(MetadataError, match=r"got a file, expected a directory, or a file named \*.nii or"):
        convert(tmp_path / "text.txt", tmp_path / "out")
    fastzarr.create_group(tmp_path / "group.zarr").create_array("b", data=np.ones((3, 3)))
    with pytest.raises(MetadataError, match="got a group with b below, expected an array, an image"):
        convert(tmp_path / "group.zarr", tmp_path / "out")
    with pytest.raises(MetadataError, match="got int, expected a path, a URL or an array"):
        convert(3, tmp_path / "out")
    with pytest.raises(MetadataError, match=r"axes: got 'xy' for shape \(3, 3, 3\), expected 3 different"):
        convert(np.ones((3, 3, 3), "u1"), tmp_path / "out", axes="xy")
    with pytest.raises(CastError, match="got voxels of complex128, expected one of uint8"):
        convert(np.ones((3, 3, 3), "c16"), tmp_path / "out")
    with pytest.raises(MetadataError, match="dtype: got float32, expected integers for a segmentation"):
        convert(np.ones((3, 3, 3), "f4"), tmp_path / "out", category="segmentation")
    assert not (tmp_path / "out").exists()


def test_paths_that_leave_the_dataset_are_refused(tmp_path: Path) -> None:
    convert(np.ones((9, 9, 9), "u1"), tmp_path / "out", format=SMALL["wkw"])
    convert(np.ones((9, 9, 9), "u1"), tmp_path / "other", format=SMALL["wkw"])
    file = tmp_path / "out" / properties.DOCUMENT
    for path in ("../other/color/1", str(tmp_path / "other/color/1"), "s3://bucket/color/1"):
        file.write_text(file.read_text().replace("./color/1", path))
        with pytest.raises(MetadataError, match=r"mag 1: got path .*, expected a path within the dataset"):
            convert(tmp_path / "out", tmp_path / "copy")
        file.write_text(file.read_text().replace(path, "./color/1"))


def test_document_that_contradicts_the_files_is_refused(tmp_path: Path) -> None:
    convert(np.ones((9, 9, 9), "u1"), tmp_path / "out", format=SMALL["wkw"])
    file = tmp_path / "out" / properties.DOCUMENT
    file.write_text(file.read_text().replace('"uint8"', '"uint16"'))
    with pytest.raises(MetadataError, match="mag 1: got 1 channels of uint8, expected 1 of uint16"):
        convert(tmp_path / "out", tmp_path / "copy")


def test_values_are_cast_only_where_they_fit(tmp_path: Path) -> None:
    values = smooth((1, 9, 9, 9), "u2")
    with pytest.raises(CastError, match=r"color/1 at \(0, 0, 0\): got \d+, expected values that uint8 holds"):
        convert(values, tmp_path / "out", axes="cxyz", dtype="uint8")
    assert not (tmp_path / "out/color").exists()
    with pytest.raises(CastError, match="dtype: got 'decimal', expected one of uint8"):
        convert(values, tmp_path / "out", axes="cxyz", dtype="decimal")
    convert(values, tmp_path / "wide", axes="cxyz", dtype="uint32", format=SMALL["zarr3"])
    assert_same(read(tmp_path / "wide/color/1", whole(values)), values.astype("u4"))
    convert(values > 3, tmp_path / "bool", axes="cxyz", format=SMALL["zarr3"])
    assert_same(read(tmp_path / "bool/color/1", whole(values)), (values > 3).astype("u1"))
