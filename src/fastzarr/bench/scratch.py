"""Where arrays are written, and that nothing of them is left."""

import atexit
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from fastzarr.bench.workloads import sequential


@contextmanager
def directory(parent: Path) -> Iterator[Path]:
    """A directory below `parent`, removed after use; after an error once more at exit, until it stays away,
    because a library that was interrupted may write on in threads until then.
    """
    made = Path(tempfile.mkdtemp(prefix="fastzarr-bench-", dir=parent))
    try:
        yield made
    except BaseException:
        atexit.register(_remove_for_good, made)
        raise
    finally:
        shutil.rmtree(made, ignore_errors=True)


def _remove_for_good(made: Path) -> None:
    quiet, end = 0, time.monotonic() + 30
    while quiet < 5 and time.monotonic() < end:
        quiet = 0 if made.exists() else quiet + 1
        shutil.rmtree(made, ignore_errors=True)
        time.sleep(0.05)


@contextmanager
def place(path: Path) -> Iterator[Path]:
    """Where a backend stores one array; it is removed, and the file system waited for, so that the next run
    does not pay for it. After an error, what a thread still writes stays until the end of the run.
    """
    try:
        yield path
    except BaseException:
        remove(path, ignore_errors=True)
        raise
    remove(path)
    sequential.sync(path)


def remove(path: Path, *, ignore_errors: bool = False) -> None:
    """Remove a file, or a directory with all below it, if there is one."""
    if path.is_file():
        path.unlink()
    elif path.exists():
        shutil.rmtree(path, ignore_errors)
