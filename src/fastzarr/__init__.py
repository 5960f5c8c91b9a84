"""fastzarr: Zarr at the speed of the disk."""

from fastzarr import codecs, errors, storage
from fastzarr.hierarchy.array import Array
from fastzarr.hierarchy.config import ArrayConfig
from fastzarr.hierarchy.consolidate import consolidate_metadata, open_consolidated
from fastzarr.hierarchy.copying import copy, copy_all, copy_store
from fastzarr.hierarchy.create import create, create_array
from fastzarr.hierarchy.filled import (
    array,
    empty,
    empty_like,
    from_array,
    full,
    full_like,
    ones,
    ones_like,
    zeros,
    zeros_like,
)
from fastzarr.hierarchy.group import Group
from fastzarr.hierarchy.info import print_debug_info
from fastzarr.hierarchy.open import (
    create_group,
    create_hierarchy,
    group,
    open,  # noqa: A004
    open_array,
    open_group,
    open_like,
)
from fastzarr.hierarchy.save import load, save, save_array, save_group, tree
from fastzarr.metadata.group import GroupMetadata
from fastzarr.stores.local import LocalStore
from fastzarr.stores.memory import MemoryStore

__all__ = [
    "Array",
    "ArrayConfig",
    "Group",
    "GroupMetadata",
    "LocalStore",
    "MemoryStore",
    "array",
    "codecs",
    "consolidate_metadata",
    "copy",
    "copy_all",
    "copy_store",
    "create",
    "create_array",
    "create_group",
    "create_hierarchy",
    "empty",
    "empty_like",
    "errors",
    "from_array",
    "full",
    "full_like",
    "group",
    "load",
    "ones",
    "ones_like",
    "open",
    "open_array",
    "open_consolidated",
    "open_group",
    "open_like",
    "print_debug_info",
    "save",
    "save_array",
    "save_group",
    "storage",
    "tree",
    "zeros",
    "zeros_like",
]
__version__ = "0.1.0"
