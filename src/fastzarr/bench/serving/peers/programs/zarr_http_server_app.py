"""zarr-http-server over a directory; run by its own environment's uvicorn."""

import json
import os
from typing import Any

from zarr.storage import LocalStore
from zarr_http_server import store_app  # type: ignore[import-not-found,import-untyped,unused-ignore]


def application() -> Any:
    """The application."""
    told = json.loads(os.environ["FASTZARR_PEER"])
    return store_app(LocalStore(told["path"], read_only=True))
