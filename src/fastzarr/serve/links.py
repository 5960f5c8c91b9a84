"""Links that lead out of what is served are not followed."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from fastzarr.errors import MetadataError
from fastzarr.volumes.properties import DOCUMENT as PROPERTIES
from fastzarr.wkw.array import DOCUMENT as WKW_HEADER

DOCUMENTS = (PROPERTIES, WKW_HEADER, "zarr.json", ".zarray", ".zgroup", ".zattrs", ".zmetadata")
"""That tell what a directory holds."""


def require_inside(directory: Path, roots: tuple[Path, ...]) -> None:
    """Raise `MetadataError` where a directory or a document in it leads out of `roots`, or is no file."""
    _require(directory, roots)
    for path in (directory / name for name in DOCUMENTS):
        try:
            mode = path.lstat().st_mode
            if stat.S_ISLNK(mode):
                _require(path, roots)
                mode = path.stat().st_mode
        except (FileNotFoundError, NotADirectoryError):
            continue
        if not stat.S_ISREG(mode):
            raise MetadataError(str(path), ["got something else than a file, expected a file; remove it"])


def _require(path: Path, roots: tuple[Path, ...]) -> None:
    place = Path(os.path.realpath(path))
    if not any(place.is_relative_to(root) for root in roots):
        remedy = "expected a place inside; copy it there, or list its dataset in a TOML file"
        raise MetadataError(str(path), [f"got a link that leads out of what is served, {remedy}"])


def leads_nowhere(path: str) -> bool:
    """Whether something is not there because of a link, its own or above it, whose target is not."""
    while path and not os.path.lexists(path):
        path = os.path.dirname(path)  # noqa: PTH120 - of chunks, for which Path objects cost too much
    return os.path.islink(path) and not os.path.exists(path)  # noqa: PTH110, PTH114
