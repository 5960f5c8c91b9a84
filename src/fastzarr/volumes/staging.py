"""A dataset that is written beside its place, so that nothing looks complete before it is.

All goes to `.convert` in the dataset's directory. When all layers are there, a document tells so; then each
is moved to its place, and the dataset's own document is written. A conversion that is killed leaves that
directory, and a later one that resumes goes on from there.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import fastzarr
from fastzarr.errors import MetadataError, NodeExistsError, NodeNotFoundError
from fastzarr.volumes import properties
from fastzarr.volumes.boxes import parse_mag
from fastzarr.volumes.properties import Dataset, Layer
from fastzarr.volumes.targets import remove_unfinished
from fastzarr.wkw.array import DOCUMENT as WKW_HEADER

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

DIRECTORY = ".convert"
_JOB, _FINISHED, _LOCK = "job.json", "finished.json", "lock"
_SCRATCH, _LAYERS, _OLD = "scratch", "layers", "old"
_OURS = (_JOB, _FINISHED, _LOCK, _SCRATCH, _LAYERS, _OLD)
_DOCUMENTS = ("zarr.json", ".zgroup", ".zarray", WKW_HEADER)


class Stage:
    """The directory in which a dataset at `dest` is written."""

    def __init__(self, dest: Path) -> None:
        self.dest = dest
        self._root = dest / DIRECTORY

    @property
    def scratch(self) -> Path:
        """Directory for what is needed only meanwhile."""
        directory = self._root / _SCRATCH
        directory.mkdir(parents=True, exist_ok=True)
        return directory

    def layer(self, name: str) -> Path:
        """Where a layer is written."""
        return self._root / _LAYERS / name

    @property
    def begun(self) -> bool:
        """Whether an interrupted conversion is here, or one that goes on."""
        return (self._root / _JOB).exists()

    @property
    def finished(self) -> bool:
        """Whether all layers are written, and are only to be moved."""
        return (self._root / _FINISHED).exists()

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Keep other conversions away; the lock goes with the process. Raises `NodeExistsError`."""
        made = not self.dest.exists()
        if self._root.is_symlink() or self._root.is_file():
            found = "a link" if self._root.is_symlink() else "a file"
            raise NodeExistsError(
                f"{self._root}: got {found}, expected a directory; remove it, or choose another dest"
            )
        others = sorted(path.name for path in self._root.glob("*") if path.name not in _OURS)
        others = [name for name in others if not name.endswith(".partial")]
        if others:
            raise NodeExistsError(
                f"{self._root}: got {', '.join(others)}, expected what a conversion leaves; "
                "remove it, or choose another dest"
            )
        self._root.mkdir(parents=True, exist_ok=True)
        with (self._root / _LOCK).open("w") as lock:
            if fcntl is not None:
                try:
                    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                except OSError as error:
                    raise NodeExistsError(f"{self.dest}: another conversion is writing to it now") from error
            try:
                yield
            finally:
                self._clean(made)

    def begin(self, *, resume: bool, overwrite: bool) -> None:
        """Go on with what an interrupted conversion has left, or discard it; raises `NodeExistsError`."""
        if not self.begun:
            self.discard()
            return
        if resume:
            remove_unfinished(self._root)
        elif overwrite:
            self.discard()
        else:
            raise NodeExistsError(
                f"{self._root}: an interrupted conversion is here; resume it, or overwrite to begin anew"
            )

    def agree(self, job: Mapping[str, Any]) -> None:
        """Keep what is converted how; where a conversion is resumed, compare. Raises `MetadataError`."""
        given = json.loads(json.dumps(job))
        file = self._root / _JOB
        if not file.exists():
            _write(file, given)
            return
        before = _read(file)
        problems = [
            f"{key}: got {given.get(key)!r}, expected {before.get(key)!r} as before it was interrupted"
            for key in sorted(given.keys() | before.keys())
            if given.get(key) != before.get(key)
        ]
        if problems:
            raise MetadataError(f"{self._root}: resume", [*problems, "overwrite to begin anew"])

    def finish(self, dataset: Dataset, groups: Sequence[int]) -> None:
        """Tell that all layers are written. `groups`: formats of Zarr of which it is to be a group."""
        _write(self._root / _FINISHED, {"dataset": dataset.to_json(), "groups": [*groups]})

    def place(self) -> None:
        """Move all layers to their places and write the dataset's document; what was done of it is kept."""
        document = _read(self._root / _FINISHED, "dataset", "groups")
        new = properties.parse(json.dumps(document["dataset"]), str(self._root / _FINISHED))
        for layer in new.layers:
            staged, place = self.layer(layer.name), self.dest / layer.name
            if staged.exists():
                if os.path.lexists(place):
                    old = self._root / _OLD / layer.name
                    old.parent.mkdir(exist_ok=True)
                    place.rename(old)
                staged.rename(place)
        for left in self.dest.glob(".*.partial"):  # by one that was killed while it wrote the documents here
            left.unlink(missing_ok=True)
        for zarr_format in document["groups"]:
            if not (self.dest / ("zarr.json" if zarr_format == 3 else ".zgroup")).exists():
                fastzarr.create_group(self.dest, zarr_format=zarr_format)
        properties.write(self.dest, merged(existing(self.dest), new))
        self.discard()

    def _clean(self, made: bool) -> None:
        """Remove the directory where nothing of a conversion is in it, and the dataset's that was `made`."""
        if not self.begun:
            shutil.rmtree(self._root)
            if made and not any(self.dest.iterdir()):
                self.dest.rmdir()

    def discard(self) -> None:
        """Leave nothing of the conversion but the lock; the document that tells of a job goes first."""
        (self._root / _JOB).unlink(missing_ok=True)
        for entry in self._root.iterdir():
            if entry.name == _LOCK:
                continue
            if entry.is_dir() and not entry.is_symlink():
                shutil.rmtree(entry)
            else:
                entry.unlink()


