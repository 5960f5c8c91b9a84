"""Creation of arrays of one value, of given data, and of arrays like others."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from fastzarr.hierarchy.array import Array
from fastzarr.hierarchy.create import create
from fastzarr.metadata.model import ArrayMetadata


def empty(shape: Any, **options: Any) -> Array:
    """An array of unspecified content: the fill value. `options` and errors as for `create`."""
    return create(shape, **options)


def zeros(shape: Any, **options: Any) -> Array:
    """An array of zeros. `options` and errors as for `create`."""
    return create(shape, fill_value=0, **options)


def ones(shape: Any, **options: Any) -> Array:
    """An array of ones. `options` and errors as for `create`."""
    return create(shape, fill_value=1, **options)


def full(shape: Any, fill_value: Any, **options: Any) -> Array:
    """An array of `fill_value`. `options` and errors as for `create`."""
    return create(shape, fill_value=fill_value, **options)


def array(data: ArrayLike | Array, **options: Any) -> Array:
    """An array of `data`, with its shape, data type and chunks. `options` and errors as for `create`."""
    values = data if hasattr(data, "shape") and hasattr(data, "dtype") else np.asarray(data)
    chosen = {"dtype": values.dtype, "chunks": getattr(values, "chunks", None), **options}
    return create(values.shape, data=np.asarray(values), **chosen)


def empty_like(a: Any, **options: Any) -> Array:
    """An array like `a`, of unspecified content: the fill value of `a`."""
    given = {"fill_value": a.fill_value} if isinstance(a, Array) else {}
    return create(**like(a, given | options))


def zeros_like(a: Any, **options: Any) -> Array:
    """An array of zeros like `a`."""
    return create(**like(a, options | {"fill_value": 0}))


def ones_like(a: Any, **options: Any) -> Array:
    """An array of ones like `a`."""
    return create(**like(a, options | {"fill_value": 1}))


def full_like(a: Any, fill_value: Any = None, **options: Any) -> Array:
    """An array of `fill_value` like `a`; of the fill value of `a` where none is given."""
    if fill_value is None and isinstance(a, Array):
        fill_value = a.fill_value
    return create(**like(a, options | {"fill_value": fill_value}))


def like(a: Any, options: dict[str, Any]) -> dict[str, Any]:
    """What `create` needs for an array like `a`, where `options` say nothing else.

    The format and codecs of an array are taken over too, unless `options` ask for the other format.
    """
    values = a if hasattr(a, "shape") and hasattr(a, "dtype") else np.asarray(a)
    found = {"shape": values.shape, "dtype": values.dtype, "chunks": _chunks_of(values)}
    if isinstance(a, Array):
        metadata = a.metadata
        found |= {"dtype": metadata.data_type}
        if options.get("zarr_format", metadata.zarr_format) == metadata.zarr_format:
            found |= _format_of(metadata)
    return found | options


def _chunks_of(values: Any) -> Any:
    """Chunks as `create` takes them; those of shards where there are any, lists where sizes differ."""
    if not isinstance(values, Array):
        return getattr(values, "chunks", None)
    return [
        sizes if isinstance(sizes, int) else [size for size, count in sizes for _ in range(count)]
        for sizes in values.metadata.chunks
    ]


def _format_of(metadata: ArrayMetadata) -> dict[str, Any]:
    if metadata.zarr_format == 3:
        return {"zarr_format": 3, "codecs": [codec.to_dict() for codec in metadata.codecs]}
    document = metadata.document
    return {
        "zarr_format": 2,
        "order": metadata.order,
        "compressor": document["compressor"],
        "filters": document["filters"],
    }
