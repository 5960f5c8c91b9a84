"""`Budget`: what of a request's memory counts, and which requests are refused for good."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fastzarr
from fastzarr.serve.budget import WORTH_COUNTING, Budget, Reservation
from fastzarr.serve.http import HttpError

MOST = 10 * WORTH_COUNTING


@pytest.fixture
def budget() -> Budget:
    return Budget(most_in_one=MOST, most_in_all=MOST)


def test_the_largest_scratch_counts_once(budget: Budget) -> None:
    reserve = Reservation(budget)
    for scratch in (3, 5, 2):
        reserve(WORTH_COUNTING, scratch=scratch * WORTH_COUNTING)
    assert budget.taken == reserve.nbytes == (3 + 5) * WORTH_COUNTING
    reserve.release()
    assert budget.taken == reserve.nbytes == 0
    reserve(MOST)
    assert budget.taken == MOST


def refused(budget: Budget, nbytes: int, scratch: int = 0) -> tuple[int, str]:
    with pytest.raises(HttpError) as refusal:
        Reservation(budget)(nbytes, scratch=scratch)
    return refusal.value.status, refusal.value.message


def test_what_may_fit_later_is_told_from_what_never_will(budget: Budget) -> None:
    assert refused(budget, 1, MOST)[0] == 500
    assert "larger --max-in-flight, or store smaller chunks" in refused(budget, 1, MOST)[1]
    assert refused(budget, MOST, WORTH_COUNTING)[0] == 400
    assert f"{WORTH_COUNTING} are needed beside it" in refused(budget, MOST, WORTH_COUNTING)[1]
    assert refused(budget, MOST + 1)[0] == 400
    assert budget.taken == 0
    Reservation(budget)(WORTH_COUNTING)
    status, message = refused(budget, WORTH_COUNTING, MOST - WORTH_COUNTING)
    assert (status, "try again" in message) == (503, True)
    assert budget.taken == WORTH_COUNTING


def test_voxels_that_are_put_two_into_a_byte_are_there_twice(
    tmp_path: Path, in_process: Callable[..., Any]
) -> None:
    fastzarr.create_array(tmp_path / "a", data=np.full((64, 64, 64), 0xA7, "uint8"), chunks=(32, 32, 32))
    asked = [{"position": [0, 0, 32 * n], "mag": [1, 1, 1], "cubeSize": 32} for n in (0, 1)]
    halved = [{**bucket, "fourBit": True} for bucket in asked]
    cutout = "/data/datasets/a/layers/a/data?x=0&y=0&z=0&width=64&height=32&depth=32&mag=1-1-1"
    client = in_process(tmp_path, max_bytes_in_flight=4 * 32**3 - 1)
    for ask in (
        lambda half: client.post("/data/datasets/a/layers/a/data", halved if half else asked),
        lambda half: client.get(f"{cutout}&halfByte={'true' if half else 'false'}"),
    ):
        assert ask(False).body == b"\xa7" * (2 * 32**3)
        assert ask(True).status == 400
    client = in_process(tmp_path, max_bytes_in_flight=4 * 32**3)
    assert client.post("/data/datasets/a/layers/a/data", halved).body == b"\xaa" * 32**3
