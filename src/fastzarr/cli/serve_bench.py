"""`fastzarr bench serve`."""

import json
import re
import shlex
import sys
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any, Literal, get_args

import click
from rich.console import Console

from fastzarr.bench import host
from fastzarr.bench.errors import BenchmarkError
from fastzarr.bench.report.serving_page import render_serving
from fastzarr.bench.report.serving_table import print_serving
from fastzarr.bench.serving import data, runner
from fastzarr.bench.serving.peers.base import BUCKET, LayerName, ServerOptions
from fastzarr.bench.serving.peers.registry import PEERS
from fastzarr.bench.serving.results import Bundle, Load, save, save_csv
from fastzarr.cli import options
from fastzarr.cli.options import parsed
from fastzarr.cli.running import interruptible, keep_earlier, progress_bar

EDGE, QUICK_EDGE = 1024, 256
LOADS = ((32, 500), (2, 32))
"""Threads and connections of wrk: those of the reference, and some that queue less."""
STORAGES = ("wkw", "zarr3", "wkw-lz4", "zarr3-lz4")
LAYERS: tuple[LayerName, ...] = get_args(LayerName)
REPEATS, QUICK_REPEATS = 3, 2
SECONDS, QUICK_SECONDS = 60.0, 3.0
WARM_UP, QUICK_WARM_UP = 10.0, 1.0
COLD_SECONDS, QUICK_COLD_SECONDS = 2.0, 1.0
CHECKS, QUICK_CHECKS = 300, 100
CACHE = 2 << 30
SEED = 1
UNITS = {"": 1, "s": 1, "m": 60, "h": 3600}
SIZES = {"": 1, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30}


def seconds(text: str) -> float:
    """`90`, `60s`, `10m`."""
    found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([smh]?)", text.strip())
    if found is None:
        raise BenchmarkError(f"got {text!r}, expected a time such as 60s or 10m")
    return float(found[1]) * UNITS[found[2]]


def size(text: str) -> int:
    """`0`, `512MiB`, `2GiB`."""
    found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*((?:[KMG]iB)?)", text.strip())
    if found is None:
        raise BenchmarkError(f"got {text!r}, expected a size such as 512MiB, 2GiB or 0")
    return int(float(found[1]) * SIZES[found[2]])


def loads(text: str) -> tuple[tuple[int, int], ...]:
    """`32,500;2,32`: threads and connections."""
    found = []
    for part in filter(None, (part.strip() for part in text.split(";"))):
        numbers = re.fullmatch(r"(\d+)\s*,\s*(\d+)", part)
        if numbers is None or not 1 <= int(numbers[1]) <= int(numbers[2]):
            raise BenchmarkError(
                f"got {part!r}, expected threads of wrk and as many connections or more, such as 2,32"
            )
        found.append((int(numbers[1]), int(numbers[2])))
    if not found:
        raise BenchmarkError("got nothing, expected at least one pair such as 2,32")
    return tuple(dict.fromkeys(found))


def chosen(known: tuple[str, ...], what: str) -> Callable[[str], tuple[str, ...]]:
    """Reads names of `known`, or `all`; they are kept in its order."""

    def parse(text: str) -> tuple[str, ...]:
        asked = [part.strip() for part in text.split(",") if part.strip()]
        if asked == ["all"]:
            return known
        for name in asked:
            if name not in known:
                raise BenchmarkError(f"got {what} {name!r}, expected some of {', '.join(known)}, or all")
        if not asked:
            raise BenchmarkError("got nothing, expected at least one value")
        return tuple(name for name in known if name in asked)

    return parse


