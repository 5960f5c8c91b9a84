"""Byte ranges, and the merging of near ones."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence

GAP = 1 << 20
"""Bytes between two ranges up to which fetching both at once is cheaper."""
LARGEST = 16 << 20
"""Bytes of a merged range at the most."""

Range = tuple[int, int]
"""Start and length in bytes."""


def merge(ranges: Iterable[Range], *, gap: int = GAP, largest: int = LARGEST) -> list[Range]:
    """Ranges that cover the given ones, sorted; near ones are merged up to `largest` bytes."""
    merged: list[Range] = []
    for start, length in sorted(ranges):
        if merged:
            first, size = merged[-1]
            whole = max(first + size, start + length) - first
            if start <= first + size + gap and (whole <= largest or whole == size):
                merged[-1] = (first, whole)
                continue
        merged.append((start, length))
    return merged


def clip(size: int, start: int, length: int) -> Range:
    """The part of a range that lies inside an object of `size` bytes; `start` < 0 counts from its end."""
    first = max(0, size + start) if start < 0 else min(start, size)
    return first, min(length, size - first)


def cut(
    merged: Sequence[Range], parts: Sequence[bytes | bytearray | memoryview], ranges: Iterable[Range]
) -> Iterator[memoryview]:
    """The bytes of each range out of `parts`, those of the merged ranges; fewer where a part ends before."""
    starts = [start for start, _ in merged]
    for start, length in ranges:
        number = bisect_right(starts, start) - 1
        if number < 0:
            yield memoryview(b"")
        else:
            within = start - starts[number]
            yield memoryview(parts[number])[within : within + length]
