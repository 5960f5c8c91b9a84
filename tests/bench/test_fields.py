"""The synthetic field compresses as that of ZarrBenchmarks does."""

import numpy as np
import pytest
import zstandard

from fastzarr.bench.fields import synthetic

ZSTD_3_RATIO = {23: 1.09, 16: 1.29, 14: 1.41, 12: 1.59, 10: 1.85, 8: 2.23}


@pytest.mark.parametrize("keepbits", ZSTD_3_RATIO)
@pytest.mark.parametrize("shape", [(4, 16, 64, 64), (1, 32, 128, 128), (1, 32, 256, 256)], ids=str)
def test_zstd_ratio(shape: tuple[int, ...], keepbits: int) -> None:
    field = synthetic(shape, keepbits)
    compressor = zstandard.ZstdCompressor(level=3)
    ratio = field.nbytes / sum(len(compressor.compress(step)) for step in field)
    assert ratio == pytest.approx(ZSTD_3_RATIO[keepbits], rel=0.07)


def test_steps_differ_and_the_field_repeats() -> None:
    field = synthetic((3, 4, 8, 16), 23)
    assert not np.array_equal(field[0], field[1])
    assert np.array_equal(field, synthetic((3, 4, 8, 16), 23))


@pytest.mark.parametrize("keepbits", [0, 10, 23])
def test_only_kept_bits_are_set(keepbits: int) -> None:
    bits = synthetic((2, 64, 64), keepbits).view(np.uint32)
    assert np.bitwise_or.reduce(bits, axis=None) & ((1 << (23 - keepbits)) - 1) == 0
    assert (np.bitwise_or.reduce(bits, axis=None) >> np.uint32(23 - keepbits)) & 1 or keepbits == 0


@pytest.mark.parametrize("shape", [(3, 50), (3, 5, 7), (3, 5, 7, 9)])
def test_cosines_of_every_rank(shape: tuple[int, ...]) -> None:
    field = synthetic(shape, 23)
    assert field.shape == shape
    assert np.abs(field).max() < 2.13 + 0.05 * np.sqrt(3)


def test_the_field_is_smooth_but_for_its_noise() -> None:
    field = synthetic((1, 64, 64), 23)
    assert np.diff(field[0], axis=-1).std() < field.std() / 4
