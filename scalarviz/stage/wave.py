"""What moves by itself: the light of whole steps that follow each other, and the focus.

Of plain numbers: pages have it in JavaScript, see docs/TRANSLATOR.md.
"""

from __future__ import annotations

import math
from typing import final

EACH_WAVE = 12.0  # whole steps a second up to which each has its light: more would flicker
WAVE = 0.8  # seconds for the light of a step, at most
OF_RATE = 1.0  # seconds over which steps a second are measured
LEAST_WATCHED = 0.3  # of that time, after which steps a second are known
FALL, RISE = 0.25, 0.4  # seconds until all else has fallen back from a focus, and is back again
OF_STEP = 0.8  # of the time from one step to the next: a step that comes early has its wave, too


@final
class Wave:
    """Follows the steps of a session that plays, and says how far the light of one has come.

    Up to EACH_WAVE steps a second each has a wave. Of more, one in so many is shown, slowly.

    every  how many steps a wave stands for; 0 while there is none
    """

    def __init__(self) -> None:
        self.every = 0
        self._seen: list[tuple[int, float]] = []  # steps at their times, over OF_RATE seconds
        self._lit, self._began = 0, -math.inf  # the last step that had a wave

    def stop(self) -> None:
        """Show no wave."""
        self.every, self._began, self._seen = 0, -math.inf, []

    def at(self, step: int, now: float) -> float | None:
        """Return the part of a wave that is done at a time in seconds, 0 to 1; None between two."""
        last, before = self._seen[-1] if self._seen else (step, now)
        if step < last or now - before > OF_RATE:  # a jump, or a pause
            self.stop()
        if not self._seen:
            self._lit = step
        self._seen = [each for each in [*self._seen, (step, now)] if now - each[1] <= OF_RATE]
        first, began = self._seen[0]
        passed: float = now - began
        rate: float = (step - first) / passed if passed > LEAST_WATCHED * OF_RATE else 0.0
        slow = rate > EACH_WAVE
        seconds = WAVE if slow else min(WAVE, OF_STEP / max(rate, 1e-9))
        part = (now - self._began) / seconds
        if part >= 1.0 and step > self._lit and rate > 0.0:
            self.every = plain_count(rate * seconds) if slow else 1
            self._lit, self._began = step, now
            part = 0.0
        return part if part < 1.0 else None


def plain_count(count: float) -> int:
    """Return a count as it is said: from 20 on a multiple of ten, of two digits before zeros."""
    found = round(count)
    power = 10 ** max(1, len(str(found)) - 2) if found >= 20 else 1
    return round(found / power) * power


@final
class Attention:
    """How far what is out of focus has fallen back.

    moves  whether it still changes by itself
    """

    def __init__(self) -> None:
        self.moves = False
        self._level, self._at, self._goal = 0.0, 0.0, 0.0

    def follow(self, focused: bool, now: float, calm: bool) -> float:
        """Return how far it has fallen back at a time in seconds, 0 to 1.

        focused  whether anything is in focus from now on
        calm     whether nothing moves: it jumps
        """
        goal = 1.0 if focused else 0.0
        passed: float = max(0.0, now - self._at)
        level: float = self._level + (passed / FALL if self._goal > 0.0 else -passed / RISE)
        level = goal if calm else min(1.0, max(0.0, level))
        self._level, self._at, self._goal, self.moves = level, now, goal, level != goal
        return level * level * (3.0 - 2.0 * level)
