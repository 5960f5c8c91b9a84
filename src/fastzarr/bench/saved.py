"""Files of results: records as JSON, samples as CSV, each whole or not at all."""

import csv
import dataclasses
import io
import json
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from fastzarr.bench.errors import BenchmarkError


def write_whole(path: Path, text: str) -> None:
    """Write `text` to `path` so that a reader finds the old file or the new one; makes the directory."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    temporary.write_text(text, encoding="utf-8")
    temporary.replace(path)


def write_record(path: Path, data: Any) -> None:
    """Write a record as JSON."""
    write_whole(path, json.dumps(dataclasses.asdict(data), indent=1, allow_nan=False) + "\n")


def write_table(path: Path, columns: Sequence[str], lines: Iterable[Mapping[str, Any]]) -> None:
    """Write lines as CSV; what a line lacks is empty."""
    text = io.StringIO()
    writer = csv.DictWriter(text, columns, lineterminator="\n")
    writer.writeheader()
    writer.writerows(lines)
    write_whole(path, text.getvalue())


def read(kind: type[Any], path: Path, *, schema_version: int, workloads: Sequence[str] = ()) -> Any:
    """The record `kind` at `path`; BenchmarkError where the file is none of this version and workload."""
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise BenchmarkError(f"{path}: cannot be read: {error.strerror}") from error
    except ValueError as error:
        raise BenchmarkError(f"{path}: not a result file: {error}") from error
    workload, found = _told(data)
    if workloads and workload not in workloads:
        expected = f"one of {', '.join(workloads)}" if len(workloads) > 1 else workloads[0]
        raise BenchmarkError(f"{path}: got workload {workload!r}, expected {expected}")
    if found != schema_version:
        raise BenchmarkError(
            f"{path}: got schema_version {found!r}, expected {schema_version}; "
            f"use the version of fastzarr that wrote it, or run the benchmark again"
        )
    return record(kind, data, str(path))


def workload_of(path: Path) -> Any:
    """The workload that the file says it is of, or None; what is wrong with it is told by `read`."""
    try:
        return _told(json.loads(path.read_text(encoding="utf-8")))[0]
    except (OSError, ValueError):
        return None


def _told(data: Any) -> tuple[Any, Any]:
    return (data.get("workload"), data.get("schema_version")) if isinstance(data, dict) else (None, None)


def record(kind: type[Any], data: Any, where: str) -> Any:
    """Build record `kind` from parsed JSON; BenchmarkError names the key that does not fit."""
    hints = get_type_hints(kind)
    if not isinstance(data, dict) or set(data) != set(hints):
        found = sorted(data) if isinstance(data, dict) else type(data).__name__
        raise BenchmarkError(f"{where}: got {found}, expected the keys {sorted(hints)}")
    return kind(**{key: _value(hint, data[key], f"{where}: {key}") for key, hint in hints.items()})


def _value(hint: Any, value: Any, where: str) -> Any:
    if hint is Any:
        return value
    origin, arguments = get_origin(hint), get_args(hint)
    if origin in (Union, UnionType):
        return None if value is None else _value(arguments[0], value, where)
    if dataclasses.is_dataclass(hint) and isinstance(hint, type):
        return record(hint, value, where)
    if origin is Literal:
        fits, allowed = value in arguments, f"one of {', '.join(map(str, arguments))}"
    elif origin is tuple:
        fits, allowed = isinstance(value, list), "a list"
    elif isinstance(hint, type):
        numeric = (int, float) if hint is float else hint
        fits = isinstance(value, numeric) and (hint is bool or not isinstance(value, bool))
        allowed = hint.__name__
    else:
        fits, allowed = isinstance(value, dict), "an object"
    if not fits:
        raise BenchmarkError(f"{where}: got {value!r}, expected {allowed}")
    if origin is tuple:
        return tuple(_value(arguments[0], item, f"{where}[{i}]") for i, item in enumerate(value))
    return value
