"""The volumes that are served: made of NIfTI, stored by fastzarr, checked by other readers."""

import os
import shutil
from pathlib import Path

import nibabel
import numpy as np
import pytest
import serving

from fastzarr.bench.errors import BenchmarkError
from fastzarr.bench.serving import batches, brain, codec_cost, data, page_cache, sources
from fastzarr.bench.serving.sources import Sources

EDGE = 64


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Sources:
    directory = tmp_path_factory.mktemp("serving")
    return sources.make(directory / "source", EDGE, *serving.write_brain(directory), lambda _: None)


def test_labels_are_those_of_the_nearest_voxel(tmp_path: Path) -> None:
    image, labels = serving.write_brain(tmp_path)
    found = np.stack(list(brain.load(image, labels, EDGE).label_planes())).T
    # The box is 32 × 40 × 24 voxels of labels; along x each is two of the cube.
    inner = np.asarray(nibabel.load(labels).dataobj)[4:36, 4:44, 4:28]
    at = [np.floor((np.arange(EDGE) + 0.5) / EDGE * n).astype(int) for n in inner.shape]
    np.testing.assert_array_equal(found, inner[np.ix_(*at)])
    assert found.dtype == np.uint32


def test_an_image_that_is_linear_stays_so(tmp_path: Path) -> None:
    _, labels = serving.write_brain(tmp_path)
    ramp = np.broadcast_to(5.0 * np.arange(20)[:, None, None], (20, 24, 16)).astype(np.uint8)
    nibabel.save(nibabel.Nifti1Image(ramp, np.diag([2.0, 2.0, 2.0, 1])), tmp_path / "ramp.nii")
    scanned = brain.load(tmp_path / "ramp.nii", labels, EDGE)
    found = np.stack([plane.copy() for plane in scanned.image_planes()]).T
    # A ramp is its own mean, but for the outermost voxels, whose rest comes every 20 voxels of the cube.
    x = scanned.low[0] + (np.arange(EDGE) + 0.5) * (scanned.high[0] - scanned.low[0]) / EDGE
    inner = ~np.isin(np.arange(EDGE) % 20, (0, 19))
    expected = np.rint(5 * x / 2)[inner, None, None]
    assert np.abs(found[inner].astype(int) - expected).max() <= 1
    assert scanned.voxel_size == (500_000.0, 625_000.0, 375_000.0)


def test_the_rest_of_the_original_is_kept(made: Sources) -> None:
    color = made.voxels("color").astype(np.float32)
    assert np.diff(color, axis=0).std() > 10, "interpolation alone would be smooth"


def test_buckets_with_something_in_both_layers(made: Sources) -> None:
    assert made.full_buckets().tolist() == [[x, y, z] for x in (0, 32) for y in (0, 32) for z in (0, 32)]


def test_made_once(made: Sources, tmp_path: Path) -> None:
    directory = shutil.copytree(made.directory.parent, tmp_path / "copy")
    told = list[str]()
    paths = directory / "image.nii.gz", directory / "labels.nii.gz"
    sources.make(directory / "source", EDGE, *paths, told.append)
    assert told == []
    os.truncate(directory / "source" / "color.raw", 5)
    sources.make(directory / "source", EDGE, *paths, told.append)
    assert told == ["making color.raw", "making segmentation.raw"]


@pytest.mark.parametrize("layer", ["color", "segmentation"])
@pytest.mark.parametrize("storage", list(data.STORAGES))
def test_stored_and_read_by_another(made: Sources, storage: str, layer: str, tmp_path: Path) -> None:
    pytest.importorskip("wkw" if storage.startswith("wkw") else "zarr")
    told = list[str]()
    stored, reader = data.make(made, tmp_path, storage, layer, told.append)  # type: ignore[arg-type]
    assert reader == ("wkw" if storage.startswith("wkw") else "zarr")
    assert (stored.path / ("header.wkw" if stored.format == "wkw" else "zarr.json")).is_file()
    assert data.stored_bytes(stored) > 10_000
    assert 0 < codec_cost.decode_seconds(stored, made) < 0.1
    told.clear()
    data.make(made, tmp_path, storage, layer, told.append)  # type: ignore[arg-type]
    assert told == [f"checking {stored.name}"]


