"""Coarser magnifications: which ones there are, and their voxels against a plain computation."""

import itertools
from collections import Counter
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from oracle import assert_same, read_by_zarr, values
from volume_oracles import labels, smooth

import fastzarr
from fastzarr.errors import MetadataError
from fastzarr.volumes import Format, convert, ome, properties
from fastzarr.volumes.boxes import BoundingBox
from fastzarr.volumes.downsample import coarser_mags, enough, mean, mode
from fastzarr.volumes.element_class import DTYPES


@pytest.mark.parametrize("dtype", [dtype for dtype in DTYPES if dtype.kind in "iu"], ids=str)
@pytest.mark.parametrize("count", [2, 4, 8])
def test_mean_of_integers_is_exact(dtype: np.dtype[Any], count: int) -> None:
    windows = [values((1, 5, 6, 7), dtype, seed) for seed in range(count)]
    for place in itertools.product(range(5), range(6), range(7)):
        total = sum(int(window[(0, *place)]) for window in windows)
        expected = (Fraction(total, count) + Fraction(1, 2)).__floor__()
        assert int(mean(windows)[(0, *place)]) == expected


def test_mean_of_floats() -> None:
    windows = [values((1, 5, 6, 7), "f4", seed) for seed in range(8)]
    with np.errstate(invalid="ignore"):
        expected = np.mean(np.stack(windows), axis=0, dtype="f8").astype("f4")
        np.testing.assert_allclose(mean(windows), expected, rtol=1e-6)


def test_mean_of_the_largest_floats() -> None:
    largest, inf = np.finfo("f8").max, np.inf
    given = [
        [largest] * 8,
        [largest, -largest] * 4,
        [largest] * 2 + [-largest] * 2 + [0] * 4,
        [inf] + [1.0] * 7,
    ]
    windows = [np.array(column).reshape(1, 2, 2, 1) for column in zip(*given, strict=True)]
    assert mean(windows).ravel().tolist() == [largest, 0, 0, inf]
    assert np.isnan(mean([np.array([inf]), np.array([-inf])])).all()
    smallest = np.array([5e-324])
    assert mean([smallest] * 8).tolist() == [5e-324]


def test_mode_is_the_most_frequent_and_never_background_by_chance() -> None:
    rng = np.random.default_rng(0)
    windows = [rng.integers(0, 3, (1, 6, 7, 8)).astype("u4") for _ in range(8)]
    found = mode(windows)
    for place in np.ndindex(found.shape):
        counts = Counter(int(window[place]) for window in windows)
        most = max(counts.values())
        assert found[place] == max(label for label, count in counts.items() if count == most)


def test_magnifications_bring_voxels_nearer_to_cubes() -> None:
    assert coarser_mags((1, 1, 1), (11.24, 11.24, 25.0), 3) == [(2, 2, 1), (4, 4, 2), (8, 8, 4)]
    assert coarser_mags((1, 1, 1), (4, 4, 40), 4) == [(2, 2, 1), (4, 4, 1), (8, 8, 1), (16, 16, 2)]
    assert coarser_mags((2, 2, 1), (1, 1, 2), 1) == [(4, 4, 2)]
    assert coarser_mags((1, 1, 1), (1, 1, 1), 0) == []
    assert enough((1, 1, 1), (1, 1, 1), (181, 217, 181), 32) == 3
    assert enough((1, 1, 1), (1, 1, 1), (32, 5, 1), 32) == 0
    assert enough((1, 1, 1), (1, 1, 1), (32 << 16, 1, 1), 32) == 16


@pytest.mark.parametrize("longest", [1e9, 1e80])
def test_magnifications_that_never_fit_are_refused(longest: float, tmp_path: Path) -> None:
    expected = (
        r"downsample: got 'auto', expected a box of \(3, 4, 50\) voxels .* in 32 voxels after 16 of them"
    )
    with pytest.raises(MetadataError, match=expected):
        convert(
            np.ones((3, 4, 50), "u1"),
            tmp_path / "out",
            axes="xyz",
            downsample="auto",
            voxel_size=(1, 1, longest),
        )
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("size", [0, -1, np.inf, np.nan, 1e300, 1e-300])
def test_sizes_of_voxels_that_can_not_be(size: float, tmp_path: Path) -> None:
    with pytest.raises(MetadataError, match=r"voxel_size: got \(1, .*, 1\), expected three numbers of nano"):
        convert(np.ones((3, 4, 5), "u1"), tmp_path / "out", voxel_size=(1, size, 1))
    if not size > 0 or np.isinf(size):
        return
    attributes = ome.attributes("zyx", (size, 1, 1), {(1, 1, 1): "0"}, version="0.5")
    fastzarr.create_group(tmp_path / "image.zarr", attributes=attributes)
    fastzarr.create_array(tmp_path / "image.zarr/0", data=np.ones((3, 4, 5), "u1"))
    with pytest.raises(MetadataError, match=r"source: voxel_size: got .*; give voxel_size for another"):
        convert(tmp_path / "image.zarr", tmp_path / "out")
    convert(tmp_path / "image.zarr", tmp_path / "out", voxel_size=(1, 1, 1))


@pytest.mark.parametrize("category", ["color", "segmentation"])
@pytest.mark.parametrize("memory", [200_000, 1 << 30])
def test_pyramid_is_that_of_the_whole_volume(category: Any, memory: int, tmp_path: Path) -> None:
    """With odd sizes, at an odd place, tile by tile or at once; past the edge the last voxel counts again."""
    given = labels((45, 38, 33), "u2")[None] if category == "segmentation" else smooth((2, 45, 38, 33), "i2")
    convert(
        given,
        tmp_path,
        axes="cxyz",
        layer="a",
        category=category,
        offset=(5, 8, 3),
        downsample=3,
        voxel_size=(10, 10, 25),
        memory=memory,
        workers=2,
        format=Format(chunk=4, shard=32),
    )
    (layer,) = properties.read(tmp_path).layers
    assert [mag.mag for mag in layer.mags] == [(1, 1, 1), (2, 2, 1), (4, 4, 2), (8, 8, 4)]
    box = BoundingBox(offset=(5, 8, 3), size=(45, 38, 33))
    expected = given
    for before, mag in itertools.pairwise(layer.mags):
        factor = tuple(b // a for a, b in zip(before.mag, mag.mag, strict=True))
        coarse = box.in_mag(factor)  # type: ignore[arg-type]
        wide = coarse.from_mag(factor)  # type: ignore[arg-type]
        around = [
            (o - w, we - e) for o, w, we, e in zip(box.offset, wide.offset, wide.end, box.end, strict=True)
        ]
        padded = np.pad(expected, [(0, 0), *around], mode="edge")
        fx, fy, fz = factor
        windows = [
            padded[:, x::fx, y::fy, z::fz] for x, y, z in itertools.product(range(fx), range(fy), range(fz))
        ]
        expected, box = (mode if category == "segmentation" else mean)(windows), coarse
        found = read_by_zarr(tmp_path / "a" / Path(mag.path or "").name)
        assert_same(found[(slice(None), *box.slices())], expected)
        outside = found.copy()
        outside[(slice(None), *box.slices())] = 0
        assert not outside.any()
