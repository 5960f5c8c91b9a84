"""Data types by name, by v2 typestr and by NumPy dtype."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from fastzarr.data_types import ml, numbers, objects, times
from fastzarr.data_types.base import DataType
from fastzarr.data_types.fixed_strings import FixedLengthUTF32, NullTerminatedBytes
from fastzarr.data_types.numbers import Number
from fastzarr.data_types.raw import RawBytes
from fastzarr.data_types.structured import Field, Struct
from fastzarr.data_types.times import Time
from fastzarr.data_types.variable_length import VariableLengthBytes, VariableLengthUTF8
from fastzarr.errors import MetadataError

_ALIASES = {"complex_float32": "complex64", "complex_float64": "complex128"}
"""Other names of zarr-extensions for the same data type."""

_FIXED: dict[str, tuple[str, int, type[DataType]]] = {
    "raw_bytes": ("V", 1, RawBytes),
    "null_terminated_bytes": ("S", 1, NullTerminatedBytes),
    "fixed_length_utf32": ("U", 4, FixedLengthUTF32),
}
"""Kind of NumPy, bytes of one unit of length, and class of the data types with a `length_bytes`."""

_TYPESTR = re.compile(r"[<>|]([biufcSUV][0-9]{1,9}|[mM]8(\[[0-9]{0,9}[A-Za-zμ]+\])?|O[0-9]?)")

_OBJECTS = (
    "an object dtype says nothing of what is stored; give dtype='string' for text or 'bytes' for byte strings"
)


def names() -> tuple[str, ...]:
    """Names of the supported data types, as Zarr v3 spells them; `r*` stands for `r8`, `r16` and so on."""
    families = (RawBytes, Time, FixedLengthUTF32, NullTerminatedBytes, VariableLengthUTF8)
    others = [name for family in (*families, VariableLengthBytes, Struct) for name in family.names]
    return (*numbers.NAMES, *others, *ml.NAMES)


def from_json(value: object) -> DataType:
    """Data type (native byte order) of a v3 `data_type`; raises `MetadataError`."""
    name, configuration = value, None
    if isinstance(value, Mapping) and value.keys() <= {"name", "configuration", "must_understand"}:
        name, configuration = value.get("name"), value.get("configuration")
    if isinstance(name, str):
        found = _with_configuration(name, configuration)
        if found is None and not configuration:
            found = _without_configuration(name)
        if found is not None:
            return found
    raise MetadataError("data_type", [f"got {value!r}, expected one of {', '.join(names())}"])


def from_v2(dtype: object, codecs: object = None) -> DataType:
    """Data type of a v2 `dtype`: a typestr such as `<f4`, or a list of fields; raises `MetadataError`.

    `codecs`: the array's filters and compressor, which tell what `|O` holds.
    """
    if isinstance(dtype, list):
        return Struct.of(_all(_field, enumerate(dtype)))
    if isinstance(dtype, str) and dtype in ml.NAMES:
        return ml.find(dtype)
    if isinstance(dtype, str) and _TYPESTR.fullmatch(dtype):
        if dtype[1] == "O":
            return _objects(codecs)
        try:
            return _of(np.dtype(dtype))
        except (TypeError, ValueError):
            pass
    raise MetadataError(
        "dtype",
        [f"got {dtype!r}, expected a NumPy typestr such as '<f4', '|u1' or '<M8[ns]', or a list of fields"],
    )


def from_numpy(dtype: object) -> DataType:
    """Data type of what a caller gives as `dtype`; raises `MetadataError` for what can't be stored.

    Taken are what `numpy.dtype` takes, names and JSON of data types, lists of fields, `str` and `bytes`, and
    data types of zarr-python.
    """
    if isinstance(dtype, DataType):
        return dtype
    if dtype is str or (isinstance(dtype, str) and dtype == "str") or dtype is np.dtypes.StringDType:
        return VariableLengthUTF8()
    if dtype is bytes:
        return VariableLengthBytes()
    if isinstance(dtype, Mapping):
        return from_json(dtype)
    if isinstance(dtype, str):
        found = _without_configuration(dtype)
        if found is not None:
            return found
    if hasattr(dtype, "to_native_dtype"):
        if getattr(dtype, "_zarr_v3_name", None) in VariableLengthBytes.names:
            return VariableLengthBytes()
        dtype = dtype.to_native_dtype()
    try:
        parsed: np.dtype[Any] = np.dtype(_tuples(dtype) if isinstance(dtype, list) else dtype)  # type: ignore[call-overload]
        return _of(parsed)
    except (TypeError, ValueError) as error:
        if isinstance(error, MetadataError):
            raise
        raise MetadataError(
            "dtype", [f"got {dtype!r}: {error}; expected a NumPy dtype or one of {', '.join(names())}"]
        ) from error


def _without_configuration(name: str) -> DataType | None:
    name = _ALIASES.get(name, name)
    if name in numbers.NAMES:
        return Number(dtype=np.dtype(name))
    if name in VariableLengthUTF8.names:
        return VariableLengthUTF8()
    if name in VariableLengthBytes.names:
        return VariableLengthBytes()
    if name in ml.NAMES:
        return ml.find(name)
    bits = re.fullmatch("r([1-9][0-9]{0,9})", name)
    if bits and int(bits[1]) % 8 == 0 and int(bits[1]) < 2**33:
        return RawBytes(dtype=np.dtype(f"V{int(bits[1]) // 8}"), spelling="r*")
    return None


def _with_configuration(name: str, configuration: object) -> DataType | None:
    if name in Time.names:
        return times.from_configuration(name, configuration)
    if name in Struct.names:
        fields = configuration.get("fields") if isinstance(configuration, dict) else None
        if not isinstance(fields, list):
            raise MetadataError(
                f"configuration of data type {name!r}", [f"got {configuration!r}, expected a list of fields"]
            )
        return Struct.of(_all(_v3_field, enumerate(fields)))
    if name not in _FIXED:
        return None
    kind, unit, family = _FIXED[name]
    length = configuration.get("length_bytes") if isinstance(configuration, dict) else None
    if not isinstance(length, int) or isinstance(length, bool) or not 0 < length < 2**30 or length % unit:
        expected = (
            "a length_bytes of 1 or more" if unit == 1 else f"a length_bytes that is a multiple of {unit}"
        )
        raise MetadataError(
            f"configuration of data type {name!r}", [f"got {configuration!r}, expected {expected}"]
        )
    return family(dtype=np.dtype(f"{kind}{length // unit}"))


def _of(dtype: np.dtype[Any]) -> DataType:
    """Data type of a NumPy dtype, in its byte order."""
    if dtype.name in numbers.NAMES:
        return Number(dtype=dtype)
    if dtype.kind in "mM":
        return Time(dtype=dtype)
    if dtype.kind == "T":
        if hasattr(dtype, "na_object"):
            raise MetadataError(
                "dtype", [f"got {dtype!r}, expected one without na_object, since Zarr can't say it"]
            )
        return VariableLengthUTF8()
    if dtype.kind == "O":
        raise MetadataError("dtype", [f"got {dtype}: {_OBJECTS}"])
    if dtype.kind in "SUV" and dtype.itemsize == 0:
        raise MetadataError(
            "dtype", [f"got {dtype.str!r}, expected a length of 1 or more, such as '{dtype.kind}5'"]
        )
    if dtype.kind == "S":
        return NullTerminatedBytes(dtype=dtype)
    if dtype.kind == "U":
        return FixedLengthUTF32(dtype=dtype)
    if dtype.names:
        # Padding and the order in memory are not kept: fields lie as they are named, without gaps.
        bases = [dtype[name].subdtype or (dtype[name], ()) for name in dtype.names]
        return Struct.of(
            tuple(
                Field(name=name, data_type=_of(base), shape=shape)
                for name, (base, shape) in zip(dtype.names, bases, strict=True)
            )
        )
    if dtype.type is np.void:
        return RawBytes(dtype=np.dtype(f"V{dtype.itemsize}"))
    if dtype.name in ml.NAMES:
        return ml.SmallNumber(dtype=dtype)
    raise MetadataError("dtype", [f"got {dtype}, expected one of {', '.join(names())}"])


def _objects(codecs: object) -> DataType:
    """What an object dtype holds by the first codec that encodes objects."""
    for codec in codecs if isinstance(codecs, list | tuple) else ():
        codec_id = codec.get("id") if isinstance(codec, dict) else None
        if codec_id == "vlen-utf8" or (codec_id == "categorize" and codec.get("dtype") == "|O"):
            return VariableLengthUTF8()
        if codec_id == "vlen-bytes":
            return VariableLengthBytes()
        if codec_id in objects.CODECS:
            return objects.from_filter(codec)
        if codec_id == "pickle":
            raise MetadataError(
                "filters", ["got 'pickle', which is refused: decoding it runs what the file says"]
            )
    known = ", ".join(("vlen-utf8", "vlen-bytes", *objects.CODECS))
    raise MetadataError(
        "dtype", [f"got '|O' without a filter that says what is stored, expected one of {known}"]
    )


def _all(parse: Callable[[int, object], Field], fields: Iterable[tuple[int, object]]) -> tuple[Field, ...]:
    """All fields, or `MetadataError` with what is wrong with each."""
    parsed, problems = [], []
    for place, field in fields:
        try:
            parsed.append(parse(place, field))
        except MetadataError as error:
            problems += [f"field {place}: {problem}" for problem in error.problems]
    if problems:
        raise MetadataError("fields of the data type", problems)
    return tuple(parsed)


def _field(place: int, field: object) -> Field:
    """Field of a v2 list: name, dtype and, for a subarray, shape."""
    if not isinstance(field, list) or len(field) not in (2, 3) or not isinstance(field[0], str):
        raise MetadataError("dtype", [f"got {field!r}, expected a name, a dtype and perhaps a shape"])
    name, dtype, *rest = field
    shape = rest[0] if rest else []
    sizes = [shape] if isinstance(shape, int) else shape
    if not isinstance(sizes, list) or any(
        not isinstance(size, int) or isinstance(size, bool) or not 0 < size < 2**30 for size in sizes
    ):
        raise MetadataError("dtype", [f"got shape {shape!r} of field {name!r}, expected a list of integers"])
    return Field(name=name or f"f{place}", data_type=from_v2(dtype), shape=tuple(sizes))


def _v3_field(place: int, field: object) -> Field:
    """Field of `struct`, or of `structured` as zarr-python before 3.3 wrote it."""
    if isinstance(field, dict) and field.keys() == {"name", "data_type"}:
        name, data_type = field["name"], field["data_type"]
    elif isinstance(field, list) and len(field) == 2:
        name, data_type = field
    else:
        raise MetadataError(
            "fields of the data type", [f"got {field!r}, expected an object with name and data_type"]
        )
    if not isinstance(name, str) or not name:
        raise MetadataError(
            "fields of the data type", [f"got name {name!r}, expected a text that is not empty"]
        )
    return Field(name=name, data_type=from_json(data_type))


def _tuples(fields: list[Any]) -> list[Any]:
    """Lists of fields as NumPy wants them, with tuples."""
    return [
        tuple(
            _tuples(part) if isinstance(part, list) and place == 1 else part
            for place, part in enumerate(field)
        )
        if isinstance(field, list | tuple)
        else field
        for field in fields
    ]
