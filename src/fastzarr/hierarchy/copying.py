"""Copying of arrays, groups and the objects of stores."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from fastzarr.errors import ContainsArrayError, NodeExistsError
from fastzarr.hierarchy import nodes
from fastzarr.hierarchy.array import Array
from fastzarr.hierarchy.create import create
from fastzarr.hierarchy.filled import like
from fastzarr.hierarchy.group import Group
from fastzarr.stores.registry import StoreLike, normalize_path, open_store

IfExists = Literal["raise", "replace", "skip"]
Log = Callable[[str], object]
Counts = tuple[int, int, int]
"""Number of what was copied, number of what was skipped, bytes copied."""


def copy(
    source: Array | Group,
    dest: Group,
    name: str | None = None,
    *,
    shallow: bool = False,
    without_attrs: bool = False,
    log: Log | None = None,
    if_exists: IfExists = "raise",
    dry_run: bool = False,
    **options: Any,
) -> Counts:
    """Copy an array, or a group and what is below, into `dest` as `name` (its own by default).

    `shallow`: of a group only its arrays. `if_exists`: what is done where a node is in the way of an array;
    groups are merged. `log` is called with a line for each node. `options` are those of `create`, for arrays
    that are to be stored otherwise than in the source. The bytes told are those of elements.

    Raises `ContainsArrayError`; nothing is copied then that comes after.
    """
    target = normalize_path(source.basename if name is None else name)
    if not target:
        raise ValueError("name: missing; the root has none, so give the copy one")
    if source.store.identity == dest.store.identity:
        path = f"/{nodes.key(dest.path, target)}/"
        own = f"/{source.path}/" if source.path else "/"
        if path.startswith(own) or own.startswith(path):
            raise ValueError(f"name: got {target!r} in {dest!r}, expected a place apart from {source!r}")
    return _Copying(shallow, without_attrs, log, if_exists, dry_run, options).node(source, dest, target)


def copy_all(source: Group, dest: Group, **options: Any) -> Counts:
    """Copy all members of a group into another; `options` as for `copy`."""
    return _sum(copy(node, dest, name, **options) for name, node in source.items())


def copy_store(
    source: StoreLike,
    dest: StoreLike,
    source_path: str = "",
    dest_path: str = "",
    *,
    if_exists: IfExists = "raise",
    dry_run: bool = False,
    log: Log | None = None,
) -> Counts:
    """Copy all objects below a path of a store as they are: documents and encoded chunks.

    Raises `NodeExistsError` for an object that is there already, unless `if_exists` says otherwise.
    """
    origin, target = open_store(source), open_store(dest)
    origin_prefix, target_prefix = (
        f"{normalize_path(path)}/" if normalize_path(path) else "" for path in (source_path, dest_path)
    )
    copied, skipped, nbytes = 0, 0, 0
    for key in list(origin.list_prefix(origin_prefix)):
        new = f"{target_prefix}{key[len(origin_prefix) :]}"
        if if_exists != "replace" and target.get_into(new, memoryview(bytearray())) is not None:
            if if_exists == "raise":
                raise NodeExistsError(
                    f"{target}: {new!r} is there already; use if_exists='replace' or 'skip'"
                )
            skipped += 1
            continue
        data = origin.get(key)
        if data is None:
            continue
        if log is not None:
            log(f"{origin}/{key} -> {target}/{new}")
        if not dry_run:
            target.set(new, data)
        copied += 1
        nbytes += len(data)
    return copied, skipped, nbytes


@dataclass(frozen=True)
class _Copying:
    """How nodes are copied: the options of `copy`."""

    shallow: bool
    without_attrs: bool
    log: Log | None
    if_exists: IfExists
    dry_run: bool
    options: dict[str, Any]

    def node(self, source: Array | Group, dest: Group, name: str) -> Counts:
        array = isinstance(source, Array)
        taken = dest.get(name)
        if taken is not None and (array or isinstance(taken, Array)):
            if self.if_exists == "skip":
                return 0, 1, 0
            if self.if_exists == "raise":
                remedy = "use if_exists='replace' or 'skip'"
                raise ContainsArrayError(f"{dest!r}: {name!r} is there already; {remedy}")
        if self.log is not None:
            self.log(f"{source.name} -> /{nodes.key(dest.path, name)}")
        if isinstance(source, Array):
            return self._array(source, dest, name)
        return self._group(source, dest, name)

    def _array(self, source: Array, dest: Group, name: str) -> Counts:
        if not self.dry_run:
            zarr_format = dest.metadata.zarr_format
            given = {"fill_value": source.fill_value, "zarr_format": zarr_format, **self.options}
            attributes = {} if self.without_attrs else source.attrs.asdict()
            chosen = like(source, given) | {"attributes": attributes, "overwrite": True}
            new = create(store=dest.store, path=nodes.key(dest.path, name), **chosen)
            for block in new.iter_chunk_selections():
                new[block] = source[block]
        return 1, 0, source.nbytes

    def _group(self, source: Group, dest: Group, name: str) -> Counts:
        if self.dry_run:
            return 1, 0, 0
        group = dest.require_group(name, overwrite=isinstance(dest.get(name), Array))
        if not self.without_attrs:
            group.update_attributes(source.attrs.asdict())
        members = source.arrays() if self.shallow else source.items()
        below = _sum(self.node(node, group, member) for member, node in members)
        return below[0] + 1, below[1], below[2]


def _sum(counts: Any) -> Counts:
    copied, skipped, nbytes = 0, 0, 0
    for one in counts:
        copied, skipped, nbytes = copied + one[0], skipped + one[1], nbytes + one[2]
    return copied, skipped, nbytes
