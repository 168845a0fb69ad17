"""ThreadChoice: whether several threads pay, by the time that calls of kernels take."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import final

SHARE = 0.01  # of the time, for trying the other way
SHORTEST = 1e-7  # seconds
MUCH = 0.8  # of its time, below which the other way is faster
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
        self._newest = math.inf  # seconds of a step, in the call before
        self._seconds = math.inf  # the less of the last two: a call may have been disturbed
        self._left = 0.0  # seconds of work before the other way is tried

    def run(self, count: int, call: Callable[[int], bool]) -> None:
        """Call `call` with numbers of steps whose sum is `count`, until it returns False."""
        if self._left <= 0.0 and self._seconds < math.inf:
            some = min(count, math.ceil(LONG / max(self._seconds, SHORTEST)))
            if not self._try(some, call):
                return
            count -= some
        if count:
            _, seconds = timed(count, call)
            self._left -= seconds
            self._seconds = min(self._newest, seconds / count)
            if self._newest == math.inf:  # of the first call, which loads and allocates
                self._seconds = math.inf
            self._newest = seconds / count

    def _try(self, count: int, call: Callable[[int], bool]) -> bool:
        """Take steps the other way, and stay with it if it is faster; return what `call` does."""
        self._use(not self._together)
        goes_on, seconds = timed(count, call)
        self._left = seconds / SHARE
        if seconds / count < self._seconds * MUCH:
            self._together = not self._together
            self._seconds = self._newest = seconds / count
        else:
            self._use(self._together)
        return goes_on


def timed(count: int, call: Callable[[int], bool]) -> tuple[bool, float]:
    """Return what a call returns, and the seconds that it takes."""
    start = time.perf_counter()
    goes_on = call(count)
    return goes_on, time.perf_counter() - start
