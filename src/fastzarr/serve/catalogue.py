"""`Catalogue`: the datasets that a server has, found below a directory or listed in a TOML file."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from fastzarr.serve.datasets import Dataset, Layer
from fastzarr.serve.errors import CatalogueError
from fastzarr.serve.finding import Finder, Found, form_of
from fastzarr.serve.opening import open_dataset
from fastzarr.serve.parts import Hints
from fastzarr.volumes.fields import Fields, is_finite

__all__ = ["Catalogue", "Dataset", "Layer"]

_CATEGORIES = ("color", "segmentation")
_FORMS = "a Zarr array, an OME-Zarr image, a webknossos dataset or a directory of WKW"


@dataclass(frozen=True, kw_only=True, eq=False)
class Catalogue:
    """Datasets by the names that they have in URLs; made once, when the server starts."""

    datasets: Mapping[str, Dataset]
    """In order of their names; also those that can't be opened."""
    problems: tuple[str, ...] = ()
    """What was not looked at, and why."""

    @classmethod
    def of_directory(cls, directory: str | os.PathLike[str]) -> Self:
        """Every dataset in a directory and below it; a dataset is named by its path, with `.` for `/`.

        Links that lead out of the directory are not followed. Where there is none, that is a problem; raises
        `CatalogueError` where the directory itself is not there.
        """
        root = Path(directory)
        if not root.is_dir():
            raise CatalogueError(f"{root}: got no directory, expected one with datasets, or a TOML file")
        finder = Finder(root)
        hints = Hints(roots=(root.resolve(),))
        datasets: dict[str, Dataset] = {}
        for found in finder.find(root):
            name = _name(found, root, datasets)
            datasets[name] = open_dataset(found, name, hints)
        problems = [] if datasets else [f"{root}: no datasets found, expected {_FORMS} in it or below"]
        return cls(datasets=dict(sorted(datasets.items())), problems=(*problems, *finder.problems))

    @classmethod
    def of_toml(cls, file: str | os.PathLike[str]) -> Self:
        """The datasets that a TOML file lists; paths are relative to it.

        Raises `CatalogueError` with everything that is wrong with the file.
        """
        path = Path(file)
        try:
            document = tomllib.loads(path.read_text(encoding="utf-8"))
        except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError, RecursionError) as error:
            raise CatalogueError(f"{path}: can't be read as TOML: {error}") from error
        problems: list[str] = []
        fields = Fields(document, "", problems)
        key, given = fields.take("dataset")
        entries = [
            _entry(Fields(value, f"{key}[{n}]", problems), path.parent)
            for n, value in enumerate(fields.items(key, given, at_least=1))
        ]
        problems += [f"{key}: got an unknown member, expected [[dataset]] only" for key in fields.rest]
        names = [name for name, _, _ in entries]
        problems += [f"dataset.name: got {n!r} twice, expected names that differ" for n in _twice(names)]
        if problems:
            raise CatalogueError(f"{path}: " + "; ".join(problems))
        roots = tuple(place.resolve() for _, place, _ in entries)
        datasets = {name: _listed(name, place, hints, roots) for name, place, hints in entries}
        return cls(datasets=dict(sorted(datasets.items())))


def _name(found: Found, root: Path, taken: Mapping[str, Dataset]) -> str:
    """Path below the root with dots; where two are the same, the later has a number."""
    parts = found.path.relative_to(root).parts
    name = ".".join(parts) or root.resolve().name or "data"
    number = 2
    unique = name
    while unique in taken:
        unique = f"{name}-{number}"
        number += 1
    return unique


def _listed(name: str, path: Path, hints: dict[str, Any], roots: tuple[Path, ...]) -> Dataset:
    """A dataset of the TOML file; whatever is wrong with it is among its problems."""
    try:
        found = form_of(path, roots)
    except OSError as error:
        return Dataset(name=name, path=path, kind="zarr", problems=(f"{path}: {error.strerror}",))
    if found is None:
        return Dataset(name=name, path=path, kind="zarr", problems=(f"{path}: expected {_FORMS}",))
    return open_dataset(found, name, Hints(roots=roots, **hints))


def _entry(fields: Fields, beside: Path) -> tuple[str, Path, dict[str, Any]]:
    """Name, path and hints of one `[[dataset]]`."""
    name, path = fields.text("name"), fields.text("path")
    if name and (name in (".", "..") or not name.isprintable() or set(name) & set("/\\")):
        fields.problem("name", name, "a name without slashes")
    if "\0" in path:
        fields.problem("path", path, "a path without the character 0")
    category = fields.choice("category", _CATEGORIES, default="")
    key, size = fields.take("voxel_size")
    if size is not None and not (
        isinstance(size, list) and len(size) == 3 and all(is_finite(s) and s > 0 for s in size)
    ):
        fields.problem(key, size, "three numbers above 0: nanometres along x, y and z")
        size = None
    _, layers = fields.take("layers")
    of_layers = {}
    if layers is not None:
        below = Fields(layers, fields.name("layers"), fields.problems)
        for layer in list(below.rest):
            one = below.object(layer)
            of_layers[layer] = one.choice("category", _CATEGORIES)
            for unknown in one.rest:
                one.problem(unknown, one.rest[unknown], "category only")
    for unknown in fields.rest:
        fields.problem(unknown, fields.rest[unknown], "one of name, path, category, voxel_size, layers")
    hints = {"category": category or None, "voxel_size": tuple(map(float, size)) if size else None}
    return name, beside / path, {**hints, "layers": of_layers}


def _twice(names: list[str]) -> list[str]:
    return sorted({name for name in names if name and names.count(name) > 1})
