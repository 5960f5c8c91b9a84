"""Reader `tensorstore`: TensorStore, and its cache of decoded chunks."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fastzarr.bench.serving.peers.base import Coding, Format
from fastzarr.bench.serving.peers.readers.base import Place, ReadBuckets, box, flat, stored_order

INDEX_BYTES = 2**20
"""For the indexes of shards, where decoded chunks are not kept."""


class TensorStore:
    """All reads of a request are begun before the first is waited for.

    Files are mapped, and not looked at again whether they changed. As fast: one `Batch` for the reads (1.0),
    one thread for copies (0.8 to 1.2).
    """

    name = "tensorstore reader"
    module = "tensorstore"
    format: Format = "zarr3"
    codings: tuple[Coding, ...] = ("zstd", "raw")
    keeps = True

    def open(self, path: Path, cache_bytes: int) -> ReadBuckets:
        import tensorstore

        spec = {
            "driver": "zarr3",
            "kvstore": {"driver": "file", "path": f"{stored_order(path)}/"},
            "context": {
                "cache_pool": {"total_bytes_limit": max(INDEX_BYTES, cache_bytes)},
                "file_io_mode": {"mode": "memmap"},
            },
            "recheck_cached_data": False,
        }
        array: Any = tensorstore.open(spec, open=True, read=True).result()

        def read(places: Sequence[Place]) -> list[NDArray[np.uint8]]:
            begun = [array[box(place)].read() for place in places]
            return [flat(future.result()) for future in begun]

        return read


READER = TensorStore()
