"""The voxels that are served as plain files, and which buckets have something in them.

They are made plane by plane, once for each pair of volumes and size, and kept: what is stored is made from
them, and answers are compared with them.
"""

import json
import zlib
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fastzarr.bench import host
from fastzarr.bench.errors import BenchmarkError
from fastzarr.bench.saved import write_whole
from fastzarr.bench.serving import brain
from fastzarr.bench.serving.peers.base import BUCKET, LayerName

RECIPE = 1
"""Number of the way in which voxels are made; another one makes the files anew."""
DTYPES: dict[LayerName, str] = {"color": "uint8", "segmentation": "uint32"}
SPARE_SPACE = 256 * 2**20

Tell = Callable[[str], None]


@dataclass(frozen=True, kw_only=True)
class Origin:
    """What the voxels are made of."""

    recipe: int
    """`RECIPE` of the time."""
    edge: int
    """Voxels along each axis."""
    image: str
    """File name and checksum of the image."""
    labels: str
    """File name and checksum of the labels."""


@dataclass(frozen=True, kw_only=True)
class Sources:
    """Both layers as plain files."""

    directory: Path
    """Where they are."""
    origin: Origin
    """What they are made of."""
    voxel_size: tuple[float, float, float]
    """Edges of a voxel (x, y, z), nanometres."""
    largest_label: int
    """Of the segmentation."""

    def path(self, layer: LayerName) -> Path:
        """The file of a layer: little endian, x fastest."""
        return self.directory / f"{layer}.raw"

    def voxels(self, layer: LayerName) -> NDArray[Any]:
        """The layer [x, y, z], mapped from its file."""
        edge = self.origin.edge
        dtype = np.dtype(DTYPES[layer]).newbyteorder("<")
        return np.memmap(self.path(layer), dtype, mode="r", shape=(edge, edge, edge), order="F")

    def full_buckets(self) -> NDArray[np.intp]:
        """First voxels (x, y, z) of the buckets that have something in both layers, shape (n, 3)."""
        found: NDArray[np.intp] = BUCKET * np.argwhere(np.load(self.directory / "buckets.npy"))
        return found


def make(directory: Path, edge: int, image: Path | None, labels: Path | None, tell: Tell) -> Sources:
    """The layers of `edge`³ voxels below `directory`, made unless they are there.

    BenchmarkError for volumes that can't be read, and where there is no room.
    """
    if edge < BUCKET or edge % BUCKET:
        raise BenchmarkError(f"got an edge of {edge} voxels, expected a multiple of {BUCKET}")
    scanned = brain.load(image, labels, edge)
    origin = Origin(
        recipe=RECIPE,
        edge=edge,
        image=_named(image or brain.TEMPLATES / brain.IMAGE),
        labels=_named(labels or brain.TEMPLATES / brain.ATLAS),
    )
    sources = Sources(
        directory=directory,
        origin=origin,
        voxel_size=scanned.voxel_size,
        largest_label=int(scanned.labels.values.max()),
    )
    document = directory / "origin.json"
    if not _is_made(sources, document):
        directory.mkdir(parents=True, exist_ok=True)
        document.unlink(missing_ok=True)
        check_room(directory, sum(edge**3 * np.dtype(dtype).itemsize for dtype in DTYPES.values()))
        tell(f"making {sources.path('color').name}")
        bright = _write(sources.path("color"), scanned.image_planes(), edge)
        tell(f"making {sources.path('segmentation').name}")
        full = bright & _write(sources.path("segmentation"), scanned.label_planes(), edge)
        if not full.any():
            raise BenchmarkError("no bucket has something in both layers: expected labels within the image")
        np.save(directory / "buckets.npy", full)
        write_whole(document, json.dumps(asdict(origin), indent=1) + "\n")
    return sources


def check_room(directory: Path, nbytes: int) -> None:
    """BenchmarkError where `nbytes` don't fit below `directory`."""
    needed, free = nbytes + SPARE_SPACE, host.free_space(directory)
    if needed > free:
        raise BenchmarkError(
            f"--data: got {directory} with {free / 2**30:.1f} GiB free, and {needed / 2**30:.1f} GiB are "
            f"needed; use another directory or a smaller --edge"
        )


def _named(path: Path) -> str:
    return f"{path.name} {zlib.crc32(path.read_bytes()):08x}"


def _is_made(sources: Sources, document: Path) -> bool:
    """Whether the files are there, whole, and made of the same volumes in the same way."""
    try:
        if json.loads(document.read_text(encoding="utf-8")) != asdict(sources.origin):
            return False
        sizes = {layer: sources.path(layer).stat().st_size for layer in DTYPES}
        np.load(sources.directory / "buckets.npy")
    except (OSError, ValueError):
        return False
    edge = sources.origin.edge
    return sizes == {layer: edge**3 * np.dtype(dtype).itemsize for layer, dtype in DTYPES.items()}


def _write(path: Path, planes: Any, edge: int) -> NDArray[np.bool_]:
    """Write planes [y, x] one after the other; which buckets [x, y, z] are not all zero."""
    count = edge // BUCKET
    full = np.zeros((count, count, count), bool)
    with path.open("wb") as file:
        for number, plane in enumerate(planes):
            file.write(np.ascontiguousarray(plane, plane.dtype.newbyteorder("<")).data)
            full[:, :, number // BUCKET] |= plane.reshape(count, BUCKET, count, BUCKET).any(axis=(1, 3)).T
    return full
