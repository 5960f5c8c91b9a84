"""`fastzarr serve`."""

from __future__ import annotations

import json
import logging
import os
import sys
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from typing import Any

import click
from rich.console import Console

from fastzarr.cli.served import print_started
from fastzarr.cli.sizes import Size
from fastzarr.serve import server
from fastzarr.serve.catalogue import Catalogue
from fastzarr.serve.errors import CatalogueError, ServerError
from fastzarr.serve.settings import Settings

UNBOUNDED = 100_000
"""Columns of what is no terminal; the table takes what it needs of them."""

DEFAULTS = {field.name: field.default for field in fields(Settings)}


def _shown(name: str) -> str:
    """The default of a setting in bytes, for people."""
    value = DEFAULTS[name]
    assert isinstance(value, int)
    for unit, shift in (("GiB", 30), ("MiB", 20), ("KiB", 10)):
        if value and value % (1 << shift) == 0:
            return f"{value >> shift} {unit}"
    return f"{value} bytes"


def _limit(
    flag: str, name: str, text: str, kind: Any
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    shown = _shown(name) if isinstance(kind, Size) else f"{DEFAULTS[name]:g}"
    return click.option(flag, name, type=kind, default=DEFAULTS[name], help=f"{text} Default: {shown}.")


COUNT = click.IntRange(min=1)
SECONDS = click.FloatRange(min=0.1)


@click.command()
@click.argument("source", metavar="DIR|CATALOGUE.toml", type=click.Path(path_type=Path))
@click.option("--port", type=click.IntRange(0, 65535), default=8080, show_default=True, help="0: a free one.")
@click.option("--bind", metavar="ADDRESS", default="127.0.0.1", show_default=True, help="0.0.0.0: all.")
@click.option("--workers", type=COUNT, default=1, show_default=True, help="Processes that answer.")
@click.option("--server", type=click.Choice(("uvicorn", "granian")), default="uvicorn", show_default=True)
@_limit("--cache", "cache_bytes", "Memory for decoded buckets, per process; 0 for none.", Size())
@click.option(
    "--token",
    envvar="FASTZARR_TOKEN",
    show_envvar=True,
    default="",
    help="What clients must show. Others on this machine can see the command line: rather the variable.",
)
@click.option(
    "--token-file",
    type=click.Path(dir_okay=False, path_type=Path),
    help="A file whose first line is the token.",
)
@click.option(
    "--cors", metavar="ORIGIN", multiple=True, help="A site whose pages may read; '*' for any. Repeat."
)
@click.option("--allow-host", "hosts", metavar="NAME", multiple=True, help="A name of this server. Repeat.")
@click.option("--public-url", metavar="URL", default="", help="What it is reached by behind a proxy.")
@click.option("--access-log", is_flag=True, help="A line per request on stdout.")
@click.option(
    "--threads", type=COUNT, default=DEFAULTS["threads"], help="For requests that wait, per process."
)
@_limit("--max-body", "max_body_bytes", "Of a request.", Size())
@_limit("--max-buckets", "max_buckets", "In one request.", COUNT)
@_limit("--max-cuboid", "max_cuboid_edge", "Voxels along each axis of a cutout.", COUNT)
@_limit("--max-response", "max_response_bytes", "Of one answer made in memory.", Size())
@_limit("--max-in-flight", "max_bytes_in_flight", "Of all answers under way, per process.", Size())
@_limit("--max-requests", "max_requests", "Answered at once, per process.", COUNT)
@_limit("--max-connections", "max_connections", "Open at once, per process.", COUNT)
@_limit("--read-timeout", "read_timeout", "Seconds for a request to arrive.", SECONDS)
@_limit("--idle-timeout", "idle_timeout", "Seconds between requests on a connection.", SECONDS)
@_limit("--write-timeout", "write_timeout", "Seconds that a client may take nothing of an answer.", SECONDS)
@_limit("--handler-timeout", "handler_timeout", "Seconds for an answer to be made.", SECONDS)
@click.option("--json", "as_json", is_flag=True, help="Say where it listens as one line of JSON.")
def serve(source: Path, token: str, token_file: Path | None, as_json: bool, **given: Any) -> None:
    """Serve every volume in DIR, or listed in CATALOGUE.toml, over HTTP.

    Buckets and cutouts as webknossos asks for them, Zarr for every client that reads it over HTTP, and
    pages to look at the data.
    """
    logging.basicConfig(format="%(asctime)s %(levelname)s %(message)s", stream=sys.stderr)
    if token_file is not None:
        token = _token(token_file)
    try:
        settings = Settings(source=source, token=_checked(token), **given)
        catalogue = Catalogue.of_toml(source) if source.is_file() else Catalogue.of_directory(source)
        if not catalogue.datasets:
            raise CatalogueError("; ".join(catalogue.problems) or f"{source}: no datasets found")
        with server.listen(settings) as listener:
            address, port = listener.getsockname()[:2]
            root = settings.public_url or f"http://{_host(address)}:{port}"
            if as_json:
                click.echo(
                    json.dumps({"url": root, "pid": os.getpid(), "datasets": list(catalogue.datasets)})
                )
            else:
                width = None if sys.stdout.isatty() else UNBOUNDED
                print_started(root, catalogue, settings, Console(width=width), Console(stderr=True))
            sys.stdout.flush()
            del catalogue
            server.run(settings, listener)
    except (CatalogueError, ServerError) as failure:
        click.echo(f"fastzarr: {failure}", err=True)
        sys.exit(1)
    except KeyboardInterrupt:
        pass


def _host(address: str) -> str:
    """An address to open: that of this machine where all are listened on."""
    if address in ("0.0.0.0", "::"):
        return "localhost"
    return f"[{address}]" if ":" in address else address


def _token(path: Path) -> str:
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as failure:
        raise click.BadParameter(f"{path} can't be read: {failure}", param_hint="--token-file") from failure
    if not lines or not lines[0].strip():
        raise click.BadParameter(
            f"the first line of {path} is empty, expected the token", param_hint="--token-file"
        )
    return lines[0].strip()


def _checked(token: str) -> str:
    if token and not (token.isascii() and token.isprintable() and " " not in token):
        raise click.BadParameter("expected printable ASCII without spaces", param_hint="--token")
    return token
