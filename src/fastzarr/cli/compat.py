"""`fastzarr bench compat`."""

import signal
import tempfile
from pathlib import Path
from typing import Any

import click
from rich.console import Console

from fastzarr.bench.compat import cases, results, runner, settings
from fastzarr.bench.errors import BenchmarkError
from fastzarr.bench.settings import formats
from fastzarr.cli import options
from fastzarr.cli.options import parsed
from fastzarr.cli.running import keep_earlier
from fastzarr.cli.showing import show_matrix


@click.command()
@click.option("--writers", metavar="NAMES", help="Who writes. Default: all that can.")
@click.option("--readers", metavar="NAMES", help="Who reads. Default: all that can.")
@click.option(
    "--backend",
    "given",
    metavar="NAME=COMMAND",
    multiple=True,
    help="Another implementation: a program of the command protocol. May be repeated.",
)
@click.option("--zarr-format", metavar="FORMATS", **parsed(formats), help="2, 3 or 2,3. Default: 2,3.")
@click.option(
    "--codecs",
    metavar="CODECS",
    **parsed(settings.codecs),
    help=f"Of {', '.join(cases.CODECS)}; zlib is of v2, gzip of v3. Default: all.",
)
@options.directory(tempfile.gettempdir, "the system's temporary directory")
@options.out
@click.option(
    "--timeout",
    type=click.FloatRange(min=0, min_open=True),
    default=runner.TIMEOUT,
    show_default=True,
    help="Seconds that a program has for one array.",
)
@click.option("--quick", is_flag=True, help="Two data types; none and zstd.")
@options.as_json
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
    zarr_format = zarr_format or cases.FORMATS
    codecs = codecs or (settings.QUICK_CODECS if quick else cases.CODECS)
    try:
        sources = settings.sources(given)
        writing, reading = (
            settings.names(flag, text, sources)
            for flag, text in (("--writers", writers), ("--readers", readers))
        )
        chosen = cases.cases(zarr_format, codecs, quick=quick)
    except BenchmarkError as error:
        raise click.UsageError(str(error)) from error
    plan = runner.Plan(
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
            matrix = runner.run(plan, lambda p: status.update(f"{100 * p.done // p.total} %  {p.turn}"))
        except BenchmarkError as error:
            raise click.UsageError(str(error)) from error
    saved = out / "compat.json"
    keep_earlier(saved)
    results.save(matrix, saved)
    show_matrix(matrix, saved, out, as_json=as_json)
