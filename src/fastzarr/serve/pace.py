"""Whether answers that read files are made on the event loop, or in a thread.

Where the files are in memory, a thread costs more than the reading. Where a disk has to be waited for, the
loop must not wait. Which it is shows in how long the last answers took that had to wait for something.
"""

from __future__ import annotations

from collections.abc import Callable
from time import monotonic
from typing import TypeVar

try:
    import resource
except ImportError:  # Windows
    OF_THREAD = None
else:
    OF_THREAD = getattr(resource, "RUSAGE_THREAD", None)  # of Linux

LARGEST = 1 << 22
"""Bytes of an answer that is worth a thread wherever it comes from."""
SLOW = 0.003
"""Seconds that an answer may keep all others waiting, as a mean of the last ones."""
WEIGHT = 1 / 16
"""Of one answer in that mean: an answer that is slow by chance, of 40 ms, changes nothing."""
PAUSE = 1.0
"""Seconds of threads once the mean is over that."""

T = TypeVar("T")


def waits() -> float:
    """How often this thread has waited, for a disk say; not how often another had the processor instead.

    Where the system doesn't tell, any time is taken for waiting.
    """
    return monotonic() if OF_THREAD is None else resource.getrusage(OF_THREAD).ru_nvcsw


class Pace:
    """Of one event loop."""

    def __init__(self, clock: Callable[[], float] = monotonic, waits: Callable[[], float] = waits) -> None:
        self._clock = clock
        self._waits = waits
        self._mean = 0.0
        self._threads_until = 0.0

    def is_quick(self, nbytes: int) -> bool:
        """Whether an answer of so many bytes should be made at once."""
        return nbytes <= LARGEST and self._clock() >= self._threads_until

    def at_once(self, make: Callable[[], T]) -> T:
        """What `make` gives, with the time it took noted."""
        began, before = self._clock(), self._waits()
        try:
            return make()
        finally:
            ended = self._clock()
            took = ended - began if self._waits() != before else 0.0
            self._mean += (took - self._mean) * WEIGHT
            if self._mean > SLOW:
                self._mean = 0.0
                self._threads_until = ended + PAUSE
