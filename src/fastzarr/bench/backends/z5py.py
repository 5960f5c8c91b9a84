"""Contender `z5py`: the Python binding of the C++ library z5."""

import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from fastzarr.bench.backends.base import Backend, Case
from fastzarr.bench.backends.distributions import missing

DATA_TYPES = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float32", "float64")


class Steps:
    """The open array.

    z5py opens arrays as members of a group only, so a temporary group holds a link to the array.
    """

    def __init__(self, path: Path, case: Case) -> None:
        import z5py

        self._group = tempfile.TemporaryDirectory(suffix=".zarr")
        group = z5py.ZarrFile(self._group.name, "w", zarr_format=case.zarr_format)
        (Path(self._group.name) / "array").symlink_to(path.absolute())
        self._dataset = group["array"]
        self._rest = (0,) * (len(case.shape) - 1)
        self._fill_value = case.fill_value

    def write(self, step: int, data: NDArray[Any]) -> None:
        self._dataset.write_chunk((step, *self._rest), data[np.newaxis])

    def read(self, step: int, out: NDArray[Any]) -> None:
        chunk = self._dataset.read_chunk((step, *self._rest))
        out[...] = self._fill_value if chunk is None else chunk[0]

    def close(self) -> None:
        self._group.cleanup()


class Z5py:
    """Whole chunks are written and read by their place in the chunk grid, in the calling thread.

    `write_chunk` is 1.3 times as fast as `write_subarray`, and `read_chunk` 1.3 to 1.6 times as fast as
    `read_subarray` or `read_direct`, without a codec. None reads into the caller's memory: `read_direct`
    reads into memory of its own and copies, as `read_chunk` with the copy here. `n_threads=2` makes
    subarrays of one chunk slower (0.4 to 0.7).
    """

    name = "z5py"
    kind: Literal["baseline", "library"] = "library"
    packages: Sequence[str] = ("z5py",)

    def unavailable(self) -> str | None:
        return missing("z5py", "3.0.2", "z5py")

    def unsupported(self, case: Case) -> str | None:
        if case.dtype.name not in DATA_TYPES:
            return f"z5py has no data type {case.dtype.name}, only {', '.join(DATA_TYPES)}"
        return None

    def create(self, path: Path, case: Case) -> Steps:
        import z5py

        with tempfile.TemporaryDirectory(suffix=".zarr") as directory:
            group = z5py.ZarrFile(directory, "w", zarr_format=case.zarr_format)
            group.create_dataset(
                "array",
                shape=case.shape,
                chunks=case.chunks,
                dtype=case.dtype,
                fillvalue=case.fill_value,
                **_compression(case),
            )
            shutil.move(Path(directory) / "array", path)
        return Steps(path, case)

    def open(self, path: Path, case: Case) -> Steps:
        return Steps(path, case)


def _compression(case: Case) -> dict[str, Any]:
    if case.codec == "none":
        return {"compression": "raw"}
    if case.codec == "zstd":
        return {"compression": "zstd", "level": case.level}
    if case.codec == "zlib":
        return {"compression": "zlib" if case.zarr_format == 2 else "gzip", "level": case.level}
    level = "clevel" if case.zarr_format == 2 else "level"
    return {"compression": "blosc", "codec": "lz4", "shuffle": 1, "blocksize": 0, level: case.level}


BACKEND: Backend = Z5py()
