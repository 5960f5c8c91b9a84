"""The command `fastzarr`."""

import importlib.util
import sys

try:
    import click

    from fastzarr.cli.lazy import Lazy, LazyGroup
except ModuleNotFoundError as missing:
    if (missing.name or "").partition(".")[0] == "fastzarr":
        raise
    sys.exit(
        f"fastzarr: the command needs {missing.name}, which is not installed: pip install 'fastzarr[cli]'"
    )


def _bench(module: str, attribute: str, text: str) -> Lazy:
    return Lazy(module=module, attribute=attribute, extra="bench", help=text)


BENCH = {
    "compat": _bench("compat", "compat", "Write with every library, read with every library, and compare."),
    "cutouts": _bench("layouts", "cutouts", "Read cubes at random places."),
    "report": _bench(
        "report", "report_command", "Make table, plots and HTML again from a saved results file."
    ),
    "sequential": _bench("sequential", "sequential", "Write arrays step by step, sync, and read them back."),
    "serve": _bench("serve_bench", "serve", "Serve volumes, WKW against sharded Zarr, and ask for buckets."),
    "small-chunks": _bench("layouts", "small_chunks", "Write and read many small chunks."),
    "threads": _bench("threads", "threads", "Write and read with more and more threads."),
    "whole-array": _bench("layouts", "whole_array", "Write and read whole arrays."),
    "wkw": _bench("wkw_bench", "wkw", "Read cubes of WKW, beside the wkw wheel and sharded Zarr."),
}

COMMANDS = {
    "convert": Lazy(
        module="convert", attribute="convert", extra="convert", help="Convert between WKW, Zarr and NIfTI."
    ),
    "serve": Lazy(
        module="serve", attribute="serve", extra="serve", help="Serve the volumes in a directory over HTTP."
    ),
}


def _there(commands: dict[str, Lazy]) -> dict[str, Lazy]:
    return {
        name: lazy
        for name, lazy in commands.items()
        if importlib.util.find_spec(f"fastzarr.cli.{lazy.module}") is not None
    }


@click.group(cls=LazyGroup, commands=_there(COMMANDS))
@click.version_option(package_name="fastzarr")
def main() -> None:
    """Zarr at the speed of the disk, and the benchmark that proves it."""


@main.group(cls=LazyGroup, commands=_there(BENCH))
def bench() -> None:
    """Every Zarr library reachable from Python, beside the limits of this machine."""
