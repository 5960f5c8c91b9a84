"""The document by which an array was opened, and whether it still is the one beside the chunks."""

from __future__ import annotations

import json
import operator
import os
import stat
from pathlib import Path
from typing import Any, NamedTuple

from fastzarr.errors import ZarrError
from fastzarr.serve.chunk_files import directory_of
from fastzarr.wkw.array import DOCUMENT as WKW_HEADER

FREE = ("attributes", "consolidated_metadata")
"""Members of `zarr.json` that say nothing of chunks, nor which dimension is which."""


class ChangedError(ZarrError, OSError):
    """What is stored is no longer what was opened."""

    kind = "changed"


class _Content(NamedTuple):
    coding: Any
    """What must stay as it is."""
    shape: tuple[int, ...]
    """What may only be larger."""


class Document:
    """The document of one array on disk, as it was when this was made."""

    def __init__(self, path: Path) -> None:
        self.path = str(path)
        self._sign = _sign(self.path)
        self._content = _read(self.path) if self._sign else None

    @classmethod
    def of(cls, array: Any) -> Document | None:
        """None where the array is not in files."""
        place = directory_of(array)
        if place is None:
            return None
        if hasattr(array, "header"):
            return cls(place / WKW_HEADER)
        return cls(place / ("zarr.json" if array.metadata.zarr_format == 3 else ".zarray"))

    def check(self) -> None:
        """Raise `ChangedError` where it is gone, or chunks are no longer to be read by it as it was."""
        found = _sign(self.path)
        if found == self._sign:
            return
        if found is None:
            raise ChangedError(f"{self.path}: it is gone since the dataset was opened; restart the server")
        content, known = _read(self.path), self._content
        if (
            content is None
            or known is None
            or content.coding != known.coding
            or not _holds(content.shape, known.shape)
        ):
            raise ChangedError(f"{self.path}: it is another since the dataset was opened; restart the server")
        self._sign = found


def _sign(path: str) -> tuple[int, ...] | None:
    """None where there is no file."""
    try:
        found = os.stat(path)  # noqa: PTH116 - a Path object would cost more than the call
    except (FileNotFoundError, NotADirectoryError):
        return None
    if not stat.S_ISREG(found.st_mode):
        return None
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns


def _read(path: str) -> _Content | None:
    """None where it is none of ours."""
    try:
        data = Path(path).read_bytes()
        if path.endswith(WKW_HEADER):
            return _Content(data, ())
        members = json.loads(data)
        shape = tuple([operator.index(size) for size in members.pop("shape")])
    except (OSError, ValueError, TypeError, AttributeError, KeyError, RecursionError):
        return None
    return _Content({name: value for name, value in members.items() if name not in FREE}, shape)


def _holds(shape: tuple[int, ...], known: tuple[int, ...]) -> bool:
    return len(shape) == len(known) and all(new >= old for new, old in zip(shape, known, strict=True))
