"""NIfTI files, real and made: voxels as nibabel has them, sizes, labels, scaling, colours, damage."""

import gzip
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from oracle import assert_same, read_by_zarr
from volume_oracles import labels, read_by_wkw, smooth, template

from fastzarr.errors import MetadataError
from fastzarr.volumes import Format, convert, properties

nibabel = pytest.importorskip("nibabel")

ZARR, WKW = Format(to="zarr3", chunk=16, shard=64), Format(to="wkw", chunk=16, shard=64)


def saved(
    path: Path, values: Any, *, zooms: tuple[float, ...] = (), unit: str | None = "mm", **header: Any
) -> Path:
    image = nibabel.Nifti1Image(values, np.diag([*((*zooms, 1.0, 1.0, 1.0)[:3]), 1.0]))
    if zooms:
        image.header.set_zooms(zooms)
    image.header.set_xyzt_units(xyz=unit)
    for name, value in header.items():
        getattr(image.header, name)(*value)
    nibabel.save(image, path)
    return path


def dtype_and_voxels(path: Path) -> Any:
    return np.asarray(nibabel.load(path).dataobj)


@pytest.mark.parametrize(
    ("name", "category", "voxel_size"),
    [
        ("ch2.nii.gz", "color", 1e6),
        ("aal.nii.gz", "segmentation", 1e6),
        ("JHU-WhiteMatter-labels-2mm.nii.gz", "segmentation", 2e6),
        ("inia19-t1-brain.nii.gz", "color", 5e5),
        ("inia19-NeuroMaps.nii.gz", "segmentation", 5e5),
    ],
)
def test_real_volumes(name: str, category: str, voxel_size: float, tmp_path: Path) -> None:
    expected = dtype_and_voxels(template(name))
    convert(template(name), tmp_path / "zarr", downsample=1)
    convert(template(name), tmp_path / "wkw", format=Format(to="wkw"), memory=60 << 20)
    (layer,) = properties.read(tmp_path / "zarr").layers
    assert (layer.name, layer.category) == (name.removesuffix(".nii.gz"), category)
    assert (layer.bounding_box.offset, layer.bounding_box.size) == ((0, 0, 0), expected.shape)
    assert [mag.mag for mag in layer.mags] == [(1, 1, 1), (2, 2, 2)]
    assert properties.read(tmp_path / "zarr").voxel_size == (voxel_size,) * 3
    assert layer.largest_segment_id == (expected.max() if category == "segmentation" else None)
    x, y, z = expected.shape
    assert_same(read_by_zarr(tmp_path / "zarr" / layer.name / "1")[0, :x, :y, :z], expected)
    assert_same(read_by_wkw(tmp_path / "wkw" / layer.name / "1", (0, 0, 0), expected.shape)[0], expected)
    coarse = read_by_zarr(tmp_path / "zarr" / layer.name / "2")[0]
    window = expected[10:12, 20:22, 30:32]
    if category == "color" and expected.dtype.kind in "iu":
        assert coarse[5, 10, 15] == int(window.astype(int).sum() + 4) // 8
    elif category == "segmentation":
        assert coarse[5, 10, 15] in window


@pytest.mark.parametrize("dtype", ["u1", "<i2", ">i2", ">f4", "f8", "u4", "i8"])
@pytest.mark.parametrize("suffix", [".nii", ".nii.gz"])
def test_every_data_type(dtype: str, suffix: str, tmp_path: Path) -> None:
    values = smooth((1, 21, 30, 11), np.dtype(dtype).newbyteorder("="))[0].astype(dtype)
    header = nibabel.Nifti1Header(endianness=">" if dtype.startswith(">") else "<")
    header.set_data_dtype(dtype)
    nibabel.save(nibabel.Nifti1Image(values, np.eye(4), header), tmp_path / f"a{suffix}")
    convert(tmp_path / f"a{suffix}", tmp_path / "out", format=WKW, memory=2 << 20, workers=2)
    found = read_by_wkw(tmp_path / "out/a/1", (0, 0, 0), values.shape)[0]
    assert_same(found, values)
    assert not (tmp_path / "out/.convert").exists()


def test_voxel_sizes_and_units(tmp_path: Path) -> None:
    values = labels((5, 6, 7), "u1")
    for unit, nanometers in (("mm", 1e6), ("micron", 1e3), ("meter", 1e9), (None, 1e6)):
        path = saved(tmp_path / f"{unit}.nii", values, zooms=(0.5, 2.0, 4.0), unit=unit)
        convert(path, tmp_path / f"{unit}-out", format=ZARR)
        found = properties.read(tmp_path / f"{unit}-out").voxel_size
        assert found == (0.5 * nanometers, 2.0 * nanometers, 4.0 * nanometers)
    convert(path, tmp_path / "given", format=ZARR, voxel_size=(1.0, 2.0, 3.0))
    assert properties.read(tmp_path / "given").voxel_size == (1.0, 2.0, 3.0)


