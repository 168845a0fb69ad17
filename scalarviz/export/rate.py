"""Pace: when which step is due, and how many were taken in the last second."""

from __future__ import annotations

import math
from collections import deque
from time import perf_counter
from typing import final

from scalarviz.checks.numbers import number
from scalarviz.presenter.show import Show
from scalarviz.session.session import Session

FRAME = 1 / 20  # seconds
PORTION = 0.01  # seconds of steps, after which keys are looked at again
SECONDS, DOUBLING = 6.0, 3.0  # how long the opening speed lasts, and until it has doubled then


@final
class Portions:
    """Steps in portions of about PORTION seconds, whatever a step costs."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.size = 1

    def take(self, most: float) -> None:
        """Take a portion of at most so many steps."""
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
    """How fast a session goes on.

    `speed` is in steps a second, 0 for flat out; None is the show's own way: slowly at first and
    then faster and faster, or so many steps a picture, or flat out.
    """

    def __init__(self, show: Show, speed: float | None = None) -> None:
        self.session = show.session
        self.speed = None if speed is None else number(speed, "the speed", 0.0)
        self.opening = show.speed if speed is None else None
        self.frame = show.frame if speed is None and not show.speed else None
        self.rate = 0.0
        self._portions = Portions(show.session)
        self._recent: deque[tuple[float, int]] = deque(maxlen=round(1 / FRAME))
        self._passed = 0.0  # seconds of going on, up to the last pause
        self.start()

    def start(self) -> None:
        """Go on from here; steps that were taken by hand meanwhile do not count."""
        self._begun = perf_counter()
        self._recent.clear()
        due = steps_due(self._passed, self.speed, self.opening)
        self._first = 0 if math.isinf(due) else self.session.step_index - int(due)

    def stop(self) -> None:
        """Pause; the opening lasts as long as it would have."""
        self._passed = self.seconds
        self.rate = 0.0

    def restart(self) -> None:
        """Begin again, slowly if that is how it began."""
        self._passed = 0.0
        self.start()

    @property
    def seconds(self) -> float:
        """How long it has been going on, pauses left out."""
        return self._passed + perf_counter() - self._begun

    def take(self, end: float, last: int) -> None:
        """Take the steps that are due, until a moment in time or a step at most."""
        if self.frame:
            last = min(last, self.session.step_index + self.frame)
        while perf_counter() < end:
            due = self._first + steps_due(self.seconds, self.speed, self.opening)
            most = min(last, due) - self.session.step_index
            if most < 1.0:
                return
            self._portions.take(most)

    def measure(self) -> None:
        """Count the steps of the last second."""
        self._recent.append((perf_counter(), self.session.step_index))
        (before, first), (now, last) = self._recent[0], self._recent[-1]
        self.rate = max(0.0, (last - first) / (now - before)) if now > before else 0.0

    @property
    def note(self) -> str:
        """What to say about the speed."""
        if self.speed:
            return f"{self.speed:g} steps a second, as asked"
        if self.frame:
            return f"{self.frame} steps a picture"
        if self.opening is None:
            return "as fast as it goes"
        if self.seconds <= SECONDS:
            return f"{self.opening:g} steps a second at first"
        return f"twice as fast every {DOUBLING:g} seconds"


def steps_due(seconds: float, speed: float | None, opening: float | None) -> float:
    """How many steps are due after so many seconds, at a speed or opening with another one."""
    if speed:
        return speed * seconds
    if opening is None:
        return math.inf
    if seconds <= SECONDS:
        return opening * seconds
    growth = math.exp2(min((seconds - SECONDS) / DOUBLING, 100.0)) - 1.0
    return opening * (SECONDS + growth * DOUBLING / math.log(2.0))
