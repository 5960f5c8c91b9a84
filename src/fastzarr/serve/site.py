"""What every handler is given: settings, catalogue, cache and metrics, made once per worker process."""

from __future__ import annotations

import importlib
import importlib.util
from dataclasses import dataclass
from typing import Any

from fastzarr.serve.cache import BucketCache
from fastzarr.serve.settings import Settings


@dataclass(frozen=True, kw_only=True)
class Site:
    """One server's datasets and what it knows of itself."""

    settings: Settings
    catalogue: Any
    """`Catalogue`"""
    cache: BucketCache
    """Of decoded buckets, within `settings.cache_bytes`."""
    metrics: Any

    @classmethod
    def of(cls, settings: Settings) -> Site:
        """With the datasets in the settings' directory, or listed in their TOML file."""
        return cls(
            settings=settings,
            catalogue=_catalogue(settings),
            cache=BucketCache(settings.cache_bytes),
            metrics=None,
        )


def _catalogue(settings: Settings) -> Any:
    if importlib.util.find_spec("fastzarr.serve.catalogue") is None:
        return None
    catalogue = importlib.import_module("fastzarr.serve.catalogue").Catalogue
    source = settings.source
    return catalogue.of_toml(source) if source.is_file() else catalogue.of_directory(source)
