"""The command `fastzarr`."""

import json
import shlex
import signal
import sys
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import asdict
from datetime import datetime
from pathlib import Path
from typing import Any

try:
    import click
    from rich.console import Console
    from rich.progress import BarColumn, TaskProgressColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as ProgressBar

    from fastzarr.bench import cases, estimate, report, results, room, runner, settings
    from fastzarr.bench.backends.registry import BACKENDS, OWN_SYNC, READERS
    from fastzarr.bench.cases import Repeats
    from fastzarr.bench.compat import cases as compat_cases
    from fastzarr.bench.compat import results as compat_results
    from fastzarr.bench.compat import runner as compat_runner
    from fastzarr.bench.compat import settings as compat_settings
    from fastzarr.bench.errors import BenchmarkError
    from fastzarr.bench.inputs import Source, file_source, real_source, synthetic_source
    from fastzarr.bench.resume import finished
except ModuleNotFoundError as missing:
    if (missing.name or "").partition(".")[0] == "fastzarr":
        raise
    sys.exit(
        f"fastzarr: the command needs {missing.name}, which is not installed: pip install 'fastzarr[bench]'"
    )


def parsed(parse: Callable[[str], Any]) -> dict[str, Any]:
    """Attributes of an option read by a parser of the benchmark's settings; None where not given."""

    def callback(ctx: click.Context, param: click.Parameter, value: str | None) -> Any:
        try:
            return None if value is None else parse(value)
        except BenchmarkError as error:
            raise click.BadParameter(str(error), ctx, param) from error

    return {"callback": callback}


def there(ctx: click.Context, param: click.Parameter, value: Path) -> Path:
    """The directory, if it exists: made here, that of a mount point misspelt would be on another disk."""
    if not value.exists():
        raise click.BadParameter(
            f"got '{value}', which does not exist; make it: mkdir -p {shlex.quote(str(value))}", ctx, param
        )
    return value


def setting(flag: str, variable: str, **attributes: Any) -> Callable[[Any], Any]:
    """An option whose default an environment variable may give; errors name both."""
    return click.option(flag, envvar=variable, show_envvar=True, **attributes)


@click.group()
@click.version_option(package_name="fastzarr")
def main() -> None:
    """Zarr at the speed of the disk, and the benchmark that proves it."""


@main.group()
def bench() -> None:
    """Every Zarr library reachable from Python, beside the limits of this machine."""


@bench.command()
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
@click.option(
    "--dir",
    "directory",
    type=click.Path(file_okay=False, writable=True, path_type=Path),
    callback=there,
    default=".",
    show_default=True,
    help="Where arrays are written: an existing directory on the disk to measure. They are removed again.",
)
@click.option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    default="results",
    show_default=True,
    help="Where results and reports go.",
)
@click.option("--quick", is_flag=True, help="Three small sizes and a real data set, none and zstd: minutes.")
@click.option(
    "--resume", is_flag=True, help="Keep the finished cases in --out, and measure only those not there yet."
)
@click.option("--json", "as_json", is_flag=True, help="Print the results as JSON, and nothing else.")
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
        _keep_earlier(saved)
    try:
        bundle = _run_with_progress(plan, seconds, saved)
    except KeyboardInterrupt:
        click.echo(
            f"Interrupted. What was measured is in {saved}: 'fastzarr bench report {saved}' shows it, "
            f"--resume goes on from there.",
            err=True,
        )
        sys.exit(130)
    _show(bundle, saved, out, as_json=as_json)


@bench.command()
@click.option("--writers", metavar="NAMES", help="Who writes. Default: all that can.")
@click.option("--readers", metavar="NAMES", help="Who reads. Default: all that can.")
@click.option(
    "--backend",
    "given",
    metavar="NAME=COMMAND",
    multiple=True,
    help="Another implementation: a program of the command protocol. May be repeated.",
)
@click.option(
    "--zarr-format", metavar="FORMATS", **parsed(settings.formats), help="2, 3 or 2,3. Default: 2,3."
)
@click.option(
    "--codecs",
    metavar="CODECS",
    **parsed(compat_settings.codecs),
    help=f"Of {', '.join(compat_cases.CODECS)}; zlib is of v2, gzip of v3. Default: all.",
)
@click.option(
    "--dir",
    "directory",
    type=click.Path(file_okay=False, writable=True, path_type=Path),
    callback=there,
    default=tempfile.gettempdir,
    show_default="the system's temporary directory",
    help="Where arrays are written, and removed again.",
)
@click.option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    default="results",
    show_default=True,
    help="Where results and reports go.",
)
@click.option(
    "--timeout",
    type=click.FloatRange(min=0, min_open=True),
    default=compat_runner.TIMEOUT,
    show_default=True,
    help="Seconds that a program has for one array.",
)
@click.option("--quick", is_flag=True, help="Two data types; none and zstd.")
@click.option("--json", "as_json", is_flag=True, help="Print the results as JSON, and nothing else.")
def compat(
    writers: str | None,
    readers: str | None,
    given: tuple[str, ...],
    zarr_format: tuple[Any, ...] | None,
    codecs: tuple[str, ...] | None,
    directory: Path,
    out: Path,
    timeout: float,
    quick: bool,
    as_json: bool,
) -> None:
    """Write with every library, read with every library, and compare by bits."""
    zarr_format = zarr_format or compat_cases.FORMATS
    codecs = codecs or (compat_settings.QUICK_CODECS if quick else compat_cases.CODECS)
    try:
        sources = compat_settings.sources(given)
        writing, reading = (
            compat_settings.names(flag, text, sources)
            for flag, text in (("--writers", writers), ("--readers", readers))
        )
        chosen = compat_cases.cases(zarr_format, codecs, quick=quick)
    except BenchmarkError as error:
        raise click.UsageError(str(error)) from error
    plan = compat_runner.Plan(
        sources=tuple(source for source in sources if source.name in {*writing, *reading}),
        writers=writing,
        readers=reading,
        cases=chosen,
        directory=directory,
        timeout=timeout,
        arguments={
            "writers": writing,
            "readers": reading,
            "backend": [argument.partition("=")[0] for argument in given],
            "zarr_format": zarr_format,
            "codecs": codecs,
            "timeout": timeout,
            "quick": quick,
        },
    )
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    console = Console(stderr=True)
    with console.status("starts", spinner="dots") as status:
        try:
            matrix = compat_runner.run(
                plan, lambda p: status.update(f"{100 * p.done // p.total} %  {p.turn}")
            )
        except BenchmarkError as error:
            raise click.UsageError(str(error)) from error
    saved = out / "compat.json"
    _keep_earlier(saved)
    compat_results.save(matrix, saved)
    _show_matrix(matrix, saved, out, as_json=as_json)