@click.command("serve")
@click.option(
    "--data",
    "directory",
    type=click.Path(file_okay=False, path_type=Path),
    help="Where the data are made, and kept for the next run: 9 GiB in full. Default: serve-data in --out.",
)
@click.option(
    "--image",
    type=click.Path(dir_okay=False, path_type=Path),
    help="NIfTI file of the color layer. Default: the T1 brain of Debian's package mricron-data.",
)
@click.option(
    "--labels",
    type=click.Path(dir_okay=False, path_type=Path),
    help="NIfTI file of the segmentation, in the same space. Default: the atlas AAL of that package.",
)
@click.option(
    "--edge",
    type=click.IntRange(min=BUCKET),
    help=f"Voxels along each axis, to which both are resampled. Default: {EDGE}; with --quick {QUICK_EDGE}.",
)
@click.option("--layers", metavar="NAMES", **parsed(chosen(LAYERS, "layer")), help=f"Of {', '.join(LAYERS)}.")
@click.option(
    "--storages",
    metavar="NAMES",
    **parsed(chosen(tuple(data.STORAGES), "storage")),
    help=f"Of {', '.join(data.STORAGES)}. Default: {','.join(STORAGES)}.",
)
@click.option(
    "--servers",
    metavar="NAMES",
    **parsed(chosen(tuple(PEERS), "server")),
    help=f"Of {', '.join(PEERS)}, or all. Default: fastzarr.",
)
@click.option(
    "--loads",
    "pairs",
    metavar="T,C;...",
    **parsed(loads),
    help="Threads and connections of wrk. Default: 32,500;2,32, the reference's and one that queues less.",
)
@click.option(
    "--duration", metavar="TIME", **parsed(seconds), help="Of a warm run. Default: 60s; with --quick 3s."
)
@click.option(
    "--cold-duration",
    metavar="TIME",
    **parsed(seconds),
    help="Of a run that begins with no file in memory; 0 for none. Default: 2s; with --quick 1s.",
)
@click.option(
    "--warm-up", metavar="TIME", **parsed(seconds), help="Before a warm run. Default: 10s; with --quick 1s."
)
@click.option(
    "--repeats",
    type=click.IntRange(min=1),
    help=f"Runs of each row. Default: {REPEATS}; with --quick {QUICK_REPEATS}.",
)
@click.option("--workers", type=click.IntRange(min=1), help="Processes of a server. Default: one per core.")
@click.option(
    "--cache",
    metavar="SIZE",
    default="2GiB",
    show_default=True,
    **parsed(size),
    help="Decoded buckets that a server keeps, in all its processes together, as webknossos does.",
)
@click.option(
    "--server",
    "stack",
    type=click.Choice(["uvicorn", "granian"]),
    default="uvicorn",
    show_default=True,
    help="HTTP stack of fastzarr serve.",
)
@click.option(
    "--soak",
    metavar="TIME",
    **parsed(seconds),
    help="Instead of all this, one long load on the first server and layer, watching its memory: 10m.",
)
@options.out
@click.option("--quick", is_flag=True, help="A small volume and short runs: a few minutes.")
@options.as_json
def serve(
    directory: Path | None,
    image: Path | None,
    labels: Path | None,
    edge: int | None,
    layers: tuple[LayerName, ...] | None,
    storages: tuple[str, ...] | None,
    servers: tuple[str, ...] | None,
    pairs: tuple[tuple[int, int], ...] | None,
    duration: float | None,
    cold_duration: float | None,
    warm_up: float | None,
    repeats: int | None,
    workers: int | None,
    cache: int,
    stack: Literal["uvicorn", "granian"],
    soak: float | None,
    out: Path,
    quick: bool,
    as_json: bool,
) -> None:
    """Servers of volumes. Random buckets of a brain and its atlas, in WKW and in sharded Zarr, by wrk."""
    warm = duration or (QUICK_SECONDS if quick else SECONDS)
    cold = (QUICK_COLD_SECONDS if quick else COLD_SECONDS) if cold_duration is None else cold_duration
    directory = directory or out / "serve-data"
    names = servers or ("fastzarr",)
    used = workers or len(host.allowed_cores())
    settings: dict[str, Any] = {
        "data": str(directory),
        "image": image and str(image),
        "labels": labels and str(labels),
        "edge": edge or (QUICK_EDGE if quick else EDGE),
        "layers": list(layers or LAYERS),
        "storages": list(storages or STORAGES),
        "servers": list(names),
        "loads": [list(pair) for pair in pairs or LOADS],
        "duration": warm,
        "cold_duration": cold,
        "warm_up": (QUICK_WARM_UP if quick else WARM_UP) if warm_up is None else warm_up,
        "repeats": repeats or (QUICK_REPEATS if quick else REPEATS),
        "checks": QUICK_CHECKS if quick else CHECKS,
        "workers": used,
        "cache": cache,
        "server": stack,
        "soak": soak,
        "quick": quick,
        "out": str(out),
        "seed": SEED,
    }
    plan = runner.Plan(
        directory=directory,
        edge=settings["edge"],
        image=image,
        labels=labels,
        storages=tuple(settings["storages"]),
        layers=tuple(settings["layers"]),
        peers=tuple(PEERS[name] for name in names),
        loads=_loads(pairs or LOADS, warm, cold, cached=cache > 0),
        repeats=settings["repeats"],
        warm_up=settings["warm_up"],
        checks=settings["checks"],
        options=ServerOptions(workers=used, cache_bytes=cache, server=stack),
        seed=SEED,
        soak=soak,
        arguments=settings,
        command=shlex.join(["fastzarr", *sys.argv[1:]]),
    )
    saved = out / ("serve-soak.json" if soak else "serve.json")
    click.echo(_announced(plan), err=True)
    try:
        keep_earlier(saved)
        with interruptible(saved), progress_bar() as tell:
            bundle = runner.run(
                plan,
                lambda found: save(found, saved),
                lambda state: tell(state.share, state.turn, ""),
            )
    except BenchmarkError as error:
        raise click.ClickException(str(error)) from error
    show_serving(bundle, saved, out, as_json=as_json)


