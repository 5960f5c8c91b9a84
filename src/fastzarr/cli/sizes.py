"""Numbers of bytes on the command line."""

import re
from typing import Any

import click

UNITS = {"": 0, "K": 10, "KIB": 10, "M": 20, "MIB": 20, "G": 30, "GIB": 30}
"""Powers of two, by the name that they have behind a number."""


class Size(click.ParamType):  # type: ignore[type-arg]
    """A number of bytes: 1048576, 512M, 2GiB."""

    name = "BYTES"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """The number that a text tells."""
        if isinstance(value, int):
            return value
        found = re.fullmatch(r"(\d{1,15})\s*([A-Za-z]*)", str(value).strip())
        if found is None or found[2].upper() not in UNITS:
            self.fail(f"got {value!r}, expected bytes, such as 1048576, 512M or 2GiB", param, ctx)
        return int(found[1]) << UNITS[found[2].upper()]


def readable(nbytes: int) -> str:
    """A number of bytes for people."""
    size, unit = float(nbytes), "B"
    for unit in ("B", "KiB", "MiB", "GiB", "TiB"):
        if size < 1024 or unit == "TiB":
            break
        size /= 1024
    return f"{size:.0f} {unit}" if unit == "B" else f"{size:.1f} {unit}"
