"""Codecs of numcodecs' own registry, and of other packages (entry points of the group `numcodecs.codecs`)."""

from __future__ import annotations

from typing import Any

from fastzarr.errors import MetadataError, UnknownCodecError


def numcodec(configuration: dict[str, Any]) -> Any:
    """The codec of numcodecs' registry, or of its entry points, for a v2 configuration.

    Raises `UnknownCodecError`, or `MetadataError` for wrong members.
    """
    import numcodecs.registry

    identifier = configuration["id"]
    where = f"codec {identifier!r}"
    try:
        return numcodecs.registry.get_codec(configuration)
    except ImportError as error:
        raise UnknownCodecError(where, [f"its entry point can't be loaded: {error}"]) from error
    except ValueError as error:
        if isinstance(error, getattr(numcodecs.registry, "UnknownCodecError", ())):
            raise UnknownCodecError(where, ["is not in numcodecs' registry"]) from error
        raise MetadataError(where, [f"got {configuration!r}: {error}"]) from error
    except Exception as error:
        raise MetadataError(where, [f"got {configuration!r}: {error}"]) from error
