"""Failures of other packages' stores, with the key in their text."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import ClassVar, NoReturn, TypeVar

from fastzarr.errors import StoreError

_Result = TypeVar("_Result")


class NamesKeys(ABC):
    """Calls another package's functions, and names the key where they fail."""

    _absent: ClassVar[tuple[type[Exception], ...]] = (FileNotFoundError,)
    """What a missing object raises."""

    @abstractmethod
    def _text(self, error: Exception) -> str:
        """What an error says."""

    def _unless_missing(self, key: str, call: Callable[[], _Result]) -> _Result | None:
        try:
            return call()
        except self._absent:
            return None
        except Exception as error:
            self._failed(key, error)

    def _named(self, key: str, call: Callable[[], _Result]) -> _Result:
        try:
            return call()
        except Exception as error:
            self._failed(key, error)

    def _failed(self, key: str, error: Exception) -> NoReturn:
        raise StoreError(f"{key!r} in {self}: {self._text(error)}") from error
