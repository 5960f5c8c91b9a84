"""Saving and loading of NumPy arrays in one call."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from fastzarr import data_types
from fastzarr.hierarchy.array import Array
from fastzarr.hierarchy.create import create
from fastzarr.hierarchy.filled import kind_of
from fastzarr.hierarchy.group import Group
from fastzarr.hierarchy.open import PathLike, create_group
from fastzarr.hierarchy.open import open as open_node
from fastzarr.hierarchy.tree import Tree
from fastzarr.metadata.model import ZarrFormat
from fastzarr.stores.registry import StoreLike


def save(
    store: StoreLike,
    *args: ArrayLike,
    zarr_format: ZarrFormat | None = None,
    path: str | None = None,
    **kwargs: Any,
) -> None:
    """Save one array as an array, or several as a group (see `save_array` and `save_group`)."""
    if len(args) == 1 and not kwargs:
        save_array(store, args[0], zarr_format=zarr_format, path=path)
    else:
        save_group(store, *args, zarr_format=zarr_format, path=path, **kwargs)


def save_array(
    store: StoreLike,
    arr: ArrayLike,
    *,
    zarr_format: ZarrFormat | None = None,
    path: str | None = None,
    mode: Literal["a", "w"] = "a",
    **options: Any,
) -> None:
    """Save a NumPy array; `options` as for `create`. With mode `"w"` what is there is replaced.

    Raises `ContainsArrayError` or `ContainsGroupError` for what is in the way.
    """
    values = np.asarray(arr)
    chosen = {
        **kind_of(arr if isinstance(arr, Array) else values),
        "overwrite": mode == "w",
        **options,
    }
    create(values.shape, store=store, path=path, zarr_format=zarr_format, data=values, **chosen)


def save_group(
    store: StoreLike,
    *args: ArrayLike,
    zarr_format: ZarrFormat | None = None,
    path: str | None = None,
    storage_options: dict[str, Any] | None = None,
    **kwargs: Any,
) -> None:
    """Save arrays as `arr_0`, `arr_1`, … and by their keywords, in a group that replaces what is there."""
    if not args and not kwargs:
        raise ValueError("got no array to save, expected at least one")
    arrays = {f"arr_{number}": np.asarray(values) for number, values in enumerate(args)}
    arrays |= {name: np.asarray(values) for name, values in kwargs.items()}
    for values in arrays.values():
        data_types.from_numpy(values.dtype)  # raises before anything is replaced
    group = create_group(
        store, path=path, zarr_format=zarr_format, overwrite=True, storage_options=storage_options
    )
    for name, values in arrays.items():
        group.create_array(name, data=values)


def load(store: StoreLike, path: PathLike = None, zarr_format: ZarrFormat | None = None) -> Any:
    """All elements of the array at a path; of a group a dictionary of its members, loaded likewise."""
    return _loaded(open_node(store, mode="r", path=path, zarr_format=zarr_format))


def _loaded(node: Array | Group) -> Any:
    if isinstance(node, Array):
        return node[...]
    return {name: _loaded(member) for name, member in node.items()}


def tree(grp: Group, expand: bool | None = None, level: int | None = None) -> Tree:
    """All nodes below a group as a drawing to print; see `Group.tree`."""
    return grp.tree(expand=expand, level=level)
