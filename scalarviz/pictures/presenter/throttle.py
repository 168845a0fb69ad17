"""Throttle: limits how often expensive work is repeated, so that training is not held up."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from time import perf_counter
from typing import final

REST = 4.0  # pause after the work, relative to its duration
LONGEST = 2.0  # seconds of a pause: the first time, work may take long that is quick from then on


@final
class Throttle:
    """Tells when some work is due again.

    rest  pause after the work, relative to its duration; by default REST

    >>> throttle = Throttle()
    >>> with throttle.doing():
    ...     before = throttle.due
    >>> before
    True
    """

    def __init__(self, rest: float = REST) -> None:
        self._rest = rest
        self._next = 0.0

    @property
    def due(self) -> bool:
        return perf_counter() >= self._next

    @contextmanager
    def doing(self) -> Iterator[None]:
        """Measure the work in this block; longer work is repeated less often."""
        start = perf_counter()
        try:
            yield
        finally:
            now = perf_counter()
            self._next = now + min(self._rest * (now - start), LONGEST)
