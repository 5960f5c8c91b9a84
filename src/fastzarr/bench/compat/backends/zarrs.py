"""Implementation `zarrs`: zarr-python with the codec pipeline of zarrs, told not to fall back."""

from importlib.metadata import version
from typing import Any

from fastzarr.bench.backends.distributions import missing
from fastzarr.bench.compat.backends.base import CompatBackend
from fastzarr.bench.compat.backends.zarr import ZarrPython
from fastzarr.bench.compat.cases import Case


class Zarrs(ZarrPython):
    """What zarrs cannot do raises, so no cell under its name is another's work."""

    name = "zarrs"
    config: dict[str, Any] = {  # noqa: RUF012
        "codec_pipeline.path": "zarrs.ZarrsCodecPipeline",
        "codec_pipeline.strict": True,
    }

    def version(self) -> str:
        return version("zarrs")

    def unavailable(self) -> str | None:
        return super().unavailable() or missing("zarrs", "0.2.3", "zarrs")

    def unsupported(self, operation: str, case: Case) -> str | None:
        if case.data_type in ("datetime64[s]", "string"):
            return f"zarrs leaves the data type {case.data_type} to zarr-python"
        if operation == "read" and case.endian == "big":
            return "zarrs does not read big endian into NumPy arrays"
        return None


BACKEND: CompatBackend = Zarrs()
