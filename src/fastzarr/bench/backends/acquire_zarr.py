"""Contender `acquire-zarr`: a writer of streams of frames; it reads nothing."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from numpy.typing import NDArray

from fastzarr.bench.backends.base import Backend, Case
from fastzarr.bench.backends.distributions import missing

if TYPE_CHECKING:
    import acquire_zarr

DATA_TYPES = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float32", "float64")


class Writer:
    """Steps are queued when `write` returns, and stored when `close` returns."""

    def __init__(self, stream: "acquire_zarr.ZarrStream") -> None:
        self._stream = stream
        self._next = 0

    def write(self, step: int, data: NDArray[Any]) -> None:
        if step != self._next:
            raise ValueError(
                f"acquire-zarr appends: step {step} after {self._next} steps; write them in order"
            )
        self._stream.append(data)
        self._next += 1

    def close(self) -> None:
        self._stream.close()


class AcquireZarr:
    """One frame per step."""

    name = "acquire-zarr"
    kind: Literal["baseline", "library"] = "library"
    packages: Sequence[str] = ("acquire-zarr",)

    def unavailable(self) -> str | None:
        return missing("acquire-zarr", "0.10", "acquire_zarr")

    def unsupported(self, case: Case) -> str | None:
        if case.zarr_format == 2:
            return "acquire-zarr writes Zarr v3 only"
        if len(case.shape) < 3:
            return f"acquire-zarr has no arrays of {len(case.shape)} dimensions, only of 3 or more"
        if case.codec == "zlib":
            return "acquire-zarr has no codec zlib, only none, zstd and blosc"
        if case.dtype.name not in DATA_TYPES:
            return f"acquire-zarr has no data type {case.dtype.name}, only {', '.join(DATA_TYPES)}"
        if case.fill_value != 0:
            return f"acquire-zarr has no fill value {case.fill_value}, only 0"
        return None

    def create(self, path: Path, case: Case) -> Writer:
        import acquire_zarr as az

        def dimension(axis: int, kind: az.DimensionType, size: int, chunk: int) -> az.Dimension:
            return az.Dimension(
                name=f"d{axis}", kind=kind, array_size_px=size, chunk_size_px=chunk, shard_size_chunks=1
            )

        space, time = az.DimensionType.SPACE, az.DimensionType.TIME
        inner = [dimension(axis, space, n, n) for axis, n in enumerate(case.shape[1:], start=1)]
        array = az.ArraySettings(data_type=case.dtype, dimensions=[dimension(0, time, 0, 1), *inner])
        if case.codec != "none":
            array.compression = compression(case.codec, case.level)
        return Writer(az.ZarrStream(az.StreamSettings(store_path=str(path), arrays=[array])))

    def open(self, path: Path, case: Case) -> None:
        return None


def compression(codec: str, level: int) -> Any:
    """Settings of a codec other than none."""
    import acquire_zarr

    az: Any = acquire_zarr
    if codec == "zstd":
        compressor, inner, shuffle = az.Compressor.ZSTD, az.CompressionCodec.ZSTD, 0
    else:
        compressor, inner, shuffle = az.Compressor.BLOSC1, az.CompressionCodec.BLOSC_LZ4, 1
    return az.CompressionSettings(compressor=compressor, codec=inner, level=level, shuffle=shuffle)


BACKEND: Backend = AcquireZarr()
