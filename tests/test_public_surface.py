"""The public surface is a reviewed snapshot: `python tests/test_public_surface.py` writes it anew."""

import difflib
import inspect
from collections.abc import Iterable, Iterator
from enum import Enum
from pathlib import Path

import fastzarr
import fastzarr.volumes
import fastzarr.wkw

SNAPSHOT = Path(__file__).with_name("public_surface.txt")

UNREMARKABLE = {*dir(object), "__post_init__", "__replace__", "__annotate__", "__annotate_func__"}
"""Special methods that every object has, or that `dataclass` and the interpreter add."""


def signature(call: object) -> str:
    """Parameters and defaults; annotations are left to mypy, their text varies between versions."""
    bare = inspect.signature(call)  # type: ignore[arg-type]
    kept = [parameter.replace(annotation=inspect.Parameter.empty) for parameter in bare.parameters.values()]
    return str(inspect.Signature(kept))


def members(kind: type) -> Iterator[str]:
    """Public members that fastzarr itself defines, inherited ones included."""
    for name, member in inspect.getmembers_static(kind):
        owner = next(base for base in kind.__mro__ if name in vars(base) or base is object)
        special = name.startswith("__") and callable(member) and name not in UNREMARKABLE
        if not owner.__module__.startswith("fastzarr") or (name.startswith("_") and not special):
            continue
        if isinstance(member, property):
            yield f"    {name}{' (settable)' if member.fset else ''}"
        elif callable(called := getattr(kind, name)):
            yield f"    {name}{signature(called)}"
        else:
            yield f"    {name}"


def described(prefix: str, names: Iterable[str], owner: object) -> Iterator[str]:
    """One line per public name, and one per member of a public class or module."""
    for name in sorted(names):
        found = getattr(owner, name)
        if inspect.ismodule(found):
            defined = (
                n for n, value in vars(found).items() if getattr(value, "__module__", "") == found.__name__
            )
            yield f"module {prefix}{name}"
            yield from described(f"{prefix}{name}.", getattr(found, "__all__", defined), found)
        elif isinstance(found, type) and issubclass(found, BaseException | Enum):
            yield f"class {prefix}{name}({', '.join(base.__name__ for base in found.__bases__)})"
            if issubclass(found, Enum):
                yield from (f"    {member}" for member in found.__members__)
        elif isinstance(found, type):
            yield f"class {prefix}{name}{signature(found)}"
            yield from members(found)
        else:
            yield f"{prefix}{name}{signature(found) if inspect.isroutine(found) else ''}"


def surface() -> str:
    lines = [*described("", fastzarr.__all__, fastzarr)]
    for module in (fastzarr.wkw, fastzarr.volumes):
        lines += described(f"{module.__name__.removeprefix('fastzarr.')}.", module.__all__, module)
    return "\n".join(lines) + "\n"


def test_public_surface_is_the_snapshot() -> None:
    changes = list(
        difflib.unified_diff(
            SNAPSHOT.read_text().splitlines(), surface().splitlines(), "snapshot", "now", lineterm=""
        )
    )
    assert not changes, "\n".join(
        [*changes, "intended? python tests/test_public_surface.py, and a changelog entry"]
    )


def test_every_public_name_is_documented() -> None:
    bare = [
        name for name in fastzarr.__all__ if not name.startswith("__") and not getattr(fastzarr, name).__doc__
    ]
    assert not bare


if __name__ == "__main__":
    SNAPSHOT.write_text(surface())
