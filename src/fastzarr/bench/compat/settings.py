"""What the command line of the matrix may say, checked."""

from collections.abc import Sequence

from fastzarr.bench.compat.cases import CODECS, CodecName
from fastzarr.bench.compat.implementations import SOURCES, Source, given
from fastzarr.bench.errors import BenchmarkError

QUICK_CODECS: tuple[CodecName, ...] = ("none", "zstd")


def codecs(text: str) -> tuple[str, ...]:
    """Names between commas, each of `CODECS`."""
    return _chosen("--codecs", text, CODECS)


def sources(arguments: Sequence[str]) -> tuple[Source, ...]:
    """Who can take part: what is shipped, and each `NAME=COMMAND` of `arguments`."""
    found = dict(SOURCES)
    for argument in arguments:
        source = given(argument)
        if source.name in found:
            raise BenchmarkError(f"--backend: got the name {source.name!r}, which is taken; choose another")
        found[source.name] = source
    return tuple(found.values())


def names(flag: str, text: str | None, known: Sequence[Source]) -> tuple[str, ...]:
    """The names of `flag`, in the order of `known`; all of them where it is not given."""
    allowed = tuple(source.name for source in known)
    return allowed if text is None else _chosen(flag, text, allowed)


def _chosen(flag: str, text: str, allowed: Sequence[str]) -> tuple[str, ...]:
    wanted = {name.strip() for name in text.split(",")}
    unknown = sorted(wanted - set(allowed))
    if unknown:
        raise BenchmarkError(f"{flag}: got {unknown[0]!r}, expected names of {', '.join(allowed)}")
    return tuple(name for name in allowed if name in wanted)
