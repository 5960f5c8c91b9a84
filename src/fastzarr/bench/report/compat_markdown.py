"""The compatibility matrix as a document: `fastzarr bench report compat.json --markdown FILE`."""

from collections.abc import Iterable, Sequence
from typing import Any

from fastzarr.bench.compat.results import Matrix
from fastzarr.bench.compat.tally import Failure, Overview, Tally, overview
from fastzarr.bench.report.compat_table import SUBJECT

GITHUB = "https://github.com/"


def markdown(matrix: Matrix) -> str:
    """The whole document."""
    view = overview(matrix)
    parts = (
        _head(matrix, view),
        "## Who reads whom",
        _table(("wrote ↓ read →", *view.readers), _who_reads_whom(view)),
        "A number counts arrays. ✓: all read back equal to the bit. ✗: so many did not; each is told below. "
        "–: not supported by writer or reader.",
        f"## {SUBJECT} by format and codec",
        _table(("", *(f"{c.group} {c.codec}" for c in view.columns)), _by_codec(view)),
        "## Failures",
        _failures(view),
        "## What is not supported",
        "As the program of each implementation says. These cells are not tried.",
        "\n".join(f"- {reason}" for reason in _reasons(matrix)),
        "## Implementations",
        _table(("name", "version", "program"), _implementations(matrix)),
    )
    return "\n\n".join(parts) + "\n"


def _head(matrix: Matrix, view: Overview) -> str:
    total = view.total
    explained = "each with a known cause" if not view.unexplained else f"{len(view.unexplained)} unexplained"
    return (
        "# Compatibility\n\n"
        f"{len(view.written)} writers, {len(view.readers)} readers and {len(matrix.cases)} arrays: Zarr v2 "
        f"and v3, plain and sharded, with the codecs {_list(c.codec for c in matrix.cases)}, and the data "
        f"types {_list(c.data_type for c in matrix.cases)}; NaN payloads, −0.0, edge chunks and "
        "missing chunks among them. What one wrote the other read, and the elements were compared as bits: "
        f"**{total.passed} of {total.tried}** are equal; {total.failed} are not, {explained}.\n\n"
        f"This page is made from [a saved run](results/compat.json) of {matrix.created[:10]} on "
        f"{matrix.host.python}; nothing in it is written by hand:\n\n"
        "```console\n"
        "fastzarr bench compat\n"
        "cp results/compat.json docs/results/\n"
        "fastzarr bench report docs/results/compat.json --markdown docs/compatibility.md\n"
        "```\n\n"
        "[benchmark.md](benchmark.md#workload-compat) says how it is done, and "
        "[external-backends.md](external-backends.md) how to add a library."
    )


def _list(names: Iterable[str]) -> str:
    *first, last = dict.fromkeys(names)
    return f"{', '.join(first)} and {last}" if first else last


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", "&#124;") for cell in line) + " |" for line in lines)


def _who_reads_whom(view: Overview) -> Iterable[Sequence[str]]:
    for writer, count in view.written.items():
        cells = (view.pair(writer, reader).total.text for reader in view.readers)
        yield (f"{writer} ({count})", *cells)


def _by_codec(view: Overview) -> Iterable[Sequence[str]]:
    ways = [(SUBJECT, reader) for reader in view.readers]
    ways += [(writer, SUBJECT) for writer in view.written if writer != SUBJECT]
    for writer, reader in ways:
        yield (f"{writer} → {reader}", *(_mark(t) for t in view.pair(writer, reader).columns))


def _mark(tally: Tally) -> str:
    return f"✗ {tally.failed}" if tally.failed else tally.text[0]


def _failures(view: Overview) -> str:
    if not view.failures:
        return "None."
    return _table(
        ("who", "what", "whose", "cells", "read rightly by", "thread"),
        (_failure(failure) for failure in view.failures),
    )


def _failure(failure: Failure) -> Sequence[str]:
    known: Any = failure.cause
    right = ", ".join(failure.read_rightly_by) or ("nobody" if failure.readers else "–")
    if known is None:
        return failure.who, f"`{failure.message}`", "unexplained", str(failure.cells), right, "–"
    threads = ", ".join(f"[{r.removeprefix(GITHUB)}]({r})" for r in known.references) or "none found"
    whose = f"{known.at_fault}, {'writing' if known.as_writer else 'reading'}"
    return failure.who, f"**{known.title}**. {known.text}", whose, str(failure.cells), right, threads


def _reasons(matrix: Matrix) -> list[str]:
    reasons = {cell.message for cell in matrix.cells() if cell.status == "unsupported" and cell.message}
    return sorted(reasons, key=str.lower)


def _implementations(matrix: Matrix) -> Iterable[Sequence[str]]:
    for i in matrix.implementations:
        yield i.name, i.version or f"not available: {i.unavailable}", f"`{' '.join(i.command)}`"
