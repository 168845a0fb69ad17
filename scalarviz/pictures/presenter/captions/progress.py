"""The sentence of a training that plays: how much is right, and how the loss has changed."""

from __future__ import annotations

import math
from typing import final

import numpy as np

from scalarviz.base.texts import text
from scalarviz.pictures.presenter.live_values import LiveValues

SECONDS = 2.0  # from one sentence to the next: more often than that they cannot be read
MEAN = 20  # losses whose mean is compared
# Texts of changes of the loss, by the largest ratio to that of half as many steps.
CHANGES = {"tenth": 0.13, "quarter": 0.35, "half": 0.6, "third": 0.8, "less": 0.97, "same": 1.03}


@final
class Progress:
    """The sentence of a training that plays; `rest` forgets it."""

    def __init__(self) -> None:
        self._words, self._until = "", -math.inf

    def rest(self) -> None:
        self._until = -math.inf

    def at(self, now: float, reading: LiveValues) -> str:
        """Return the sentence at a time in seconds."""
        if now >= self._until:
            self._words, self._until = progress_of(reading), now + SECONDS
        return self._words


def progress_of(reading: LiveValues) -> str:
    """Return how many samples are right, else the loss, and how the loss has changed."""
    here = reading.here
    step, verdict = here.clock.step, reading.learned.verdict() if reading.learned else ""
    words = verdict or text("captions.playing.loss", loss=f"{here.loss:.3g}")
    since = step // 2
    count = min(MEAN, since)
    if count:
        ends = [here.branch.losses_between(end - count, end) for end in (since, step)]
        earlier, now = (float(np.mean(each)) for each in ends)
        if math.isfinite(now) and earlier > 0.0:
            way = next((name for name, most in CHANGES.items() if now <= most * earlier), "more")
            it = text(f"captions.playing.it.{'verdict' if verdict else 'loss'}")
            words = text(f"captions.playing.since.{way}", said=words, it=it, since=since)
    return text("captions.playing", step=step, said=words)
