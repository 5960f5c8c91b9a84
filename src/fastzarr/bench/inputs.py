"""Where the data come from: the synthetic field, or a variable of the user's own file.

A file is recognised by its content. Values are taken as they are stored, packed integers and fill values
included, because that is what a writer of that file moves; only the byte order becomes the machine's.
"""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import fastzarr
from fastzarr.bench.errors import BenchmarkError
from fastzarr.bench.fields import synthetic
from fastzarr.errors import NodeNotFoundError


@dataclass(frozen=True, kw_only=True)
class Source:
    """An array to benchmark with, not yet in memory."""

    name: str
    """`synthetic`, or file and variable."""
    shape: tuple[int, ...]
    """Shape; axis 0 is time."""
    dtype: np.dtype[Any]
    """Data type in the machine's byte order."""
    fill_value: float
    """Fill value of the variable; 0 where it has none."""
    load: Callable[[], NDArray[Any]]
    """Make the whole array, C-contiguous."""

    @property
    def nbytes(self) -> int:
        """Size of the array in memory."""
        return int(np.prod(self.shape, dtype=object)) * self.dtype.itemsize


def synthetic_source(size: tuple[int, int, int, int], keepbits: int) -> Source:
    """The synthetic field of `size` (Nx, Ny, Nz, Nt)."""
    shape = size[::-1]
    return Source(
        name="synthetic",
        shape=shape,
        dtype=np.dtype(np.float32),
        fill_value=0,
        load=lambda: synthetic(shape, keepbits),
    )


def file_source(argument: str) -> Source:
    """The variable that `argument` names: `FILE::VARIABLE`, or `FILE` where there is one array in it.

    Raises BenchmarkError for what cannot be found, read, or cut into time steps.
    """
    file, _, variable = argument.partition("::")
    path = Path(file).expanduser()
    if not path.exists():
        raise _wrong(argument, "there is no such file", "the path of a NetCDF, HDF5, Zarr or .npy file")
    try:
        values, fill_value = _opener(path, argument)(path, variable)
    except BenchmarkError:
        raise
    except (OSError, ValueError, ImportError) as error:
        raise _wrong(argument, f"it cannot be read: {error}", "FILE::VARIABLE") from error
    dtype = np.dtype(values.dtype).newbyteorder("=")
    if dtype.kind not in "biufc":
        raise _wrong(argument, f"its data type is {dtype}", "boolean, integer, float or complex numbers")
    if not 2 <= len(values.shape) <= 4 or 0 in values.shape:
        raise _wrong(
            argument, f"its shape is {tuple(values.shape)}", "time and one to three more axes, none empty"
        )
    return Source(
        name=f"{path.name}::{variable}" if variable else path.name,
        shape=tuple(values.shape),
        dtype=dtype,
        fill_value=_as_float(fill_value, dtype),
        load=lambda: np.ascontiguousarray(values[...], dtype),
    )


def real_source() -> Source:
    """Monthly sea surface temperature with its land mask, from the package iris-sample-data."""
    try:
        import iris_sample_data
    except ImportError as error:
        raise BenchmarkError(
            "the data set of --quick is not installed; pip install 'fastzarr[bench]', or give --input"
        ) from error
    return file_source(f"{iris_sample_data.path}/ostia_monthly.nc::surface_temperature")


Opened = tuple[Any, Any]
"""An object with `shape`, `dtype` and `[...]`, and its fill value or None."""


def _opener(path: Path, argument: str) -> Callable[[Path, str], Opened]:
    if path.is_dir():
        return _zarr
    with path.open("rb") as file:
        start = file.read(8)
    if start.startswith(b"\x93NUMPY"):
        return _npy
    if start.startswith(b"CDF") or (start == b"\x89HDF\r\n\x1a\n" and path.suffix in {".nc", ".nc4", ".cdf"}):
        return _netcdf
    if start == b"\x89HDF\r\n\x1a\n":
        return _hdf5
    raise _wrong(argument, f"it starts with {start!r}", "a NetCDF, HDF5, Zarr or .npy file")


def _npy(path: Path, variable: str) -> Opened:
    if variable:
        raise BenchmarkError(
            f"--input: got variable {variable!r}, but {path.name} holds one array and no names"
        )
    return np.load(path, mmap_mode="r", allow_pickle=False), None


def _netcdf(path: Path, variable: str) -> Opened:
    import netCDF4

    dataset = netCDF4.Dataset(path)
    dataset.set_auto_maskandscale(False)
    if variable not in dataset.variables:
        raise _no_variable(path, variable, dataset.variables)
    values = dataset[variable]
    return values, getattr(values, "_FillValue", getattr(values, "missing_value", None))


def _hdf5(path: Path, variable: str) -> Opened:
    import h5py

    file = h5py.File(path)
    names: list[str] = []
    file.visititems(lambda name, item: names.append(name) if isinstance(item, h5py.Dataset) else None)
    if variable.strip("/") not in names:
        raise _no_variable(path, variable, names)
    values = file[variable]
    return values, values.fillvalue


def _zarr(path: Path, variable: str) -> Opened:
    try:
        values = fastzarr.open_array(path / variable, mode="r")
    except NodeNotFoundError:
        raise _no_variable(path, variable, sorted(_array_names(path))) from None
    return values, values.fill_value


def _array_names(path: Path) -> Iterator[str]:
    for document in (*path.rglob(".zarray"), *path.rglob("zarr.json")):
        if document.name == ".zarray" or json.loads(document.read_text())["node_type"] == "array":
            yield document.parent.relative_to(path).as_posix()


def _no_variable(path: Path, variable: str, names: Any) -> BenchmarkError:
    return BenchmarkError(
        f"--input: got variable {variable!r}, expected one of {path.name}'s: {', '.join(names)}; "
        f"write FILE::VARIABLE"
    )


def _wrong(argument: str, found: str, allowed: str) -> BenchmarkError:
    return BenchmarkError(f"--input: got {argument!r}, but {found}; expected {allowed}")


def _as_float(fill_value: Any, dtype: np.dtype[Any]) -> float:
    """The fill value as a float; 0 where there is none or a float cannot hold it."""
    value = np.zeros((), dtype) if fill_value is None else np.asarray(fill_value, dtype).reshape(-1)[0]
    try:
        number = float(value.real)
        return number if np.isnan(number) or np.asarray(number, dtype) == value else 0.0
    except OverflowError:
        return 0.0
