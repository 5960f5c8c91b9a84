"""`fastzarr bench sequential`."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from fastzarr.bench import cases, estimate, results, room, runner, settings
from fastzarr.bench.backends.registry import BACKENDS, OWN_SYNC, READERS
from fastzarr.bench.cases import Repeats
from fastzarr.bench.errors import BenchmarkError
from fastzarr.bench.inputs import Source, file_source, real_source, synthetic_source
from fastzarr.bench.resume import finished
from fastzarr.cli import options
from fastzarr.cli.options import parsed, setting
from fastzarr.cli.running import interruptible, keep_earlier, progress_bar
from fastzarr.cli.showing import show


@click.command()
@setting(
    "--sizes",
    "ZS_SIZES",
    metavar="SIZES",
    **parsed(settings.sizes),
    help="Sizes of the synthetic field, 'Nx,Ny,Nz,Nt;...'. Default: nine from 12.5 MiB to 3.1 GiB.",
)
@setting(
    "--codecs",
    "ZS_CODECS",
    metavar="CODECS",
    **parsed(settings.codecs),
    help="Of none, zstd, blosc, zlib, each with a level after a colon. Default: none,zstd:3,blosc:5,zlib:5.",
)
@setting(
    "--backends",
    "ZS_BACKENDS",
    metavar="NAMES",
    **parsed(settings.backends),
    help=f"Of {', '.join(BACKENDS)}. Default: all.",
)
@setting(
    "--repeats",
    "ZS_REPEATS",
    type=click.IntRange(min=1),
    help="Timed repeats, after one warm-up. Default: 3; 5 of arrays under 64 MiB.",
)
@setting(
    "--keepbits",
    "ZS_KEEPBITS",
    type=click.IntRange(0, 23),
    default=settings.KEEPBITS,
    show_default=True,
    help="Mantissa bits of the synthetic field; fewer compress better.",
)
@click.option(
    "--zarr-format",
    metavar="FORMATS",
    **parsed(settings.formats),
    help="2, 3 or 2,3. Default: 2,3; with --quick 3.",
)
@click.option(
    "--input",
    "inputs",
    metavar="FILE::VARIABLE",
    multiple=True,
    help="NetCDF, HDF5, Zarr or .npy instead of the synthetic field; first axis: time. May be repeated.",
)
@options.directory()
@options.out
@click.option("--quick", is_flag=True, help="Three small sizes and a real data set, none and zstd: minutes.")
@click.option(
    "--resume", is_flag=True, help="Keep the finished cases in --out, and measure only those not there yet."
)
@options.as_json
def sequential(
    sizes: tuple[settings.Size, ...] | None,
    codecs: tuple[Any, ...] | None,
    backends: tuple[Any, ...] | None,
    repeats: int | None,
    keepbits: int,
    zarr_format: tuple[Any, ...] | None,
    inputs: tuple[str, ...],
    directory: Path,
    out: Path,
    quick: bool,
    resume: bool,
    as_json: bool,
) -> None:
    """Write arrays step by step, sync, and read them back, with every library."""
    try:
        sources = _sources(sizes, keepbits, inputs, quick)
    except BenchmarkError as error:
        raise click.UsageError(str(error)) from error
    zarr_format = zarr_format or (settings.QUICK_FORMATS if quick else settings.FORMATS)
    codecs = codecs or (settings.QUICK_CODECS if quick else settings.CODECS)
    backends = backends or tuple(BACKENDS.values())
    counts = settings.REPEATS if repeats is None else Repeats(usual=repeats, small=repeats)
    arguments = {
        "sources": [source.name for source in sources],
        "shapes": [source.shape for source in sources],
        "codecs": [f"{name}:{level}" if level else name for name, level in codecs],
        "backends": [backend.name for backend in backends],
        "repeats": counts.usual,
        "small_repeats": counts.small,
        "zarr_format": zarr_format,
        "keepbits": keepbits,
        "input": inputs,
        "dir": str(directory),
        "out": str(out),
        "quick": quick,
        "resume": resume,
        "seed": settings.SEED,
    }
    saved = out / "sequential.json"
    try:
        before = _finished(saved, arguments, directory) if resume else None
        done = {case.name for case in before.cases} if before else set()
        jobs = cases.jobs(sources, zarr_format, codecs, counts)
        plan = runner.Plan(
            jobs=tuple(job for job in jobs if job.record.name not in done),
            before=before,
            backends=backends,
            readers=tuple(BACKENDS[name] for name in READERS),
            own_sync=OWN_SYNC,
            directory=directory,
            seed=settings.SEED,
            arguments=arguments,
        )
        room.check(plan.jobs, directory)
    except BenchmarkError as error:
        raise click.UsageError(str(error)) from error
    seconds = estimate.seconds(plan.jobs, backends, plan.readers[0], directory)
    click.echo(
        f"{len(seconds)} case{'' if len(seconds) == 1 else 's'}, {len(backends)} backends, in "
        f"{directory.resolve()}: about {_duration(sum(seconds))}. An interrupted run keeps what it has, "
        f"and --resume goes on.",
        err=True,
    )
    if not resume:
        keep_earlier(saved)
    with interruptible(saved, ", --resume goes on from there"):
        bundle = _run_with_progress(plan, seconds, saved)
    show(bundle, saved, out, as_json=as_json)


def _sources(
    sizes: tuple[settings.Size, ...] | None, keepbits: int, inputs: tuple[str, ...], quick: bool
) -> tuple[Source, ...]:
    """The user's files; the synthetic field if there are none or sizes are given; with --quick real data."""
    files = [file_source(argument) for argument in dict.fromkeys(inputs)]
    if sizes is None and not files:
        sizes = settings.QUICK_SIZES if quick else settings.SIZES
        files = [real_source()] if quick else []
    sources = (*(synthetic_source(size, keepbits) for size in sizes or ()), *files)
    known = set[tuple[str, tuple[int, ...]]]()
    for source in sources:
        if (source.name, source.shape) in known:
            raise BenchmarkError(f"--input: got two of name {source.name!r} and one shape; rename one file")
        known.add((source.name, source.shape))
    return sources


def _finished(saved: Path, arguments: Mapping[str, Any], directory: Path) -> results.Bundle | None:
    """What `saved` has to keep, or None if there is no such file."""
    return finished(results.load(saved), arguments, directory) if saved.exists() else None


def _run_with_progress(plan: runner.Plan, seconds: list[float], saved: Path) -> results.Bundle:
    """Run `plan` and save to `saved` after each backend's run; progress is by `seconds`, guessed per job."""
    with progress_bar() as tell:

        def progress(state: runner.Progress) -> None:
            number = state.cases_done
            done = sum(seconds[:number]) + state.share * seconds[number]
            tell(done / sum(seconds), f"{number + 1}/{len(seconds)} {state.case}", state.turn)

        return runner.run(plan, lambda bundle: results.save(bundle, saved), progress)


def _duration(seconds: float) -> str:
    """Seconds in the unit that suits them."""
    if seconds < 90:
        return f"{max(1, round(seconds / 5)) * 5} seconds"
    return f"{seconds / 60:.0f} minutes" if seconds < 90 * 60 else f"{seconds / 3600:.1f} hours"
