"""DeviceNumbers: numbers of a bank that remain on a device until they are read.

Only a session allows this, while it takes steps in portions of a few milliseconds, since copying a
large bank to the host would take longer than a portion. Reading the bank fetches the numbers first,
unless another thread is running steps; then the last copy is returned.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import Any, Protocol, final

from scalarviz.base.interrupt import uncut
from scalarviz.errors import EngineError

EVERY = 1 / 60  # seconds after which unread numbers are fetched
# Largest share of the time spent on copies that were not requested; the keyframe and the comparison
# that follow one take twice as long.
SHARE = 1 / 30


class Keeper(Protocol):
    """An object, such as the run of an engine, that holds the numbers of a bank on a device."""

    def fetch(self) -> None:
        """Copy values, gradients and slots to the arrays of the bank."""


class Watcher(Protocol):
    """Observer that compares the arrays of a bank with an earlier state."""

    def left(self) -> None:
        """Called when the numbers on the device become newer than the arrays."""

    def arriving(self, copy: Callable[[], None]) -> None:
        """Call `copy`, which copies the numbers from the device to the arrays."""


def nobody() -> None:
    """Return None, as a weak reference does if its watcher no longer exists."""


@final
class DeviceNumbers:
    """Location of the current values, gradients and slots of a bank.

    Attributes:
        keeper: object that holds the numbers on a device, or None if the arrays are current
        allowed: whether an engine may leave the numbers on the device, to be fetched later
        is_lost: whether the device failed to return the numbers, so that the arrays are out of date
        watcher: weak reference to a Watcher
    """

    def __init__(self) -> None:
        self.keeper: Keeper | None = None
        self.allowed = False
        self.is_lost = False
        self.watcher: Callable[[], Watcher | None] = nobody
        self._is_fetching = False
        self._process = 0
        self._next = 0.0  # when to fetch unread numbers

    @property
    def is_due(self) -> bool:
        """Return whether numbers are on a device and it is time to fetch them."""
        return self.keeper is not None and time.perf_counter() >= self._next

    def leave(self, keeper: Keeper) -> None:
        """Record that `keeper` now owns the numbers."""
        if self.keeper is not keeper:
            watcher = self.watcher()
            if watcher is not None:
                watcher.left()
            self.keeper, self._process = keeper, os.getpid()

    def end(self) -> None:
        """Record that the numbers are no longer on a device."""
        self.keeper, self.is_lost = None, False

    @uncut
    def fetch(self, guard: Any) -> None:
        """Copy the numbers to the arrays; do nothing if the lock `guard` is given but not free.

        Raises:
            EngineError: if the device fails.
        """
        if self._is_fetching:  # a keeper refers to the arrays that it copies to
            return
        if self._process != os.getpid():  # a forked child cannot use the device
            self.keeper = None
            return
        acquire = getattr(guard, "acquire", None)
        if acquire is None:
            self._fetch()
        elif acquire(0.0):
            try:
                self._fetch()
            finally:
                guard.release()

    def _fetch(self) -> None:
        keeper, watcher, start = self.keeper, self.watcher(), time.perf_counter()
        if keeper is None:  # another thread has fetched them meanwhile
            return
        self._is_fetching = True
        try:
            if watcher is None:
                keeper.fetch()
            else:
                watcher.arriving(keeper.fetch)
        except EngineError:
            self.keeper, self.is_lost = None, True
            raise
        finally:
            self._is_fetching = False
        self.keeper, now = None, time.perf_counter()
        self._next = now + max(EVERY, (now - start) / SHARE)