@bench.command("report")
@click.argument("saved", metavar="RESULTS", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--out", type=click.Path(file_okay=False, path_type=Path), help="Default: beside RESULTS.")
@click.option(
    "--markdown",
    "document",
    metavar="FILE",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Of a compatibility matrix: write this document, and nothing else.",
)
def report_command(saved: Path, out: Path | None, document: Path | None) -> None:
    """Make table, plots and HTML again from a saved results file."""
    try:
        if document is not None:
            results.write_whole(document, report.markdown(compat_results.load(saved)))
        elif compat_results.is_matrix(saved):
            _show_matrix(compat_results.load(saved), saved, out or saved.parent, as_json=False)
        else:
            _show(results.load(saved), saved, out or saved.parent, as_json=False)
    except BenchmarkError as error:
        raise click.UsageError(str(error)) from error


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
    """Run `plan` and save to `saved` after each backend's run; KeyboardInterrupt for SIGTERM too.

    Progress, by the guess `seconds` of each job, goes to stderr: a bar, or a line per case where that is no
    terminal.
    """
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    console = Console(stderr=True)
    columns = (BarColumn(20), TaskProgressColumn(), TimeRemainingColumn(), TextColumn("{task.description}"))
    with ProgressBar(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task("", total=sum(seconds))
        case = ""

        def progress(state: runner.Progress) -> None:
            nonlocal case
            number = state.cases_done
            completed = sum(seconds[:number]) + state.share * seconds[number]
            bar.update(task, completed=completed, description=f"{state.case}: {state.turn}")
            if state.case != case and not console.is_terminal:
                click.echo(f"{number + 1}/{len(seconds)} {state.case}", err=True)
            case = state.case

        return runner.run(plan, lambda bundle: results.save(bundle, saved), progress)


def _duration(seconds: float) -> str:
    """Seconds in the unit that suits them."""
    if seconds < 90:
        return f"{max(1, round(seconds / 5)) * 5} seconds"
    return f"{seconds / 60:.0f} minutes" if seconds < 90 * 60 else f"{seconds / 3600:.1f} hours"


def _keep_earlier(saved: Path) -> None:
    """Give the results of an earlier run a name of their own."""
    if saved.exists():
        when = datetime.fromtimestamp(saved.stat().st_mtime).strftime("%Y%m%d-%H%M%S")
        kept = saved.with_name(f"{saved.stem}-{when}{saved.suffix}")
        saved.replace(kept)
        click.echo(f"The results of an earlier run are kept in {kept}.", err=True)


def _show(bundle: results.Bundle, saved: Path, out: Path, *, as_json: bool) -> None:
    """Write CSV and reports; print the table and where the files are, or the bundle."""
    table = out / f"{saved.stem}.csv"
    results.save_csv(bundle, table)
    written = report.render(saved, out)
    if as_json:
        click.echo(json.dumps(asdict(bundle), indent=1))
        return
    console = Console()
    report.print_table(bundle, console)
    for path in dict.fromkeys((saved, table, *written)):
        console.print(str(path), soft_wrap=True, highlight=False)


def _show_matrix(matrix: compat_results.Matrix, saved: Path, out: Path, *, as_json: bool) -> None:
    """Write CSV and page; print the matrix and where the files are, or the bundle."""
    table = out / f"{saved.stem}.csv"
    compat_results.save_csv(matrix, table)
    written = report.render_matrix(saved, out)
    if as_json:
        click.echo(saved.read_text(encoding="utf-8"), nl=False)
        return
    console = Console()
    report.print_matrix(matrix, console)
    for path in (saved, table, *written):
        console.print(str(path), soft_wrap=True, highlight=False)


if __name__ == "__main__":
    main()
