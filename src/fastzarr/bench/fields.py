"""The synthetic field: five low-frequency cosines and white noise, cut to some mantissa bits.

The bits kept set how well it compresses, because the low mantissa bits of such a field are noise:
with zstd level 3 about 1.09 for 23 bits, 1.29 for 16, 1.41 for 14, 1.59 for 12, 1.85 for 10, 2.23 for 8.
"""

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

AMPLITUDES = np.array([1, 0.55, 0.30, 0.18, 0.10])
WAVES = np.array([1, 1.5, 2, 2.5, 3])
"""Waves of each cosine along every space axis."""
DRIFT = np.array([0.10, 0.17, 0.23, 0.31, 0.41])
"""How far each cosine moves from one step to the next, in radians."""
NOISE = 0.05
"""Standard deviation of the noise, which is uniform: four times cheaper to draw than normal noise."""
SEED = 20260101
LEVELS, MIDDLE = np.float32(20), np.float32(128)
"""Levels of an image for 1, and for 0."""


def synthetic(shape: tuple[int, ...], keepbits: int) -> NDArray[np.float32]:
    """The field of `shape` (time first) with `keepbits` (0-23) mantissa bits; every step differs.

    The same for the same arguments, up to the rounding of the machine's cosine.
    Needs the memory of the result and of one more step.
    """
    field = np.empty(shape, np.float32)
    dropped = np.uint32((1 << (23 - keepbits)) - 1)
    fill_step = _steps(shape[1:])
    for step, values in enumerate(field):
        fill_step(step, values)
        bits = values.view(np.uint32)
        bits &= ~dropped
    return field


def volume(shape: tuple[int, ...]) -> NDArray[np.uint8]:
    """The field as an image: levels around 128, with noise of three or four; no element is 0.

    Chunks of 32 KiB to 256 KiB of a cube of 512 are compressed by zstd level 3 to a half or a little less, as
    many a stack of microscopy is; smaller images, whose waves are as many, to two thirds.
    """
    image = np.empty(shape, np.uint8)
    values = np.empty(shape[1:], np.float32)
    fill_step = _steps(shape[1:])
    for step, plane in enumerate(image):
        fill_step(step, values)
        np.multiply(values, LEVELS, out=values)
        values += MIDDLE
        np.clip(values, 1, 255, out=values)
        plane[...] = values
    return image


def _steps(shape: tuple[int, ...]) -> Callable[[int, NDArray[np.float32]], None]:
    """What fills an array of `shape` with a step: cosines and noise."""
    noise = np.empty(shape, np.float32)
    phases = np.random.default_rng(SEED).uniform(0, 2 * np.pi, len(AMPLITUDES))
    width = np.float32(math.sqrt(12) * NOISE)

    def fill(step: int, values: NDArray[np.float32]) -> None:
        _cosines(values, phases + DRIFT * step)
        np.random.Generator(np.random.SFC64([SEED, step])).random(dtype=np.float32, out=noise)
        np.subtract(noise, np.float32(0.5), out=noise)
        np.multiply(noise, width, out=noise)
        np.add(values, noise, out=values)

    return fill


def _cosines(out: NDArray[np.float32], phases: NDArray[np.float64]) -> None:
    """Fill `out` with the sum of the cosines.

    cos(r + x) = cos r cos x - sin r sin x, with x the angle along the last axis and r that of the others,
    so the whole field is one product of two thin matrices.
    """
    *angles, last = (2 * np.pi * np.outer(WAVES, np.arange(n) / n) for n in out.shape)
    rest = phases[:, np.newaxis]
    for angle in angles:
        rest = (rest[:, :, np.newaxis] + angle[:, np.newaxis, :]).reshape(len(WAVES), -1)
    weights = AMPLITUDES[:, np.newaxis]
    left = np.concatenate([weights * np.cos(rest), -weights * np.sin(rest)])
    right = np.concatenate([np.cos(last), np.sin(last)])
    np.matmul(left.T.astype(np.float32), right.astype(np.float32), out=out.reshape(-1, out.shape[-1]))
