"""Conversion of volumes into a dataset of webknossos whose layers are WKW, Zarr v2 or Zarr v3.

1. The source is opened; its layers and magnifications, and those to be made, become the plan.
2. Each magnification is written beside the dataset's place, verified piece by piece.
3. When all are there they are moved to their place, and the dataset's document is written last.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

import fastzarr
from fastzarr.errors import ContainsGroupError, MetadataError, NodeExistsError
from fastzarr.volumes import ome
from fastzarr.volumes.boxes import BoundingBox, Vec3, mag_name
from fastzarr.volumes.casting import CastError, parse_dtype, stored_as
from fastzarr.volumes.downsample import Downsampled, coarser_mags, enough
from fastzarr.volumes.formats import Format
from fastzarr.volumes.options import Options, layer_name, voxel_size_problems
from fastzarr.volumes.properties import Category, Dataset, Layer, Mag
from fastzarr.volumes.reports import MagReport, Report, report_of
from fastzarr.volumes.sameness import another, require_described, require_layout
from fastzarr.volumes.sources import Choice, Source, SourceLayer, open_source
from fastzarr.volumes.staging import Stage, existing, is_array, is_layer
from fastzarr.volumes.targets import Target
from fastzarr.volumes.transfer import Moved, Transfer, VerifyError, Work
from fastzarr.volumes.voxels import AXES, ArrayVoxels, Voxels

Progress = Callable[[int, int, str], None]
"""Takes the number of voxels done, that of all, and what is being written."""

_ONE: Vec3 = (1, 1, 1)
_COLOURS = ("uint8", "uint16", "uint32", "int8", "int16", "int32", "float32")
"""Data types of the color layers that webknossos shows."""


@dataclass(frozen=True, kw_only=True)
class _PlannedMag:
    target: Target
    source: Voxels | None
    """None: made of the magnification before it."""
    factor: Vec3 = _ONE
    """Its voxels of that one in each of this one."""


@dataclass(frozen=True, kw_only=True)
class _PlannedLayer:
    name: str
    category: Category
    source: SourceLayer
    box: BoundingBox
    mags: dict[Vec3, _PlannedMag] = field(default_factory=dict)


def convert(
    source: Any,
    dest: str | os.PathLike[str],
    options: Options | None = None,
    *,
    progress: Progress | None = None,
    **members: Any,
) -> Report:
    """Convert a volume into layers of the webknossos dataset in `dest`, a directory that is made if need be.

    `source`: path or URL of a dataset, a layer or a magnification of webknossos (WKW or Zarr), a Zarr array,
    an OME-Zarr image or a NIfTI file; or an array. `options`, or their members by name.

    Raises `NodeNotFoundError` and `MetadataError` for a source that is not there or not understood,
    `NodeExistsError` for what is in the way, `CastError` for values that the data type can't hold,
    `MemoryLimitError`, `VerifyError`, and what reading and writing raise.
    """
    chosen = replace(options or Options(), **members)
    begun = time.monotonic()
    place = Path(dest).absolute()
    if os.path.lexists(place) and not place.is_dir():
        found = "a file" if place.exists() else f"a link to {place.readlink()}, which is not there"
        raise NodeExistsError(f"{place}: got {found}, expected a directory, or nothing yet")
    stage = Stage(place)
    mags: tuple[MagReport, ...] = ()
    notes: tuple[str, ...]
    with stage.locked():
        stage.begin(resume=chosen.resume, overwrite=chosen.overwrite)
        if stage.finished:
            stage.place()
            notes = ("all was written before; it was moved to its place",)
        else:
            resumed = stage.begun
            conversion = _Conversion(source, stage, chosen, progress)
            try:
                conversion.prepare()
            except BaseException:
                if not resumed:
                    stage.discard()
                raise
            try:
                mags, notes = conversion.run()
            except CastError:  # could only be gone on with as it was, and fail again
                stage.discard()
                raise
    return Report(
        path=place,
        mags=mags,
        seconds=time.monotonic() - begun,
        verified=chosen.verify,
        notes=notes,
    )


class _Conversion:
    """One run."""

    def __init__(self, source: Any, stage: Stage, options: Options, progress: Progress | None) -> None:
        self._stage, self._options, self._progress = stage, options, progress
        self._notes: list[str] = []
        choice = Choice(axes=options.axes, time=options.time, offset=options.offset)
        self._source = open_source(source, stage.scratch, choice)
        self._voxel_size = options.voxel_size or self._source.voxel_size or (1.0, 1.0, 1.0)
        if problems := voxel_size_problems(self._voxel_size):
            raise MetadataError("source", [f"{problems[0]}; give voxel_size for another"])
        if options.voxel_size is None and self._source.voxel_size is None:
            self._notes.append("the source tells no voxel size; 1 nm is taken, give voxel_size for another")
        self._layers = [self._plan(layer) for layer in self._chosen_layers(self._source)]
        self._complete = options.resume and not options.overwrite and not stage.begun and self._all_there()
        self._require_room(source)
        self._done, self._label = 0, ""
        passes = 2 if options.verify == "full" and not self._complete else 1
        self._all = passes * sum(
            int(np.prod(mag.target.box.size)) for layer in self._layers for mag in layer.mags.values()
        )
        if not self._complete:
            stage.agree(self._job(source))

    def prepare(self) -> None:
        """Make all arrays, without a voxel in them; raises what can be told before voxels are written."""
        if not self._complete:
            self._transfers = [
                self._prepared(planned, {mag: step.target for mag, step in planned.mags.items()})
                for planned in self._layers
            ]

    def run(self) -> tuple[tuple[MagReport, ...], tuple[str, ...]]:
        """Write all, and have it appear; what became of each magnification, and what there is to say."""
        if self._complete:
            self._notes.append("all was converted before; it was compared, and there is nothing to do")
            return tuple(self._compared()), tuple(self._notes)
        reports, layers = [], []
        for planned, each in zip(self._layers, self._transfers, strict=True):
            largest = None
            for mag, moved in self._write(planned, each):
                reports.append(report_of(planned.name, mag, planned.mags[mag].target, moved))
                largest = largest if mag != min(planned.mags) else moved.largest
            layers.append(self._described(planned, largest))
            self._describe_group(planned)
        dataset = Dataset(
            name=self._options.name or self._stage.dest.name.removesuffix(".zarr"),
            scale=self._voxel_size,
            layers=tuple(layers),
            others={"version": 1},
        )
        zarr_format = {"wkw": (), "zarr2": (2,), "zarr3": (3,)}[self._options.format.to]
        self._stage.finish(dataset, zarr_format)
        self._stage.place()
        return tuple(reports), tuple(self._notes)

    def _chosen_layers(self, source: Source) -> list[SourceLayer]:
        wanted, known = self._options.layers, [layer.name for layer in source.layers]
        for name in wanted or ():
            if name not in known:
                raise MetadataError("layers", [f"got {name!r}, expected some of {', '.join(known)}"])
        chosen = [layer for layer in source.layers if wanted is None or layer.name in wanted]
        if self._options.layer is not None and len(chosen) > 1:
            names = ", ".join(layer.name for layer in chosen)
            raise MetadataError(
                "layer", [f"got one name for the layers {names}, expected layers to choose one"]
            )
        return chosen

    def _plan(self, layer: SourceLayer) -> _PlannedLayer:
        options = self._options
        name = options.layer or layer_name(layer.name)
        category = options.category or layer.category or "color"
        if layer.box.is_empty():
            raise MetadataError("source", [f"got no voxels in layer {name!r}, {layer.box}, expected some"])
        box = layer.box if options.bounding_box is None else layer.box.intersection(options.bounding_box)
        if box.is_empty():
            raise MetadataError(
                "bounding_box",
                [f"got {options.bounding_box}, expected a part of {layer.box}, layer {name!r}"],
            )
        planned = _PlannedLayer(name=name, category=category, source=layer, box=box)
        for mag in options.mags or ():
            if mag not in layer.mags:
                known = ", ".join(map(mag_name, layer.mags))
                raise MetadataError(
                    "mags", [f"got {mag_name(mag)}, expected some of {known}, layer {name!r}"]
                )
        chosen = sorted(options.mags or layer.mags)
        boxes = {mag: layer.mags[mag].box.intersection(box.in_mag(mag)) for mag in chosen}
        fitted = options.format.fitted(max(boxes[chosen[0]].end))
        for mag in chosen:
            voxels = layer.mags[mag]
            target = self._target(planned, mag, voxels, boxes[mag], fitted)
            planned.mags[mag] = _PlannedMag(target=target, source=voxels)
        self._plan_coarser(planned)
        return planned

    def _plan_coarser(self, planned: _PlannedLayer) -> None:
        size, edge = planned.box.size, self._options.format.chunk
        mag, before = list(planned.mags.items())[-1]
        wanted = self._options.downsample
        count = enough(mag, self._voxel_size, size, edge) if wanted == "auto" else wanted
        target = before.target
        for coarser in coarser_mags(mag, self._voxel_size, count):
            x, y, z = (c // m for c, m in zip(coarser, mag, strict=True))
            target = replace(
                target,
                path=self._stage.layer(planned.name) / mag_name(coarser),
                box=target.box.in_mag((x, y, z)),
            )
            planned.mags[coarser] = _PlannedMag(target=target, source=None, factor=(x, y, z))
            mag = coarser

    def _target(
        self, planned: _PlannedLayer, mag: Vec3, voxels: Voxels, box: BoundingBox, fitted: Format
    ) -> Target:
        where = f"layer {planned.name!r}"
        dtype = self._options.dtype
        stored = stored_as(voxels.dtype, where) if dtype is None else parse_dtype(dtype)
        if planned.category == "segmentation" and stored.kind == "f":
            expected = "integers for a segmentation; choose dtype, or category 'color'"
            raise MetadataError(where, [f"dtype: got {stored}, expected {expected}"])
        if planned.category == "color" and stored.name not in _COLOURS:
            note = f"{where}: webknossos shows no color layer of {stored}; choose dtype, or a segmentation"
            if note not in self._notes:
                self._notes.append(note)
        target = Target(
            path=self._stage.layer(planned.name) / mag_name(mag),
            format=fitted,
            dtype=stored,
            channels=voxels.channels,
            box=box,
        )
        if max(target.shape) >= 2**63:
            expected = "positions of less than 2**63, also of whole shards; choose another offset"
            raise MetadataError(where, [f"offset: got voxels up to {box.end}, expected {expected}"])
        return target

    def _require_room(self, source: Any) -> None:
        """Raise where something is in the way, or would be replaced by what is made of it."""
        dest = self._stage.dest
        old = existing(dest)
        names = [layer.name for layer in old.layers] if old is not None else []
        if (
            old is not None
            and max(abs(a / b - 1) for a, b in zip(old.voxel_size, self._voxel_size, strict=True)) > 1e-6
        ):
            expected = f"{old.voxel_size} nm as of the dataset in {dest}"
            raise MetadataError("voxel_size", [f"got {self._voxel_size} nm, expected {expected}"])
        if is_array(dest):
            raise NodeExistsError(f"{dest}: got an array, expected a dataset, or nothing yet")
        planned = [layer.name for layer in self._layers]
        for name in planned:
            if planned.count(name) > 1:
                raise MetadataError("layers", [f"got several that would be named {name!r}, expected one"])
            if isinstance(source, str | os.PathLike) and "://" not in os.fspath(source):
                path, place = Path(source).resolve(), (dest / name).resolve()
                if place == path or place in path.parents or (path == dest.resolve() and place.exists()):
                    raise NodeExistsError(f"{place}: is the source itself; choose another dest or layer")
            if self._complete:
                continue
            there = os.path.lexists(dest / name)
            if not self._options.overwrite and (name in names or there):
                raise NodeExistsError(f"{dest / name}: is there already; overwrite, or choose another layer")
            if there and not is_layer(dest / name):
                raise NodeExistsError(
                    f"{dest / name}: got what is no layer, expected one to overwrite, or nothing; "
                    "remove it, or choose another layer"
                )

    def _job(self, source: Any) -> dict[str, Any]:
        path = os.fspath(source) if isinstance(source, str | os.PathLike) else type(source).__name__
        described = {
            layer.name: {
                "box": [layer.box.offset, layer.box.size],
                "mags": {mag_name(mag): [str(v.dtype), v.channels] for mag, v in layer.mags.items()},
            }
            for layer in self._source.layers
        }
        return self._options.job() | {"source": path, "source_layers": described}

    def _prepared(self, planned: _PlannedLayer, targets: Mapping[Vec3, Target]) -> dict[Vec3, Transfer]:
        """What writes each magnification of a layer, whose arrays are made; raises `MemoryLimitError`."""
        found: dict[Vec3, Transfer] = {}
        before: Target | None = None
        for mag, target in targets.items():
            target.create()
            step = planned.mags[mag]
            voxels = step.source
            if voxels is None:
                assert before is not None
                voxels = Downsampled(finer=before.reader(), factor=step.factor, category=planned.category)
            elif isinstance(voxels, ArrayVoxels):
                voxels = replace(voxels, box=target.box)
            found[mag] = Transfer(voxels, target, self._work(), self._labelled(planned, mag))
            before = target
        return found

    def _write(
        self, planned: _PlannedLayer, transfers: Mapping[Vec3, Transfer]
    ) -> Iterator[tuple[Vec3, Moved]]:
        """Write the magnifications of a layer, the finest first."""
        for mag, transfer in transfers.items():
            self._label = self._labelled(planned, mag)
            moved = transfer.run()
            if self._options.verify == "full":
                transfer.check()
            yield mag, moved

    def _all_there(self) -> bool:
        """Whether all layers are in the dataset, as where the same was converted before."""
        old = existing(self._stage.dest)
        names = [] if old is None else [layer.name for layer in old.layers]
        return all(planned.name in names for planned in self._layers)

    def _compared(self) -> Iterator[MagReport]:
        """What is there of each magnification; raises `NodeExistsError` where it is not what this makes."""
        old = existing(self._stage.dest)
        assert old is not None
        for planned in self._layers:
            place = self._stage.dest / planned.name
            (there,) = (layer for layer in old.layers if layer.name == planned.name)
            require_described(place, there, self._described(planned, None))
            targets = {mag: step.target.below(place) for mag, step in planned.mags.items()}
            for target in targets.values():
                require_layout(place, target, self._stage.scratch)
            for mag, transfer in self._prepared(planned, targets).items():
                self._label = self._labelled(planned, mag)
                try:
                    pieces = transfer.check()
                except VerifyError as error:
                    raise another(place, str(error)) from error
                yield report_of(planned.name, mag, targets[mag], Moved(kept=pieces))

    def _labelled(self, planned: _PlannedLayer, mag: Vec3) -> str:
        return f"{planned.name}/{mag_name(mag)}"

    def _work(self) -> Work:
        options = self._options
        count = options.workers or len(os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else "12")
        return Work(
            workers=count,
            memory=options.memory,
            verify=options.verify,
            cast=options.cast,
            resume=options.resume,
            tell=self._tell,
        )

    def _tell(self, voxels: int) -> None:
        self._done += voxels
        if self._progress is not None:
            self._progress(self._done, self._all, self._label)

    def _described(self, planned: _PlannedLayer, largest: int | None) -> Layer:
        first = next(iter(planned.mags.values())).target
        data_format = self._options.format.data_format
        mags = tuple(
            Mag(
                mag=mag,
                path=f"./{planned.name}/{mag_name(mag)}",
                cube_length=first.format.shard if data_format == "wkw" else None,
                axis_order={axis: n for n, axis in enumerate(AXES)},
            )
            for mag in planned.mags
        )
        return Layer(
            name=planned.name,
            category=planned.category,
            data_format=data_format,
            dtype=first.dtype,
            channels=first.channels,
            bounding_box=planned.box,
            mags=mags,
            largest_segment_id=largest if planned.category == "segmentation" else None,
            others=planned.source.others,
        )

    def _describe_group(self, planned: _PlannedLayer) -> None:
        """Have a layer of Zarr be an image of OME-Zarr."""
        to = self._options.format.to
        if to == "wkw":
            return
        attributes = ome.attributes(
            AXES,
            self._voxel_size,
            {mag: mag_name(mag) for mag in planned.mags},
            version="0.4" if to == "zarr2" else "0.5",
        )
        place = self._stage.layer(planned.name)
        with contextlib.suppress(ContainsGroupError):  # the interrupted conversion came this far
            fastzarr.create_group(place, zarr_format=2 if to == "zarr2" else 3, attributes=attributes)
