"""What `fastzarr serve` says when it starts."""

from __future__ import annotations

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from fastzarr.serve.catalogue import Catalogue
from fastzarr.serve.settings import Settings

MOST_ROWS = 40


def print_started(
    root: str, catalogue: Catalogue, settings: Settings, console: Console, remarks: Console
) -> None:
    """Where it listens, what it has, and what to look out for."""
    token = "/?token=…" if settings.token else "/"
    console.print(f"[bold]{escape(root)}[/bold]{token}", highlight=False, soft_wrap=True)
    table = Table(box=None, header_style="dim", padding=(0, 2, 0, 0))
    for title in ("dataset", "kind", "layer", "size", "type", "magnifications"):
        table.add_column(title, overflow="fold")
    left = 0
    for dataset in catalogue.datasets.values():
        if table.row_count >= MOST_ROWS:
            left += 1
            continue
        first: tuple[str, str] = (escape(dataset.name), dataset.kind)
        for layer in dataset.layers.values():
            size = " × ".join(map(str, layer.bounding_box.size))
            kind = layer.dtype.name if layer.channels == 1 else f"{layer.channels} × {layer.dtype.name}"
            mags = ", ".join(
                "-".join(map(str, mag)) if len(set(mag)) > 1 else str(mag[0]) for mag in layer.mags
            )
            table.add_row(*first, escape(layer.name), size, kind, mags)
            first = ("", "")
        if not dataset.layers:
            table.add_row(
                *first, "–", "", "", "stored keys only" if not dataset.problems else "can't be opened"
            )
    console.print(table)
    if left:
        console.print(f"and {left} more", highlight=False)
    for remark in _remarks(catalogue, settings):
        remarks.print(f"[yellow]{escape(remark)}[/yellow]", highlight=False, soft_wrap=True)


def _remarks(catalogue: Catalogue, settings: Settings) -> list[str]:
    found = [f"{dataset.name}: {p}" for dataset in catalogue.datasets.values() for p in dataset.problems]
    found += catalogue.problems
    if settings.bind not in ("127.0.0.1", "::1", "localhost") and not settings.token:
        found.append(f"Whoever reaches {settings.bind} can read all of this; --token-file asks for a token.")
    if "*" in settings.cors and not settings.token:
        found.append("With --cors '*' every page open in a browser here can read all of this.")
    return found
