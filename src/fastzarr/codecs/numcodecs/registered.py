"""Codecs of numcodecs' own registry, and of other packages (entry points of the group `numcodecs.codecs`)."""

from __future__ import annotations

from typing import Any

from fastzarr.errors import MetadataError, UnknownCodecError

_EXTRA = ("msgpack2", "pcodec", "zfpy")
"""Codecs that numcodecs knows only with further packages."""


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
            package = "'fastzarr[codecs]'" if identifier in _EXTRA else "the package that has it"
            problem = f"got {identifier!r}, which is not in numcodecs' registry; install {package}"
            raise UnknownCodecError(where, [problem]) from error
        raise MetadataError(where, [f"got {configuration!r}: {error}"]) from error
    except Exception as error:
        raise MetadataError(where, [f"got {configuration!r}: {error}"]) from error
