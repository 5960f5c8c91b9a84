"""Every kind of input file, and what is said of files that do not fit."""

from collections.abc import Callable
from pathlib import Path

import h5py
import netCDF4
import numpy as np
import pytest
import zarr
from numpy.typing import NDArray

from fastzarr.bench.errors import BenchmarkError
from fastzarr.bench.inputs import file_source, real_source, synthetic_source

VALUES = np.arange(60, dtype=np.float32).reshape(5, 3, 4)
VALUES[2, 1, 1] = 1e20


def npy(path: Path) -> str:
    np.save(path / "a.npy", VALUES)
    return f"{path}/a.npy"


def big_endian_npy(path: Path) -> str:
    np.save(path / "a.npy", VALUES.astype(">f4"))
    return f"{path}/a.npy"


def netcdf(path: Path, kind: str = "NETCDF4") -> str:
    with netCDF4.Dataset(path / "a.nc", "w", format=kind) as dataset:
        for name, size in zip("tyx", VALUES.shape, strict=True):
            dataset.createDimension(name, size)
        dataset.createVariable("sst", "f4", ("t", "y", "x"), fill_value=1e20)[:] = VALUES
    return f"{path}/a.nc::sst"


def netcdf_classic(path: Path) -> str:
    return netcdf(path, "NETCDF3_CLASSIC")


def hdf5(path: Path) -> str:
    with h5py.File(path / "a.h5", "w") as file:
        file.create_dataset("group/sst", data=VALUES, fillvalue=1e20)
    return f"{path}/a.h5::group/sst"


def zarr_group(path: Path) -> str:
    array = zarr.open_group(path / "a.zarr").create_array(
        "sst", shape=VALUES.shape, dtype="f4", fill_value=1e20
    )
    array[:] = VALUES
    return f"{path}/a.zarr::sst"


def zarr_array(path: Path) -> str:
    zarr.create_array(path / "a.zarr", shape=VALUES.shape, dtype="f4", zarr_format=2, fill_value=1e20)[:] = (
        VALUES
    )
    return f"{path}/a.zarr"


@pytest.mark.parametrize("make", [netcdf, netcdf_classic, hdf5, zarr_group, zarr_array, npy, big_endian_npy])
def test_values_shape_and_fill_value(make: Callable[[Path], str], tmp_path: Path) -> None:
    source = file_source(make(tmp_path))
    loaded = source.load()
    assert source.shape == VALUES.shape == loaded.shape
    assert source.dtype == loaded.dtype == np.dtype("=f4")
    assert loaded.flags.c_contiguous
    assert source.nbytes == VALUES.nbytes
    np.testing.assert_array_equal(loaded, VALUES)
    assert source.fill_value == (0 if make in (npy, big_endian_npy) else float(np.float32(1e20)))


def test_packed_integers_stay_packed(tmp_path: Path) -> None:
    with netCDF4.Dataset(tmp_path / "a.nc", "w") as dataset:
        dataset.createDimension("t", 2)
        dataset.createDimension("x", 3)
        variable = dataset.createVariable("v", "i2", ("t", "x"), fill_value=-9)
        variable.scale_factor = 0.5
        variable[:] = np.ma.masked_equal([[1, 2, 3], [4, 0, 6]], 0)
    source = file_source(f"{tmp_path}/a.nc::v")
    np.testing.assert_array_equal(source.load(), np.array([[2, 4, 6], [8, -9, 12]], np.int16))
    assert source.dtype == np.int16
    assert source.fill_value == -9


@pytest.mark.parametrize("shape", [(5, 4), (5, 3, 4), (5, 2, 3, 4)])
def test_steps_of_one_to_three_axes(shape: tuple[int, ...], tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", np.ones(shape))
    assert file_source(f"{tmp_path}/a.npy").shape == shape


@pytest.mark.parametrize(
    ("values", "found", "allowed"),
    [
        (np.ones(5), r"its shape is \(5,\)", "one to three more axes"),
        (np.ones((2,) * 5), r"its shape is \(2, 2, 2, 2, 2\)", "one to three more axes"),
        (np.ones((0, 4)), r"its shape is \(0, 4\)", "none empty"),
        (np.array([["a", "b"]]), "its data type is <U1", "boolean, integer, float or complex"),
    ],
)
def test_arrays_that_do_not_fit(
    values: NDArray[np.generic], found: str, allowed: str, tmp_path: Path
) -> None:
    np.save(tmp_path / "a.npy", values)
    with pytest.raises(BenchmarkError, match=f"--input: got .*a.npy', but {found}; expected .*{allowed}"):
        file_source(f"{tmp_path}/a.npy")


@pytest.mark.parametrize("make", [netcdf, hdf5, zarr_group])
def test_a_missing_variable_names_those_there_are(make: Callable[[Path], str], tmp_path: Path) -> None:
    file = make(tmp_path).partition("::")[0]
    with pytest.raises(
        BenchmarkError, match=r"got variable 'sea', expected one of a.*sst; write FILE::VARIABLE"
    ):
        file_source(f"{file}::sea")


def test_a_name_for_an_unnamed_array(tmp_path: Path) -> None:
    with pytest.raises(BenchmarkError, match=r"got variable 'sst', but a.npy holds one array and no names"):
        file_source(f"{npy(tmp_path)}::sst")


def test_missing_and_foreign_files(tmp_path: Path) -> None:
    with pytest.raises(BenchmarkError, match=r"got '/nowhere/a.nc::sst', but there is no such file"):
        file_source("/nowhere/a.nc::sst")
    (tmp_path / "a.txt").write_text("just text")
    with pytest.raises(
        BenchmarkError, match=r"it starts with b'just tex'; expected a NetCDF, HDF5, Zarr or .npy"
    ):
        file_source(f"{tmp_path}/a.txt")


def test_the_real_data_set_has_land() -> None:
    source = real_source()
    values = source.load()
    assert values.shape == (54, 18, 432)
    assert 0 < np.count_nonzero(values == np.float32(source.fill_value)) < values.size


def test_synthetic_size_is_reversed() -> None:
    source = synthetic_source((8, 4, 2, 3), 10)
    assert source.shape == (3, 2, 4, 8) == source.load().shape
    assert source.dtype == np.float32
