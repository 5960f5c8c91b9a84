"""Every exception fastzarr raises by itself, under one root.

Each also inherits the built-in that a caller would expect, and carries a stable `kind`.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar


class ZarrError(Exception):
    """Root of all fastzarr errors."""

    kind: ClassVar[str] = "error"
    """Stable name of the kind of failure, for programs."""


class MetadataError(ZarrError, ValueError):
    """A metadata document, or a request to create one, is invalid; lists every problem found."""

    kind = "metadata"

    def __init__(self, where: str, problems: Iterable[str]) -> None:
        self.where = where
        self.problems = tuple(problems)
        lead = f"{where}: "
        if len(self.problems) == 1:
            text = lead + self.problems[0]
        else:
            text = f"{lead}{len(self.problems)} problems\n" + "\n".join(f"- {p}" for p in self.problems)
        super().__init__(text)

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (self.where, self.problems)


class UnknownCodecError(MetadataError):
    """A codec named in the metadata is not known; the data can't be read or written."""

    kind = "unknown-codec"


class ChunkError(ZarrError, ValueError):
    """A stored chunk is truncated, over-long or undecodable."""

    kind = "chunk"

    def __init__(self, key: str, reason: str) -> None:
        self.key = key
        self.reason = reason
        super().__init__(f"chunk {key!r}: {reason}")

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (self.key, self.reason)


class ChunkNotFoundError(ChunkError):
    """A chunk is not stored, and reading it as the fill value was not wanted."""

    kind = "chunk-not-found"


class ChunkShapeError(ZarrError, NotImplementedError):
    """The one chunk shape was asked for of an array whose chunks differ in shape."""

    kind = "chunk-shape"


class CodecError(ZarrError, ValueError):
    """Bytes given to a codec can't be decoded; `chunk_io` turns it into a `ChunkError` with the key."""

    kind = "codec"


class NodeNotFoundError(ZarrError, ValueError, FileNotFoundError):
    """There is no array or group at the path."""

    kind = "node-not-found"


class ArrayNotFoundError(NodeNotFoundError):
    """There is no array at the path."""

    kind = "array-not-found"


class GroupNotFoundError(NodeNotFoundError):
    """There is no group at the path."""

    kind = "group-not-found"


class NodeExistsError(ZarrError, ValueError, FileExistsError):
    """There is a node at the path already."""

    kind = "node-exists"


class ContainsArrayError(NodeExistsError):
    """An array is in the way."""

    kind = "contains-array"


class ContainsGroupError(NodeExistsError):
    """A group is in the way."""

    kind = "contains-group"


class ReadOnlyError(ZarrError, ValueError, PermissionError):
    """A write through a read-only array or store."""

    kind = "read-only"


class StoreError(ZarrError, OSError):
    """A store could not read, write or list what is named; the cause is chained."""

    kind = "store"


class KeyNameError(ZarrError, ValueError):
    """A store key or node path that is not allowed, or leads outside the store."""

    kind = "key-name"


class SelectionError(ZarrError, IndexError):
    """A selection that can't be used for this array."""

    kind = "selection"


class BoundsCheckError(SelectionError):
    """An integer index outside its dimension."""

    kind = "bounds"


class NegativeStepError(SelectionError):
    """A slice with a step below 1."""

    kind = "negative-step"


class BufferMismatchError(ZarrError, ValueError):
    """An array given to read into, or a value to write, doesn't fit the selection."""

    kind = "buffer-mismatch"
