"""Speed of a playing session: which steps are due, and the measured steps a second."""

from __future__ import annotations

import math
from collections import deque
from time import perf_counter
from typing import Generic, TypeVar, final

from scalarviz.base.checks.numbers import number
from scalarviz.base.texts import text
from scalarviz.pictures.presenter.show import Show
from scalarviz.training.session.session import Session
from scalarviz.training.session.shared_clock import SharedClock

FRAME = 1 / 20  # seconds per frame
PORTION = 0.01  # seconds of training between two checks for input
SECONDS, DOUBLING = 6.0, 3.0  # duration of the opening speed, then its doubling time


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


@final
class Pace:
    """The speed at which a session advances.

    show   the session, and the speed it asks for
    speed  steps a second, 0 for as fast as possible; None for the speed of the show: accelerating
           from an opening speed, a number of steps per picture, or as fast as possible

    Raises InputError if the speed is negative or not finite.
    """

    def __init__(self, show: Show, speed: float | None = None) -> None:
        self.session = show.session
        self.speed = None if speed is None else number(speed, "the speed", 0.0)
        self.opening = show.speed if speed is None else None
        self.frame = show.frame if speed is None and not show.speed else None
        self.rate = 0.0
        self._portions = Portions(show.session)
        self._recent: deque[tuple[float, int]] = deque(maxlen=round(1 / FRAME))
        self._passed = 0.0  # seconds of playing before the last pause
        self.start()

    def start(self) -> None:
        """Continue from the current step; steps taken by hand since `stop` do not count."""
        self._begun = perf_counter()
        self._recent.clear()
        due = steps_due(self._passed, self.speed, self.opening)
        self._first = 0 if math.isinf(due) else self.session.step_index - int(due)

    def stop(self) -> None:
        """Pause."""
        self._passed = self.seconds
        self.rate = 0.0

    @property
    def seconds(self) -> float:
        """Seconds of playing, without pauses."""
        return self._passed + perf_counter() - self._begun

    def take(self, end: float, last: int) -> None:
        """Take the steps that are due, until the time `end` or the step `last`."""
        if self.frame:
            last = min(last, self.session.step_index + self.frame)
        while perf_counter() < end:
            due = self._first + steps_due(self.seconds, self.speed, self.opening)
            most = min(last, due) - self.session.step_index
            if most < 1.0:
                return
            self._portions.take(most)

    def measure(self) -> None:
        """Measure `rate`, the steps per second during the last second."""
        self._recent.append((perf_counter(), self.session.step_index))
        (before, first), (now, last) = self._recent[0], self._recent[-1]
        self.rate = max(0.0, (last - first) / (now - before)) if now > before else 0.0

    @property
    def note(self) -> str:
        """The speed in words."""
        if self.speed:
            return text("pace.asked", rate=self.speed)
        if self.frame:
            return text("pace.frame", count=self.frame)
        if self.opening is None:
            return text("pace.fast")
        if self.seconds <= SECONDS:
            return text("pace.opening", rate=self.opening)
        return text("pace.faster", seconds=DOUBLING)


def steps_due(seconds: float, speed: float | None, opening: float | None) -> float:
    """Return the steps due after a time at constant speed, or after an opening speed."""
    if speed:
        return speed * seconds
    if opening is None:
        return math.inf
    if seconds <= SECONDS:
        return opening * seconds
    growth = math.exp2(min((seconds - SECONDS) / DOUBLING, 100.0)) - 1.0
    return opening * (SECONDS + growth * DOUBLING / math.log(2.0))