def test_other_voxels_are_found_out(made: Sources, tmp_path: Path) -> None:
    stored, _ = data.make(made, tmp_path, "zarr3", "color", lambda _: None)
    other, _ = data.make(made, tmp_path, "zarr3", "segmentation", lambda _: None)
    shutil.rmtree(stored.path)
    shutil.copytree(other.path, stored.path)
    with pytest.raises(
        BenchmarkError, match=r"zarr reads other voxels at \(.*remove .* to have it stored again"
    ):
        data.make(made, tmp_path, "zarr3", "color", lambda _: None)


@pytest.mark.parametrize(
    ("image", "labels", "text"),
    [
        ("image.nii.gz", None, "got --image alone, expected both; give --labels too"),
        (None, "labels.nii.gz", "got --labels alone"),
        ("missing.nii", "labels.nii.gz", "missing.nii does not exist; give a NIfTI file that is there"),
        ("text.nii", "labels.nii.gz", "text.nii: cannot be read as NIfTI"),
        ("image.nii.gz", "zero.nii", "expected labels, whole numbers from 0 to 4294967295 and not all 0"),
        ("far.nii", "labels.nii.gz", "do not overlap: expected two volumes of one space"),
        ("sheared.nii", "labels.nii.gz", "expected three axes along those of the world"),
    ],
)
def test_bad_volumes_are_named(image: str | None, labels: str | None, text: str, tmp_path: Path) -> None:
    serving.write_brain(tmp_path)
    (tmp_path / "text.nii").write_text("no volume" * 100)
    cube = np.zeros((4, 4, 4), np.uint8)
    far, sheared = np.eye(4), np.eye(4)
    far[:3, 3], sheared[0, 1] = 500, 0.3
    for name, affine in (("zero", np.eye(4)), ("far", far), ("sheared", sheared)):
        nibabel.save(nibabel.Nifti1Image(cube, affine), tmp_path / f"{name}.nii")
    with pytest.raises(BenchmarkError, match=text):
        brain.load(image and tmp_path / image, labels and tmp_path / labels, EDGE)


def test_templates_that_are_missing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(brain, "TEMPLATES", tmp_path)
    with pytest.raises(BenchmarkError, match="install it: apt-get install mricron-data; or give volumes"):
        brain.load(None, None, EDGE)


def test_an_edge_that_is_no_multiple(tmp_path: Path) -> None:
    with pytest.raises(BenchmarkError, match="got an edge of 100 voxels, expected a multiple of 32"):
        sources.make(tmp_path, 100, None, None, lambda _: None)


def test_no_room(made: Sources, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fastzarr.bench.host.free_space", lambda _: 2**20)
    with pytest.raises(BenchmarkError, match=r"--data: got .* with 0\.0 GiB free, and 0\.3 GiB are needed"):
        data.make(made, tmp_path, "wkw", "color", lambda _: None)


def test_batches() -> None:
    places = 32 * np.arange(39).reshape(13, 3)
    drawn = batches.drawn(places, 5, seed=1)
    assert drawn == batches.drawn(places, 5, seed=1) != batches.drawn(places, 5, seed=2)
    assert {len(batch) for batch in drawn} == {6}
    once = [bucket for batch in batches.each_once(places, seed=1) for bucket in batch]
    assert len(once) == len(set(once)) == 12
    assert len(batches.each_once(places[:2], seed=1)) == 1


def test_files_leave_the_page_cache(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(os.urandom(2**20))
    if page_cache.resident([path]) is None:
        pytest.skip("this system does not tell what is in its page cache")
    assert page_cache.resident([path]) == 1
    page_cache.drop([path])
    if page_cache.resident([path]) == 1:
        pytest.skip("this file system is memory")
    assert page_cache.resident([path]) == 0
    with path.open("rb") as file:
        file.read()
    assert page_cache.resident([path, path]) == 1
    assert page_cache.resident([]) is None
