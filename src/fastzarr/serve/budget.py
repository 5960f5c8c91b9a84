"""Memory for answers that are being made or sent, bounded per process."""

from __future__ import annotations

from threading import Lock

from fastzarr.serve.http import HttpError

WORTH_COUNTING = 1 << 16
"""Bytes; what is smaller is bounded by the number of requests."""


class Budget:
    """How many bytes may be under way, and how many are."""

    def __init__(self, *, most_in_one: int, most_in_all: int) -> None:
        self.most_in_one = most_in_one
        self.most_in_all = most_in_all
        self.taken = 0
        """Of answers that are being made, or have been made and are large."""
        self.unsent = 0
        """Of answers handed over that clients have not taken, when that was last looked at."""
        self._lock = Lock()

    def give_back(self, nbytes: int) -> None:
        with self._lock:
            self.taken -= nbytes


class Reservation:
    """What one request has taken of the budget. Call it with the bytes it needs more."""

    __slots__ = ("_budget", "nbytes")

    def __init__(self, budget: Budget) -> None:
        self._budget = budget
        self.nbytes = 0

    def __call__(self, nbytes: int, *, scratch: int = 0) -> None:
        budget = self._budget
        if self.nbytes + nbytes > budget.most_in_one:
            raise HttpError(
                400,
                f"the answer would have {self.nbytes + nbytes} bytes, expected at most "
                f"{budget.most_in_one}; ask for less at a time",
            )
        if scratch > budget.most_in_all:
            raise HttpError(
                500,
                f"a chunk has {scratch} bytes, more than the {budget.most_in_all} for all that is under way; "
                f"start the server with a larger --max-in-flight, or store smaller chunks",
            )
        nbytes += scratch
        if nbytes < WORTH_COUNTING:
            return
        with budget._lock:
            under_way = budget.taken + budget.unsent
            if under_way + nbytes > budget.most_in_all:
                raise HttpError(
                    503,
                    f"{under_way} bytes of answers are under way, and {nbytes} more would be over the "
                    f"limit of {budget.most_in_all}; try again",
                    (("Retry-After", "1"),),
                )
            budget.taken += nbytes
        self.nbytes += nbytes

    def release(self) -> None:
        if self.nbytes:
            self._budget.give_back(self.nbytes)
            self.nbytes = 0
