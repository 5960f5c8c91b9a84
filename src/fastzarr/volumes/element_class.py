"""Data types as webknossos names them: the bits of a voxel, all channels together.

`uint24` are three channels of uint8; one channel of float32 is `float`, of float64 `double`.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np

DTYPES = tuple(
    np.dtype(name)
    for name in (
        *(f"{sign}int{bits}" for sign in ("u", "") for bits in (8, 16, 32, 64)),
        "float32",
        "float64",
    )
)
"""The data types of voxels."""

_ALIASES = {"float": "float32", "double": "float64"}
_BITS = {"uint": (8, 16, 32, 64), "int": (8, 16, 32, 64), "float": (32, 64)}
_FORM = re.compile(r"(uint|int|float)([1-9][0-9]*)")


def element_class(dtype: np.dtype[Any], channels: int) -> str:
    """The name of `channels` channels of `dtype`."""
    kind, bits = {"u": "uint", "i": "int", "f": "float"}[dtype.kind], dtype.itemsize * 8 * channels
    names = {("float", 32): "float", ("float", 64): "double"}
    return names.get((kind, bits), f"{kind}{bits}")


def parse_element_class(name: str, channels: int) -> np.dtype[Any] | None:
    """Data type of each of `channels` channels, or None where the name means none.

    Some writers name the data type of one channel; that is taken where the bits can't be those of all.
    """
    form = _FORM.fullmatch(_ALIASES.get(name, name))
    if form is None:
        return None
    kind, bits = form[1], int(form[2])
    if bits % channels == 0 and bits // channels in _BITS[kind]:
        return np.dtype(f"{kind}{bits // channels}")
    return np.dtype(f"{kind}{bits}") if bits in _BITS[kind] else None


def default_channels(name: str) -> int:
    """Number of channels where a document tells none."""
    return 3 if name == "uint24" else 1