def is_array(place: Path) -> bool:
    """Whether a directory is an array of Zarr or WKW."""
    if (place / ".zarray").is_file() or (place / WKW_HEADER).is_file():
        return True
    return (place / "zarr.json").is_file() and isinstance(fastzarr.open(place, mode="r"), fastzarr.Array)


def is_layer(place: Path) -> bool:
    """Whether a directory is a layer: it, or what is named as a magnification in it, has a document."""
    if not place.is_dir():
        return False
    mags = [entry for entry in place.iterdir() if parse_mag(entry.name) is not None]
    return any((directory / name).is_file() for directory in (place, *mags) for name in _DOCUMENTS)


def existing(dest: Path) -> Dataset | None:
    """The dataset that is at a place already."""
    try:
        return properties.read(dest)
    except NodeNotFoundError:
        return None


def merged(old: Dataset | None, new: Dataset) -> Dataset:
    """A dataset with the layers of both; those of `new` take the place of those of their names."""
    if old is None:
        return new
    names = [layer.name for layer in new.layers]
    kept: list[Layer] = [layer for layer in old.layers if layer.name not in names]
    return replace(old, layers=(*kept, *new.layers))


def _read(file: Path, *members: str) -> dict[str, Any]:
    """A document of an interrupted conversion, with such members; raises `MetadataError`."""
    try:
        found = json.loads(file.read_text(encoding="utf-8"))
    except ValueError as error:
        raise MetadataError(str(file), [f"got no valid JSON: {error}; overwrite to begin anew"]) from error
    if not isinstance(found, dict) or any(member not in found for member in members):
        expected = f"an object with {', '.join(members)}" if members else "an object"
        raise MetadataError(str(file), [f"got {found!r}, expected {expected}; overwrite to begin anew"])
    return found


def _write(file: Path, document: Mapping[str, Any]) -> None:
    """Write a document that appears whole or not at all."""
    partial = file.with_name(f".{file.name}.{os.getpid()}.partial")
    partial.write_text(json.dumps(document, indent=1), encoding="utf-8")
    partial.replace(file)
