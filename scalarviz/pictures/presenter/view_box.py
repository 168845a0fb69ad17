"""ViewBox: the box of a picture that the network fills, which moves when a card comes or goes."""

from __future__ import annotations

from typing import final

from scalarviz.pictures.view.scene.frame import Box

SECONDS = 0.2  # duration of a move


@final
class ViewBox:
    """Moves to another box of the same picture; in a picture of another size it jumps.

    cuts  whether it always jumps
    """

    def __init__(self, *, cuts: bool) -> None:
        self.cuts = cuts
        self._size = (0.0, 0.0)
        self._from: Box | None = None
        self._goal = Box(0.0, 0.0, 1.0, 1.0)
        self._started = 0.0

    def at(self, goal: Box, size: tuple[float, float], now: float) -> Box:
        """Return the box at the time `now`, on its way to `goal`."""
        if size != self._size or self.cuts:
            self._from = None
        elif goal != self._goal:
            self._from, self._started = self._between(now), now
        self._size, self._goal = size, goal
        return self._between(now)

    def tick(self, now: float) -> bool:
        """Return whether it moves."""
        if self._from is not None and now - self._started >= SECONDS:
            self._from = None
            return True
        return self._from is not None

    def _between(self, now: float) -> Box:
        if self._from is None:
            return self._goal
        part = min(1.0, max(0.0, (now - self._started) / SECONDS))
        part = part * part * (3.0 - 2.0 * part)
        pairs = zip(self._from.place, self._goal.place, strict=True)
        return Box(*(a + part * (b - a) for a, b in pairs))
