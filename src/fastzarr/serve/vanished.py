"""Datasets and arrays that were there when they were opened, and are no longer: absent says zeros."""

from __future__ import annotations

import os
from functools import lru_cache
from pathlib import Path

from fastzarr.serve.datasets import Dataset
from fastzarr.serve.documents import ChangedError
from fastzarr.serve.node_keys import OF_ARRAYS


def require_there(dataset: Dataset, key: str) -> None:
    """Raise `ChangedError` where `key` is absent because the dataset is gone, or the array that has it."""
    root = os.path.realpath(dataset.path)
    if not Path(root).is_dir():
        raise ChangedError(f"{root}: it is gone since the dataset was opened; restart the server")
    arrays = _arrays(dataset)
    for above in map(str, Path(root, key, "-").parents):
        if above in arrays and not any(Path(above, name).exists() for name in OF_ARRAYS):
            raise ChangedError(f"{above}: its array is gone since the dataset was opened; restart the server")


@lru_cache(1024)
def _arrays(dataset: Dataset) -> frozenset[str]:
    """Directories of the arrays of Zarr that are in the layers of a dataset."""
    volumes = [volume for layer in dataset.layers.values() for volume in layer.mags.values()]
    documents = [Path(volume.document.path) for volume in volumes if volume.document is not None]
    return frozenset(os.path.realpath(path.parent) for path in documents if path.name in OF_ARRAYS)
