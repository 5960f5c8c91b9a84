"""`fastzarr convert`."""

from __future__ import annotations

import json
import math
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, get_args

import click

import fastzarr
from fastzarr.cli import option_names
from fastzarr.cli.running import progress_bar
from fastzarr.cli.sizes import Size, readable
from fastzarr.volumes import Format, Options, Progress, Report
from fastzarr.volumes import convert as convert_volume
from fastzarr.volumes.boxes import BoundingBox, Vec3, mag_name, parse_mag
from fastzarr.volumes.casting import Cast
from fastzarr.volumes.formats import CODECS, To
from fastzarr.volumes.properties import Category
from fastzarr.volumes.transfer import Verify
from fastzarr.volumes.units import NANOMETERS

_SHORT = {"nm": "nanometer", "um": "micrometer", "µm": "micrometer", "mm": "millimeter"}


class Parsed(click.ParamType):  # type: ignore[type-arg]
    """Text that a function understands, or returns None for."""

    def __init__(self, name: str, parse: Callable[[str], Any], example: str) -> None:
        self.name, self._parse, self._example = name, parse, example

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """What the text means."""
        if not isinstance(value, str):
            return value
        found = self._parse(value)
        if found is None:
            self.fail(f"got {value!r}, expected {self._example}", param, ctx)
        return found


def _numbers(text: str, count: int) -> list[int] | None:
    parts = [part.strip() for part in text.split(",")]
    return [int(p) for p in parts] if len(parts) == count and all(p.isdecimal() for p in parts) else None


def _vec3(text: str) -> Vec3 | None:
    found = _numbers(text, 3)
    return None if found is None else (found[0], found[1], found[2])


def _box(text: str) -> BoundingBox | None:
    found = _numbers(text, 6)
    if found is None:
        return None
    x, y, z, width, height, depth = found
    return BoundingBox(offset=(x, y, z), size=(width, height, depth))


def _mags(text: str) -> tuple[Vec3, ...] | None:
    found = [mag for part in text.split(",") if (mag := parse_mag(part.strip())) is not None]
    return tuple(found) if len(found) == text.count(",") + 1 else None


def _names(text: str) -> tuple[str, ...] | None:
    names = tuple(part.strip() for part in text.split(","))
    return names if all(names) else None


def _voxel_size(text: str) -> tuple[float, float, float] | None:
    """Three sizes, or one for all axes, and a unit."""
    form = re.fullmatch(r"([\d.,\s+e-]+?)\s*([A-Za-zµ]*)", text.strip())
    unit = None if form is None else NANOMETERS.get(_SHORT.get(form[2], form[2]) or "nanometer")
    if form is None or unit is None:
        return None
    try:
        sizes = [float(part) * unit for part in form[1].split(",")]
    except ValueError:
        return None
    sizes = sizes * 3 if len(sizes) == 1 else sizes
    if len(sizes) != 3 or not all(size > 0 and math.isfinite(size) for size in sizes):
        return None
    return sizes[0], sizes[1], sizes[2]


def _downsample(text: str) -> int | str | None:
    return int(text) if text.isdecimal() else "auto" if text == "auto" else None


def _codecs() -> str:
    return "; ".join(f"{to}: {', '.join(names)}" for to, names in CODECS.items())


