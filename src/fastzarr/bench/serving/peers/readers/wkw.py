"""Reader `wkw`: the `wkw` wheel, webknossos's own reader in Rust."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from fastzarr.bench.serving.peers.base import BUCKET, Coding, Format
from fastzarr.bench.serving.peers.readers.base import Place, ReadBuckets, flat

EDGE = (BUCKET,) * 3


class Wkw:
    """One `read` for each bucket, which is all there is; it opens the file and reads its jump table anew."""

    name = "wkw reader"
    module = "wkw"
    format: Format = "wkw"
    codings: tuple[Coding, ...] = ("lz4hc", "lz4", "raw")
    keeps = False

    def open(self, path: Path, cache_bytes: int) -> ReadBuckets:
        import wkw

        dataset = wkw.Dataset.open(str(path))

        def read(places: Sequence[Place]) -> list[NDArray[np.uint8]]:
            corners = [tuple(BUCKET * n for n in place) for place in places]
            return [flat(dataset.read(corner, EDGE).T) for corner in corners]

        return read


READER = Wkw()
