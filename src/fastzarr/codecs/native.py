"""C functions of the libraries that codecs use, for code that runs without Python's lock.

numcodecs ships these libraries inside its extension modules, which let their functions be seen. Where they
don't, there are none, and chunks are coded through Python.
"""

from __future__ import annotations

import ctypes
import functools
from importlib import import_module

NativeCodec = tuple[object, ...]
"""Name of the codec, addresses of its functions, parameters: as `fastzarr._kernel.Transfer` takes it."""


@functools.cache
def addresses(module: str, names: tuple[str, ...]) -> tuple[int, ...] | None:
    """Addresses of the functions in an extension module, or None where one of them can't be seen."""
    try:
        library = ctypes.CDLL(import_module(module).__file__)
        functions = [ctypes.cast(getattr(library, name), ctypes.c_void_p).value for name in names]
    except (ImportError, OSError, AttributeError):
        return None
    return tuple(address for address in functions if address)


def lz4(level: int, *, sized: bool) -> NativeCodec | None:
    """Of LZ4 blocks, each after its decoded size (4 bytes) where `sized`; level 0 is the fast encoder."""
    names = ("LZ4_decompress_safe", "LZ4_compress_default", "LZ4_compress_HC")
    functions = addresses("numcodecs.lz4", names)
    return None if functions is None else ("lz4", functions, level, int(sized))
