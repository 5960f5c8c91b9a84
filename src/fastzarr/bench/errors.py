"""What goes wrong before anything is timed."""

from typing import ClassVar

from fastzarr.errors import ZarrError


class BenchmarkError(ZarrError, ValueError):
    """Bad input to the benchmark; the text names the setting, the value found and what is allowed."""

    kind: ClassVar[str] = "benchmark"
