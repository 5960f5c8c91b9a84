"""Which files of a directory are keys of Zarr nodes: documents of groups and arrays, and chunks."""

from __future__ import annotations

import errno
import itertools
import json
import os
import re
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fastzarr.errors import MetadataError

DOCUMENTS = frozenset({"zarr.json", ".zarray", ".zgroup", ".zattrs", ".zmetadata"})
OF_ARRAYS = ("zarr.json", ".zarray")
BESIDE = frozenset({"datasource-properties.json", "METADATA.ome.xml"})
"""Documents of webknossos and of OME-Zarr that belong to a group."""
DEPTH = 3
"""Directories without a document that may lie one in another, above a node."""
FEW = 64
"""Directories at each depth that are looked at for one."""
_ABSENT = (errno.ENOENT, errno.ENOTDIR, errno.ENAMETOOLONG)
_LARGEST_DOCUMENT = 64 << 20
_INTEGER = r"(?:0|[1-9]\d{0,18})"
_BELOW_ARRAYS = re.compile(rf"(?:c|{_INTEGER})(?:/{_INTEGER})*", re.ASCII)


@dataclass(frozen=True, kw_only=True, slots=True)
class _Document:
    """The document of an array, as far as it tells the keys of chunks."""

    version: tuple[int, ...]
    """Of the file."""
    keys: re.Pattern[str] | None
    """Keys of its chunks; None where it is no array."""


class NodeKeys:
    """The keys below a directory. Safe to share between threads."""

    def __init__(self, root: str, inside: str) -> None:
        """`root`: real path of the directory; `inside`: that of the one which links must not lead out of."""
        self.root = root
        self._inside = f"{inside.rstrip('/')}/"
        self._documents: dict[str, _Document] = {}

    def owns(self, key: str) -> bool:
        """Whether a file of that key would belong to a node; raises `MetadataError` for an unreadable one.

        What has a name that begins with a dot, as all that is unfinished has, doesn't, the documents of v2
        excepted.
        """
        parts = key.split("/")
        if any(part.startswith(".") for part in parts[:-1]):
            return False
        is_document = parts[-1] in DOCUMENTS
        for depth in range(len(parts) - is_document):
            patterns = self._chunks_of("/".join(parts[:depth]))
            if patterns:
                rest = "/".join(parts[depth:])
                return any(pattern.fullmatch(rest) for pattern in patterns)
        return is_document or parts[-1] in BESIDE

    def is_directory(self, path: str) -> bool:
        """Whether there is a directory at `path` that has keys: a node's, one above a node, one of chunks."""
        parts = path.split("/") if path else []
        if any(part.startswith(".") for part in parts) or not self._is_directory(path):
            return False
        for depth in range(len(parts)):
            if self._chunks_of("/".join(parts[:depth])):
                return _BELOW_ARRAYS.fullmatch("/".join(parts[depth:])) is not None
        return self._holds_node(path)

    def list_directory(self, path: str, limit: int) -> Iterator[str]:
        """Names in a directory that have keys, sorted, those of directories with a slash at their end.

        Raises `OverflowError` where it has more than `limit` names.
        """
        prefix = f"{path}/" if path else ""
        with os.scandir(self._place(path)) as entries:
            found = []
            for entry in entries:
                if not entry.is_symlink() or self._is_inside(entry.path):
                    found.append((entry.name, entry.is_dir()))
                if len(found) > limit:
                    raise OverflowError
        for name, is_directory in sorted(found):
            if is_directory and self.is_directory(prefix + name):
                yield f"{name}/"
            elif not is_directory and self.owns(prefix + name):
                yield name

    def _place(self, path: str) -> str:
        return f"{self.root}/{path}" if path else self.root

    def _is_directory(self, path: str) -> bool:
        status = _status(self._place(path))
        return status is not None and stat.S_ISDIR(status.st_mode) and self._is_inside(self._place(path))

    def _is_inside(self, place: str) -> bool:
        return f"{os.path.realpath(place)}/".startswith(self._inside)

    def _holds_node(self, path: str) -> bool:
        """Whether a node is in a directory or not far below it, as far as a short look tells."""
        nearest = [self._place(path)]
        for _ in range(DEPTH + 1):
            if any(_status(f"{place}/{name}") is not None for place in nearest for name in DOCUMENTS):
                return True
            nearest = [below for place in nearest for below in _directories(place)][:FEW]
        return False

    def _chunks_of(self, path: str) -> list[re.Pattern[str]]:
        """Patterns of the keys of chunks of the array at `path`, of each format that it has a document of."""
        documents = [self._document(f"{path}/{name}" if path else name) for name in OF_ARRAYS]
        return [document.keys for document in documents if document is not None and document.keys is not None]

    def _document(self, key: str) -> _Document | None:
        """What the document at `key` says, read again when it has changed; None where there is none."""
        place = self._place(key)
        status = _status(place)
        if status is None or not stat.S_ISREG(status.st_mode):
            self._documents.pop(key, None)
            return None
        version = (status.st_ino, status.st_mtime_ns, status.st_size)
        known = self._documents.get(key)
        if known is None or known.version != version:
            if not self._is_inside(place):
                return None
            known = _Document(version=version, keys=_chunk_keys(place, key, status.st_size))
            self._documents[key] = known
        return known


def _status(place: str) -> os.stat_result | None:
    """What is at a place; None where that is nothing, or can be nothing."""
    try:
        return os.stat(place)  # noqa: PTH116
    except OSError as error:
        if error.errno in _ABSENT:
            return None
        raise


def _directories(place: str) -> list[str]:
    """Directories among the first names in one."""
    with os.scandir(place) as entries:
        found = [entry for entry in itertools.islice(entries, 16 * FEW) if not entry.name.startswith(".")]
    return [entry.path for entry in found if entry.is_dir()]


def _chunk_keys(place: str, key: str, size: int) -> re.Pattern[str] | None:
    """Pattern of the keys of chunks by the document of a node; None for that of a group."""
    if size > _LARGEST_DOCUMENT:
        raise MetadataError(key, [f"got {size} bytes, expected at most {_LARGEST_DOCUMENT}"])
    try:
        document = json.loads(Path(place).read_bytes())
        if key.endswith("zarr.json") and document.get("node_type") != "array":
            return None
        dimensions = len(document["shape"])
    except (ValueError, RecursionError, KeyError, TypeError, AttributeError) as error:
        raise MetadataError(key, [f"got {error!r}, expected the document of a node"]) from error
    name, separator = _encoding(document)
    if name == "v2":
        return _pattern("", [_INTEGER] * dimensions or ["0"], separator)
    if name == "default":
        return _pattern("c", [_INTEGER] * dimensions, separator)
    return re.compile(r"[^./][^/]*(?:/[^./][^/]*)*")  # an extension: whatever isn't hidden


def _encoding(document: dict[str, Any]) -> tuple[object, str]:
    """Name and separator of the chunk key encoding of an array's document."""
    if "chunk_key_encoding" not in document:  # Zarr v2
        return "v2", _separator(document.get("dimension_separator"), ".")
    encoding = document["chunk_key_encoding"]
    name = encoding.get("name") if isinstance(encoding, dict) else encoding
    configuration = encoding.get("configuration") if isinstance(encoding, dict) else None
    given = configuration.get("separator") if isinstance(configuration, dict) else None
    return name, _separator(given, "." if name == "v2" else "/")


def _separator(given: object, default: str) -> str:
    return str(given) if given in (".", "/") else default


def _pattern(first: str, integers: list[str], separator: str) -> re.Pattern[str]:
    return re.compile(re.escape(separator).join([first, *integers] if first else integers), re.ASCII)
