"""`docs/support.md` is made from the registries: `python tests/test_support_table.py` writes it anew."""

import difflib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, get_args, get_type_hints

from fastzarr import data_types, stores
from fastzarr.chunks import rectilinear
from fastzarr.chunks.key_encoding import ChunkKeyEncoding
from fastzarr.codecs import registry
from fastzarr.data_types import ml

DOCUMENT = Path(__file__).parents[1] / "docs" / "support.md"

_TIME, _LENGTH = {"unit": "s", "scale_factor": 10}, {"length_bytes": 8}
_FIELDS = {"fields": [{"name": "x", "data_type": "int16"}]}
EXAMPLES: dict[str, dict[str, Any]] = {
    "numpy.datetime64": _TIME,
    "numpy.timedelta64": _TIME,
    "raw_bytes": _LENGTH,
    "null_terminated_bytes": _LENGTH,
    "fixed_length_utf32": _LENGTH,
    "struct": _FIELDS,
    "structured": _FIELDS,
}
"""Configurations of the data types that have one."""

PLACES = {"array_array": "array → array", "array_bytes": "array → bytes", "bytes_bytes": "bytes → bytes"}


def first_line(value: object) -> str:
    return (value.__doc__ or "").strip().split("\n")[0].rstrip(".")


def table(*columns: str, rows: Iterable[Iterable[str]]) -> Iterator[str]:
    yield f"| {' | '.join(columns)} |"
    yield f"|{'---|' * len(columns)}"
    for row in rows:
        yield f"| {' | '.join(row)} |"
    yield ""


def code(text: object) -> str:
    return f"`{text}`".replace("|", "\\|")


def data_type_rows() -> Iterator[tuple[str, ...]]:
    for name in data_types.names():
        if name in ml.NAMES:
            yield code(name), code(name), code(f"ml_dtypes.{name}"), "with the extra `ml-dtypes`"
            continue
        configuration = EXAMPLES.get(name)
        found = data_types.from_json(
            {"name": name, "configuration": configuration} if configuration else name.replace("*", "16")
        )
        shown = name if configuration is None else f"{name} {configuration}".replace("'", '"')
        written = found.to_json(3)
        written = written["name"] if isinstance(written, dict) else written
        note = "" if written == name.replace("*", "16") else f"read; written as `{written}`"
        yield code(shown), code(found.to_json(2)).replace("'", '"'), code(found.dtype), note


def codec_rows() -> Iterator[tuple[str, ...]]:
    own = [name for name in registry.names() if registry.find(name).__module__.startswith("fastzarr.")]
    for name in own:
        codec = registry.find(name)
        yield code(name), PLACES[codec.kind], first_line(codec)


def lines() -> Iterator[str]:
    yield from (
        "# What is supported",
        "",
        "Made from the registries by `python tests/test_support_table.py`.",
        "",
    )
    yield from ("## Data types", "")
    yield from table("Zarr v3", "Zarr v2", "in memory", "", rows=data_type_rows())
    yield "In v2, elements of several bytes have either byte order, fields of records may be subarrays, and"
    yield "`|O` holds what its filter says: `vlen-utf8` and `categorize` texts, `vlen-bytes` byte strings,"
    yield "`vlen-array` arrays, `json2` and `msgpack2` objects. `pickle` is refused, since decoding it runs"
    yield "what the file says."
    yield from ("", "## Codecs", "")
    yield from table("codec", "kind", "", rows=codec_rows())
    yield "Compressors and filters of v2 are those of numcodecs, under their ids."
    yield from ("", "## Chunk grids", "")
    yield from (f"- `{name}`" for name in ("regular", rectilinear.NAME))
    yield from ("", "## Chunk key encodings", "")
    yield from (f"- `{name}`, with `.` or `/`" for name in get_args(get_type_hints(ChunkKeyEncoding)["name"]))
    yield from ("", "## Stores", "")
    yield from table(
        "store", "", rows=((code(name), first_line(getattr(stores, name))) for name in stores.__all__)
    )


def text() -> str:
    return "\n".join(lines()).rstrip("\n") + "\n"


def test_the_table_is_that_of_the_registries() -> None:
    found = DOCUMENT.read_text(encoding="utf-8").splitlines()
    difference = "\n".join(
        difflib.unified_diff(found, text().splitlines(), "docs/support.md", "registries", lineterm="")
    )
    assert not difference, f"run: python tests/test_support_table.py\n{difference}"


if __name__ == "__main__":
    DOCUMENT.write_text(text(), encoding="utf-8")
