"""The compiled kernel is there where it can be compiled, and fastzarr works the same without it."""

import importlib
import json
import os
import shlex
import subprocess
import sys
import sysconfig
from pathlib import Path

import numpy as np
import pytest

import fastzarr

VALUES = np.arange(40 * 50, dtype="<i4").reshape(40, 50)

LAYOUTS = {
    "plain": {"chunks": (8, 16), "compressors": None},
    "zstd": {"chunks": (8, 16)},
    "sharded": {"chunks": (8, 8), "shards": (16, 32), "compressors": None},
}

WITHOUT_KERNEL = """
import json, sys
sys.modules["fastzarr._kernel"] = None
import fastzarr, numpy as np
root, layouts, values = sys.argv[1], json.loads(sys.argv[2]), np.load(sys.argv[3])
for name, layout in layouts.items():
    theirs = fastzarr.open_array(f"{root}/with/{name}", mode="r")
    assert (theirs[:] == values).all() and (theirs[3:33, 5:] == values[3:33, 5:]).all(), name
    ours = fastzarr.create_array(f"{root}/without/{name}", shape=values.shape, dtype=values.dtype, **layout)
    ours[:] = values
    assert (ours[:] == values).all(), name
try:
    from fastzarr import _kernel
except ImportError:
    print("without the kernel")
"""


def why_not_compiled() -> str | None:
    """What is missing to compile an extension, as the package's build would do it."""
    if os.name != "posix":
        return "the kernel is for POSIX systems"
    compiler = shlex.split(os.environ.get("CC") or sysconfig.get_config_var("CC") or "cc")
    command = [*compiler, f"-I{sysconfig.get_path('include')}", "-fsyntax-only", "-x", "c", "-"]
    try:
        run = subprocess.run(command, input="#include <Python.h>\n", capture_output=True, text=True)
    except OSError as error:
        return f"no C compiler: {error}"
    return f"{compiler[0]} can't compile with Python.h: {run.stderr}" if run.returncode else None


def files(root: Path) -> dict[str, bytes]:
    return {str(p.relative_to(root)): p.read_bytes() for p in root.rglob("*") if p.is_file()}


def test_kernel_is_compiled_where_it_can_be() -> None:
    if reason := why_not_compiled():
        pytest.skip(reason)
    assert importlib.import_module("fastzarr._kernel").__file__.endswith(".so")


def test_without_the_kernel_arrays_are_read_and_stored_the_same(tmp_path: Path) -> None:
    for name, layout in LAYOUTS.items():
        array = fastzarr.create_array(
            tmp_path / "with" / name, shape=VALUES.shape, dtype=VALUES.dtype, **layout
        )
        array[:] = VALUES
    np.save(tmp_path / "values.npy", VALUES)
    arguments = [str(tmp_path), json.dumps(LAYOUTS), str(tmp_path / "values.npy")]
    run = subprocess.run(
        [sys.executable, "-W", "error", "-c", WITHOUT_KERNEL, *arguments], capture_output=True, text=True
    )
    assert (run.stdout, run.stderr) == ("without the kernel\n", "")
    assert files(tmp_path / "without") == files(tmp_path / "with")
    for name in LAYOUTS:
        assert (fastzarr.open_array(tmp_path / "without" / name, mode="r")[:] == VALUES).all()
