"""What an implementation does for the matrix: write a case, read a case, or both."""

from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from numpy.typing import NDArray

from fastzarr.bench.compat.cases import Case


class CompatBackend(Protocol):
    """One implementation. Whatever its methods raise becomes the message of a cell."""

    name: str

    def version(self) -> str:
        """Its version, for the record."""

    def unavailable(self) -> str | None:
        """Why it cannot run in this interpreter (with the remedy), or None."""

    def unsupported(self, operation: str, case: Case) -> str | None:
        """Which feature that `case` needs it does not have, for `write` or `read`; None to try."""


@runtime_checkable
class WritesArrays(Protocol):
    """Of an implementation that writes."""

    def write(self, path: Path, case: Case, values: NDArray[Any]) -> None:
        """Create the array at `path`, whose parent is an empty group, and write `case.written_rows` rows."""


@runtime_checkable
class ReadsArrays(Protocol):
    """Of an implementation that reads."""

    def read(self, path: Path, case: Case) -> NDArray[Any]:
        """The whole array at `path`, in the data type found there."""
