"""Memory compared by bytes."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

POISON = 0xA5


class WrongBytesError(Exception):
    """What was read back differs from what was written."""


def poison(out: NDArray[Any]) -> None:
    """Fill C-contiguous memory with what nobody writes."""
    out.reshape(-1).view(np.uint8)[...] = POISON


def same_bytes(name: str, found: NDArray[Any], expected: NDArray[Any]) -> None:
    """WrongBytesError where two C-contiguous arrays differ in a byte; `name` says who read, and what."""
    if found.shape != expected.shape or found.dtype != expected.dtype:
        raise WrongBytesError(
            f"{name} reads {found.dtype} {found.shape} instead of {expected.dtype} {expected.shape}"
        )
    wrong = differing(found, expected)
    if wrong:
        raise WrongBytesError(f"{name} reads {wrong} of {expected.nbytes} bytes otherwise")


def differing(found: NDArray[Any], expected: NDArray[Any]) -> int:
    """Number of bytes in which two C-contiguous arrays of one size differ."""
    ours, theirs = (array.reshape(-1).view(np.uint8) for array in (found, expected))
    return 0 if _equal(ours, theirs) else int(np.count_nonzero(ours != theirs))


def _equal(found: NDArray[np.uint8], expected: NDArray[np.uint8]) -> bool:
    """Whether all bytes are the same; as long integers, for a temporary of an eighth."""
    whole = found.size // 8 * 8
    return np.array_equal(found[:whole].view(np.uint64), expected[:whole].view(np.uint64)) and np.array_equal(
        found[whole:], expected[whole:]
    )
