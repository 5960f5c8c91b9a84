"""How a row ends when its backend raised, or did other work."""

from collections.abc import Sequence
from dataclasses import replace
from typing import TypeVar

from fastzarr.bench import measurements, results

AnyRow = TypeVar("AnyRow", results.Row, measurements.Row)


def failed(row: AnyRow, error: BaseException) -> AnyRow:
    """The row of a backend that raised; what ends the program passes.

    Not `except Exception`: panics of extension modules written in Rust derive from BaseException only.
    """
    if isinstance(error, KeyboardInterrupt | SystemExit):
        raise error
    return replace(row, status="failed", ranked=False, reason=f"{type(error).__name__}: {error}")


def unequal(row: AnyRow, reasons: Sequence[str]) -> AnyRow:
    """The row of a backend whose work differs for `reasons`."""
    reason = "; ".join(filter(None, [row.reason, *reasons]))
    return replace(row, status="unequal", ranked=False, reason=reason)
