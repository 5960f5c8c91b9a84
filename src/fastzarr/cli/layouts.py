"""`fastzarr bench whole-array`, `small-chunks` and `cutouts`: one array at a time, in many layouts."""

from collections.abc import Sequence
from pathlib import Path

import click

from fastzarr.bench import layout_runner, layouts, measurements, settings
from fastzarr.bench.backends.regions.registry import REGION_BACKENDS, REGION_READERS
from fastzarr.bench.cases import CodecLevel
from fastzarr.bench.runner import Progress
from fastzarr.cli import options
from fastzarr.cli.options import parsed, setting
from fastzarr.cli.running import interruptible, keep_earlier, progress_bar
from fastzarr.cli.showing import show_measured

REPEATS, QUICK_REPEATS = 5, 3
SECONDS_PER_GIB = {"none": 1.0, "zstd": 8.0, "blosc": 2.0, "zlib": 30.0}
SECONDS_PER_CHUNK = 1e-4
"""Rough, for the share of a case in the progress bar."""


def _command(
    workload: str,
    usual_codecs: tuple[CodecLevel, ...],
    quick_codecs: tuple[CodecLevel, ...],
    text: str,
    quick_text: str,
) -> click.Command:
    """The command of a workload, with its codecs, its help text and what `--quick` does."""
    listed, quick_listed = (",".join(map(codec_text, some)) for some in (usual_codecs, quick_codecs))
    default = listed + (f"; with --quick {quick_listed}" if quick_listed != listed else "")

    @click.command(workload, help=text)
    @setting(
        "--codecs",
        "ZS_CODECS",
        metavar="CODECS",
        **parsed(settings.codecs),
        help=f"Of none, zstd, blosc, zlib, each with a level after a colon. Default: {default}.",
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
    @click.option("--quick", is_flag=True, help=quick_text)
    @options.as_json
    def command(
        codecs: tuple[CodecLevel, ...] | None,
        backends: tuple[str, ...] | None,
        repeats: int | None,
        directory: Path,
        out: Path,
        quick: bool,
        as_json: bool,
    ) -> None:
        chosen = layouts.Settings(
            codecs=codecs or (quick_codecs if quick else usual_codecs),
            repeats=repeats or (QUICK_REPEATS if quick else REPEATS),
            quick=quick,
        )
        names = backends or tuple(REGION_BACKENDS)
        plan = layout_runner.LayoutPlan(
            workload=workload,
            jobs=layouts.JOBS[workload](chosen),
            backends=tuple(REGION_BACKENDS[name] for name in names),
            readers=tuple(REGION_BACKENDS[name] for name in REGION_READERS),
            directory=directory,
            seed=settings.SEED,
            arguments={
                "codecs": list(map(codec_text, chosen.codecs)),
                "backends": list(names),
                "repeats": chosen.repeats,
                "dir": str(directory),
                "out": str(out),
                "quick": quick,
                "seed": settings.SEED,
            },
        )
        saved = out / f"{workload}.json"
        cases = f"{len(plan.jobs)} case{'' if len(plan.jobs) == 1 else 's'}"
        click.echo(
            f"{cases}, {len(names)} backends, in {directory.resolve()}. "
            f"An interrupted run keeps what it has.",
            err=True,
        )
        keep_earlier(saved)
        with interruptible(saved):
            bundle = _run(plan, saved)
        show_measured(bundle, saved, out, as_json=as_json)

    return command


def _run(plan: layout_runner.LayoutPlan, saved: Path) -> measurements.Bundle:
    """Run `plan` and save to `saved` after each sample."""
    weights = [_weight(job.record) for job in plan.jobs]
    with progress_bar() as tell:

        def progress(state: Progress) -> None:
            number = state.cases_done
            done = sum(weights[:number]) + state.share * weights[number]
            tell(done / sum(weights), f"{number + 1}/{len(weights)} {state.case}", state.turn)

        return layout_runner.run(plan, lambda bundle: measurements.save(bundle, saved), progress)


def _weight(case: measurements.CaseRecord) -> float:
    """A guess of the seconds that one backend takes for one case."""
    once = SECONDS_PER_GIB[case.codec] * case.total_bytes / 2**30 + SECONDS_PER_CHUNK * case.chunk_count
    return once * len(case.operations) * (case.repeats + 1)


def codec_text(codec: CodecLevel) -> str:
    """As `--codecs` takes it."""
    name, level = codec
    return f"{name}:{level}" if level else name


whole_array = _command(
    "whole-array",
    layouts.CODECS,
    layouts.PLAIN_AND_ZSTD,
    "Write and read whole arrays. Chunks of 1 to 64 MiB, contiguous and not; shards; one chunk; one element.",
    "Small arrays and two sizes of chunk: a few minutes.",
)
small_chunks = _command(
    "small-chunks",
    layouts.PLAIN_AND_ZSTD,
    layouts.PLAIN_AND_ZSTD,
    "Write and read many small chunks. Images in chunks of 32³ and 64³; 100 to a million tiny chunks.",
    "A smaller image, and 10,000 tiny chunks at most: a few minutes.",
)
cutouts = _command(
    "cutouts",
    layouts.PLAIN_AND_ZSTD,
    layouts.PLAIN_AND_ZSTD,
    "Read cubes at random places. Of an image in one shard, and in plain chunks.",
    "A smaller image and fewer places: a few minutes.",
)
COMMANDS: Sequence[click.Command] = (whole_array, small_chunks, cutouts)
