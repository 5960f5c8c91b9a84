"""`fastzarr bench wkw`."""

from pathlib import Path

import click

from fastzarr.bench import measurements
from fastzarr.bench.serving import cutouts
from fastzarr.cli import options
from fastzarr.cli.running import interruptible, keep_earlier, progress_bar
from fastzarr.cli.showing import show_measured

EDGE, QUICK_EDGE = 512, 256
PLACES = {32: 400, 64: 100, 128: 25}
REPEATS, QUICK_REPEATS = 7, 3


@click.command("wkw")
@click.option(
    "--repeats",
    type=click.IntRange(min=1),
    help=f"Timed repeats, after one warm-up. Default: {REPEATS}; with --quick {QUICK_REPEATS}.",
)
@options.directory()
@options.out
@click.option("--quick", is_flag=True, help="A smaller image and fewer repeats.")
@options.as_json
def wkw(repeats: int | None, directory: Path, out: Path, quick: bool, as_json: bool) -> None:
    """Read cubes of WKW. Against the wkw wheel, and beside the same cubes of sharded Zarr."""
    edge = QUICK_EDGE if quick else EDGE
    count = repeats or (QUICK_REPEATS if quick else REPEATS)
    settings = cutouts.Settings(
        edge=edge,
        places=PLACES,
        repeats=count,
        directory=directory,
        arguments={
            "edge": edge,
            "repeats": count,
            "dir": str(directory),
            "out": str(out),
            "quick": quick,
            "seed": cutouts.SEED,
        },
    )
    saved = out / f"{cutouts.WORKLOAD}.json"
    keep_earlier(saved)
    with interruptible(saved), progress_bar() as tell:
        bundle = cutouts.run(
            settings,
            lambda found: measurements.save(found, saved),
            lambda share, case: tell(share, case, ""),
        )
    show_measured(bundle, saved, out, as_json=as_json)
