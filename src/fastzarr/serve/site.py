"""What every handler is given: settings, catalogue, cache and metrics, made once per worker process."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from fastzarr.serve.settings import Settings


@dataclass(frozen=True, kw_only=True)
class Site:
    """One server's datasets and what it knows of itself."""

    settings: Settings
    catalogue: Any
    cache: Any
    metrics: Any
