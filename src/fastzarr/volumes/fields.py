"""Members of JSON documents, each checked; problems are collected, so that one error tells of all."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from fastzarr.errors import MetadataError


class Fields:
    """Members of one JSON object, taken one by one; `rest` are those never taken.

    Of what is no object only that is told, and nothing of the members it lacks.
    """

    def __init__(self, value: object, place: str, problems: list[str]) -> None:
        self.place = place
        self.problems = problems
        if not isinstance(value, Mapping):
            self.problem("", value, "an object")
            self.problems, value = [], {}
        self._members: dict[str, Any] = dict(value)

    @property
    def rest(self) -> dict[str, Any]:
        """Members that were not taken."""
        return self._members

    def problem(self, key: str, value: object, expected: str) -> None:
        """Add a problem with a member."""
        text = repr(value) if len(repr(value)) <= 80 else f"{repr(value)[:77]}..."
        self.problems.append(f"{self.name(key)}: got {text}, expected {expected}")

    def missing(self, key: str, expected: str) -> None:
        """Add the problem that a member is missing."""
        self.problems.append(f"{self.name(key)}: missing, expected {expected}")

    def name(self, key: str) -> str:
        """Path of a member in the document."""
        return f"{self.place}.{key}" if self.place and key else self.place or key or "document"

    def take(self, *keys: str) -> tuple[str, Any]:
        """The first of `keys` that is there, with its value, which is None where none is."""
        for key in keys:
            if key in self._members:
                return key, self._members.pop(key)
        return keys[0], None

    def text(self, key: str, *, default: str | None = None) -> str:
        """A member that is a string and not empty."""
        _, value = self.take(key)
        if value is None and default is not None:
            return default
        if value is None:
            self.missing(key, "a string")
        elif not isinstance(value, str) or (not value and default is None):
            self.problem(key, value, "a string that is not empty")
        else:
            return value
        return ""

    def choice(self, key: str, allowed: tuple[str, ...], *, default: str | None = None) -> str:
        """A member that is one of some strings."""
        _, value = self.take(key)
        if value is None and default is not None:
            return default
        if value is None:
            self.missing(key, f"one of {', '.join(allowed)}")
        elif value not in allowed:
            self.problem(key, value, f"one of {', '.join(allowed)}")
        else:
            return str(value)
        return allowed[0]

    def count(self, key: str, *, default: int | None = None, least: int = 1) -> int | None:
        """A member that is a whole number from `least` on, or missing."""
        _, value = self.take(key)
        if value is None:
            return default
        if not is_whole(value) or value < least:
            self.problem(key, value, f"a whole number of {least} or more")
            return default
        return int(value)

    def items(self, key: str, value: object, *, at_least: int = 0) -> list[Any]:
        """A value that is a list."""
        if value is None:
            self.missing(key, "a list")
        elif not isinstance(value, list) or len(value) < at_least:
            self.problem(key, value, f"a list of {at_least} or more" if at_least else "a list")
        else:
            return value
        return []

    def object(self, key: str) -> Fields:
        """A member that is an object; where it is missing, that is a problem."""
        _, value = self.take(key)
        if value is None:
            self.missing(key, "an object")
            return Fields({}, self.name(key), [])
        return Fields(value, self.name(key), self.problems)


def is_whole(value: object) -> bool:
    """Whether a value of JSON is a whole number."""
    return isinstance(value, int) and not isinstance(value, bool)


def is_finite(value: object) -> bool:
    """Whether a value of JSON is a finite number."""
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def raise_problems(where: str, problems: list[str]) -> None:
    """Raise `MetadataError` where there are problems."""
    if problems:
        raise MetadataError(where, problems)
