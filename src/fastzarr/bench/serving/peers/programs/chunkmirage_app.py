"""chunkmirage over one array; run by its own environment's uvicorn.

`chunkmirage serve --workers` does not start (0.1.0a5 gives uvicorn an application where a name is needed), so
the application is made here as that command makes it.
"""

import json
import os
from typing import Any

from chunkmirage import create_app  # type: ignore[import-not-found,import-untyped,unused-ignore]
from chunkmirage.cache import LRUCache  # type: ignore[import-not-found,import-untyped,unused-ignore]
from chunkmirage.frontends import get_frontend  # type: ignore[import-not-found,import-untyped,unused-ignore]
from chunkmirage.pipeline import PipelineSpec  # type: ignore[import-not-found,import-untyped,unused-ignore]
from chunkmirage.server import DatasetRegistry  # type: ignore[import-not-found,import-untyped,unused-ignore]


def application() -> Any:
    """The application."""
    told = json.loads(os.environ["FASTZARR_PEER"])
    registry = DatasetRegistry(LRUCache(told["cache_bytes"]), source_cache_bytes=0)
    registry.add("layer", PipelineSpec(source=told["path"], ops=[]))
    frontends = {"zarr3": get_frontend("zarr3", compressor="none")}
    return create_app(registry, frontends=frontends, allow_edit=False)
