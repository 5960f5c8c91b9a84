"""Groups of commands that are loaded when they are called: each needs the libraries of its own extra only."""

from __future__ import annotations

import importlib
import sys
from dataclasses import dataclass

import click


@dataclass(frozen=True, kw_only=True)
class Lazy:
    """Where a command is, and what it needs."""

    module: str
    """Module below `fastzarr.cli`."""
    attribute: str
    extra: str
    """Extra of the distribution with the libraries it needs."""
    help: str
    """One line for the list of commands."""


class LazyGroup(click.Group):
    """A group whose commands are imported one by one."""

    def __init__(self, *args: object, commands: dict[str, Lazy], **attributes: object) -> None:
        super().__init__(*args, **attributes)  # type: ignore[arg-type]
        self._lazy = commands

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted({*self._lazy, *self.commands})

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        lazy = self._lazy.get(cmd_name)
        if lazy is not None and cmd_name not in self.commands:
            self.add_command(_load(lazy), cmd_name)
        return super().get_command(ctx, cmd_name)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        texts = {name: lazy.help for name, lazy in self._lazy.items()}
        texts |= {name: command.get_short_help_str(200) for name, command in self.commands.items()}
        with formatter.section("Commands"):
            formatter.write_dl(sorted(texts.items()))


def _load(lazy: Lazy) -> click.Command:
    try:
        module = importlib.import_module(f"fastzarr.cli.{lazy.module}")
    except ModuleNotFoundError as missing:
        library = (missing.name or "").partition(".")[0]
        if library == "fastzarr":
            raise
        sys.exit(
            f"fastzarr: the command needs {library}, which is not installed: "
            f"pip install 'fastzarr[{lazy.extra}]'"
        )
    command: click.Command = getattr(module, lazy.attribute)
    return command
