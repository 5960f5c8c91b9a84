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

    __slots__ = ("_answer", "_budget", "_scratch", "nbytes")

    def __init__(self, budget: Budget) -> None:
        self._budget = budget
        self._answer = self._scratch = 0
        self.nbytes = 0

    def __call__(self, nbytes: int, *, scratch: int = 0) -> None:
        budget = self._budget
        answer, scratch = self._answer + nbytes, max(self._scratch, scratch)
        if answer > budget.most_in_one:
            raise HttpError(
                400,
                f"the answer would have {answer} bytes, expected at most {budget.most_in_one}; "
                f"ask for less at a time",
            )
        needed = answer + scratch
        if needed > budget.most_in_all:
            raise _too_much(answer, scratch, budget.most_in_all)
        more = needed - self.nbytes
        if more < WORTH_COUNTING:
            return
        with budget._lock:
            under_way = budget.taken + budget.unsent
            if under_way + more > budget.most_in_all:
                raise HttpError(
                    503,
                    f"{under_way} bytes of answers are under way, and {more} more would be over the "
                    f"limit of {budget.most_in_all}; try again",
                    (("Retry-After", "1"),),
                )
            budget.taken += more
        self._answer, self._scratch, self.nbytes = answer, scratch, needed

    def release(self) -> None:
        if self.nbytes:
            self._budget.give_back(self.nbytes)
            self._answer = self._scratch = self.nbytes = 0


def _too_much(answer: int, scratch: int, most: int) -> HttpError:
    """What can't be had, however little else is under way."""
    if scratch >= most:
        return HttpError(
            500,
            f"a decoded chunk has {scratch} bytes, and all that is under way may have {most}; "
            f"start the server with a larger --max-in-flight, or store smaller chunks",
        )
    beside = f", and {scratch} are needed beside it while it is made" if scratch else ""
    return HttpError(
        400,
        f"the answer would have {answer} bytes{beside}, more than the {most} for all that is under way; "
        f"ask for less at a time",
    )
