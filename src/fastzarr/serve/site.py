"""What every handler is given: settings, catalogue, cache and metrics, made once per worker process."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from fastzarr.serve.cache import BucketCache
from fastzarr.serve.catalogue import Catalogue
from fastzarr.serve.metrics import Metrics
from fastzarr.serve.settings import Settings


@dataclass(frozen=True, kw_only=True)
class Site:
    """One server's datasets and what it knows of itself."""

    settings: Settings
    catalogue: Catalogue
    cache: BucketCache
    """Of decoded buckets, within `settings.cache_bytes`."""
    metrics: Metrics

    @classmethod
    def of(cls, settings: Settings, catalogue: Catalogue | None = None) -> Site:
        """With the datasets given, else those in the settings' directory, or listed in their TOML file."""
        cache = BucketCache(settings.cache_bytes)
        return cls(
            settings=settings,
            catalogue=_catalogue(settings.source) if catalogue is None else catalogue,
            cache=cache,
            metrics=Metrics(cache),
        )


def _catalogue(source: Path) -> Catalogue:
    return Catalogue.of_toml(source) if source.is_file() else Catalogue.of_directory(source)
