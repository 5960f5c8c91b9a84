"""The layers as they are stored for servers: WKW and sharded Zarr, written by fastzarr and read by others.

`wkw` and `zarr3` are what webknossos itself writes: LZ4HC in files of 32³ blocks of 32³ voxels; zstd at
level 5 with checksum in shards of as many inner chunks. The others differ in their coding alone, so that both
formats can be compared where their codecs cost the same. What is there from an earlier run is used again,
after the same check as what was just written.
"""

import importlib.util
import json
import shutil
import warnings
from collections.abc import Callable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

import fastzarr
from fastzarr import wkw
from fastzarr.bench.errors import BenchmarkError
from fastzarr.bench.saved import write_whole
from fastzarr.bench.serving import sources
from fastzarr.bench.serving.peers.base import BUCKET, Bucket, Coding, Format, LayerName, StoredLayer
from fastzarr.bench.serving.sources import DTYPES, Sources, Tell
from fastzarr.volumes import ome, properties
from fastzarr.volumes.boxes import BoundingBox
from fastzarr.volumes.properties import Dataset, Layer, Mag

DATASET = "brain"
PER_FILE = 32
"""Blocks and inner chunks along each edge of a file."""
SAMPLES = 64
"""Buckets of each layer that another reader compares with the source."""
FORM = 1
"""Number of the way in which layers are stored; another one stores them anew."""

STORAGES: dict[str, tuple[Format, Coding]] = {
    "wkw": ("wkw", "lz4hc"),
    "zarr3": ("zarr3", "zstd"),
    "wkw-lz4": ("wkw", "lz4"),
    "zarr3-lz4": ("zarr3", "lz4"),
    "wkw-raw": ("wkw", "raw"),
    "zarr3-raw": ("zarr3", "raw"),
}
"""Names of the ways to store, which are those of their directories."""

BLOCK_TYPES: dict[Coding, Literal["raw", "lz4", "lz4hc"]] = {"lz4hc": "lz4hc", "lz4": "lz4", "raw": "raw"}
COMPRESSORS: dict[Coding, Mapping[str, Any] | None] = {
    "zstd": {"name": "zstd", "configuration": {"level": 5, "checksum": True}},
    "lz4": {"name": "numcodecs.lz4", "configuration": {"acceleration": 1}},
    "raw": None,
}


def make(
    made: Sources, directory: Path, storage: str, layer: LayerName, tell: Tell
) -> tuple[StoredLayer, str | None]:
    """The layer below `directory`, stored unless it is there, and the name of the reader that checked it.

    BenchmarkError where samples that the other reader found differ from the source.
    """
    format_, coding = STORAGES[storage]
    edge = made.origin.edge
    stored = StoredLayer(
        root=directory / storage,
        dataset=DATASET,
        layer=layer,
        format=format_,
        coding=coding,
        shape=(edge, edge, edge),
        dtype=DTYPES[layer],
        source=made.path(layer),
    )
    document = directory / f"{storage}-{layer}.json"
    wanted = {"form": FORM, "storage": storage, "layer": layer} | asdict(made.origin)
    if not _says(document, wanted):
        document.unlink(missing_ok=True)
        voxels = made.voxels(layer)
        sources.check_room(directory, voxels.nbytes if coding == "raw" else edge**3 + 2**24)
        tell(f"storing {stored.name}")
        _store(stored, voxels, made)
    tell(f"checking {stored.name}")
    reader = check(stored, made)
    write_whole(document, json.dumps(wanted, indent=1) + "\n")
    return stored, reader


def check(stored: StoredLayer, made: Sources) -> str | None:
    """Compare random buckets, read by the `wkw` wheel or by zarr-python, with the source; who read them."""
    name = "wkw" if stored.format == "wkw" else "zarr"
    if importlib.util.find_spec(name) is None:
        return None
    read = _wkw_reader(stored) if stored.format == "wkw" else _zarr_reader(stored)
    voxels = made.voxels(stored.layer)
    places = made.full_buckets()
    chosen = np.random.default_rng(0).choice(len(places), min(SAMPLES, len(places)), replace=False)
    for x, y, z in places[chosen].tolist():
        found = read((x, y, z))
        expected = voxels[x : x + BUCKET, y : y + BUCKET, z : z + BUCKET]
        if not np.array_equal(found, expected):
            raise BenchmarkError(
                f"{stored.path}: {name} reads other voxels at {(x, y, z)} than the source has; "
                f"remove {stored.root} to have it stored again"
            )
    return name