def show_serving(bundle: Bundle, saved: Path, out: Path, *, as_json: bool) -> None:
    """Write CSV and reports; print the tables and where the files are, or the bundle."""
    table = out / f"{saved.stem}.csv"
    save_csv(bundle, table)
    written = render_serving(saved, out)
    if as_json:
        click.echo(json.dumps(asdict(bundle), indent=1))
        return
    console = Console()
    print_serving(bundle, console)
    for path in dict.fromkeys((saved, table, *written)):
        console.print(str(path), soft_wrap=True, highlight=False)


def _loads(pairs: tuple[tuple[int, int], ...], warm: float, cold: float, *, cached: bool) -> tuple[Load, ...]:
    """The warm loads; with the fewest connections one without caches, and one that begins cold."""
    found = [
        Load(name=f"-t{t} -c{c} -d{warm:g}s", threads=t, connections=c, seconds=warm, temperature="warm")
        for t, c in pairs
    ]
    t, c = min(pairs, key=lambda pair: pair[1])
    if cached:
        name = f"-t{t} -c{c} -d{warm:g}s, no cache"
        load = Load(name=name, threads=t, connections=c, seconds=warm, temperature="warm", cached=False)
        found.append(load)
    if cold:
        name = f"-t{t} -c{c} -d{cold:g}s, cold"
        found.append(Load(name=name, threads=t, connections=c, seconds=cold, temperature="cold"))
    return tuple(found)


def _announced(plan: runner.Plan) -> str:
    """How much there is to do."""
    stored = len(plan.storages) * len(plan.layers)
    what = f"{stored} stored layers of {plan.edge}³ voxels in {plan.directory}, {len(plan.peers)} servers"
    if plan.soak is not None:
        return f"{what}; a load of {plan.soak / 60:.0f} minutes on the first."
    each = sum(load.seconds + 2 + (plan.warm_up if load.temperature == "warm" else 0) for load in plan.loads)
    minutes = stored * len(plan.peers) * (plan.repeats * each + 3) / 60
    return f"{what}: about {minutes:.0f} minutes. An interrupted run keeps what it has."
