"""Packages that only some codecs need, of the extra `codecs`."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from fastzarr.errors import MetadataError


def library(codec: str, module: str) -> Any:
    """The module that a codec needs; raises `MetadataError` that says how to install it."""
    try:
        return import_module(module)
    except ImportError as error:
        package = module.partition(".")[0]
        text = f"needs the package {package} ({error}); install it with: pip install 'fastzarr[codecs]'"
        raise MetadataError(f"codec {codec!r}", [text]) from error
