"""The array that all backends read, written once."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from fastzarr.bench import scratch, verify
from fastzarr.bench.backends.base import Layout
from fastzarr.bench.backends.regions.base import RegionBackend
from fastzarr.bench.workloads.operations import Operation, Turn, Write


def write(
    operations: Sequence[Operation],
    layout: Layout,
    writers: Sequence[RegionBackend],
    path: Path,
    data: NDArray[Any],
    out: NDArray[Any],
    tell: Callable[[str], None],
) -> list[str]:
    """Have the first of `writers` that can write `data` to `path`, if any of `operations` reads it; another
    verifies it by bytes, in `out`. Why nobody could, or nothing.
    """
    if all(operation.writes for operation in operations):
        return []
    reasons = []
    read_back = verify.read_back_by(writers)
    for writer in writers:
        if writer.unavailable() or writer.unsupported(layout, "write"):
            continue
        tell(f"{writer.name} writes what is read")
        turn = Turn(backend=writer, path=path, layout=layout, threads=None, data=data, out=out)
        try:
            Write().run(turn)
            if Write().check(turn, read_back) is not None:
                return []
            reasons.append(f"{writer.name}: no other library is installed that could read it back")
        except Exception as error:
            reasons.append(f"{writer.name}: {type(error).__name__}: {error}")
        scratch.remove(path)
    return reasons or ["no library can write it"]
