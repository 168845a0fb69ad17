"""DeviceNumbers: numbers of a bank that an engine has left on a device, until somebody reads them.

Only a session lets an engine do so, while it takes portions of steps: to copy a large bank to the
host after each portion takes longer than the portion. Whoever reads the bank then has them fetched
first, unless another thread is at work on it: the arrays have what was fetched last.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import Any, Protocol, final

from scalarviz.base.interrupt import uncut
from scalarviz.errors import EngineError

EVERY = 1 / 60  # seconds after which numbers are fetched that nobody has read
# Of the time, at most, that is spent on copies that nobody has asked for; the keyframe and the
# comparison that follow one take twice as long.
SHARE = 1 / 30


class Keeper(Protocol):
    """What has numbers of a bank on a device: the run of an engine."""

    def fetch(self) -> None:
        """Copy values, gradients and slots to the arrays of the bank."""


class Watcher(Protocol):
    """What compares the arrays of a bank with what it knows of them."""

    def left(self) -> None:
        """Called when the numbers of the arrays begin to be older than those on the device."""

    def arriving(self, copy: Callable[[], None]) -> None:
        """Have the numbers copied to the arrays by `copy`."""


def nobody() -> None:
    """Stands for a weak reference to no watcher."""


@final
class DeviceNumbers:
    """Where the newest values, gradients and slots of a bank are.

    Attributes:
        keeper: has them on a device; None: they are in the arrays
        allowed: whether an engine may leave them there: somebody fetches them in the end
        is_lost: whether the device failed to give them back: the arrays have older ones
        watcher: weak reference to a Watcher
    """

    def __init__(self) -> None:
        self.keeper: Keeper | None = None
        self.allowed = False
        self.is_lost = False
        self.watcher: Callable[[], Watcher | None] = nobody
        self._is_fetching = False
        self._process = 0
        self._next = 0.0  # when to fetch what nobody has read

    @property
    def is_due(self) -> bool:
        """Whether numbers are away that were fetched long ago."""
        return self.keeper is not None and time.perf_counter() >= self._next

    def leave(self, keeper: Keeper) -> None:
        """Note that from now on a keeper has the numbers."""
        if self.keeper is not keeper:
            watcher = self.watcher()
            if watcher is not None:
                watcher.left()
            self.keeper, self._process = keeper, os.getpid()

    def end(self) -> None:
        """Note that the arrays count, with the numbers that they have or are about to get."""
        self.keeper, self.is_lost = None, False

    @uncut
    def fetch(self, guard: Any) -> None:
        """Copy the numbers to the arrays, under a lock if `guard` is one, which must be free.

        Raises:
            EngineError: if the device fails.
        """
        if self._is_fetching:  # a keeper refers to the arrays that it copies to
            return
        if self._process != os.getpid():  # a device has nothing for a forked child
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
