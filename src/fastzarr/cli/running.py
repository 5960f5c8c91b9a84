"""What every run of the benchmark shows and keeps: progress, interruption, the results of earlier runs."""

import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path

import click
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

Tell = Callable[[float, str, str], None]
"""Takes the share done, from 0 to 1; the case; and who is at it."""


@contextmanager
def progress_bar() -> Iterator[Tell]:
    """Progress on stderr: a bar with the time remaining, or a line per case where that is no terminal.

    SIGTERM is KeyboardInterrupt from now on.
    """
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    console = Console(stderr=True)
    columns = (BarColumn(20), TaskProgressColumn(), TimeRemainingColumn(), TextColumn("{task.description}"))
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task("", total=1.0)
        told = ""

        def tell(share: float, case: str, turn: str) -> None:
            nonlocal told
            bar.update(task, completed=share, description=f"{case}: {turn}" if turn else case)
            if case != told and not console.is_terminal:
                click.echo(case, err=True)
            told = case

        yield tell


@contextmanager
def interruptible(saved: Path, goes_on: str = "") -> Iterator[None]:
    """Leave with 130 where the run is interrupted, and say what is kept; `goes_on` ends the sentence."""
    try:
        yield
    except KeyboardInterrupt:
        click.echo(
            f"Interrupted. What was measured is in {saved}: "
            f"'fastzarr bench report {saved}' shows it{goes_on}.",
            err=True,
        )
        sys.exit(130)


def keep_earlier(saved: Path) -> None:
    """Give the results of an earlier run a name of their own."""
    if saved.exists():
        when = datetime.fromtimestamp(saved.stat().st_mtime).strftime("%Y%m%d-%H%M%S")
        kept = saved.with_name(f"{saved.stem}-{when}{saved.suffix}")
        saved.replace(kept)
        click.echo(f"The results of an earlier run are kept in {kept}.", err=True)
