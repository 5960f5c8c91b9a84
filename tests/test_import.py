"""Importing fastzarr, and what is for it alone, loads nothing that is not needed yet."""

import subprocess
import sys

import pytest

HEAVY = (
    *("numcodecs", "zstandard", "zlib_ng", "isal", "crc32c", "concurrent.futures", "multiprocessing"),
    *("zipfile", "obstore", "fsspec"),
    *("logging", "asyncio", "tensorstore", "zarr", "click", "rich", "matplotlib", "hypothesis", "pytest"),
)


def loaded_after(program: str) -> set[str]:
    """Modules beyond those of `import numpy`."""
    code = f"import numpy, sys; before = set(sys.modules)\n{program}\nprint(*(set(sys.modules) - before))"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(run.stdout.split())


def test_import_loads_no_heavy_module() -> None:
    loaded = loaded_after("import fastzarr")
    assert "fastzarr.chunk_io" in loaded
    assert not loaded & set(HEAVY)


def test_import_starts_no_thread() -> None:
    program = "import threading, fastzarr; assert threading.active_count() == 1"
    subprocess.run([sys.executable, "-c", program], check=True)


@pytest.mark.parametrize("module", ["fastzarr.hierarchy.array", "fastzarr.codecs", "fastzarr.stores"])
def test_parts_can_be_imported_first(module: str) -> None:
    assert not loaded_after(f"import {module}") & set(HEAVY)


def test_codecs_load_what_they_need_when_an_array_is_made() -> None:
    uncompressed = loaded_after(
        "import fastzarr; fastzarr.create_array({}, shape=1, dtype='i4', compressors=None)"
    )
    assert not uncompressed & set(HEAVY)
    assert "zstandard" in loaded_after("import fastzarr; fastzarr.create_array({}, shape=1, dtype='i4')")
