"""Data that are made anew, changed or removed while they are served: no wrong bytes, no invented zeros."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fastzarr
from fastzarr import wkw
from fastzarr.errors import ChunkError, ZarrError
from fastzarr.serve.cache import BucketCache
from fastzarr.serve.documents import ChangedError
from fastzarr.serve.volume import Volume

FORMS = ("wkw", "v3", "v2")
PLACES = [(0, 0, 0), (1, 1, 1)]


def make(path: Path, form: str, value: int, *, other: bool = False) -> Any:
    """64³ voxels of `value`; `other`: coded in another way."""
    if form == "wkw":
        array = wkw.create(path, dtype="uint8", block_type="raw" if other else "lz4")
        array[:, :64, :64, :64] = value
        return wkw.open(path, mode="r", shape=(1, 64, 64, 64))
    array = fastzarr.create_array(
        path,
        shape=(1, 64, 64, 64),
        chunks=(1, 32, 32, 32),
        dtype="uint8",
        zarr_format=int(form[1]),
        compressors=None if other else "auto",
        fill_value=0,
    )
    array[...] = value
    return fastzarr.open_array(path, mode="r")


def age(root: Path) -> None:
    """Files changed just now are looked at each time."""
    for path in root.rglob("*"):
        os.utime(path, ns=(10**9, 10**9))


@pytest.fixture(params=["cached", "uncached"])
def cache(request: pytest.FixtureRequest) -> BucketCache:
    return BucketCache(1 << 24 if request.param == "cached" else 0, recheck=0)


@pytest.mark.parametrize("form", FORMS)
def test_made_anew_in_another_coding(tmp_path: Path, form: str, cache: BucketCache) -> None:
    path = tmp_path / "a"
    volume = Volume(make(path, form, 7), "cxyz")
    age(path)
    assert {bytes(piece or b"") for piece in cache.read(volume, PLACES)} == {b"\7" * 32**3}
    shutil.rmtree(path)
    make(path, form, 9, other=True)
    with pytest.raises(ZarrError):
        cache.read(volume, PLACES)
    with pytest.raises(ZarrError):
        volume.read((0, 0, 0), (64, 64, 64))


@pytest.mark.parametrize("form", FORMS)
def test_made_anew_in_the_same_coding(tmp_path: Path, form: str, cache: BucketCache) -> None:
    path = tmp_path / "a"
    volume = Volume(make(path, form, 7), "cxyz")
    age(path)
    cache.read(volume, PLACES)
    shutil.rmtree(path)
    make(path, form, 9)
    assert {bytes(piece or b"") for piece in cache.read(volume, PLACES)} == {b"\t" * 32**3}


@pytest.mark.parametrize("form", FORMS)
def test_gone(tmp_path: Path, form: str, cache: BucketCache) -> None:
    path = tmp_path / "above" / "a"
    volume = Volume(make(path, form, 7), "cxyz")
    age(path)
    cache.read(volume, PLACES)
    shutil.rmtree(path.parent)
    for ask in (
        lambda: cache.read(volume, PLACES),
        lambda: volume.read((3, 3, 3), (5, 5, 5)),
        lambda: volume.buckets([(0, 0, 0)], 16),
        lambda: list(volume.region(volume.box._replace(start=(0, 0, 0), end=(2, 2, 2)), 16)),
    ):
        with pytest.raises(ChangedError, match="it is gone since the dataset was opened; restart the server"):
            ask()


def test_attributes_and_growth_change_nothing(tmp_path: Path, cache: BucketCache) -> None:
    path = tmp_path / "a"
    volume = Volume(make(path, "v3", 7), "cxyz")
    array = fastzarr.open_array(path)
    array.attrs["seen"] = True
    array.resize((1, 64, 64, 96))
    assert [bytes(piece or b"") for piece in cache.read(volume, [*PLACES, (0, 0, 2)])] == [
        b"\7" * 32**3,
        b"\7" * 32**3,
        b"",
    ]
    array.resize((1, 64, 64, 40))
    with pytest.raises(ChangedError, match="it is another"):
        cache.read(volume, PLACES)
    array.resize((1, 64, 64, 64))
    array[0, :, :, 32:] = 7
    assert bytes(cache.read(volume, PLACES)[1] or b"") == b"\7" * 32**3


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", '{"shape": 5}', '{"shape": [Infinity]}', '{"shape": ["9"]}', "[" * 100_000]
)
def test_a_document_that_is_damaged(tmp_path: Path, text: str) -> None:
    volume = Volume(make(tmp_path / "a", "v3", 7), "cxyz")
    (tmp_path / "a" / "zarr.json").write_text(text)
    with pytest.raises(ChangedError, match=r"zarr\.json: it is another"):
        volume.buckets(PLACES)


@pytest.mark.parametrize("kind", ["fifo", "directory"])
def test_a_document_that_is_no_file_any_more(tmp_path: Path, kind: str) -> None:
    volume = Volume(make(tmp_path / "a", "v3", 7), "cxyz")
    document = tmp_path / "a" / "zarr.json"
    document.unlink()
    os.mkfifo(document) if kind == "fifo" else document.mkdir()
    with pytest.raises(ChangedError, match=r"zarr\.json: it is gone"):
        volume.buckets(PLACES)


@pytest.mark.parametrize("form", ["v2", "v3"])
def test_chunks_behind_a_link_that_leads_nowhere(tmp_path: Path, form: str, cache: BucketCache) -> None:
    volume = Volume(make(tmp_path / "a", form, 7), "cxyz")
    chunks = tmp_path / "a" / ("c" if form == "v3" else "0.0.0.0")
    chunks.rename(tmp_path / "away")
    chunks.symlink_to("store")
    for ask in (
        lambda: cache.read(volume, [(0, 0, 0)]),
        lambda: volume.read((3, 3, 3), (5, 5, 5)),
        lambda: cache.read(volume, [(0, 0, 0)], 16),
    ):
        with pytest.raises(ZarrError, match="leads nowhere"):
            ask()


@pytest.mark.parametrize("form", ["wkw", "v3"])
def test_answers_are_failures_of_the_server(
    tmp_path: Path, form: str, in_process: Callable[..., Any]
) -> None:
    make(tmp_path / "a", form, 7)
    client = in_process(tmp_path)
    (dataset,) = client.site.catalogue.datasets.values()
    place = f"/data/datasets/{dataset.name}/layers/{next(iter(dataset.layers))}/data"
    asked, other = (
        json.dumps([{"position": [n, n, n], "mag": [1, 1, 1], "cubeSize": 32}]).encode() for n in (0, 32)
    )
    headers = {"content-type": "application/json"}
    assert client.request("POST", place, headers=headers, body=asked).body == b"\7" * 32**3
    shutil.rmtree(tmp_path / "a")
    cutout = f"{place}?x=0&y=0&z=0&width=40&height=4&depth=4&mag=1-1-1"
    for reply in (client.request("POST", place, headers=headers, body=other), client.get(cutout)):
        assert reply.status == 500
        assert "it is gone since the dataset was opened; restart the server" in reply.body.decode()
        assert str(tmp_path) not in reply.body.decode()


def test_arrays_that_are_no_files_are_not_looked_at() -> None:
    array = fastzarr.create_array({}, shape=(4, 4, 4), dtype="uint8")
    array[...] = 5
    assert np.frombuffer(Volume(array, "xyz").read((0, 0, 0), (4, 4, 4)), "u1").min() == 5


def test_made_anew_with_other_dimensions(tmp_path: Path, cache: BucketCache) -> None:
    """Its chunks are alike, but their voxels lie elsewhere."""
    path = tmp_path / "a"
    for names in (("z", "y", "x"), ("x", "y", "z")):
        fastzarr.create_array(
            path, shape=(64,) * 3, chunks=(32,) * 3, dtype="uint8", dimension_names=names, overwrite=True
        )[...] = 7
        if names[0] == "z":
            volume = Volume(fastzarr.open_array(path, mode="r"), names)
            age(path)
            assert cache.read(volume, PLACES) == [b"\7" * 32**3] * 2
    with pytest.raises(ChangedError, match="it is another"):
        cache.read(volume, PLACES)


def test_what_fails_because_it_was_made_anew_is_told_as_such(tmp_path: Path) -> None:
    volume = Volume(make(tmp_path / "a", "v3", 7), "cxyz")
    shutil.rmtree(tmp_path / "a")
    make(tmp_path / "a", "v3", 9, other=True)
    with pytest.raises(ChangedError, match="it is another") as failure:
        volume.buckets(PLACES)
    assert isinstance(failure.value.__context__, ZarrError)


@pytest.mark.parametrize("what", ["directory", "link that leads nowhere"])
@pytest.mark.parametrize("chunks", [32, 20, 8], ids=["buckets", "some", "many"])
def test_what_is_no_file_is_no_missing_chunk(
    tmp_path: Path, cache: BucketCache, what: str, chunks: int
) -> None:
    path = tmp_path / "a"
    array = fastzarr.create_array(path, shape=(64,) * 3, chunks=(chunks,) * 3, dtype="uint8")
    array[...] = 7
    volume = Volume(fastzarr.open_array(path, mode="r"), "zyx")
    age(path)
    chunk = path / "c/0/0/0"
    chunk.unlink()
    if what == "directory":
        chunk.mkdir()
    else:
        chunk.symlink_to("nothing")
    for ask in (
        lambda: cache.read(volume, PLACES),
        lambda: cache.read(volume, [(0, 0, 0)], 16),
        lambda: cache.read(volume, [(0, 0, 0)], 64),
        lambda: volume.read((1, 1, 1), (40, 40, 40)),
        lambda: volume.read((-9, -9, -9), (10, 10, 10)),
    ):
        with pytest.raises(ChunkError, match=f"c/0/0/0': is a {what}, expected a file or nothing"):
            ask()
    assert cache.read(volume, PLACES[1:]) == [b"\7" * 32**3]
