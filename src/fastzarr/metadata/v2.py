"""Zarr v2 array documents (`.zarray`, `.zattrs`); the only place that knows v2's words.

Source: Zarr v2 specification, "Arrays: Metadata".
"""

from __future__ import annotations

from typing import Any

from fastzarr import data_types
from fastzarr.chunks.key_encoding import ChunkKeyEncoding, Separator
from fastzarr.data_types import DataType
from fastzarr.metadata.model import ArrayMetadata, CodecConfig, MemoryOrder, Problems

DOCUMENT = ".zarray"
ATTRIBUTES = ".zattrs"
GROUP = ".zgroup"

_REQUIRED = ("zarr_format", "shape", "chunks", "dtype", "compressor", "fill_value", "order", "filters")

_DEFAULTS: dict[str, dict[str, Any]] = {
    "blosc": {"cname": "lz4", "clevel": 5, "shuffle": 1, "blocksize": 0},
    "zstd": {"level": 0},
    "gzip": {"level": 1},
    "zlib": {"level": 1},
    "lz4": {"acceleration": 1},
}
"""What numcodecs takes for members that a compressor's configuration leaves out."""

_OBJECT_CODECS = ("vlen-utf8", "vlen-bytes", "vlen-array", "json2", "msgpack2", "pickle")
"""Ids of codecs that encode objects."""

_COMPRESSORS = ("blosc", "zstd", "gzip", "zlib", "lz4", "bz2", "lzma")
"""Compressors of plain bytes, which are codecs of their own; others may want the array (pcodec, zfpy)."""

_SHUFFLES = {0: "noshuffle", 1: "shuffle", 2: "bitshuffle"}


def create_document(
    *,
    shape: tuple[int, ...],
    data_type: DataType,
    chunks: tuple[int, ...],
    separator: Separator,
    fill_value: Any,
    order: MemoryOrder,
    filters: list[dict[str, Any]] | None,
    compressor: dict[str, Any] | None,
) -> dict[str, Any]:
    """The `.zarray` document of a new array, member by member as zarr-python writes it."""
    fill = None if fill_value is None else data_type.fill_value_to_json(fill_value, 2)
    return {
        "shape": list(shape),
        "chunks": list(chunks),
        "dtype": data_type.to_json(2),
        "fill_value": fill,
        "order": order,
        "filters": filters or None,
        "dimension_separator": separator,
        "compressor": None if compressor is None else complete_compressor(compressor),
        "zarr_format": 2,
    }


def complete_compressor(compressor: dict[str, Any]) -> dict[str, Any]:
    """Configuration of a compressor with numcodecs' defaults written out.

    A false zstd `checksum` is left out, since other readers know only `level`.
    """
    complete = {"id": compressor.get("id"), **_DEFAULTS.get(str(compressor.get("id")), {}), **compressor}
    if complete["id"] == "zstd" and not complete.get("checksum"):
        complete.pop("checksum", None)
    return complete


def parse(document: dict[str, Any], attributes: dict[str, Any], where: str) -> ArrayMetadata:
    """Model of a `.zarray` document and its attributes. Raises `MetadataError` with all problems."""
    problems = Problems(where)
    missing = [member for member in _REQUIRED if member not in document]
    if missing:
        problems.found.append(f"missing members: {', '.join(missing)}")
        problems.raise_if_any()
    if document["zarr_format"] != 2:
        problems.add("zarr_format", document["zarr_format"], "2")
    shape = problems.sizes(document, "shape", 0)
    chunks = problems.sizes(document, "chunks", 1)
    if shape is not None and chunks is not None and len(shape) != len(chunks):
        problems.add("chunks", list(chunks), f"{len(shape)} sizes, one for each dimension")
    filters, compressor = _split_codecs(document, problems)
    data_type = problems.attempt(data_types.from_v2, document["dtype"], filters)
    problems.chunks_fit(chunks, data_type)
    fill_value = None
    if data_type is not None and document["fill_value"] is not None:
        fill_value = problems.attempt(data_type.parse_fill_value, document["fill_value"], 2)
    order = document["order"]
    if order not in ("C", "F"):
        problems.add("order", order, "'C' or 'F'")
    separator = document.get("dimension_separator", ".")
    if separator not in (".", "/"):
        problems.add("dimension_separator", separator, "'.' or '/'")
    problems.raise_if_any()
    assert shape is not None
    assert chunks is not None
    return ArrayMetadata(
        zarr_format=2,
        shape=shape,
        data_type=data_type,
        chunks=chunks,
        chunk_key_encoding=ChunkKeyEncoding(name="v2", separator=separator),
        fill_value=fill_value,
        codecs=_codec_chain(data_type, order, len(shape), filters, compressor),
        order=order,
        dimension_names=None,
        attributes=attributes,
        document=document,
    )


