"""Portions: a training advances in pieces between which a program can attend to its user."""

from __future__ import annotations

from time import perf_counter
from typing import Generic, TypeVar, final

from scalarviz.training.session.session import Session
from scalarviz.training.session.shared_clock import SharedClock

PORTION = 0.01  # seconds of training between two checks for input

SubjectT = TypeVar("SubjectT", bound=Session | SharedClock)


@final
class Portions(Generic[SubjectT]):
    """Advances a session, or several, in portions that take about PORTION seconds."""

    def __init__(self, session: SubjectT) -> None:
        self.session: SubjectT = session
        self.size = 1

    def take(self, most: float) -> None:
        """Take a portion of at most `most` steps."""
        count = int(min(most, self.size))
        start = perf_counter()
        self.session.advance(count)
        seconds = perf_counter() - start
        if seconds < PORTION and count == self.size:
            self.size *= 2
        elif seconds > 2.0 * PORTION:
            self.size = max(1, self.size // 2)
