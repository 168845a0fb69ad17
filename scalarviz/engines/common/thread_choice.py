"""ThreadChoice: whether several threads pay, by the time that calls of kernels take."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import final

SHARE = 0.01  # of the time, for trying the other way
SHORTEST = 1e-7  # seconds
LONG = 0.001  # seconds of steps in a row that tell which way is faster


@final
class ThreadChoice:
    """Chooses whether calls of kernels use all cores or one.

    All cores wait for each other after each part of a step. While other programs keep one of them
    busy, that takes longer than the work; then one core is faster by far. Results do not differ.

    use  function of a bool that lets kernels use all cores, or one
    """

    def __init__(self, use: Callable[[bool], None]) -> None:
        self._use = use
        self._together = True
        self._seconds = math.inf  # that a step took lately
        self._left = 0.0  # seconds of work before the other way is tried

    def run(self, count: int, call: Callable[[int], bool]) -> None:
        """Call `call` with numbers of steps whose sum is `count`, until it returns False."""
        if self._left <= 0.0 and self._seconds < math.inf:
            some = min(count, math.ceil(LONG / max(self._seconds, SHORTEST)))
            before = self._seconds
            self._together = not self._together
            self._use(self._together)
            self._seconds = math.inf
            goes_on, seconds = self._timed(some, call)
            self._left = seconds / SHARE
            if self._seconds > before:
                self._together = not self._together
                self._use(self._together)
                self._seconds = before
            count -= some
            if not goes_on or not count:
                return
        _, seconds = self._timed(count, call)
        self._left -= seconds

    def _timed(self, count: int, call: Callable[[int], bool]) -> tuple[bool, float]:
        start = time.perf_counter()
        goes_on = call(count)
        seconds = time.perf_counter() - start
        each, old = seconds / count, self._seconds
        self._seconds = each if old == math.inf else (each + old) / 2.0
        return goes_on, seconds
