"""Creation of arrays: what a caller asks for, checked, and written as metadata documents."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fastzarr import data_types
from fastzarr.chunks import grid, key_encoding
from fastzarr.chunks.axis import largest
from fastzarr.chunks.key_encoding import ChunkKeyEncoding
from fastzarr.codec_chain import PreparedChain
from fastzarr.codecs import registry
from fastzarr.codecs.base import ChunkSpec, Codec
from fastzarr.codecs.bytes import BytesCodec
from fastzarr.codecs.zstd import ZstdCodec
from fastzarr.data_types import DataType
from fastzarr.errors import BufferMismatchError, MetadataError
from fastzarr.hierarchy import nodes, resize
from fastzarr.hierarchy.array import Array
from fastzarr.hierarchy.attributes import as_stored
from fastzarr.hierarchy.config import ArrayConfig, ConfigLike, config_members, parse_config
from fastzarr.metadata import v2, v3
from fastzarr.metadata.model import ArrayMetadata, CodecConfig, MemoryOrder, ZarrFormat
from fastzarr.sharding import ShardingCodec
from fastzarr.stores.registry import StoreLike, normalize_path, open_store


class DefaultFillValue:
    """Stands for the data type's zero, where None means v2's `null`."""

    def __repr__(self) -> str:
        return "<default>"


_MAX_INNER_BYTES = 1 << 20
"""Bytes of the largest inner chunk that is chosen where no chunk shape is given."""

DEFAULT_FILL_VALUE = DefaultFillValue()

CodecLike = Codec | Mapping[str, Any]
"""A codec, a numcodecs codec, or the JSON form of either."""


def create_array(
    store: StoreLike,
    *,
    name: str | None = None,
    shape: int | Sequence[int] | None = None,
    dtype: Any = None,
    data: ArrayLike | None = None,
    chunks: int | Sequence[int | Sequence[int]] | bool | Literal["auto"] | None = "auto",
    shards: Sequence[int | Sequence[int]] | Mapping[str, Any] | Literal["auto"] | None = None,
    filters: CodecLike | Iterable[CodecLike] | Literal["auto"] | None = "auto",
    compressors: CodecLike | Iterable[CodecLike] | Literal["auto"] | None = "auto",
    serializer: CodecLike | Literal["auto"] = "auto",
    fill_value: Any = DEFAULT_FILL_VALUE,
    order: MemoryOrder | None = None,
    zarr_format: ZarrFormat | None = 3,
    attributes: Mapping[str, Any] | None = None,
    chunk_key_encoding: ChunkKeyEncoding | Mapping[str, Any] | tuple[str, str] | str | None = None,
    dimension_names: Iterable[str | None] | None = None,
    storage_options: dict[str, Any] | None = None,
    overwrite: bool = False,
    config: ConfigLike = None,
    write_data: bool = True,
) -> Array:
    """Create an array and return it; the signature is zarr-python 3's.

    `store`: a store, a directory, a dictionary, or None for memory. `name`: path in the store. `shape` and
    `dtype`, or `data`, which gives both and is written (unless `write_data` is false). `chunks`: chunk shape
    in elements, -1 for a whole dimension, "auto" to choose; a list for a dimension is the size of each chunk
    along it (v3, chunk grid `rectilinear`). `shards`: shape of shards in elements (v3), a
    multiple of `chunks`, which are the inner chunks then; also `{"shape": …, "index_location": "start"}`;
    "auto" to choose. `compressors`: "auto" is zstd at its default
    level; None is none. `filters`: array→array codecs (v3). `fill_value`: of elements never written; the
    default is zero, None is v2's null. `order`: v2's order of elements in a chunk. `overwrite`: replace what
    is at the path.

    Raises `MetadataError` for what can't be written, `ContainsArrayError` or `ContainsGroupError` for what is
    in the way; nothing is written then.
    """
    values = None if data is None else np.asarray(data)
    if values is not None:
        if shape is not None or dtype is not None:
            raise MetadataError("data", ["given together with shape or dtype, expected one or the other"])
        shape, dtype = values.shape, values.dtype
    if shape is None or dtype is None:
        missing = "shape" if shape is None else "dtype"
        raise MetadataError(missing, [f"missing; give {missing}, or data"])
    opened = open_store(store, storage_options)
    path = normalize_path(name)
    metadata = _new_metadata(
        where=nodes.place(opened, path),
        shape=shape,
        dtype=dtype,
        chunks=chunks,
        shards=shards,
        filters=filters,
        compressors=compressors,
        serializer=serializer,
        fill_value=fill_value,
        order=order,
        zarr_format=3 if zarr_format is None else zarr_format,
        attributes=as_stored(attributes or {}),
        chunk_key_encoding=chunk_key_encoding,
        dimension_names=None if dimension_names is None else list(dimension_names),
    )
    array = Array(opened, path, metadata, _config(config, order, metadata))
    array._chain.require_encoders()
    nodes.place_node(opened, path, metadata, overwrite=overwrite)
    if values is not None and write_data:
        _write(array, values)
    return array


def create(
    shape: int | Sequence[int],
    *,
    chunks: int | Sequence[int] | bool | None = None,
    dtype: Any = None,
    compressor: CodecLike | Literal["auto"] | None = "auto",
    fill_value: Any = DEFAULT_FILL_VALUE,
    order: MemoryOrder | None = None,
    store: StoreLike = None,
    overwrite: bool = False,
    path: str | os.PathLike[str] | None = None,
    filters: Iterable[CodecLike] | None = None,
    dimension_separator: Literal[".", "/"] | None = None,
    write_empty_chunks: bool | None = None,
    zarr_format: ZarrFormat | None = None,
    attributes: Mapping[str, Any] | None = None,
    chunk_shape: int | Sequence[int] | None = None,
    chunk_key_encoding: ChunkKeyEncoding | Mapping[str, Any] | tuple[str, str] | str | None = None,
    codecs: Iterable[CodecLike] | None = None,
    dimension_names: Iterable[str | None] | None = None,
    config: ConfigLike = None,
    data: ArrayLike | None = None,
) -> Array:
    """Create an array with the keywords of zarr-python's older `create`, which also serve opening.

    `dtype` is float64 by default; `compressor` is v2's, `codecs` a whole v3 chain; `data` is written into the
    new array. For the rest, and for what is raised, see `create_array`.
    """
    if write_empty_chunks is not None:
        config = {**config_members(config), "write_empty_chunks": write_empty_chunks}
    if dimension_separator is not None:
        if zarr_format != 2:
            raise MetadataError(
                "dimension_separator", ["is for zarr_format=2; in v3 give chunk_key_encoding"]
            )
        chunk_key_encoding = ("v2", dimension_separator)
    values = None if data is None else _readable_as(data, dtype, grid.normalize_shape(shape))
    chain: dict[str, Any] = {"compressors": compressor, "filters": "auto" if filters is None else filters}
    if chunks is not None and chunk_shape is not None:
        raise MetadataError("chunk_shape", ["given together with chunks, expected one or the other"])
    if codecs is not None:
        if zarr_format == 2 or not (compressor is None or compressor == "auto") or filters is not None:
            raise MetadataError(
                "codecs", ["is a whole v3 chain; expected no compressor, filters or zarr_format=2"]
            )
        chain = _split_chain(codecs)
    array = create_array(
        store,
        name=None if path is None else os.fspath(path),
        shape=shape,
        dtype="float64" if dtype is None else dtype,
        chunks=chunks if chunk_shape is None else chunk_shape,
        fill_value=fill_value,
        order=order,
        zarr_format=zarr_format,
        attributes=attributes,
        chunk_key_encoding=chunk_key_encoding,
        dimension_names=dimension_names,
        overwrite=overwrite,
        config=config,
        **chain,
    )
    if values is not None:
        _write(array, values)
    return array


def _readable_as(data: ArrayLike, dtype: Any, shape: tuple[int, ...]) -> NDArray[Any]:
    """`data` in memory, before anything is erased that it may be read from, and where it fits."""
    values = np.asarray(data)
    wanted = data_types.from_numpy("float64" if dtype is None else dtype).dtype
    if values.dtype.kind in "OUST" and wanted.kind in "biufc":
        values = values.astype(wanted)
    try:
        np.broadcast_to(values, shape)
    except ValueError as error:
        raise BufferMismatchError(
            f"data: got shape {values.shape}, expected one that fits {shape}"
        ) from error
    return values


def _write(array: Array, values: NDArray[Any]) -> None:
    """Fill a new array; where that fails, it is removed."""
    try:
        array[...] = values
    except BaseException:
        nodes.erase_documents(array.store, array.path, array.metadata.zarr_format)
        resize.erase_chunks(array.store, array.path, array.metadata.chunk_key_encoding, array.ndim)
        raise


def _new_metadata(
    *,
    where: str,
    shape: object,
    dtype: object,
    chunks: object,
    shards: Any,
    filters: Any,
    compressors: Any,
    serializer: Any,
    fill_value: object,
    order: object,
    zarr_format: object,
    attributes: dict[str, Any],
    chunk_key_encoding: object,
    dimension_names: list[str | None] | None,
) -> ArrayMetadata:
    if zarr_format not in get_args(ZarrFormat):
        raise MetadataError("zarr_format", [f"got {zarr_format!r}, expected 2 or 3"])
    if order not in (None, "C", "F"):
        raise MetadataError("order", [f"got {order!r}, expected 'C', 'F' or None"])
    sizes = grid.normalize_shape(shape)
    data_type = _data_type(dtype, filters, zarr_format)
    limit = {} if shards is None else {"largest": _MAX_INNER_BYTES}
    chunk_sizes = grid.normalize_chunks(chunks, sizes, data_type.itemsize or 1, **limit)
    fill = None
    if isinstance(fill_value, np.ndarray) and fill_value.ndim == 0:
        fill_value = fill_value[()]
    if fill_value is DEFAULT_FILL_VALUE or (fill_value is None and zarr_format == 3):
        fill = data_type.default_fill
    elif fill_value is not None:
        fill = data_type.to_fill_value(fill_value, 3 if zarr_format == 3 else 2)
    if zarr_format == 2:
        _refuse_v3_only(
            shards=shards is not None,
            serializer=serializer != "auto",
            dimension_names=dimension_names is not None,
        )
        encoding = key_encoding.parse(chunk_key_encoding or "v2")
        if encoding.name != "v2":
            raise MetadataError("chunk_key_encoding", ["got 'default', expected 'v2' for zarr_format=2"])
        if not grid.is_regular(chunk_sizes):
            raise MetadataError("chunks", ["got lists, expected one size per dimension for zarr_format=2"])
        document = v2.create_document(
            shape=sizes,
            data_type=data_type,
            chunks=chunk_sizes,
            separator=encoding.separator,
            fill_value=fill,
            order="F" if order == "F" else "C",
            filters=_v2_filters(filters, data_type),
            compressor=_v2_compressor(compressors),
        )
        return v2.parse(document, attributes, where)
    native = data_type.native
    codecs = [
        *_codecs(filters, default=()),
        *_codecs(serializer, default=(_serializer(data_type),)),
        *_codecs(compressors, default=(ZstdCodec(),)),
    ]
    if shards is not None:
        given = dict(shards) if isinstance(shards, Mapping) else {"shape": shards}
        inner = chunk_sizes
        chunk_sizes = grid.normalize_shards(given.pop("shape", "auto"), inner, sizes)
        assert grid.is_regular(inner)
        codecs = [ShardingCodec(chunk_shape=inner, codecs=tuple(codecs), **given)]
    spec = ChunkSpec(shape=largest(chunk_sizes), dtype=native.dtype, fill_value=fill)
    chain = PreparedChain(codecs, spec)
    document = v3.create_document(
        shape=sizes,
        data_type=native,
        chunks=chunk_sizes,
        chunk_key_encoding=key_encoding.parse(chunk_key_encoding or "default"),
        fill_value=fill,
        codecs=[CodecConfig(name=codec.name, configuration=codec.config()) for codec in chain.codecs],
        attributes=attributes,
        dimension_names=dimension_names,
    )
    return v3.parse(document, where)


def _codecs(given: Any, *, default: tuple[Codec, ...]) -> list[Codec]:
    if isinstance(given, str) and given == "auto":
        return list(default)
    return [_codec(entry) for entry in _entries(given)]


def _entries(given: Any) -> list[Any]:
    """What a caller gives as codecs, which may be None or one of them, as a list."""
    if given is None:
        return []
    if isinstance(given, str):
        raise MetadataError("codecs", [f"got {given!r}, expected a codec, or a list of codecs or names"])
    return [given] if isinstance(given, Mapping) or not isinstance(given, Iterable) else list(given)


def _codec(entry: Any) -> Codec:
    if hasattr(entry, "kind") and hasattr(entry, "resolve"):
        return entry  # type: ignore[no-any-return]
    if isinstance(entry, str):
        entry = {"name": entry}
    open_members = getattr(entry, "_tunable_attrs", ())  # zarr-python: what a codec takes from the array
    if hasattr(entry, "to_dict"):
        entry = entry.to_dict()
    if hasattr(entry, "get_config"):
        entry = entry.get_config()
    configuration = entry.get("configuration", {}) if isinstance(entry, Mapping) else None
    if isinstance(configuration, Mapping) and isinstance(entry.get("name"), str):
        members = {member: value for member, value in configuration.items() if member not in open_members}
        return registry.get(entry["name"], members)
    raise MetadataError("codecs", [f"got {entry!r}, expected a codec or {{'name': …, 'configuration': …}}"])


def _data_type(dtype: Any, filters: Any, zarr_format: object) -> DataType:
    """The data type asked for; of an object dtype, what the v2 filter that encodes objects says."""
    is_object = dtype is object or (isinstance(dtype, np.dtype | str) and dtype in ("O", "object", "|O"))
    if is_object and zarr_format == 2 and not (filters is None or isinstance(filters, str)):
        return data_types.from_v2("|O", _v2_filters(filters, None))
    return data_types.from_numpy(dtype)


def _serializer(data_type: DataType) -> Codec:
    """The array→bytes codec where a caller names none."""
    name = data_type.serializer
    return BytesCodec() if name == BytesCodec.name else registry.get(name, {})


def _v2_filters(given: Any, data_type: DataType | None) -> list[dict[str, Any]] | None:
    if given is None or (isinstance(given, str) and given == "auto"):
        if data_type is None or data_type.serializer == BytesCodec.name:
            return None
        return [{"id": data_type.serializer}]
    filters = [entry.get_config() if hasattr(entry, "get_config") else entry for entry in _entries(given)]
    for entry in filters:
        if not (isinstance(entry, Mapping) and isinstance(entry.get("id"), str)):
            raise MetadataError(
                "filters", [f"got {entry!r}, expected a numcodecs codec or {{'id': …}} for zarr_format=2"]
            )
    return [dict(entry) for entry in filters]


def _v2_compressor(given: Any) -> dict[str, Any] | None:
    if isinstance(given, str) and given == "auto":
        return {"id": "zstd"}
    entries = _entries(given)
    if not entries:
        return None
    if len(entries) > 1:
        raise MetadataError(
            "compressors", [f"got {len(entries)} codecs, expected one at the most for zarr_format=2"]
        )
    entry = entries[0]
    if hasattr(entry, "get_config"):
        entry = entry.get_config()
    if isinstance(entry, Mapping) and "id" in entry:
        return dict(entry)
    codec = _codec(entry)
    return v2.compressor_of(CodecConfig(name=codec.name, configuration=codec.config()))


def _split_chain(codecs: Iterable[CodecLike]) -> dict[str, list[Codec]]:
    chain = _codecs(codecs, default=())
    places = {"filters": "array_array", "serializer": "array_bytes", "compressors": "bytes_bytes"}
    return {name: [codec for codec in chain if codec.kind == kind] for name, kind in places.items()}


def _refuse_v3_only(**given: bool) -> None:
    for name, is_given in given.items():
        if is_given:
            raise MetadataError(name, ["expected nothing for zarr_format=2, which can't say it"])


def _config(config: ConfigLike, order: MemoryOrder | None, metadata: ArrayMetadata) -> ArrayConfig:
    members = config_members(config)
    if order is not None and metadata.zarr_format == 3:
        members.setdefault("order", order)
    return parse_config(members)
