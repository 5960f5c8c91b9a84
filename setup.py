"""The compiled kernel; all else about the package is in pyproject.toml."""

import os
import sysconfig
from pathlib import Path

from setuptools import Extension, setup

# One build for every Python from 3.11 on, except for the free-threaded ones, which have no limited API yet.
free_threaded = bool(sysconfig.get_config_var("Py_GIL_DISABLED"))

kernel = Extension(
    "fastzarr._kernel",
    ["src/fastzarr/kernel/module.c"],
    depends=[str(header) for header in sorted(Path("src/fastzarr/kernel").glob("*.h"))],
    extra_compile_args=["-O3", "-std=c11", "-fvisibility=hidden", "-Wall", "-Wextra"],
    # The source asks for it before Python.h can say so.
    define_macros=[("Py_GIL_DISABLED", "1")] if free_threaded else [],
    py_limited_api=not free_threaded,
    # Where it can't be compiled, fastzarr is installed without it.
    optional=True,
)

setup(
    ext_modules=[kernel] if os.name == "posix" else [],
    options={} if free_threaded else {"bdist_wheel": {"py_limited_api": "cp311"}},
)
