"""User attributes as a mapping that writes through."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, MutableMapping
from typing import Any

from fastzarr.errors import MetadataError


def as_stored(attributes: Mapping[str, Any]) -> dict[str, Any]:
    """A deep copy, as it reads back from JSON; raises `MetadataError` for what JSON can't say.

    NaN and infinities are written as `NaN` and `Infinity`, which zarr-python writes and reads too.
    """
    stored: dict[str, Any] = {}
    problems = []
    for name, value in attributes.items():
        try:
            stored[str(name)] = json.loads(json.dumps(value))
        except (TypeError, ValueError, RecursionError) as error:
            problems.append(f"{name!r}: got {value!r}, expected what JSON can say: {error}")
    if problems:
        raise MetadataError("attributes", problems)
    return stored


class Attributes(MutableMapping[str, Any]):
    """Attributes of one node; each change rewrites its document.

    `change` is given a function from the stored attributes to the new ones.
    """

    def __init__(
        self,
        read: Callable[[], dict[str, Any]],
        change: Callable[[Callable[[dict[str, Any]], dict[str, Any]]], None],
    ) -> None:
        self._read = read
        self._change = change

    def __getitem__(self, name: str) -> Any:
        return self._read()[name]

    def __setitem__(self, name: str, value: Any) -> None:
        self.update({name: value})

    def __delitem__(self, name: str) -> None:
        def without(stored: dict[str, Any]) -> dict[str, Any]:
            del stored[name]
            return stored

        self._change(without)

    def __iter__(self) -> Iterator[str]:
        return iter(self._read())

    def __len__(self) -> int:
        return len(self._read())

    def __repr__(self) -> str:
        return f"Attributes({self._read()!r})"

    def asdict(self) -> dict[str, Any]:
        """A copy of all attributes."""
        return dict(self._read())

    def put(self, attributes: Mapping[str, Any]) -> None:
        """Replace all attributes in one write."""
        new = as_stored(attributes)
        self._change(lambda stored: new)

    def update(self, *args: Any, **kwargs: Any) -> None:
        """Set several attributes in one write."""
        new = as_stored(dict(*args, **kwargs))
        self._change(lambda stored: {**stored, **new})
