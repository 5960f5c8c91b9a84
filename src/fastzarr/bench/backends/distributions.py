"""Is a distribution installed, new enough, and does it import?"""

import importlib
import importlib.metadata

from packaging.version import Version


def missing(distribution: str, minimum: str, module: str) -> str | None:
    """Why `module` of `distribution`, `minimum` or newer, cannot be used, with the remedy; None if it can."""
    remedy = f"pip install '{distribution}>={minimum}'"
    try:
        found = importlib.metadata.version(distribution)
    except importlib.metadata.PackageNotFoundError:
        return f"{distribution} is not installed; {remedy}"
    if Version(found) < Version(minimum):
        return f"{distribution} {found} is installed, {minimum} or newer is needed; {remedy}"
    try:
        importlib.import_module(module)
    except ImportError as error:
        reinstall = f"pip install --force-reinstall '{distribution}>={minimum}'"
        return f"{distribution} {found} is installed but {module} does not import: {error}; {reinstall}"
    return None
