"""`fastzarr bench threads`."""

from pathlib import Path

import click

from fastzarr.bench import layouts, measurements, settings, thread_runner
from fastzarr.bench.backends.regions.registry import REGION_BACKENDS, REGION_READERS
from fastzarr.bench.cases import CodecLevel
from fastzarr.bench.errors import BenchmarkError
from fastzarr.bench.runner import Progress
from fastzarr.cli import options
from fastzarr.cli.layouts import codec_text
from fastzarr.cli.options import parsed, setting
from fastzarr.cli.running import interruptible, keep_earlier, progress_bar
from fastzarr.cli.showing import show_measured

SHAPE: settings.Size = (256, 256, 32, 30)
QUICK_SHAPE: settings.Size = (256, 256, 32, 8)
THREADS = (1, 2, 4, 8, 16)
REPEATS, QUICK_REPEATS = 5, 3


def _shape(text: str) -> settings.Size:
    found = settings.sizes(text)
    if len(found) != 1:
        raise BenchmarkError(f"got {text!r}, expected one shape, such as 256,256,32,30")
    return found[0]


def _threads(text: str) -> tuple[int, ...]:
    parts = [part.strip() for part in text.split(",") if part.strip()]
    if not parts or not all(part.isdecimal() and int(part) for part in parts):
        raise BenchmarkError(f"got {text!r}, expected whole numbers from 1, such as 1,2,4")
    return tuple(sorted({int(part) for part in parts}))


@click.command()
@setting(
    "--shape",
    "ZS_SHAPE",
    metavar="SHAPE",
    **parsed(_shape),
    help="Shape of the synthetic field, 'Nx,Ny,Nz,Nt', a chunk per step. Default: 256,256,32,30; "
    "with --quick 8 steps.",
)
@setting(
    "--codec",
    "ZS_CODEC",
    metavar="CODECS",
    **parsed(settings.codecs),
    help="One or more of none, zstd, blosc, zlib, each with a level after a colon. Default: none,zstd:3.",
)
@setting(
    "--threads",
    "ZS_THREADS",
    metavar="NUMBERS",
    **parsed(_threads),
    help=f"Numbers of threads. Default: {','.join(map(str, THREADS))}.",
)
@options.backends(REGION_BACKENDS)
@setting(
    "--repeats",
    "ZS_REPEATS",
    type=click.IntRange(min=1),
    help=f"Timed repeats, after one warm-up. Default: {REPEATS}; with --quick {QUICK_REPEATS}.",
)
@options.directory()
@options.out
@click.option("--quick", is_flag=True, help="A smaller field and fewer repeats: a few minutes.")
@options.as_json
def threads(
    shape: settings.Size | None,
    codec: tuple[CodecLevel, ...] | None,
    threads: tuple[int, ...] | None,
    backends: tuple[str, ...] | None,
    repeats: int | None,
    directory: Path,
    out: Path,
    quick: bool,
    as_json: bool,
) -> None:
    """Write and read with more and more threads. Each number runs in processes of its own."""
    chosen = layouts.Settings(
        codecs=codec or layouts.PLAIN_AND_ZSTD,
        repeats=repeats or (QUICK_REPEATS if quick else REPEATS),
        quick=quick,
    )
    size = shape or (QUICK_SHAPE if quick else SHAPE)
    names = backends or tuple(REGION_BACKENDS)
    plan = thread_runner.ThreadPlan(
        jobs=layouts.threads(size, chosen),
        threads=threads or THREADS,
        backends=tuple(REGION_BACKENDS[name] for name in names),
        readers=tuple(REGION_BACKENDS[name] for name in REGION_READERS),
        directory=directory,
        seed=settings.SEED,
        arguments={
            "shape": list(size),
            "codec": list(map(codec_text, chosen.codecs)),
            "threads": list(threads or THREADS),
            "backends": list(names),
            "repeats": chosen.repeats,
            "dir": str(directory),
            "out": str(out),
            "quick": quick,
            "seed": settings.SEED,
        },
    )
    saved = out / "threads.json"
    keep_earlier(saved)
    with interruptible(saved):
        bundle = _run(plan, saved)
    show_measured(bundle, saved, out, as_json=as_json)


def _run(plan: thread_runner.ThreadPlan, saved: Path) -> measurements.Bundle:
    """Run `plan` and save to `saved` after each process."""
    with progress_bar() as tell:

        def progress(state: Progress) -> None:
            number, cases = state.cases_done, len(plan.jobs)
            tell((number + state.share) / cases, f"{number + 1}/{cases} {state.case}", state.turn)

        return thread_runner.run(plan, lambda bundle: measurements.save(bundle, saved), progress)