def test_labels_are_told_by_the_intent(tmp_path: Path) -> None:
    values = labels((20, 21, 22), "i2")
    path = saved(tmp_path / "seg.nii", values, set_intent=("label",))
    convert(path, tmp_path / "out", format=ZARR, dtype="uint32")
    (layer,) = properties.read(tmp_path / "out").layers
    assert (layer.category, layer.dtype, layer.largest_segment_id) == (
        "segmentation",
        np.uint32,
        values.max(),
    )
    convert(path, tmp_path / "color", format=ZARR, category="color")
    assert properties.read(tmp_path / "color").layers[0].category == "color"


def test_scaling_of_the_header_is_applied(tmp_path: Path) -> None:
    stored = smooth((1, 20, 9, 8), "i2")[0]
    image = nibabel.Nifti1Image(stored, np.eye(4))
    image.header.set_slope_inter(0.5, 10)
    image.header.set_data_dtype("i2")
    path = tmp_path / "scaled.nii"
    with path.open("wb") as opened:
        image.header["vox_offset"] = 352
        image.header["magic"] = b"n+1"
        opened.write(image.header.binaryblock + b"\0\0\0\0" + stored.tobytes(order="F"))
    expected = dtype_and_voxels(path)
    assert expected.dtype.kind == "f"
    assert expected[5, 5, 5] == stored[5, 5, 5] * 0.5 + 10
    convert(path, tmp_path / "out", format=ZARR)
    assert_same(read_by_zarr(tmp_path / "out/scaled/1")[0, :20, :9, :8], expected)


def test_colours_are_channels(tmp_path: Path) -> None:
    values = smooth((3, 9, 8, 7), "u1")
    rgb = np.empty(values.shape[1:], [("R", "u1"), ("G", "u1"), ("B", "u1")])
    for name, channel in zip("RGB", values, strict=True):
        rgb[name] = channel
    nibabel.save(nibabel.Nifti1Image(rgb, np.eye(4)), tmp_path / "rgb.nii.gz")
    convert(tmp_path / "rgb.nii.gz", tmp_path / "out", format=WKW)
    assert_same(read_by_wkw(tmp_path / "out/rgb/1", (0, 0, 0), (9, 8, 7)), values)
    (layer,) = properties.read(tmp_path / "out").layers
    assert (layer.element_class, layer.channels) == ("uint24", 3)


def test_one_of_several_volumes_is_chosen(tmp_path: Path) -> None:
    values = np.stack([smooth((1, 9, 8, 7), "u1", seed)[0] for seed in range(3)], axis=-1)
    path = saved(tmp_path / "run.nii", values)
    with pytest.raises(
        MetadataError, match="axis 't': got length 3, expected length 1; with more choose one"
    ):
        convert(path, tmp_path / "out")
    with pytest.raises(MetadataError, match="axis 't': got index 3, expected 0 to 2"):
        convert(path, tmp_path / "out", time=3)
    convert(path, tmp_path / "out", time=2, format=ZARR)
    assert_same(read_by_zarr(tmp_path / "out/run/1")[0, :9, :8, :7], values[..., 2])


def test_bounding_box_reads_only_a_part(tmp_path: Path) -> None:
    values = smooth((1, 30, 20, 10), "u2")[0]
    path = saved(tmp_path / "a.nii", values)
    from fastzarr.volumes.boxes import BoundingBox

    box = BoundingBox(offset=(12, 5, 3), size=(9, 8, 4))
    convert(path, tmp_path / "out", bounding_box=box, format=WKW)
    assert_same(read_by_wkw(tmp_path / "out/a/1", box.offset, box.size)[0], values[box.slices()])
    convert(path, tmp_path / "moved", offset=(100, 0, 7), format=WKW)
    assert_same(read_by_wkw(tmp_path / "moved/a/1", (100, 0, 7), (30, 20, 10))[0], values)


def test_damaged_files_are_named(tmp_path: Path) -> None:
    path = saved(tmp_path / "a.nii", smooth((1, 30, 20, 10), "u2")[0])
    whole = path.read_bytes()
    path.write_bytes(whole[:-100])
    with pytest.raises(MetadataError, match=r"a.nii: got \d+ bytes, expected \d+: the file is truncated"):
        convert(path, tmp_path / "out")
    path.write_bytes(b"\0" * 1000)
    with pytest.raises(MetadataError, match=r"a.nii: got no NIfTI file"):
        convert(path, tmp_path / "out")
    packed = tmp_path / "b.nii.gz"
    for content in (gzip.compress(whole)[:-200], whole, gzip.compress(whole)[:-4] + b"\0\0\0\0"):
        packed.write_bytes(content)
        with pytest.raises(MetadataError, match=r"b.nii.gz: got a damaged gzip file"):
            convert(packed, tmp_path / "out")
    complex_file = saved(tmp_path / "c.nii", np.ones((3, 3, 3), "c8"))
    with pytest.raises(MetadataError, match="data type: got complex64, expected real numbers or RGB"):
        convert(complex_file, tmp_path / "out")
    assert not (tmp_path / "out").exists()
