"""Answers are made on the event loop as long as that is quick."""

import time
from collections.abc import Callable

import pytest

from fastzarr.serve.pace import LARGEST, PAUSE, SLOW, WEIGHT, Pace, waits


class Clock:
    """A time; and, as who waits sees it, a count that grows with it."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def test_quick_answers_are_made_at_once() -> None:
    clock = Clock()
    pace = Pace(clock, clock)
    assert pace.is_quick(LARGEST)
    assert pace.at_once(lambda: "answer") == "answer"
    assert pace.is_quick(0)
    assert not pace.is_quick(LARGEST + 1)


def lasting(clock: Clock, seconds: float) -> Callable[[], None]:
    def act() -> None:
        clock.now += seconds

    return act


def test_slow_ones_send_those_that_follow_to_threads_for_a_while() -> None:
    clock = Clock()
    pace = Pace(clock, clock)
    pace.at_once(lasting(clock, SLOW / WEIGHT * 1.1))
    assert not pace.is_quick(0)
    clock.now += PAUSE * 0.9
    assert not pace.is_quick(0)
    clock.now += PAUSE * 0.2
    assert pace.is_quick(0)


def test_one_that_is_slow_by_chance_changes_nothing() -> None:
    clock = Clock()
    pace = Pace(clock, clock)
    for number in range(200):
        pace.at_once(lasting(clock, 0.03 if number % 50 == 7 else SLOW / 10))
        assert pace.is_quick(0)


def test_an_answer_during_which_others_had_the_processor_is_not_slow() -> None:
    clock = Clock()
    pace = Pace(clock, lambda: 5)
    for _ in range(20):
        pace.at_once(lasting(clock, SLOW / WEIGHT * 2))
        assert pace.is_quick(0)


def test_who_sleeps_waits_and_who_computes_does_not() -> None:
    before = waits()
    time.sleep(0.001)
    assert waits() > before
    counts = []
    for _ in range(20):  # by chance anything may have to wait
        before = waits()
        sum(range(1000))
        counts.append(waits() - before)
    assert min(counts) == 0


def test_a_slow_failure_counts() -> None:
    clock = Clock()
    pace = Pace(clock, clock)

    def fail() -> None:
        clock.now += SLOW / WEIGHT * 2
        raise OSError("no")

    with pytest.raises(OSError, match="no"):
        pace.at_once(fail)
    assert not pace.is_quick(0)
