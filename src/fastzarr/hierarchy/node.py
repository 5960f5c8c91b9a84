"""`Node`: what arrays and groups have in common."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Generic, Self, TypeVar

from fastzarr import chunk_io
from fastzarr.errors import ReadOnlyError
from fastzarr.hierarchy import nodes
from fastzarr.hierarchy.attributes import Attributes
from fastzarr.hierarchy.info import Info
from fastzarr.metadata.group import GroupMetadata
from fastzarr.metadata.model import ArrayMetadata
from fastzarr.stores.base import Store

Metadata = TypeVar("Metadata", ArrayMetadata, GroupMetadata)


class Node(ABC, Generic[Metadata]):
    """A node of a hierarchy: an array or a group; equal to another handle of the same place and metadata."""

    _store: Store
    _path: str
    _metadata: Metadata

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, type(self)):
            return NotImplemented
        same_place = self._store.identity == other._store.identity and self._path == other._path
        return same_place and self._metadata == other._metadata

    __hash__ = None  # type: ignore[assignment]

    @property
    def metadata(self) -> Metadata:
        """The metadata, one model for both formats."""
        return self._metadata

    @property
    def store(self) -> Store:
        """The store."""
        return self._store

    @property
    def path(self) -> str:
        """Path in the store, without a leading slash; empty for the root."""
        return self._path

    @property
    def name(self) -> str:
        """Path with a leading slash."""
        return f"/{self._path}"

    @property
    def basename(self) -> str:
        """Last part of the path."""
        return self._path.rpartition("/")[2]

    @property
    def read_only(self) -> bool:
        """Whether writing raises."""
        return self._store.read_only

    @property
    def info(self) -> Info:
        """What the node is, as a table to print."""
        return Info(self._info_rows())

    @property
    def attrs(self) -> Attributes:
        """User attributes; changes are written at once."""
        return Attributes(lambda: self._metadata.attributes, self._change_attributes)

    def update_attributes(self, new_attributes: Mapping[str, Any]) -> Self:
        """Set the given attributes, keep the others, and return the node."""
        self.attrs.update(new_attributes)
        return self

    @abstractmethod
    def _info_rows(self) -> dict[str, Any]: ...

    @abstractmethod
    def _stored(self) -> Metadata:
        """The metadata that is stored now; raises `NodeNotFoundError`."""

    def _require_writable(self) -> None:
        if self.read_only:
            raise ReadOnlyError(f"{self!r} is read only; open it with mode 'r+' or 'a' to write")

    def _change_attributes(self, change: Callable[[dict[str, Any]], dict[str, Any]]) -> None:
        self._require_writable()
        with chunk_io.document_lock(self._store, self._path):
            stored = self._stored()
            attributes = change(dict(stored.attributes))
            nodes.write_attributes(self._store, self._path, replace(stored, attributes=attributes))
            self._metadata = replace(self._metadata, attributes=attributes)
