"""What an answer and the bytes that came with it are worth; pure, but for the document it looks at."""

import json
import math
from pathlib import Path
from typing import Any

import numpy as np

from fastzarr.bench.compat import values
from fastzarr.bench.compat.cases import Case
from fastzarr.bench.compat.protocol import Answer
from fastzarr.bench.compat.results import Status

Verdict = tuple[Status, str | None]


def writing(answer: Answer, path: Path, case: Case) -> Verdict:
    """The status of a writer's answer; `pass` only if the metadata document says what `case` asks for."""
    if answer.status != "ok":
        return _not_ok(answer, "write_fail")
    document = path / (".zarray" if case.zarr_format == 2 else "zarr.json")
    try:
        wrong = _unlike(json.loads(document.read_text(encoding="utf-8")), case)
    except FileNotFoundError:
        wrong = f"no {document.name} in the directory"
    except (ValueError, KeyError, TypeError) as error:
        wrong = f"{document.name} cannot be understood: {type(error).__name__}: {error}"
    return ("write_fail", f"answered ok, but {wrong}") if wrong else ("pass", None)


def reading(answer: Answer, file: Path, case: Case, expected: bytes) -> Verdict:
    """The status of a reader's answer, which left its elements in `file`."""
    if answer.status != "ok":
        return _not_ok(answer, "read_fail")
    shape = answer.content.get("shape")
    if shape != list(case.shape):
        return "shape_mismatch", f"got shape {shape}, expected {list(case.shape)}"
    if not file.exists():
        return "read_fail", "answered ok, but wrote no elements"
    content = file.read_bytes()
    if content == expected or (case.data_type == "string" and _strings(content) == _strings(expected)):
        return "pass", None
    return "value_mismatch", _difference(content, expected, case)


def _strings(content: bytes) -> list[Any] | None:
    """The strings of a JSON array, or None; programs differ in the spaces and escapes they write."""
    try:
        found = json.loads(content)
    except ValueError:
        return None
    return found if isinstance(found, list) else None


def _not_ok(answer: Answer, failure: Status) -> Verdict:
    if answer.status == "unsupported" or answer.status == "not_available":
        return answer.status, answer.message or "no reason given"
    return failure, answer.message or "no reason given"


def _unlike(document: dict[str, Any], case: Case) -> str | None:
    """What a document says that the case does not, or None."""
    if case.zarr_format == 2:
        compressor = document["compressor"]
        found = "none" if compressor is None else compressor["id"]
        chunk_shape, sharded = document["chunks"], False
        if np.dtype(document["dtype"]) != values.numpy_dtype(case):
            return f"dtype {document['dtype']} is stored, expected {values.numpy_dtype(case).str}"
    else:
        chunk_shape = document["chunk_grid"]["configuration"]["chunk_shape"]
        codecs = document["codecs"]
        sharded = _name(codecs[0]) == "sharding_indexed"
        if sharded:
            codecs = codecs[0]["configuration"]["codecs"]
        found = _name(codecs[1]) if len(codecs) > 1 else "none"
    expected = list(case.shard_shape or case.chunk_shape)
    if found != case.codec:
        return f"codec {found} is stored, expected {case.codec}"
    if sharded != (case.shard_shape is not None):
        return f"{'a' if sharded else 'no'} sharding codec is stored"
    return f"chunk shape {chunk_shape} is stored, expected {expected}" if chunk_shape != expected else None


def _name(codec: Any) -> Any:
    """A codec without configuration may be its name alone."""
    return codec if isinstance(codec, str) else codec["name"]


def _difference(content: bytes, expected: bytes, case: Case) -> str:
    """How many elements are not the same bits, and the first."""
    if case.data_type == "string":
        strings = _strings(content)
        if strings is None or len(strings) != math.prod(case.shape):
            return f"got {content[:60]!r}, expected a JSON array of {math.prod(case.shape)} strings"
    elif len(content) != len(expected):
        return f"got {len(content)} bytes, expected {len(expected)}"
    got, wanted = values.decode(content, case), values.decode(expected, case)
    if case.data_type == "string":
        unequal = got != wanted
    else:
        size = values.numpy_dtype(case).itemsize
        a, b = (np.frombuffer(c, np.uint8).reshape(*case.shape, size) for c in (content, expected))
        unequal = (a != b).any(axis=-1)
    first = tuple(int(i) for i in np.argwhere(unequal)[0])
    return (
        f"{np.count_nonzero(unequal)} of {wanted.size} elements differ, first at {list(first)}: "
        f"got {_text(got[first])}, expected {_text(wanted[first])}"
    )


def _text(element: Any) -> str:
    """An element, with its bits where a number does not tell."""
    if isinstance(element, np.floating | np.complexfloating):
        bits = np.array(element, element.dtype.newbyteorder(">")).tobytes().hex()
        return f"{element} (0x{bits})"
    return repr(element) if isinstance(element, str) else str(element)
