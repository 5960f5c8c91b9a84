"""Run tests on a kernel with address and undefined-behaviour sanitizers: `make sanitize`.

The kernel is compiled into a copy of the package, `build/sanitize`, which is found before the installed one.
Arguments are those of pytest; without any, the tests of the kernel and of what is built on it run. This
module is a plugin of that pytest too, and refuses to begin on any other kernel.
"""

import os
import shlex
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

PROJECT = Path(__file__).parents[1]
TREE = PROJECT / "build" / "sanitize"
KERNEL = TREE / "fastzarr" / "_kernel.abi3.so"
TESTS = ("test_kernel*.py", "test_bytes_path.py", "test_sharding.py", "test_concurrency.py")
COMPILER = shlex.split(os.environ.get("CC") or sysconfig.get_config_var("CC"))
FLAGS = (
    *("-std=c11", "-O1", "-g", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC"),
    *("-fsanitize=address,undefined", "-fno-sanitize-recover=undefined", "-fno-omit-frame-pointer"),
)


def library(name: str) -> str:
    """Where the compiler has a shared library."""
    run = subprocess.run([*COMPILER, f"-print-file-name={name}"], capture_output=True, text=True, check=True)
    path = run.stdout.strip()
    if not Path(path).is_absolute():
        sys.exit(f"{COMPILER[0]} has no {name}, expected the one of its sanitizers: install it (gcc has it)")
    return path


def build() -> None:
    shutil.rmtree(TREE, ignore_errors=True)
    compiled = shutil.ignore_patterns("*.so", "__pycache__")
    shutil.copytree(PROJECT / "src" / "fastzarr", TREE / "fastzarr", ignore=compiled)
    headers = f"-I{sysconfig.get_path('include')}"
    source = TREE / "fastzarr" / "kernel" / "module.c"
    subprocess.run([*COMPILER, *FLAGS, headers, str(source), "-o", str(KERNEL)], check=True)


def pytest_configure(config: pytest.Config) -> None:
    from fastzarr import _kernel

    if Path(_kernel.__file__) != KERNEL or b"__asan_init" not in KERNEL.read_bytes():
        raise pytest.UsageError(f"the kernel is {_kernel.__file__}, expected a sanitized {KERNEL}")


def main(arguments: list[str]) -> int:
    # The C++ runtime as well: the sanitizer looks for its functions before a library of the tests loads it.
    preloaded = f"{library('libasan.so')} {library('libstdc++.so')}"
    build()
    environment = os.environ | {
        "LD_PRELOAD": preloaded,
        "PYTHONPATH": os.pathsep.join((str(TREE), str(Path(__file__).parent))),
        # Python's own allocator would hide what lies behind a small object.
        "PYTHONMALLOC": "malloc",
        # CPython leaves memory at its end.
        "ASAN_OPTIONS": "detect_leaks=0",
        "FASTZARR_KERNEL": "1",
        "UBSAN_OPTIONS": "halt_on_error=1:print_stacktrace=1",
    }
    tests = [str(path) for name in TESTS for path in sorted(Path(__file__).parent.glob(name))]
    # The capture of file descriptors would swallow the reports.
    command = [sys.executable, "-m", "pytest", "-p", "sanitize", "--capture=sys", *(arguments or tests)]
    return subprocess.run(command, env=environment, cwd=PROJECT).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
