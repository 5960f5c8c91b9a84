"""Options that several commands have, and how their values are read."""

import shlex
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import click

from fastzarr.bench.errors import BenchmarkError

Decorator = Callable[[Any], Any]


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


def setting(flag: str, variable: str, **attributes: Any) -> Decorator:
    """An option whose default an environment variable may give; errors name both."""
    return click.option(flag, envvar=variable, show_envvar=True, **attributes)


def backends(known: Iterable[str]) -> Decorator:
    """`--backends`: some names of `known`, in its order."""
    names = tuple(known)

    def chosen(text: str) -> tuple[str, ...]:
        asked = [part.strip() for part in text.split(",") if part.strip()]
        if not asked:
            raise BenchmarkError("got nothing, expected at least one value")
        for name in asked:
            if name not in names:
                raise BenchmarkError(f"got backend {name!r}, expected some of {','.join(names)}")
        return tuple(name for name in names if name in asked)

    return setting(
        "--backends",
        "ZS_BACKENDS",
        metavar="NAMES",
        **parsed(chosen),
        help=f"Of {', '.join(names)}. Default: all.",
    )


def directory(default: Any = ".", show_default: bool | str = True) -> Decorator:
    """`--dir`."""
    return click.option(
        "--dir",
        "directory",
        type=click.Path(file_okay=False, writable=True, path_type=Path),
        callback=there,
        default=default,
        show_default=show_default,
        help="Where arrays are written, and removed again: an existing directory on the disk to measure.",
    )


out = click.option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    default="results",
    show_default=True,
    help="Where results and reports go.",
)

as_json = click.option("--json", "as_json", is_flag=True, help="Print the results as JSON, and nothing else.")
