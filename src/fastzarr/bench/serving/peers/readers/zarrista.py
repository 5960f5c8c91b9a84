"""Reader `zarrista`: the Python binding of the Rust library zarrs that does not go through zarr-python."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from fastzarr.bench.serving.peers.base import Coding, Format
from fastzarr.bench.serving.peers.readers.base import Place, ReadBuckets, flat, stored_order


class Zarrista:
    """Inner chunks as such, the indexes of shards kept."""

    name = "zarrista reader"
    module = "zarrista"
    format: Format = "zarr3"
    codings: tuple[Coding, ...] = ("zstd", "raw")
    keeps = False

    def open(self, path: Path, cache_bytes: int) -> ReadBuckets:
        import zarrista
        from zarrista.store import FilesystemStore

        array = zarrista.Array.open(FilesystemStore(stored_order(path)))
        indexes = array.shard_cache()

        def read(places: Sequence[Place]) -> list[NDArray[np.uint8]]:
            found = [array.retrieve_subchunk([0, *place], shard_cache=indexes) for place in places]
            return [flat(chunk.to_numpy()) for chunk in found]  # type: ignore[union-attr]

        return read


READER = Zarrista()
