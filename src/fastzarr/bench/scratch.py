"""Where arrays are written, and that nothing of them is left."""

import atexit
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from fastzarr.bench.workloads import sequential


@contextmanager
def directory(parent: Path) -> Iterator[Path]:
    """A directory below `parent`, removed after use; once more at exit, because a library that was
    interrupted may write on in a thread until then.
    """
    with tempfile.TemporaryDirectory(
        prefix="fastzarr-bench-", dir=parent, ignore_cleanup_errors=True
    ) as made:
        atexit.register(shutil.rmtree, made, ignore_errors=True)
        yield Path(made)


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
