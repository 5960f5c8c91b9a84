"""What a node is, as a table to print."""

from __future__ import annotations

from typing import Any


class Info:
    """What a node is; `str` and `repr` give an aligned table."""

    def __init__(self, rows: dict[str, Any]) -> None:
        self.rows = {name: str(value) for name, value in rows.items()}

    def __repr__(self) -> str:
        width = max(map(len, self.rows))
        return "\n".join(f"{name:<{width}} : {value}" for name, value in self.rows.items())


def print_debug_info() -> None:
    """Print versions of Python, fastzarr and the packages it can use, for reports of faults."""
    import platform
    from importlib import metadata

    rows = {"platform": platform.platform(), "python": platform.python_version()}
    names = ("fastzarr", "numpy", "numcodecs", "zstandard", "zlib-ng", "isal", "crc32c")
    optional = ("ml-dtypes", "pcodec", "zfpy", "obstore", "fsspec", "zarr", "xarray", "dask")
    for name in names + optional:
        try:
            rows[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            rows[name] = "not installed"
    print(Info(rows))


def readable(nbytes: float) -> str:
    """Bytes with a unit."""
    for unit in ("B", "KiB", "MiB", "GiB", "TiB"):
        if nbytes < 1024 or unit == "TiB":
            break
        nbytes /= 1024
    return f"{nbytes:.4g} {unit}"