@click.command()
@click.argument("source", metavar="SRC")
@click.argument("dest", metavar="DST", type=click.Path(path_type=Path))
@click.option(
    "--to", type=click.Choice(get_args(To)), default="zarr3", show_default=True, help="What to write."
)
@click.option("--codec", help=f"How to compress. {_codecs()}; the first is the default.")
@click.option("--level", type=int, help="Level of zstd, gzip or blosc. Default: 5.")
@click.option(
    "--chunk", type=int, default=32, show_default=True, help="Voxels along a chunk, or block of WKW."
)
@click.option(
    "--shard", type=int, help="Voxels along a shard, or file of WKW. Default: 1024, or less that do."
)
@click.option(
    "--layers", type=Parsed("NAMES", _names, "names such as color,segmentation"), help="Only these."
)
@click.option("--mags", type=Parsed("MAGS", _mags, "magnifications such as 1,2-2-1"), help="Only these.")
@click.option(
    "--bbox",
    "bounding_box",
    type=Parsed("X,Y,Z,W,H,D", _box, "six numbers x,y,z,width,height,depth"),
    help="Only this box, in voxels of magnification 1; it keeps its position.",
)
@click.option(
    "--downsample",
    type=Parsed("N|auto", _downsample, "a number or auto"),
    default=0,
    help="Make N coarser magnifications, or until one fits in a chunk: means, or most frequent labels.",
)
@click.option("--name", help="Name of the dataset. Default: that of its directory.")
@click.option("--layer", help="Name of the layer. Default: that of the source.")
@click.option(
    "--category", type=click.Choice(get_args(Category)), help="Default: what the source says, or color."
)
@click.option("--dtype", help="Data type of voxels. Default: that of the source.")
@click.option(
    "--cast",
    type=click.Choice(get_args(Cast)),
    default="exact",
    show_default=True,
    help="Whether --dtype may round values; what is out of range is always refused.",
)
@click.option(
    "--voxel-size",
    type=Parsed("X,Y,Z[UNIT]", _voxel_size, "sizes such as 11.24,11.24,25 or 0.5mm"),
    help="Of magnification 1; in nanometers unless a unit is there.",
)
@click.option(
    "--axes", help="Axes of a Zarr array by dimension, letters of tcxyz. Default: as it says, or czyx."
)
@click.option("--time", type=click.IntRange(min=0), help="Which of several volumes along t.")
@click.option(
    "--offset",
    type=Parsed("X,Y,Z", _vec3, "three numbers x,y,z"),
    help="Position of the first voxel, in voxels of magnification 1.",
)
@click.option("--overwrite", is_flag=True, help="Replace layers, discard an interrupted conversion.")
@click.option("--resume", is_flag=True, help="Go on with an interrupted conversion.")
@click.option(
    "--verify",
    type=click.Choice(get_args(Verify)),
    default="written",
    show_default=True,
    help="Read back each piece, or all once more at the end, and compare.",
)
@click.option(
    "--memory", type=Size(), default=1 << 30, help="Most that voxels take in memory. Default: 1 GiB."
)
@click.option("--workers", type=click.IntRange(min=1), help="Threads. Default: one per processor.")
@click.option("--json", "as_json", is_flag=True, help="Print the report as JSON, and nothing else.")
def convert(source: str, dest: Path, as_json: bool, **given: Any) -> None:
    """Convert the volume SRC into layers of the webknossos dataset DST.

    SRC is a dataset, a layer or a magnification of webknossos (WKW or Zarr), a Zarr array, an OME-Zarr image
    or a NIfTI file. What is killed goes on with --resume; nothing looks complete before it is.
    """
    with _told():
        chosen = Format(**{key: given.pop(key) for key in ("to", "codec", "level", "chunk", "shard")})
        options = Options(format=chosen, **given)
        with progress_bar() as tell:

            def progress(done: int, total: int, label: str) -> None:
                tell(done / total, label, "")

            report = _run(source, dest, options, progress)
    names = option_names.of_command(convert)
    report = replace(report, notes=tuple(option_names.told(note, names) for note in report.notes))
    if as_json:
        click.echo(json.dumps(asdict(report), indent=1, default=str))
    else:
        _show(report)


def _run(source: str, dest: Path, options: Options, progress: Progress) -> Report:
    try:
        return convert_volume(source, dest, options, progress=progress)
    except KeyboardInterrupt:
        click.echo("Interrupted. The same command with --resume goes on.", err=True)
        sys.exit(130)


@contextmanager
def _told() -> Iterator[None]:
    """Failures as a line, not as a traceback."""
    try:
        yield
    except (fastzarr.errors.ZarrError, OSError, ImportError) as error:
        told = option_names.told(str(error), option_names.of_command(convert))
        click.echo(f"fastzarr: {told}", err=True)
        sys.exit(1)


def _show(report: Report) -> None:
    for mag in report.mags:
        pieces = [f"{mag.written} written", f"{mag.empty} empty"]
        pieces += [f"{mag.kept} kept"] if mag.kept else []
        pieces += [f"{mag.replaced} replaced"] if mag.replaced else []
        sizes = f"{readable(mag.nbytes)} in {readable(mag.nbytes_stored)}"
        click.echo(f"{mag.layer}/{mag_name(mag.mag)}: {sizes}; {', '.join(pieces)}")
    for note in report.notes:
        click.echo(f"Note: {note}.")
    verified = {"none": "not verified", "written": "read back and verified", "full": "verified twice"}
    click.echo(f"{report.path}: {report.seconds:.1f} s, {verified[report.verified]}")