def _split_codecs(
    document: dict[str, Any], problems: Problems
) -> tuple[list[dict[str, Any]], dict[str, Any] | None]:
    """Filters and compressor of a document; a compressor that encodes objects counts as the last filter."""
    given = document["filters"]
    filters = given if isinstance(given, list) else []
    if given is not None and not (isinstance(given, list) and all(map(_is_codec, given))):
        problems.add("filters", given, "null or a list of objects with an id")
        filters = [entry for entry in filters if _is_codec(entry)]
    compressor = document["compressor"]
    if compressor is not None and not _is_codec(compressor):
        problems.add("compressor", compressor, "null or an object with an id")
        compressor = None
    if compressor is not None and compressor["id"] in _OBJECT_CODECS:
        return [*filters, compressor], None
    return filters, compressor


def _is_codec(entry: object) -> bool:
    return isinstance(entry, dict) and isinstance(entry.get("id"), str)


def _codec_chain(
    data_type: DataType,
    order: MemoryOrder,
    ndim: int,
    filters: list[dict[str, Any]],
    compressor: dict[str, Any] | None,
) -> tuple[CodecConfig, ...]:
    """The chain of v3 that stores the same bytes."""
    dtype = data_type.dtype
    serializer = "bytes" if not filters else filters[0]["id"] if len(filters) == 1 else None
    takes_bytes = compressor is None or compressor["id"] in _COMPRESSORS
    if serializer not in ("bytes", "vlen-utf8", "vlen-bytes") or not takes_bytes:
        configuration = {"filters": filters, "compressor": compressor, "order": order}
        return (CodecConfig(name="numcodecs.filters", configuration=configuration),)
    chain = []
    if order == "F" and ndim > 1:
        chain.append(CodecConfig(name="transpose", configuration={"order": list(reversed(range(ndim)))}))
    # Each field of a record has its own byte order, which is that of the dtype in memory.
    ordered = serializer == "bytes" and dtype.names is None and data_types.byte_order_matters(dtype)
    endian = "big" if dtype.byteorder == ">" else "little"
    chain.append(CodecConfig(name=serializer, configuration={"endian": endian} if ordered else {}))
    if compressor is not None:
        itemsize = dtype.itemsize if serializer == "bytes" else 1
        chain.append(_compressor_codec(complete_compressor(compressor), itemsize))
    return tuple(chain)


def _compressor_codec(compressor: dict[str, Any], itemsize: int) -> CodecConfig:
    configuration = {member: value for member, value in compressor.items() if member != "id"}
    name = compressor["id"]
    if name == "blosc":
        shuffle = configuration["shuffle"]
        if shuffle == -1:
            shuffle = 2 if itemsize == 1 else 1
        configuration["shuffle"] = _SHUFFLES.get(shuffle, shuffle) if isinstance(shuffle, int) else shuffle
        configuration.setdefault("typesize", itemsize)
    if name == "zstd":
        configuration.setdefault("checksum", False)
    if name not in ("blosc", "zstd", "gzip"):
        name = f"numcodecs.{name}"
    return CodecConfig(name=name, configuration=configuration)


def compressor_of(codec: CodecConfig) -> dict[str, Any]:
    """The v2 compressor that is `codec`; what v2 can't say is left out (blosc's typesize)."""
    compressor = {"id": codec.name.removeprefix("numcodecs."), **codec.configuration}
    if compressor["id"] == "blosc":
        numbers = {name: number for number, name in _SHUFFLES.items()}
        compressor["shuffle"] = numbers.get(compressor["shuffle"], -1)
        compressor.pop("typesize", None)
    return compressor
