"""The threads of the process: one pool for all calls, whose caller works along."""

from __future__ import annotations

import _thread
import contextlib
import os
import threading
from collections.abc import Callable, Iterable, Iterator
from queue import SimpleQueue
from typing import Generic, TypeVar

from fastzarr import processors
from fastzarr.chunk_io import locks

THREADS_VARIABLE = "FASTZARR_THREADS"
"""Environment variable with the number of threads for one call."""

T = TypeVar("T")

_calls: SimpleQueue[Callable[[], None]] = SimpleQueue()
"""What the threads of the pool are to call."""
_started = 0
"""Number of threads in the pool."""


def run(act: Callable[[T], object], items: Iterable[T], threads: int) -> None:
    """Call `act` with each item, none of them None, by `threads` threads, the caller's among them.

    What one of them raises ends the others and is raised.
    """
    if threads > 1:
        _run_parallel(_Crew(act, iter(items)), threads)
        return
    for item in items:
        act(item)


def threads_for(setting: int | None, concurrency: int) -> int:
    """Threads for one call: as the array's setting or the environment says, else one per processor.

    Stores that wait more than they work want more of them, `concurrency`.
    """
    if setting is not None:
        return setting
    text = os.environ.get(THREADS_VARIABLE)
    if text is None:
        return max(processors.usable(), concurrency)
    if not text.isdecimal() or int(text) < 1:
        raise ValueError(f"{THREADS_VARIABLE}: got {text!r}, expected a number of threads of 1 or more")
    return int(text)


def _run_parallel(crew: _Crew[T], threads: int) -> None:
    """Have `threads` threads, the caller's among them, work until nothing is left or one fails."""
    try:
        _call(crew.help, threads - 1)
        crew.work()
    finally:
        interrupt = crew.dismiss()
    if crew.errors:
        raise crew.errors[0]
    if interrupt is not None:
        raise interrupt


class _Crew(Generic[T]):
    """The threads of one call. Only locks and queues that an interrupt can't leave half done are used."""

    def __init__(self, act: Callable[[T], object], items: Iterator[T]) -> None:
        self._act = act
        self._items = items
        self._locks = locks.held()
        self._taking = threading.Lock()
        self._stopped = False
        self._helpers = 0
        self._ended: list[None] = []
        self._end: SimpleQueue[None] = SimpleQueue()
        """Wakes who waits for `_ended`; by itself an interrupted wait would lose count."""
        self.errors: list[BaseException] = []
        """What failed in threads of the pool."""

    def work(self) -> None:
        """Take items until none is left, or another thread has failed."""
        while True:
            with self._taking:
                item = None if self._stopped else next(self._items, None)
            if item is None:
                return
            self._act(item)

    def help(self) -> None:
        """Work in a thread of the pool; nothing is done once the crew is dismissed."""
        with self._taking:
            if self._stopped:
                return
            self._helpers += 1
        locks.lend(self._locks)
        try:
            self.work()
        except BaseException as error:
            self.errors.append(error)
            self._stopped = True
        finally:
            locks.lend(frozenset())
            self._ended.append(None)
            self._end.put(None)

    def dismiss(self) -> KeyboardInterrupt | None:
        """Stop, and wait for all who work, since they use the caller's memory.

        An interrupt meanwhile is returned.
        """
        interrupt = None
        while True:
            try:
                self._stopped = True
                with self._taking:
                    helpers = self._helpers
                while len(self._ended) < helpers:
                    self._end.get()
            except KeyboardInterrupt as error:
                interrupt = error
            else:
                return interrupt


def _call(help_: Callable[[], None], count: int) -> None:
    """Have `count` threads of the pool call `help_`, which does not raise.

    An interrupt in the middle of `threading.Thread.start` or of an executor's `submit` leaves locks behind;
    starting a thread and queueing a call are one step each here.
    """
    global _started
    # At exit, and where no thread can be started, the caller works alone.
    with contextlib.suppress(RuntimeError):
        while _started < count:
            _thread.start_new_thread(_serve, (_calls,))
            _started += 1
    for _ in range(count):
        _calls.put(help_)


def _serve(calls: SimpleQueue[Callable[[], None]]) -> None:
    while True:
        calls.get()()


def _forget_threads() -> None:
    """In a forked child the threads of the pool are gone."""
    global _calls, _started
    _calls = SimpleQueue()
    _started = 0


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_threads)
