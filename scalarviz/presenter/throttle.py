"""Throttle: what costs time is done again only now and then, so that a training is not held up."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from time import perf_counter
from typing import final

REST = 4.0  # times as long as it took, it is left alone


@final
class Throttle:
    """Remembers when something may be done again.

    >>> throttle = Throttle()
    >>> with throttle.doing():
    ...     before = throttle.due
    >>> before
    True
    """

    def __init__(self) -> None:
        self._next = 0.0

    @property
    def due(self) -> bool:
        return perf_counter() >= self._next

    @contextmanager
    def doing(self) -> Iterator[None]:
        """Do it; the longer it takes, the longer it rests."""
        start = perf_counter()
        try:
            yield
        finally:
            now = perf_counter()
            self._next = now + REST * (now - start)
