"""Motion: animates the operation just done or undone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

import numpy as np

from scalarviz.checks.numbers import FloatArray
from scalarviz.engines.common.snapshot import SnapshotValues
from scalarviz.model.program import Moment
from scalarviz.presenter.channels import Source, largest, read
from scalarviz.presenter.live_values import LiveValues
from scalarviz.presenter.scales import stop_above
from scalarviz.texts import text
from scalarviz.view.scene.plates import Plate

LONGEST, SHORTEST = 0.9, 0.1  # seconds for one operation
CHANGED = ("zero_grad", "weight gradient", "backward", "step")  # they change the bank's numbers
FINE = 200_000  # larger banks are not animated


@dataclass(frozen=True)
class Passage:
    """One animated operation: the numbers before and after it, its start and duration."""

    moment: Moment
    before: SnapshotValues
    after: SnapshotValues
    forward: bool
    started: float
    seconds: float


@dataclass(frozen=True)
class Mixed:
    """What cubes show during an operation; `before` only for a step."""

    colors: FloatArray
    sizes: FloatArray
    before: FloatArray | None = None
    size_name: str = ""
    size_scales: FloatArray | None = None


@final
class Motion:
    """Animates the last operation while the user goes by operations."""

    def __init__(self, reading: LiveValues, *, cuts: bool) -> None:
        self.reading = reading
        self.cuts = cuts
        self.walking = False
        self._passage: Passage | None = None
        self._place = reading.place
        done = reading.place[1]
        if done:  # the session stands within a step: show its last operation
            now = reading.numbers
            self.walking = True
            self._passage = Passage(reading.moments[done - 1], now, now, True, -np.inf, SHORTEST)
        self._moved_at = -np.inf
        self._now = 0.0

    def follow(self, now: float) -> None:
        """Start an animation if the reading has moved by one operation."""
        self._now = now
        place, old = self.reading.place, self._place
        if place == old:
            return
        self._place = place
        self.stop()
        count = len(self.reading.moments)
        apart = (place[0] - old[0]) * count + place[1] - old[1]
        if place[2] != old[2] or abs(apart) != 1:
            return
        forward = apart > 0
        moment = self.reading.moments[((place if forward else old)[1] - 1) % count]
        seconds = min(LONGEST, max(SHORTEST, 0.8 * (now - self._moved_at)))
        self._moved_at = now
        numbers = self.reading.last, self.reading.numbers
        before, after = numbers if forward else numbers[::-1]
        self.walking = True
        self._passage = Passage(moment, before, after, forward, now, seconds)
        self.reading.held = self._undoing

    def stop(self) -> None:
        """Show the network at rest."""
        self.walking = False
        self._passage = None
        self.reading.held = False

    def tick(self, now: float) -> bool:
        """Advance to the time `now`; return whether something moves."""
        self._now = now
        self.reading.held = self._undoing
        return self._passage is not None and self._part() < 1.0

    def _part(self) -> float:
        """Return the part of the animation that is done, 0 to 1."""
        passage = self._passage
        if passage is None or self.cuts:
            return 1.0
        return min(1.0, max(0.0, (self._now - passage.started) / passage.seconds))

    def shown(self) -> tuple[Moment | None, float]:
        """Return the operation to show, and the part of it that is done."""
        passage = self._passage
        if not self.walking or passage is None:
            return None, 1.0
        part = self._part()
        if passage.forward:
            return passage.moment, part
        if part < 1.0:
            return passage.moment, 1.0 - part
        # Undone: the last operation is now the one before it.
        done = self.reading.place[1]
        return (self.reading.moments[done - 1], 1.0) if done else (None, 1.0)

    @property
    def current(self) -> int:
        """The number of the operation that is shown, from 1; 0 if the network is at rest."""
        done = self.reading.place[1]
        if not self.walking:
            return done
        return done + self._undoing or len(self.reading.moments) * (self.shown()[0] is not None)

    @property
    def _undoing(self) -> bool:
        """Whether an undone operation is being animated, with the sample as it was."""
        return self._passage is not None and not self._passage.forward and self._part() < 1.0

    @property
    def hasty(self) -> bool:
        """Whether operations follow each other too quickly to read captions."""
        return self._passage is not None and self._passage.seconds < 0.5 * LONGEST

    @property
    def done(self) -> int:
        """The number of operations done within the step, as shown; 0 for all or none."""
        done = self.reading.place[1] + self._undoing
        return done % len(self.reading.moments) if self.walking else 0

    def mixed(self, color: str, size: str, source: Source, plates: Sequence[Plate]) -> Mixed:
        """Return what cubes show now."""
        colors = read(color, source)
        sizes = colors if size == color else read(size, source)
        moment, part = self.shown()
        passage = self._passage
        if moment is None or passage is None or passage.moment is not moment:
            return Mixed(colors, sizes)
        if moment.kind not in CHANGED or len(colors) > FINE:
            return Mixed(colors, sizes)
        old, new = (
            Source(numbers, passage.before.value, source.program, source.way)
            for numbers in (passage.before, passage.after)
        )
        first, last = read(color, old), read(color, new)
        if moment.kind == "step":
            change = passage.after.value - passage.before.value
            scales = np.full(len(plates), stop_above(largest(change)) or 1.0)
            name = text("legend.change_in_step")
            return Mixed(mixture(first, last, part), change, first, name, scales)
        return Mixed(mixture(first, last, part), between(read(size, old), read(size, new), part))


def mixture(first: FloatArray, last: FloatArray, part: float) -> FloatArray:
    """Interpolate colors; what is not finite gives NaN until the end."""
    if part >= 1.0:
        return last
    with np.errstate(invalid="ignore", over="ignore"):
        found: FloatArray = first + part * (last - first)
    return found


def between(first: FloatArray, last: FloatArray, part: float) -> FloatArray:
    """Interpolate sizes logarithmically, as they are drawn."""
    # Sizes far below the largest are drawn smallest: they grow from there.
    sizes = np.abs(np.concatenate([first, last]))
    least = 1e-4 * float(sizes[np.isfinite(sizes)].max(initial=0.0))
    if part >= 1.0 or least == 0.0:
        return last
    with np.errstate(invalid="ignore"):  # keeps infinities and NaN
        a, b = (np.log10(np.maximum(np.abs(each), least)) for each in (first, last))
        mixed: FloatArray = 10.0 ** (a + part * (b - a))
    return mixed
