"""Wave: the light of whole steps that follow each other, forward through the network and back."""

from __future__ import annotations

import math
from collections import deque
from typing import final

from scalarviz.pictures.view.pace import EACH_WAVE, OF_RATE, WAVE

LEAST = 0.3  # of that time, after which steps a second are known
OF_STEP = 0.8  # of the time from one step to the next: a step that comes early has its wave, too


@final
class Wave:
    """Follows the steps of a session that plays, and says how far the light of one has come.

    Up to EACH_WAVE steps a second each has a wave. Of more, one in so many is shown, slowly.

    every  how many steps a wave stands for; 0 while there is none
    """

    def __init__(self) -> None:
        self.every = 0
        self._seen = deque[tuple[int, float]]()  # steps at their times, over OF_RATE seconds
        self._lit, self._began = 0, -math.inf  # the last step that had a wave

    def stop(self) -> None:
        """Show no wave."""
        self.every, self._began = 0, -math.inf
        self._seen.clear()

    def at(self, step: int, now: float) -> float | None:
        """Return the part of a wave that is done at a time in seconds, 0 to 1; None between two."""
        seen = self._seen
        if seen and (step < seen[-1][0] or now - seen[-1][1] > OF_RATE):  # a jump, or a pause
            self.stop()
        if not seen:
            self._lit = step
        seen.append((step, now))
        while now - seen[0][1] > OF_RATE:
            seen.popleft()
        passed = now - seen[0][1]
        rate = (step - seen[0][0]) / passed if passed > LEAST * OF_RATE else 0.0
        slow = rate > EACH_WAVE
        seconds = WAVE if slow else min(WAVE, OF_STEP / max(rate, 1e-9))
        part = (now - self._began) / seconds
        if part >= 1.0 and step > self._lit and rate > 0.0:
            self.every = plain(rate * seconds) if slow else 1
            self._lit, self._began, part = step, now, 0.0
        return part if part < 1.0 else None


def plain(count: float) -> int:
    """Return a count as it is said: from 20 on a multiple of ten, of two digits before zeros."""
    found = round(count)
    power = 10 ** max(1, len(str(found)) - 2) if found >= 20 else 1
    return round(found / power) * power
