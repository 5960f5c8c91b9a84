"""Creation of arrays of one value, of given data, and of arrays like others."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from fastzarr.chunks.grid import is_regular
from fastzarr.hierarchy.array import Array
from fastzarr.hierarchy.create import DEFAULT_FILL_VALUE, create, create_array
from fastzarr.metadata.model import ArrayMetadata, ZarrFormat
from fastzarr.stores.registry import StoreLike


def empty(shape: Any, **options: Any) -> Array:
    """An array of unspecified content: the fill value. `options` and errors as for `create`."""
    return create(shape, **options)


def zeros(shape: Any, **options: Any) -> Array:
    """An array of zeros. `options` and errors as for `create`."""
    return create(shape, fill_value=DEFAULT_FILL_VALUE, **options)


def ones(shape: Any, **options: Any) -> Array:
    """An array of ones. `options` and errors as for `create`."""
    return create(shape, fill_value=1, **options)


def full(shape: Any, fill_value: Any, **options: Any) -> Array:
    """An array of `fill_value`. `options` and errors as for `create`."""
    return create(shape, fill_value=fill_value, **options)


def array(data: ArrayLike | Array, **options: Any) -> Array:
    """An array of `data`, with its shape, data type and chunks. `options` and errors as for `create`."""
    values = data if hasattr(data, "shape") and hasattr(data, "dtype") else np.asarray(data)
    chosen = {**kind_of(values), **options}
    return create(values.shape, data=np.asarray(values), **chosen)


def from_array(
    store: StoreLike,
    *,
    data: Any,
    write_data: bool = True,
    name: str | None = None,
    chunks: Any = "keep",
    shards: Any = "keep",
    filters: Any = "keep",
    compressors: Any = "keep",
    serializer: Any = "keep",
    fill_value: Any = None,
    zarr_format: ZarrFormat | None = None,
    **options: Any,
) -> Array:
    """An array of `data`, an array in a store or of NumPy's kind; written chunk by chunk if `write_data`.

    `"keep"` takes over what an array in a store has, codecs where the format stays the same; for other data,
    and for codecs of the other format, it is the default. So do None as `fill_value` and `zarr_format`, and
    keys and dimension names that are not given. `options` and errors as for `create_array`.
    """
    given = {
        "chunks": chunks,
        "shards": shards,
        "filters": filters,
        "compressors": compressors,
        "serializer": serializer,
    }
    kept = _kept(data, zarr_format) if isinstance(data, Array) else {"zarr_format": zarr_format}
    chosen = {member: value for member, value in given.items() if not _is_keep(value)}
    if fill_value is not None:
        chosen["fill_value"] = fill_value
    values = data if isinstance(data, Array) else np.asarray(data)
    dtype = data.metadata.data_type if isinstance(data, Array) else values.dtype
    new = create_array(store, name=name, shape=values.shape, dtype=dtype, **(kept | chosen | options))
    if write_data:
        for block in new.iter_chunk_selections():
            new[block] = values[block]
    return new


def empty_like(a: Any, **options: Any) -> Array:
    """An array like `a`, of unspecified content: the fill value of `a`."""
    given = {"fill_value": a.fill_value} if isinstance(a, Array) else {}
    return create(**like(a, given | options))


def zeros_like(a: Any, **options: Any) -> Array:
    """An array of zeros like `a`."""
    return create(**like(a, options | {"fill_value": DEFAULT_FILL_VALUE}))


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


def kind_of(values: Any) -> dict[str, Any]:
    """Data type and chunks of what has a shape, as `create` takes them; of shards the inner chunks."""
    if not isinstance(values, Array):
        return {"dtype": values.dtype, "chunks": getattr(values, "chunks", None)}
    regular = is_regular(values.metadata.chunks)
    return {"dtype": values.metadata.data_type, "chunks": values.chunks if regular else _chunks_of(values)}


def _chunks_of(values: Any) -> Any:
    """Chunks as `create` takes them; those of shards where there are any, lists where sizes differ."""
    if not isinstance(values, Array):
        return getattr(values, "chunks", None)
    return [
        sizes if isinstance(sizes, int) else [size for size, count in sizes for _ in range(count)]
        for sizes in values.metadata.chunks
    ]


def _is_keep(value: Any) -> bool:
    return isinstance(value, str) and value == "keep"


def _kept(data: Array, zarr_format: ZarrFormat | None) -> dict[str, Any]:
    metadata = data.metadata
    kept = {
        "chunks": _chunks_of(data) if data.shards is None else data.chunks,
        "shards": data.shards if metadata.zarr_format == zarr_format or zarr_format is None else None,
        "fill_value": metadata.fill_value,
        "zarr_format": metadata.zarr_format if zarr_format is None else zarr_format,
    }
    if kept["zarr_format"] != metadata.zarr_format:
        return kept
    kept["chunk_key_encoding"] = metadata.chunk_key_encoding
    if metadata.zarr_format == 2:
        old = _format_of(metadata)
        return kept | {"order": old["order"], "compressors": old["compressor"], "filters": old["filters"]}
    codecs = {"filters": data.filters, "serializer": data.serializer, "compressors": data.compressors}
    return kept | codecs | {"dimension_names": metadata.dimension_names}


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
