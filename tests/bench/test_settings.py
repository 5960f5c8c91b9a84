"""What the settings may be, and what is said of others."""

from collections.abc import Callable
from typing import Any

import pytest

from fastzarr.bench import settings
from fastzarr.bench.backends.registry import BACKENDS, OWN_SYNC, READERS
from fastzarr.bench.errors import BenchmarkError


def test_every_contender_is_registered_under_its_name() -> None:
    assert list(BACKENDS) == [
        "raw", "raw-chunks", "mmap", "fastzarr", "zarr", "zarr-fused", "zarrs",
        "tensorstore", "tensorstore-sync", "zarrista", "z5py", "acquire-zarr",
    ]  # fmt: skip
    assert all(name == backend.name for name, backend in BACKENDS.items())
    assert {*READERS, *OWN_SYNC} <= set(BACKENDS)


def test_defaults_are_what_their_text_would_give() -> None:
    assert settings.codecs("none,zstd:3,blosc:5,zlib:5") == settings.CODECS
    assert [nx * ny * nz * 4 // 2**10 for nx, ny, nz, _ in settings.SIZES] == [
        256, 1024, 2048, 4096, 8192, 16384, 32768, 65536, 65536,
    ]  # fmt: skip


def test_sizes() -> None:
    assert settings.sizes("64,64,16,50; 8,8,1,2;") == ((64, 64, 16, 50), (8, 8, 1, 2))
    assert settings.sizes("8,8,1,2;8,8,1,2") == ((8, 8, 1, 2),)


def test_codecs() -> None:
    assert settings.codecs("none, zstd,blosc,zlib") == settings.CODECS
    assert settings.codecs("zstd:1,zstd:22") == (("zstd", 1), ("zstd", 22))


def test_backends_keep_the_order_of_the_registry() -> None:
    assert [backend.name for backend in settings.backends("mmap,raw")] == ["raw", "mmap"]


def test_formats() -> None:
    assert settings.formats("3") == (3,)
    assert settings.formats("2,3") == (2, 3)


@pytest.mark.parametrize(
    ("parse", "value", "text"),
    [
        (settings.sizes, "64,64,16", "got '64,64,16', expected four whole numbers from 1 as Nx,Ny,Nz,Nt"),
        (settings.sizes, "64,64,16,0", "got '64,64,16,0', expected four whole numbers"),
        (settings.sizes, "64,64,16,-1", "got '64,64,16,-1', expected four whole numbers"),
        (settings.sizes, " ; ", "got nothing, expected at least one value"),
        (settings.codecs, "lzma", "got codec 'lzma', expected some of none,zstd,blosc,zlib"),
        (settings.codecs, "zstd:23", "got level '23' for codec zstd, expected a whole number from 1 to 22"),
        (
            settings.codecs,
            "zlib:fast",
            "got level 'fast' for codec zlib, expected a whole number from 1 to 9",
        ),
        (settings.codecs, "none:1", "got level '1' for codec none, expected no level"),
        (settings.codecs, "", "got nothing, expected at least one value"),
        (settings.backends, "raw,hdf5", f"got backend 'hdf5', expected some of {','.join(BACKENDS)}"),
        (settings.formats, "4", "got '4', expected 2, 3 or 2,3"),
    ],
)
def test_wrong_values(parse: Callable[[str], Any], value: str, text: str) -> None:
    with pytest.raises(BenchmarkError) as error:
        parse(value)
    assert str(error.value).startswith(text)
