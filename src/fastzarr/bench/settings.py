"""What the settings of a run may be, and what they are when nothing is said.

Each parser raises BenchmarkError with the value found and what is allowed; the caller adds the flag's name.
"""

from collections.abc import Iterable
from typing import TypeVar, get_args

from fastzarr.bench.backends.base import Backend, CodecName
from fastzarr.bench.backends.registry import BACKENDS
from fastzarr.bench.cases import DEFAULT_LEVELS, HIGHEST_LEVELS, CodecLevel, Repeats, ZarrFormat
from fastzarr.bench.errors import BenchmarkError

Size = tuple[int, int, int, int]
"""(Nx, Ny, Nz, Nt)."""

SIZES: tuple[Size, ...] = (
    (64, 64, 16, 50),
    (128, 128, 16, 50),
    (128, 128, 32, 50),
    (256, 256, 16, 50),
    (256, 256, 32, 50),
    (256, 256, 64, 50),
    (512, 512, 32, 50),
    (512, 512, 64, 20),
    (512, 512, 64, 50),
)
"""Chunks of 256 KiB to 64 MiB, arrays of 12.5 MiB to 3.1 GiB."""

QUICK_SIZES: tuple[Size, ...] = ((64, 64, 16, 32), (256, 256, 16, 8), (256, 256, 64, 4))
"""Chunks of 256 KiB, 4 MiB and 16 MiB, arrays of 8 to 64 MiB."""

CODECS: tuple[CodecLevel, ...] = tuple(DEFAULT_LEVELS.items())
QUICK_CODECS: tuple[CodecLevel, ...] = (("none", 0), ("zstd", 3))
FORMATS: tuple[ZarrFormat, ...] = (2, 3)
QUICK_FORMATS: tuple[ZarrFormat, ...] = (3,)
REPEATS = Repeats(usual=3, small=5)
KEEPBITS = 10
SEED = 1


def sizes(text: str) -> tuple[Size, ...]:
    """`Nx,Ny,Nz,Nt;Nx,Ny,Nz,Nt;...`."""
    return _unique(_size(part) for part in text.split(";") if part.strip())


def codecs(text: str) -> tuple[CodecLevel, ...]:
    """`none,zstd,blosc:9,...`: names, each with its level after a colon or at its default."""
    return _unique(_codec(part.strip()) for part in text.split(",") if part.strip())


def backends(text: str) -> tuple[Backend, ...]:
    """Names of backends, separated by commas; in the order of the registry."""
    asked = _unique(part.strip() for part in text.split(",") if part.strip())
    for name in asked:
        if name not in BACKENDS:
            raise BenchmarkError(f"got backend {name!r}, expected some of {','.join(BACKENDS)}")
    return tuple(backend for name, backend in BACKENDS.items() if name in asked)


def formats(text: str) -> tuple[ZarrFormat, ...]:
    """`2`, `3` or `2,3`."""
    allowed: dict[str, ZarrFormat] = {"2": 2, "3": 3}
    asked = _unique(part.strip() for part in text.split(",") if part.strip())
    for part in asked:
        if part not in allowed:
            raise BenchmarkError(f"got {part!r}, expected 2, 3 or 2,3")
    return tuple(allowed[part] for part in asked)


def _size(text: str) -> Size:
    numbers = [part.strip() for part in text.split(",")]
    if len(numbers) != 4 or not all(number.isdecimal() and int(number) for number in numbers):
        raise BenchmarkError(
            f"got {text!r}, expected four whole numbers from 1 as Nx,Ny,Nz,Nt, more sizes after ';', "
            f"such as '64,64,16,50;128,128,16,50'"
        )
    nx, ny, nz, nt = map(int, numbers)
    return nx, ny, nz, nt


def _codec(text: str) -> CodecLevel:
    name, colon, level = text.partition(":")
    codec = next((known for known in get_args(CodecName) if known == name), None)
    if codec is None:
        raise BenchmarkError(f"got codec {name!r}, expected some of {','.join(get_args(CodecName))}")
    if not colon:
        return codec, DEFAULT_LEVELS[codec]
    highest = HIGHEST_LEVELS[codec]
    if not (level.isdecimal() and 1 <= int(level) <= highest):
        allowed = f"a whole number from 1 to {highest}" if highest else "no level"
        raise BenchmarkError(f"got level {level!r} for codec {name}, expected {allowed}")
    return codec, int(level)


T = TypeVar("T")


def _unique(items: Iterable[T]) -> tuple[T, ...]:
    found = tuple(dict.fromkeys(items))
    if not found:
        raise BenchmarkError("got nothing, expected at least one value")
    return found
