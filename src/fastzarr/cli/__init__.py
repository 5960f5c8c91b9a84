"""The command `fastzarr`."""

import sys

try:
    import click

    from fastzarr.cli.compat import compat
    from fastzarr.cli.layouts import COMMANDS
    from fastzarr.cli.report import report_command
    from fastzarr.cli.sequential import sequential
    from fastzarr.cli.threads import threads
except ModuleNotFoundError as missing:
    if (missing.name or "").partition(".")[0] == "fastzarr":
        raise
    sys.exit(
        f"fastzarr: the command needs {missing.name}, which is not installed: pip install 'fastzarr[bench]'"
    )


@click.group()
@click.version_option(package_name="fastzarr")
def main() -> None:
    """Zarr at the speed of the disk, and the benchmark that proves it."""


@main.group()
def bench() -> None:
    """Every Zarr library reachable from Python, beside the limits of this machine."""


for command in (sequential, *COMMANDS, threads, compat, report_command):
    bench.add_command(command)
