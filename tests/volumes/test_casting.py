"""Values in another data type: kept, rounded where that is wanted, refused where they don't fit."""

import itertools

import numpy as np
import pytest
from oracle import values

from fastzarr.volumes.casting import CastError, cast, stored_as
from fastzarr.volumes.element_class import DTYPES


@pytest.mark.parametrize(("source", "target"), [*itertools.product(DTYPES, DTYPES)], ids=str)
def test_exact_keeps_each_value_or_refuses(source: np.dtype, target: np.dtype) -> None:  # type: ignore[type-arg]
    """Each value alone, compared as Python's numbers of any size."""
    for value in np.concatenate([values((200,), source), np.arange(100).astype(source)]):
        given = np.array([value])
        own = value.item()
        try:
            found = cast(given, target, "exact", "here")[0]
        except CastError:
            fits = False
        else:
            fits = True
            assert found.dtype == target
            assert found.item() == own or (np.isnan(own) and np.isnan(found))
        if target.kind == "f":
            with np.errstate(over="ignore"):
                expected = np.isnan(own) or target.type(own).item() == own
        else:
            limits = np.iinfo(target)
            expected = np.isfinite(own) and own == int(own) and limits.min <= own <= limits.max
        assert fits == expected, own


@pytest.mark.parametrize("target", [dtype for dtype in DTYPES if dtype.kind in "iu"], ids=str)
def test_float16_to_integers(target: np.dtype) -> None:  # type: ignore[type-arg]
    """Whose range it does not reach, or whose largest it does not tell."""
    limits = np.iinfo(target)
    for value in np.arange(2**16, dtype="u2").view("f2")[::7]:
        number = value.item()
        fits = np.isfinite(number) and limits.min <= np.rint(number) <= limits.max
        given = np.array([value])
        if fits:
            assert cast(given, target, "round", "here").tolist() == [int(np.rint(number))]
        else:
            with pytest.raises(CastError, match="expected values that"):
                cast(given, target, "round", "here")


def test_round_goes_to_the_nearest() -> None:
    given = np.array([0.4, 0.6, 1.5, 2.5, -0.4, 254.6])
    assert cast(given, np.dtype("u1"), "round", "here").tolist() == [0, 1, 2, 2, 0, 255]
    assert cast(np.array([2**24 + 1], "u4"), np.dtype("f4"), "round", "here").tolist() == [2**24]
    assert cast(np.array([0.1]), np.dtype("f4"), "round", "here")[0] == np.float32(0.1)


@pytest.mark.parametrize("how", ["exact", "round"])
def test_what_is_out_of_range_is_always_refused(how: str) -> None:
    for value, source, target in (
        (256, "i4", "u1"),
        (-1, "i1", "u8"),
        (np.nan, "f4", "i4"),
        (np.inf, "f8", "u8"),
        (2.0**64, "f8", "u8"),
        (2.0**31, "f4", "i4"),
        (1e39, "f8", "f4"),
    ):
        with pytest.raises(
            CastError, match=r"here: got .*, expected values that .* holds; choose another dtype"
        ):
            cast(np.array([0, value], source), np.dtype(target), how, "here")  # type: ignore[arg-type]


def test_first_value_that_is_not_exact_is_named() -> None:
    with pytest.raises(CastError, match=r"here: got 1.5, which int16 does not hold exactly; .*cast 'round'"):
        cast(np.array([[1, 1.5], [2.5, 3]]), np.dtype("i2"), "exact", "here")


def test_narrow_data_types_become_wider() -> None:
    assert stored_as(np.dtype("?"), "here") == np.uint8
    assert stored_as(np.dtype("f2"), "here") == np.float32
    assert stored_as(np.dtype(">u4"), "here") == np.uint32
    with pytest.raises(CastError, match="here: got voxels of <U3, expected one of uint8"):
        stored_as(np.dtype("U3"), "here")
