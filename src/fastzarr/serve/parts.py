"""The layers of one dataset while it is opened.

A part that can't be opened is told among the problems of its dataset; the others are served.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fastzarr.errors import ZarrError
from fastzarr.serve.datasets import Category, Dataset, Kind, Layer, VoxelSize
from fastzarr.serve.volume import Volume
from fastzarr.volumes.boxes import BoundingBox, Vec3, mag_name

log = logging.getLogger("fastzarr.serve")

MOST_CHANNELS = 64
"""That are made layers of their own."""


@dataclass(frozen=True, kw_only=True)
class Hints:
    """What whoever runs the server says of a dataset, where its own documents may not."""

    category: Category | None = None
    voxel_size: VoxelSize | None = None
    """In nanometres."""
    layers: Mapping[str, Category] | None = None
    """Category by layer."""
    roots: tuple[Path, ...] = ()
    """Directories in which a dataset's layers may be, links resolved."""


class Parts:
    """Layers of one dataset as they are opened, and what went wrong."""

    def __init__(self, hints: Hints) -> None:
        self.hints = hints
        self.layers: dict[str, Layer] = {}
        self.problems: list[str] = []
        self.remarks: list[str] = []
        self.elsewhere = False
        """Whether arrays are outside of the directory of the dataset."""

    def attempt(self, what: str, call: Callable[..., Any], *args: Any) -> Any:
        """Result of `call`; None where it fails, which is a problem of `what`."""
        try:
            return call(*args)
        except Exception as error:
            told = words(error, what).removeprefix("file://")
            names_it = told.startswith((f"{what}:", f"{what}/"))
            self.problems.append(told if names_it else f"{what}: {told}")
            return None

    def add(
        self,
        name: str,
        category: Category,
        volumes: Mapping[Vec3, Volume],
        *,
        box: BoundingBox | None = None,
        largest_segment_id: int | None = None,
    ) -> None:
        """A layer, where it has volumes; the finest tells what all must be."""
        mags = dict(sorted(volumes.items(), key=lambda item: (max(item[0]), item[0])))
        if "/" in name or not name.isprintable() or name in ("", ".", ".."):
            self.problems.append(f"layer {name!r}: got a name that can't stand in a URL; rename it")
            return
        if not mags:
            self.problems.append(f"layer {name!r}: no magnification of it can be read")
            return
        first = next(iter(mags.values()))
        for mag, volume in list(mags.items()):
            if (volume.dtype, volume.channels, volume.additional) != (
                first.dtype,
                first.channels,
                first.additional,
            ):
                found = f"{volume.dtype} with {volume.channels} channels"
                expected = f"{first.dtype} with {first.channels}, as the finest"
                self.problems.append(
                    f"layer {name!r}, magnification {mag_name(mag)}: got {found}, expected {expected}"
                )
                del mags[mag]
        if box is None:
            mag = next(iter(mags))
            box = BoundingBox(offset=(0, 0, 0), size=first.extent).from_mag(mag)
        hinted = (self.hints.layers or {}).get(name, self.hints.category)
        self.layers[name] = Layer(
            name=name,
            category=hinted or category,
            bounding_box=box,
            mags=mags,
            largest_segment_id=largest_segment_id,
        )

    def add_arrays(
        self, name: str, category: Category, arrays: Mapping[Vec3, Any], axes: tuple[str, ...]
    ) -> None:
        """The layer of arrays with the same axes; each channel is one of its own, unless they are colours."""
        sizes = {array.shape[axes.index("c")] if "c" in axes else 1 for array in arrays.values()}
        count = min(sizes, default=1)
        colours = count == 3 and all(array.dtype == "u1" for array in arrays.values())
        if count == 1 or colours:
            self.add(name, category, {mag: Volume(array, axes) for mag, array in arrays.items()})
            return
        if count > MOST_CHANNELS:
            more = f"served are {MOST_CHANNELS} of its {count} channels, the others by their stored keys only"
            self.remarks.append(f"layer {name!r}: {more}")
        for channel in range(min(count, MOST_CHANNELS)):
            volumes = {mag: Volume(array, axes, channel=channel) for mag, array in arrays.items()}
            self.add(f"{name}-{channel}", category, volumes)

    def dataset(self, name: str, path: Path, kind: Kind, voxel_size: VoxelSize | None = None) -> Dataset:
        """The dataset of these layers."""
        size = self.hints.voxel_size or voxel_size
        return Dataset(
            name=name,
            path=path,
            kind=kind,
            voxel_size=size or (1.0, 1.0, 1.0),
            voxel_size_known=size is not None,
            layers=self.layers,
            elsewhere=self.elsewhere,
            problems=tuple(self.problems),
            remarks=tuple(self.remarks),
        )


def words(error: Exception, what: str) -> str:
    """What went wrong with `what`; of failures that were not foreseen the log has more."""
    if isinstance(error, ZarrError | OSError | ImportError):
        return str(error)
    log.error("%s: can't be opened", what, exc_info=error)
    return f"unexpected failure, {type(error).__name__}: {error}; the log has more"
