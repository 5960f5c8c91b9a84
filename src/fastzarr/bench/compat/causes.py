"""Why known failures happen, whose they are, and where that is discussed.

A cause claims cells by who takes part and how it shows; a failure that no cause claims is unexplained, and
reports say so. Every reference was looked up; where no thread was found, none is given.
"""

import re
from dataclasses import dataclass, field

from fastzarr.bench.compat.results import FAILURES, Cell


@dataclass(frozen=True, kw_only=True)
class Cause:
    """One fault of one implementation."""

    at_fault: str
    """Name of the implementation."""
    title: str
    """The fault, in a few words."""
    text: str
    """What happens and why it is that side's."""
    references: tuple[str, ...]
    """Addresses of threads on it; empty where none was found."""
    as_writer: bool
    """Whether the fault is in writing: the cells of that writer; else those of that reader."""
    message: str = ""
    """Regular expression that the cell's message contains."""
    writers: tuple[str, ...] = ()
    """Only cells of these writers; empty for all."""
    layouts: tuple[str, ...] = ()
    """Only cases of these layouts; empty for all."""
    data_types: tuple[str, ...] = ()
    """Only cases of these data types; empty for all."""
    formats: tuple[int, ...] = field(default=(2, 3))
    """Only cases of these formats."""

    def claims(self, cell: Cell) -> bool:
        """Whether this is why `cell` failed."""
        return (
            cell.status in FAILURES
            and self.at_fault == (cell.writer if self.as_writer else cell.reader)
            and (not self.writers or cell.writer in self.writers)
            and (not self.layouts or cell.case.layout in self.layouts)
            and (not self.data_types or cell.case.data_type in self.data_types)
            and cell.case.zarr_format in self.formats
            and re.search(self.message, cell.message or "") is not None
        )


CAUSES = (
    Cause(
        at_fault="z5py",
        title="a chunk of −0.0 is left out",
        text="Where the fill value is 0.0, a chunk of −0.0 equals it as a number, and z5 stores nothing, or "
        "the other way round: every reader finds the fill value. The first thread is on leaving chunks out, "
        "in z5; the second on the same fault in zarr-python, which mended it.",
        references=(
            "https://github.com/constantinpape/z5/issues/39",
            "https://github.com/zarr-developers/zarr-python/issues/3144",
        ),
        as_writer=True,
        message=r"first at \[0, 0, 0\]: got -?0\.0 .*expected -?0\.0",
        layouts=("zeros", "missing"),
        data_types=("float32", "float64"),
    ),
    Cause(
        at_fault="z5py",
        title="fill values of integers are stored as 0.0",
        text="The fill value of an array of integers in Zarr v2 is written as a floating-point number. "
        "Most readers take it, as zarr-python does again; zarrista refuses it.",
        references=("https://github.com/zarr-developers/zarr-python/issues/3447",),
        as_writer=True,
        message=r"invalid fill value metadata for data type .*\.0$",
        formats=(2,),
    ),
    Cause(
        at_fault="nczarr",
        title="Blosc fails on what does not compress",
        text="Blosc stores what it can't compress as it is; netCDF's filter takes that for an error.",
        references=("https://github.com/Unidata/netcdf-c/issues/3075",),
        as_writer=True,
        message=r"NetCDF: Filter error",
        formats=(2,),
    ),
    Cause(
        at_fault="nczarr",
        title="int8 is stored as <i1",
        text="A type of one byte has no byte order: the specification and NumPy write |i1. Most readers "
        "take <i1 as well; z5py, zarrista and zarr-python 3.1 do not.",
        references=("https://github.com/google/tensorstore/issues/58",),
        as_writer=True,
        message=r"<i1",
        data_types=("int8",),
        formats=(2,),
    ),
    Cause(
        at_fault="nczarr",
        title="−0.0 as a fill value is stored as -0",
        text="Without a decimal point it is an integer to many JSON parsers, which know no negative zero: "
        "NCZarr itself reads 0.0 back. fastzarr, zarrista and zarrita.js read −0.0.",
        references=(),
        as_writer=True,
        message=r"got 0\.0 .*expected -0\.0",
        layouts=("missing",),
        data_types=("float64",),
    ),
    Cause(
        at_fault="zarrita.js",
        title="−0.0 as a fill value is stored as 0",
        text="JSON.stringify writes -0 as 0; the thread is on NaN, which went the same way.",
        references=("https://github.com/manzt/zarrita.js/issues/352",),
        as_writer=True,
        message=r"got 0\.0 .*expected -0\.0",
        layouts=("missing",),
        data_types=("float64",),
    ),
    Cause(
        at_fault="gdal",
        title="complex fill values of Zarr v2 are refused",
        text="GDAL learnt to read a complex fill value, a pair of numbers, for Zarr v3, in the thread, and "
        "not for v2. zarr-python, zarrs, TensorStore, zarrista and fastzarr all write the pair there.",
        references=("https://github.com/OSGeo/gdal/pull/7749",),
        as_writer=False,
        message=r"Invalid fill_value",
        data_types=("complex64",),
        formats=(2,),
    ),
    Cause(
        at_fault="zarr-python",
        title="a codec given by its name alone is refused",
        text="zarrista writes \"vlen-utf8\" for {\"name\": \"vlen-utf8\"}, as Zarr 3.1 allows.",
        references=("https://github.com/zarr-developers/zarr-python/issues/3188",),
        as_writer=False,
        message=r"Expected dict, got <class 'str'>",
        writers=("zarrista",),
        formats=(3,),
    ),
    Cause(
        at_fault="zarrita.js",
        title="a codec given by its name alone is not found",
        text="zarrista writes \"vlen-utf8\" for {\"name\": \"vlen-utf8\"}, as Zarr 3.1 allows.",
        references=("https://github.com/zarr-developers/zarr-specs/issues/352",),
        as_writer=False,
        message=r"Unknown codec: undefined",
        writers=("zarrista",),
        formats=(3,),
    ),
)  # fmt: skip


def cause(cell: Cell) -> Cause | None:
    """Why `cell` failed, or None where that is not known."""
    return next((known for known in CAUSES if known.claims(cell)), None)
