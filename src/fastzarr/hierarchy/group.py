"""`Group`: a node that has other nodes below it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from fastzarr import chunk_io, data_types
from fastzarr.chunks.grid import normalize_shape
from fastzarr.errors import GroupNotFoundError, NodeExistsError
from fastzarr.hierarchy import filled, nodes
from fastzarr.hierarchy.array import Array, make_array
from fastzarr.hierarchy.attributes import as_stored
from fastzarr.hierarchy.create import create_array
from fastzarr.hierarchy.info import Info
from fastzarr.hierarchy.node import Node
from fastzarr.hierarchy.tree import Tree
from fastzarr.metadata.group import GroupMetadata, NodeMetadata
from fastzarr.metadata.model import ArrayMetadata
from fastzarr.stores.base import Store
from fastzarr.stores.registry import normalize_path


class Group(Node[GroupMetadata]):
    """A group in a store. Made by `create_group`, `open_group` and `open`.

    A group that was opened with consolidated metadata shows the nodes that were there when it was
    consolidated, and reads no further document to open them; nodes created since are seen after
    `consolidate_metadata`, or with `use_consolidated=False`.
    """

    def __init__(self, store: Store, path: str, metadata: GroupMetadata) -> None:
        self._store = store
        self._path = path
        self._metadata = metadata

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (self._store, self._path, self._metadata)

    def __repr__(self) -> str:
        return f"<Group {nodes.place(self._store, self._path)}>"

    def info_complete(self) -> Info:
        """What the group is, with the number of nodes below; looks at all of them."""
        below = [node for _, node in self.members(max_depth=None)]
        arrays = sum(isinstance(node, Array) for node in below)
        counts = {
            "No. members": len(below),
            "No. arrays": arrays,
            "No. groups": len(below) - arrays,
        }
        return Info(self._info_rows() | counts)

    def __getitem__(self, path: str) -> Array | Group:
        """The array or group at `path`, relative to the group; raises `KeyError` where there is none."""
        relative = normalize_path(path)
        metadata = self._member(relative) if relative else None
        if metadata is None:
            raise KeyError(f"{path!r} not found in {self!r}")
        return self._node(relative, metadata)

    def get(self, path: str, default: Any = None) -> Any:
        """The array or group at `path`, or `default` where there is none."""
        try:
            return self[path]
        except KeyError:
            return default

    def __contains__(self, path: object) -> bool:
        relative = normalize_path(path)
        return bool(relative) and self._member(relative) is not None

    def __iter__(self) -> Iterator[str]:
        return self.keys()

    def __len__(self) -> int:
        return self.nmembers()

    def __setitem__(self, path: str, value: Any) -> None:
        """Create an array of `value` at `path`, with defaults for all else."""
        self.create_array(path, data=np.asarray(value))

    def __delitem__(self, path: str) -> None:
        """Remove the node at `path` and all below it; raises `KeyError` where there is none."""
        self._require_writable()
        relative = normalize_path(path)
        if not relative or (relative not in self and self._in_store(relative) is None):
            raise KeyError(f"{path!r} not found in {self!r}")
        below = self._metadata.consolidated_metadata
        if below is not None:
            with chunk_io.document_lock(self._store, self._path):
                stored = self._stored()
                if stored.consolidated_metadata is not None:
                    kept = stored.consolidated_metadata.without(relative)
                    nodes.write_group(self._store, self._path, replace(stored, consolidated_metadata=kept))
            self._metadata = replace(self._metadata, consolidated_metadata=below.without(relative))
        self._store.erase_prefix(f"{self._full(relative)}/")

    def members(self, max_depth: int | None = 0) -> tuple[tuple[str, Array | Group], ...]:
        """Relative path and node of all that is below, parents first; `max_depth` 0 is the members only."""
        if max_depth is not None and max_depth < 0:
            raise ValueError(f"max_depth: got {max_depth}, expected 0 or more, or None for all")
        found = self._walk(max_depth)
        return tuple((path, self._node(path, metadata)) for path, metadata in found)

    def nmembers(self, max_depth: int | None = 0) -> int:
        """Number of nodes below; `max_depth` as for `members`."""
        return sum(1 for _ in self._walk(max_depth))

    def keys(self) -> Iterator[str]:
        """Names of the members."""
        return (path for path, _ in self._walk(0))

    def values(self) -> Iterator[Array | Group]:
        """The members."""
        return (node for _, node in self.members())

    def items(self) -> Iterator[tuple[str, Array | Group]]:
        """Names and members."""
        return iter(self.members())

    def arrays(self) -> Iterator[tuple[str, Array]]:
        """Names and nodes of the members that are arrays."""
        return ((name, node) for name, node in self.members() if isinstance(node, Array))

    def groups(self) -> Iterator[tuple[str, Group]]:
        """Names and nodes of the members that are groups."""
        return ((name, node) for name, node in self.members() if isinstance(node, Group))

    def array_keys(self) -> Iterator[str]:
        """Names of the members that are arrays."""
        return (path for path, metadata in self._walk(0) if isinstance(metadata, ArrayMetadata))

    def group_keys(self) -> Iterator[str]:
        """Names of the members that are groups."""
        return (path for path, metadata in self._walk(0) if isinstance(metadata, GroupMetadata))

    def array_values(self) -> Iterator[Array]:
        """The members that are arrays."""
        return (node for _, node in self.arrays())

    def group_values(self) -> Iterator[Group]:
        """The members that are groups."""
        return (node for _, node in self.groups())

    def tree(self, expand: bool | None = None, level: int | None = None) -> Tree:
        """All nodes below as a drawing to print; `level` bounds its depth, `expand` is ignored."""
        return Tree(self.basename, list(self._walk(level)))

    def create_group(
        self, name: str, *, overwrite: bool = False, attributes: Mapping[str, Any] | None = None
    ) -> Group:
        """Create a group at `name`, relative to the group; see `fastzarr.create_group`."""
        self._require_writable()
        metadata = GroupMetadata(
            zarr_format=self._metadata.zarr_format, attributes=as_stored(attributes or {})
        )
        path = self._full(_name(name))
        nodes.place_node(self._store, path, metadata, overwrite=overwrite)
        return Group(self._store, path, metadata)

    def require_group(self, name: str, *, overwrite: bool = False) -> Group:
        """The group at `name`, created where it is missing; raises `TypeError` where an array is there."""
        found = None if overwrite else self.get(name)
        if found is None:
            try:
                return self.create_group(name, overwrite=overwrite)
            except NodeExistsError:  # another thread was first, or what is consolidated is stale
                found = self._in_store(_name(name))
                if found is None:
                    raise
        if isinstance(found, Array):
            raise TypeError(f"{name!r} in {self!r}: got an array, expected a group or nothing")
        return found

    def require_groups(self, *names: str) -> tuple[Group, ...]:
        """Several groups, created where they are missing."""
        return tuple(self.require_group(name) for name in names)

    def create_array(self, name: str, **options: Any) -> Array:
        """Create an array at `name`, relative to the group, in the group's format.

        `options` and errors are those of `fastzarr.create_array`.
        """
        self._require_writable()
        path = self._full(_name(name))
        return create_array(self._store, name=path, zarr_format=self._metadata.zarr_format, **options)

    create = create_array

    def require_array(
        self, name: str, *, shape: Any, dtype: DTypeLike | None = None, exact: bool = False, **options: Any
    ) -> Array:
        """The array at `name`, created where it is missing.

        Raises `TypeError` where what is there has another shape, or elements of another data type that can't
        be cast to `dtype` safely (with `exact`: any other data type), or is a group.
        """
        found = self.get(name)
        if found is None:
            try:
                return self.create_array(name, shape=shape, dtype="f8" if dtype is None else dtype, **options)
            except NodeExistsError:  # another thread was first, or what is consolidated is stale
                found = self._in_store(_name(name))
                if found is None:
                    raise
        if isinstance(found, Group):
            raise TypeError(f"{name!r} in {self!r}: got a group, expected an array or nothing")
        array: Array = found
        if array.shape != normalize_shape(shape):
            raise TypeError(f"{array!r}: got shape {array.shape}, expected {normalize_shape(shape)}")
        wanted = array.dtype if dtype is None else data_types.from_numpy(dtype).dtype
        if array.dtype != wanted and (exact or not np.can_cast(array.dtype, wanted)):
            raise TypeError(f"{array!r}: got data type {array.dtype}, expected {wanted}")
        return array

    def create_hierarchy(
        self, nodes: Mapping[str, NodeMetadata], *, overwrite: bool = False
    ) -> Iterator[tuple[str, Array | Group]]:
        """Create many nodes from their metadata; see `fastzarr.create_hierarchy`."""
        self._require_writable()
        given = {self._full(_name(path)): metadata for path, metadata in nodes.items()}
        start = len(self._full("x")) - 1
        for path, node in place_hierarchy(self._store, given, overwrite=overwrite):
            yield path[start:], node

    def empty(self, *, name: str, shape: Any, **options: Any) -> Array:
        """Create an array of unspecified content (the fill value) at `name`."""
        return filled.empty(shape, **self._at(name, options))

    def zeros(self, *, name: str, shape: Any, **options: Any) -> Array:
        """Create an array of zeros at `name`."""
        return filled.zeros(shape, **self._at(name, options))

    def ones(self, *, name: str, shape: Any, **options: Any) -> Array:
        """Create an array of ones at `name`."""
        return filled.ones(shape, **self._at(name, options))

    def full(self, *, name: str, shape: Any, fill_value: Any, **options: Any) -> Array:
        """Create an array of `fill_value` at `name`."""
        return filled.full(shape, fill_value, **self._at(name, options))

    def empty_like(self, *, name: str, data: Any, **options: Any) -> Array:
        """Create an array of unspecified content (the fill value), shaped and typed as `data`, at `name`."""
        return filled.empty_like(data, **self._at(name, options))

    def zeros_like(self, *, name: str, data: Any, **options: Any) -> Array:
        """Create an array of zeros, shaped and typed as `data`, at `name`."""
        return filled.zeros_like(data, **self._at(name, options))

    def ones_like(self, *, name: str, data: Any, **options: Any) -> Array:
        """Create an array of ones, shaped and typed as `data`, at `name`."""
        return filled.ones_like(data, **self._at(name, options))

    def full_like(self, *, name: str, data: Any, fill_value: Any, **options: Any) -> Array:
        """Create an array of `fill_value`, shaped and typed as `data`, at `name`."""
        return filled.full_like(data, fill_value=fill_value, **self._at(name, options))

    def _at(self, name: str, options: dict[str, Any]) -> dict[str, Any]:
        self._require_writable()
        place = {"store": self._store, "path": self._full(_name(name))}
        return {**options, **place, "zarr_format": self._metadata.zarr_format}

    def _info_rows(self) -> dict[str, Any]:
        return {
            "Name": self.name,
            "Type": "Group",
            "Zarr format": self._metadata.zarr_format,
            "Read-only": self.read_only,
            "Store": self._store,
            "Consolidated metadata": self._metadata.consolidated_metadata is not None,
        }

    def _full(self, relative: str) -> str:
        return nodes.key(self._path, relative)

    def _member(self, relative: str) -> NodeMetadata | None:
        if self._metadata.consolidated_metadata is not None:
            return self._metadata.consolidated_metadata.node(relative)
        return nodes.read_node(self._store, self._full(relative), self._metadata.zarr_format, None)

    def _in_store(self, relative: str) -> Array | Group | None:
        """What is stored now, whatever was consolidated."""
        path = self._full(relative)
        metadata = nodes.read_node(self._store, path, self._metadata.zarr_format, None)
        return None if metadata is None else make_node(self._store, path, metadata)

    def _node(self, relative: str, metadata: NodeMetadata) -> Array | Group:
        return make_node(self._store, self._full(relative), metadata)

    def _walk(self, max_depth: int | None) -> Iterator[tuple[str, NodeMetadata]]:
        """Relative path and metadata of the nodes below, by name, parents first."""
        below = self._metadata.consolidated_metadata
        if below is None:
            yield from nodes.walk(self._store, self._path, self._metadata.zarr_format, max_depth)
            return
        for path in sorted(below.paths(), key=lambda path: path.split("/")):
            if max_depth is None or path.count("/") <= max_depth:
                metadata = below.node(path)
                assert metadata is not None
                yield path, metadata

    def _stored(self) -> GroupMetadata:
        stored = nodes.read_node(self._store, self._path, self._metadata.zarr_format, None)
        if not isinstance(stored, GroupMetadata):
            raise GroupNotFoundError(f"{self!r} is no longer in the store")
        return stored


def place_hierarchy(
    store: Store, given: Mapping[str, NodeMetadata], *, overwrite: bool
) -> Iterator[tuple[str, Array | Group]]:
    """Create nodes by path, parents first, and the groups above that are missing."""
    for path in sorted(given, key=lambda path: path.split("/")):
        nodes.place_node(store, path, given[path], overwrite=overwrite)
        yield path, make_node(store, path, given[path])


def make_node(store: Store, path: str, metadata: NodeMetadata) -> Array | Group:
    """The array or group that `metadata` is of."""
    if isinstance(metadata, ArrayMetadata):
        return make_array(store, path, metadata)
    return Group(store, path, metadata)


def _name(name: str) -> str:
    relative = normalize_path(name)
    if not relative:
        raise ValueError(f"name: got {name!r}, expected the name of a new node below the group")
    return relative