def stored_bytes(stored: StoredLayer) -> int:
    """Bytes of all files of the layer, without holes."""
    return sum(min(found.st_size, found.st_blocks * 512) for found in map(Path.stat, files(stored)))


def files(stored: StoredLayer) -> list[Path]:
    """All files of the layer."""
    return sorted(path for path in stored.path.rglob("*") if path.is_file())


def _says(document: Path, wanted: Mapping[str, Any]) -> bool:
    try:
        return bool(json.loads(document.read_text(encoding="utf-8")) == wanted)
    except (OSError, ValueError):
        return False


def _store(stored: StoredLayer, voxels: NDArray[Any], made: Sources) -> None:
    shutil.rmtree(stored.path.parent, ignore_errors=True)
    (stored.root / stored.dataset).mkdir(parents=True, exist_ok=True)
    if stored.format == "wkw":
        _store_wkw(stored, voxels)
    else:
        _store_zarr(stored, voxels, made)
    _describe(stored, made)


def _store_wkw(stored: StoredLayer, voxels: NDArray[Any]) -> None:
    array = wkw.create(
        stored.path,
        dtype=stored.dtype,
        channels=1,
        block_len=BUCKET,
        file_len=PER_FILE,
        block_type=BLOCK_TYPES[stored.coding],
    )
    x, y, z = voxels.shape
    array[0:1, 0:x, 0:y, 0:z] = voxels[None]


def _store_zarr(stored: StoredLayer, voxels: NDArray[Any], made: Sources) -> None:
    attributes = ome.attributes("cxyz", made.voxel_size, {(1, 1, 1): "1"}, name=stored.layer)
    fastzarr.create_group(stored.path.parent, attributes=attributes)
    array = fastzarr.create_array(
        stored.path,
        shape=(1, *voxels.shape),
        chunks=(1, *3 * (BUCKET,)),
        shards=(1, *3 * (BUCKET * PER_FILE,)),
        dtype=stored.dtype,
        filters=[{"name": "transpose", "configuration": {"order": [3, 2, 1, 0]}}],
        compressors=COMPRESSORS[stored.coding],
        dimension_names="cxyz",
    )
    array[...] = voxels[None]


def _describe(stored: StoredLayer, made: Sources) -> None:
    """Write `datasource-properties.json`, with the layer beside those that are there."""
    directory = stored.root / stored.dataset
    here = [layer for layer in DTYPES if (directory / layer / "1").is_dir()]
    layers = tuple(_layer(stored, layer, made) for layer in here)
    properties.write(directory, Dataset(name=DATASET, scale=made.voxel_size, layers=layers))


def _layer(stored: StoredLayer, layer: LayerName, made: Sources) -> Layer:
    return Layer(
        name=layer,
        category=layer,
        data_format=stored.format,
        dtype=np.dtype(DTYPES[layer]),
        bounding_box=BoundingBox(offset=(0, 0, 0), size=stored.shape),
        mags=(Mag(mag=(1, 1, 1)),),
        largest_segment_id=made.largest_label if layer == "segmentation" else None,
    )


def _wkw_reader(stored: StoredLayer) -> Callable[[Bucket], NDArray[Any]]:
    """What reads a bucket [x, y, z] with the `wkw` wheel."""
    import wkw as wheel

    dataset = wheel.Dataset.open(str(stored.path))
    return lambda at: dataset.read(at, (BUCKET, BUCKET, BUCKET))[0]


def _zarr_reader(stored: StoredLayer) -> Callable[[Bucket], NDArray[Any]]:
    """What reads a bucket [x, y, z] with zarr-python."""
    import zarr

    with warnings.catch_warnings():
        # It warns of codecs that are not in the specification yet; that of LZ4 is not.
        warnings.simplefilter("ignore")
        array = zarr.open_array(stored.path, mode="r")

    def read(at: Bucket) -> NDArray[Any]:
        x, y, z = (slice(first, first + BUCKET) for first in at)
        return np.asarray(array[0, x, y, z])

    return read
