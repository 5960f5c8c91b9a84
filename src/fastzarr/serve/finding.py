"""Which directories hold datasets."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Literal, NamedTuple

import fastzarr
from fastzarr.errors import ZarrError
from fastzarr.serve.links import DOCUMENTS, require_inside
from fastzarr.serve.parts import words
from fastzarr.volumes import ome
from fastzarr.volumes.boxes import parse_mag
from fastzarr.volumes.properties import DOCUMENT as PROPERTIES
from fastzarr.wkw.array import DOCUMENT as WKW_HEADER

MOST_DIRECTORIES = 100_000
"""That are looked into."""
DEEPEST = 12
"""Directories below the one that is served."""

Form = Literal["webknossos", "wkw mag", "wkw layer", "array", "image", "group"]


class Found(NamedTuple):
    """A directory that holds a dataset."""

    path: Path
    form: Form
    problem: str = ""
    """Why it can't be opened, where that is known already."""


class Finder:
    """Looks for datasets in a directory and below it; not in what belongs to a dataset that is found."""

    def __init__(self, root: Path) -> None:
        self._inside = os.path.join(os.path.realpath(root), "")  # noqa: PTH118 - the slash at its end
        self._roots = (Path(self._inside),)
        self._seen: set[tuple[int, int]] = set()
        self.problems: list[str] = []
        """What was not looked at, and why."""

    def find(self, directory: Path, depth: int = 0, *, in_group: bool = False) -> Iterator[Found]:
        """Datasets in order of their paths. Links that lead out of the root are not followed.

        A group of Zarr that is no image is one where it is in no other group, or has arrays, which are its
        layers. `in_group`: whether the directory above is such a group.
        """
        found = self._entries(directory)
        if found is None:
            return
        files, directories = found
        form = _form(directory, files, directories, self._roots)
        if form is not None and form.form == "array" and in_group:
            return
        is_group = form is not None and form.form == "group"
        if form is not None and not (
            is_group and in_group and not _has_arrays(directory, directories, self._roots)
        ):
            yield form
        if form is not None and not is_group:
            return
        if depth == DEEPEST:
            if directories:
                self.problems.append(f"{directory}: not looked at below, which is {DEEPEST} directories deep")
            return
        for name in directories:
            yield from self.find(directory / name, depth + 1, in_group=is_group)

    def _entries(self, directory: Path) -> tuple[set[str], list[str]] | None:
        """Names of files, and of directories to look into; None where it must not be looked at again."""
        try:
            place = directory.stat()
            if (place.st_dev, place.st_ino) in self._seen:
                return None
            if len(self._seen) == MOST_DIRECTORIES:
                self.problems.append(f"{directory}: not looked at, after {MOST_DIRECTORIES} directories")
            if len(self._seen) >= MOST_DIRECTORIES:
                return None
            self._seen.add((place.st_dev, place.st_ino))
            files, names = _listed(directory)
        except OSError as error:
            self.problems.append(f"{directory}: can't be looked at: {error.strerror}")
            return None
        return files, [name for name in names if _is_plain(name) and self._may_follow(directory / name)]

    def _may_follow(self, path: Path) -> bool:
        return not path.is_symlink() or os.path.join(os.path.realpath(path), "").startswith(self._inside)  # noqa: PTH118


def form_of(directory: Path, roots: tuple[Path, ...]) -> Found | None:
    """The dataset that a directory itself holds; None where it holds none. Raises `OSError`."""
    return _form(directory, *_listed(directory), roots)


def _listed(directory: Path) -> tuple[set[str], list[str]]:
    """Names of files and of directories."""
    with os.scandir(directory) as entries:
        kinds = {entry.name: entry.is_dir() for entry in entries}
    return {n for n, is_dir in kinds.items() if not is_dir}, sorted(
        n for n, is_dir in kinds.items() if is_dir
    )


def _form(directory: Path, files: set[str], directories: list[str], roots: tuple[Path, ...]) -> Found | None:
    if not files.isdisjoint(DOCUMENTS):
        try:
            require_inside(directory, roots)
        except (ZarrError, OSError) as error:
            return Found(directory, "array", str(error))
    if PROPERTIES in files:
        return Found(directory, "webknossos")
    if WKW_HEADER in files:
        return Found(directory, "wkw mag")
    if ".zarray" in files and "zarr.json" not in files:
        return Found(directory, "array")
    if files & {"zarr.json", ".zgroup"}:
        return _node(directory)
    mags = [name for name in directories if parse_mag(name) is not None]
    if any((directory / name / WKW_HEADER).is_file() for name in mags):
        return Found(directory, "wkw layer")
    return None


def _node(directory: Path) -> Found:
    try:
        node = fastzarr.open(directory, mode="r")
        if isinstance(node, fastzarr.Array):
            return Found(directory, "array")
        return Found(directory, "image" if ome.parse(node.attrs.asdict(), str(directory)) else "group")
    except Exception as error:
        return Found(directory, "group", words(error, str(directory)))


def _has_arrays(directory: Path, directories: list[str], roots: tuple[Path, ...]) -> bool:
    return any(is_array(directory / name, roots) for name in directories)


def is_array(directory: Path, roots: tuple[Path, ...]) -> bool:
    """Whether the documents in a directory are those of an array, for all that can be told at a glance.

    Those that must not be read count as well: opening the array tells why not.
    """
    try:
        require_inside(directory, roots)
    except (ZarrError, OSError):
        return True
    try:
        document = json.loads((directory / "zarr.json").read_bytes())
    except (FileNotFoundError, NotADirectoryError):
        return (directory / ".zarray").is_file()
    except (OSError, ValueError, RecursionError):
        return False
    return isinstance(document, dict) and document.get("node_type") == "array"


def _is_plain(name: str) -> bool:
    """Whether a name can stand in a URL as it is, and isn't hidden."""
    return not name.startswith(".") and name.isprintable() and "\\" not in name
